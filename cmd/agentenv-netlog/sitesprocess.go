package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/agentenv/netlog/proxy/site"
	"github.com/agentenv/netlog/proxy/site/install"
)

// self is a command of this program's, whose flags are those that are given and
// not those of the environment.
func self(args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	c := exec.Command(exe, args...)
	c.Args[0] = program
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, variable("")) {
			c.Env = append(c.Env, v)
		}
	}
	return c, nil
}

// startSites starts the proxy; ready is read from once it is.
func startSites(f sitesRunFlags, path string, stderr io.Writer) (c *exec.Cmd, ready *os.File, err error) {
	args := []string{"sites", "run", "--ready-fd=3", "--root=" + f.root}
	for _, from := range f.from {
		args = append(args, "--from="+from)
	}
	if c, err = self(append(args, path)...); err != nil {
		return nil, nil, err
	}
	c.Env = append(c.Env, tokenVariable+"="+f.token)
	ready, told, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer told.Close()
	c.Stderr, c.ExtraFiles = stderr, []*os.File{told}
	if err := c.Start(); err != nil {
		ready.Close()
		return nil, nil, failed(fmt.Errorf("start the proxy: %w", err), "see whether this program can be run")
	}
	return c, ready, nil
}

const (
	sitesStart = 15 * time.Second // for an installation's proxy to be ready
	sitesStop  = 20 * time.Second // for it to be gone, its drain with it
)

// launchSites starts an installation's proxy, supervised, as a process that outlives
// this one, and waits until it listens.
func launchSites(c site.Config, token string) error {
	path := c.OwnLogPath()
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("open the proxy's own log: %w", err)
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return err
	}
	command, err := self("sites", "run", "--supervise", "--ready-fd=3", install.ConfigPath(""))
	if err != nil {
		return err
	}
	command.Env = append(command.Env, tokenVariable+"="+token) // for the log to go without it
	ready, told, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	command.Dir = "/"
	command.Stdout, command.Stderr, command.ExtraFiles = log, log, []*os.File{told}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = command.Start()
	told.Close()
	if err != nil {
		return fmt.Errorf("start the proxy: %w", err)
	}
	ready.SetReadDeadline(time.Now().Add(sitesStart))
	if n, err := ready.Read(make([]byte, 1)); n == 0 {
		why := "it does not listen after " + sitesStart.String()
		if errors.Is(err, io.EOF) {
			why = lastError(path, before.Size())
		}
		syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		command.Wait()
		return fmt.Errorf("start the proxy: %s", why)
	}
	return command.Process.Release()
}

// lastError is the last error that a process has written to its log behind offset.
func lastError(path string, offset int64) string {
	raw, err := os.ReadFile(path)
	if err != nil || int64(len(raw)) < offset {
		return "it ended at once"
	}
	said := "it ended at once"
	for line := range bytes.Lines(raw[offset:]) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(string(line)), program+": error: "); ok {
			said = text
		}
	}
	return said
}

// stopSites ends whatever serves the installation: who supervises and the proxy with
// it or, where that one was killed, the proxy that is left.
func stopSites(root string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for pid := install.Holder(root); pid != 0; pid = install.Holder(root) {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the proxy, process %d: %w", pid, err)
		}
		limit := time.After(sitesStop)
		for install.Holder(root) == pid {
			select {
			case <-tick.C:
			case <-limit:
				syscall.Kill(-pid, syscall.SIGKILL) // its group, which is only there with who supervises
				syscall.Kill(pid, syscall.SIGKILL)
				limit = nil
			}
		}
	}
	return nil
}
