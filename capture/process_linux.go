package capture

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup keeps the terminal's Ctrl-C from tcpdump, which we stop; and stops it
// when we are killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// enter moves this thread to a network namespace; nil is the own one.
func enter(namespace *os.File) error {
	if namespace == nil {
		return nil
	}
	err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: enter the network namespace %q: %w", ErrNotAllowed, namespace.Name(), err)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%q is no network namespace", namespace.Name())
	case err != nil:
		return fmt.Errorf("enter the network namespace %q: %w", namespace.Name(), err)
	}
	return nil
}

// prefer lets a process go first, if we may: while it waits for a processor the
// kernel's buffer fills.
func prefer(p *os.Process) { unix.Setpriority(unix.PRIO_PROCESS, p.Pid, -10) }
