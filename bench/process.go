package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a proxy that runs.
type process struct {
	cmd     *exec.Cmd
	said    string        // when it was ready
	address string        // where it listens, as that says
	ready   time.Duration // from its start until it says so
	drained chan struct{} // closed when what it says has ended
	dir     string        // what it may write to
	dies    bool          // of SIGTERM, which it does not heed
}

// start runs a program that says "listening on ADDRESS" on its standard error.
func start(path string, args []string) (*process, error) {
	return startSaying("listening on ", path, args)
}

// startSaying runs a program that says so in a line when it is ready; its address
// is the next word of that.
func startSaying(ready, path string, args []string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), drained: make(chan struct{})}
	said, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = p.cmd.Stderr
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(said)
	var sofar strings.Builder
	for p.address == "" {
		line, err := lines.ReadString('\n')
		sofar.WriteString(line)
		if err != nil {
			p.cmd.Wait()
			return nil, fmt.Errorf("%s did not start: %s", path, strings.TrimSpace(sofar.String()))
		}
		if _, rest, ok := strings.Cut(line, ready); ok {
			p.said, p.address = rest, addressIn(rest)
			p.ready = time.Since(began)
		}
	}
	go func() {
		defer close(p.drained)
		io.Copy(io.Discard, lines)
	}()
	return p, nil
}

// addressIn is the first word of what a program says of where it listens, with or
// without what some put around it.
func addressIn(said string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(said), " ")
	return strings.TrimRight(word, ".,")
}

// reached waits until the process takes connections: some say so before. One that
// does not is ended.
func (p *process) reached() error {
	var err error
	for range 100 {
		var c net.Conn
		if c, err = net.Dial("tcp", p.address); err == nil {
			return c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.Join(err, p.stop())
}

// grace is how long a process may take to end.
const grace = 15 * time.Second

// stop ends the process; one that does not end is killed, which is an error.
func (p *process) stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(grace, func() { p.cmd.Process.Kill() })
	<-p.drained
	err := p.cmd.Wait()
	if !timer.Stop() {
		return fmt.Errorf("%s did not end in %v", p.cmd.Path, grace)
	}
	if p.dies && p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM {
		return nil
	}
	return err
}

// A usage is the processors' time that a process has taken so far.
type usage struct {
	user, system time.Duration // in hundredths of a second
	all          time.Duration // exactly
}

// since is what was taken since an earlier usage.
func (u usage) since(before usage) (user, system time.Duration) {
	all, user, system := u.all-before.all, u.user-before.user, u.system-before.system
	system = time.Duration(float64(all) * float64(system) / float64(max(user+system, 1)))
	return all - system, system
}

func (p *process) cpu() (u usage, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return u, err
	}
	// The name, in parentheses, may hold anything; utime and stime are the 12th and
	// 13th fields behind it (proc(5)).
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 13 {
		return u, errors.New("/proc/PID/stat is too short")
	}
	ticks := func(field []byte) time.Duration {
		n, convErr := strconv.ParseInt(string(field), 10, 64)
		err = errors.Join(err, convErr)
		return time.Duration(n) * (time.Second / 100) // USER_HZ is 100 on every architecture of Go's
	}
	u.user, u.system = ticks(fields[11]), ticks(fields[12])
	if err != nil {
		return u, err
	}
	u.all, err = p.clock()
	return u, err
}

// clock is the process's own clock, whose number clock_getcpuclockid(3) makes so.
func (p *process) clock() (time.Duration, error) {
	const cpuClock = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|cpuClock), &t); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return time.Duration(t.Nano()), nil
}

// memory is a figure of /proc/PID/status in bytes: "VmRSS" is what is resident,
// "VmHWM" the most that ever was.
func (p *process) memory(figure string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), figure+":")
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
	return kib << 10, err
}

// files is how many descriptors the process has open.
func (p *process) files() (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	return len(open), err
}
