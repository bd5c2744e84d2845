package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
)

// A named pipe that nobody opens, or reads, keeps nothing waiting that is told to end.
func TestAPipeForNobody(t *testing.T) {
	dir := t.TempDir()
	pipe, path := filepath.Join(dir, "pipe"), filepath.Join(dir, "network.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	writeLongLog(t, path)
	log, err := netlog.OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()

	ctx, cancel := context.WithCancel(t.Context())
	to := target{path: pipe, stream: true}
	ended := make(chan error, 1)
	write := func() {
		_, err := to.write(ctx, log, har.Options{})
		ended <- err
	}
	go write()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("without a reader: %v", err)
	}

	in, err := os.OpenFile(pipe, os.O_RDWR, 0) // which also lets the call above end
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, cancel = context.WithCancel(t.Context())
	go write()
	if err := poll(func() bool { return isFull(t, in) }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("with a reader who reads nothing: %v", err)
	}
}

// writeLongLog writes one whose HAR is longer than what a pipe holds.
func writeLongLog(t *testing.T, path string) {
	t.Helper()
	w, err := netlog.OpenWriter(netlog.WriterConfig{Path: path, Mode: "proxy"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		w.Open(&netlog.Open{Via: netlog.ViaMITM, Request: &netlog.Request{Method: "GET", URL: fmt.Sprintf("http://a.test/%d", i), Version: "HTTP/1.1"}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// isFull says whether a pipe takes nothing more.
func isFull(t *testing.T, pipe *os.File) bool {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(pipe.Fd()), Events: unix.POLLOUT}}
	if _, err := unix.Poll(fds, 0); err != nil && err != unix.EINTR {
		t.Fatal(err)
	}
	return fds[0].Revents&unix.POLLOUT == 0
}
