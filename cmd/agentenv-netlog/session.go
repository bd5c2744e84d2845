package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/agentenv/netlog/ca"
	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

// A session is a proxy with its log, from listening to the last line.
type session struct {
	address net.Addr
	proxy   *proxy.Proxy
	log     *netlog.Writer
	earlier int64      // the number of the last line that the log had before
	keys    io.Closer  // the key log, if it is to be closed
	served  chan error // gets Serve's result
}

// newSession opens the log and serves l. It closes that, and the key log, if it
// can't. An error is the log's: unusableLog has the hint. The page offers
// authority, if there is one.
func newSession(l net.Listener, w netlog.WriterConfig, p proxy.Config, authority *ca.Authority) (*session, error) {
	p.BodyFolder = bodyFolder(w.Path)
	keys, _ := p.KeyLog.(io.Closer)
	w.Program, w.Version, w.Limits = program, programVersion(), p.Keep
	w.Logger = p.Logger
	log, err := netlog.OpenWriter(w)
	if err != nil {
		l.Close()
		return nil, errors.Join(err, closeKeys(keys))
	}
	begun := log.Stats()
	p.Log = log
	page := newPage(l.Addr(), w.Mode, w.Path, authority, p.Credentials)
	p.Page, p.Ended = page, page.ended
	served, err := proxy.New(p)
	if err != nil {
		l.Close()
		return nil, errors.Join(err, log.Close(), closeKeys(keys))
	}
	page.attach(served, log)
	s := &session{address: l.Addr(), proxy: served, log: log, earlier: begun.Last - begun.Lines, keys: keys, served: make(chan error, 1)}
	go func() { s.served <- s.proxy.Serve(l) }()
	return s, nil
}

// close stops taking connections, gives the open ones until ctx ends, and
// writes the log to its end.
func (s *session) close(ctx context.Context) error {
	s.proxy.Shutdown(ctx) // what it had to stop stands in the log
	return errors.Join(s.log.Close(), closeKeys(s.keys))
}

func closeKeys(keys io.Closer) error {
	if keys == nil {
		return nil
	}
	return keys.Close()
}

// url is what a browser takes for its proxy.
func (s *session) url() string { return "http://" + s.address.String() }

// listenLoopback takes any free port of this machine.
func listenLoopback() (net.Listener, error) {
	return net.Listen("tcp", "127.0.0.1:0")
}

// listen takes the address that --listen says. Whoever reaches it can use the
// proxy, so it is a loopback one unless open says otherwise or users are asked who
// they are.
func listen(address string, mayBeReached bool) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, misused(fmt.Errorf("--listen %q: %w", address, err), "write it as HOST:PORT, such as 127.0.0.1:8080; port 0 is any free one")
	}
	if !tcp.IP.IsLoopback() && !mayBeReached {
		return nil, misused(fmt.Errorf("--listen %q is not a loopback address: everyone who reaches it could use the proxy", address),
			"listen on 127.0.0.1, ask for a password with --proxy-user-file, or say --open if the network around it is trusted")
	}
	l, err := net.ListenTCP("tcp", tcp)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, failed(err, "another program has the port; choose another with --listen, or any free one with --listen 127.0.0.1:0")
	case errors.Is(err, fs.ErrPermission):
		return nil, failed(err, "ports below 1024 want privileges; choose another with --listen")
	case err != nil:
		return nil, failed(err, "choose an address of this machine with --listen")
	}
	return l, nil
}

// ownNames are the names of the proxy's page: this machine's, and those given.
func ownNames(given []string) ([]string, error) {
	var names []string
	if host, err := os.Hostname(); err == nil {
		names = append(names, strings.ToLower(host))
	}
	for _, s := range given {
		r, err := proxy.ParseHostRule(s)
		if err != nil || r.Below || r.Port != 0 || r.Name == "" && !r.Range.IsSingleIP() {
			return nil, misused(fmt.Errorf("--own-name %q is neither a name nor an address", s), "write it without a port, such as netlog.example or 192.0.2.1")
		}
		names = append(names, r.String())
	}
	return names, nil
}

func unusableLog(err error) error {
	switch {
	case errors.Is(err, netlog.ErrLocked):
		return failed(err, "another proxy writes it; stop that one, or name another file with --log")
	case errors.Is(err, netlog.ErrNotLog):
		return failed(err, "it holds something else; name another file with --log")
	case errors.Is(err, netlog.ErrNotRegular):
		return failed(err, "a log is a file of its own, and no link to one; name another with --log")
	}
	return failed(err, "name a file that you can write with --log")
}

// newLogger tells people at stderr what they should know of.
func newLogger(stderr io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
