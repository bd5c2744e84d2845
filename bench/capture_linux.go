package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// What is sent over loopback while it is captured.
const (
	captureRate = 200e6 // bytes a second
	captureFor  = 5 * time.Second
)

// capture is what tcpdump takes, and what it does not get, at 200 MB/s. It wants
// root and tcpdump.
func (b *bench) capture(ctx context.Context) ([]part, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: only root can make a network namespace", errLacking)
	}
	if _, err := exec.LookPath("tcpdump"); err != nil {
		return nil, fmt.Errorf("%w: %w", errLacking, err)
	}
	p := part{name: nameCapture, about: fmt.Sprintf("%v MB/s over loopback, captured for", captureRate/1e6)}
	cpu := make([]time.Duration, min(b.rounds, 3))
	for i := range cpu {
		n, err := newNetns()
		if err != nil {
			return nil, err
		}
		cpu[i], err = b.captureOnce(ctx, n, &p)
		if err = errors.Join(err, n.close()); err != nil {
			return nil, err
		}
	}
	p.cpu = middleOf(cpu)
	return []part{p}, nil
}

// captureOnce adds a round to p.
func (b *bench) captureOnce(ctx context.Context, n *netns, p *part) (cpu time.Duration, err error) {
	dir, err := os.MkdirTemp(b.dir, "captures-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	c, err := startSaying("capturing ", filepath.Join(b.dir, "agentenv-netlog"), []string{"capture", "--name", "bench", "--captures", dir, "--netns", n.path})
	if err != nil {
		return 0, err
	}
	took, err := n.send(ctx)
	if err = errors.Join(err, c.stop()); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "bench.status.json"))
	if err != nil {
		return 0, err
	}
	var counted struct{ Captured, Dropped int64 }
	if err := json.Unmarshal(text, &counted); err != nil {
		return 0, err
	}
	p.took = took
	p.packets += counted.Captured + counted.Dropped
	p.dropped += counted.Dropped
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime(), nil // tcpdump's with it
}

// A netns is a network namespace with a connection over its loopback.
type netns struct {
	path     string
	to, from net.Conn
	leave    chan struct{} // closed when it is no longer wanted
}

// newNetns makes one. A thread holds it.
func newNetns() (*netns, error) {
	n := &netns{leave: make(chan struct{})}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with us
		n.path = fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
		made <- n.connect()
		<-n.leave
	}()
	if err := <-made; err != nil {
		close(n.leave)
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	return n, nil
}

// connect makes the namespace on this thread, to which its sockets belong.
func (n *netns) connect() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, up); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	if n.to, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return err
	}
	n.from, err = l.Accept()
	return err
}

// send sends for captureFor, and says how long that took.
func (n *netns) send(ctx context.Context) (time.Duration, error) {
	received := make(chan error, 1)
	go func() {
		_, err := io.Copy(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{n.from})
		received <- err
	}()
	text := make([]byte, 64<<10)
	began := time.Now()
	var err error
	for sent := 0.0; sent < captureRate*captureFor.Seconds() && err == nil; sent += float64(len(text)) {
		if ahead := time.Duration(sent/captureRate*float64(time.Second)) - time.Since(began); ahead > 2*time.Millisecond {
			time.Sleep(ahead)
		}
		if err = ctx.Err(); err == nil {
			_, err = n.to.Write(text)
		}
	}
	took := time.Since(began)
	return took, errors.Join(err, n.to.Close(), <-received)
}

func (n *netns) close() error {
	close(n.leave)
	n.to.Close()
	return n.from.Close()
}
