package e2e

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A daemon is a command of the binary that runs until it is stopped.
type daemon struct {
	t     *testing.T
	cmd   *exec.Cmd
	said  *said
	ended chan struct{}
	err   error // once ended is closed
}

// startDaemon runs one, and waits until it says that it is ready.
func startDaemon(t *testing.T, ready string, env []string, args ...string) *daemon {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Env = append(clean(os.Environ()), env...)
	return startAsDaemon(t, ready, cmd)
}

// startAsDaemon does so with a command that may be within others.
func startAsDaemon(t *testing.T, ready string, cmd *exec.Cmd) *daemon {
	t.Helper()
	d := &daemon{t: t, cmd: cmd, said: &said{}, ended: make(chan struct{})}
	d.cmd.Stdout, d.cmd.Stderr = d.said, d.said
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		d.err = d.cmd.Wait()
	}()
	t.Cleanup(func() {
		d.cmd.Process.Signal(syscall.SIGTERM)
		d.wait()
		if strings.Contains(d.said.String(), "DATA RACE") || strings.Contains(d.said.String(), "panic:") {
			t.Errorf("%q said:\n%s", cmd.Args, d.said)
		}
	})
	until(t, strconv.Quote(ready), func() bool {
		select {
		case <-d.ended:
			t.Fatalf("%q ended: %v\n%s", cmd.Args, d.err, d.said)
		default:
		}
		return strings.Contains(d.said.String(), ready)
	})
	return d
}

// wait waits until it has ended, and kills it if it does not.
func (d *daemon) wait() {
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Errorf("it did not end:\n%s", d.said)
		d.cmd.Process.Kill()
		<-d.ended
	}
}

// stop ends it as a user would.
func (d *daemon) stop() {
	d.t.Helper()
	d.cmd.Process.Signal(syscall.SIGTERM)
	d.wait()
	if d.err != nil {
		d.t.Errorf("it ended with %v\n%s", d.err, d.said)
	}
}
