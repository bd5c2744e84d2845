package proxy

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// A gathering connection holds back what is written until it is told to send it.
type gathering struct {
	net.Conn
	held bytes.Buffer
	hold bool
}

func (c *gathering) Write(p []byte) (int, error) {
	if c.hold {
		return c.held.Write(p)
	}
	return c.Conn.Write(p)
}

// send sends the next n bytes of what is held, all of them for -1.
func (c *gathering) send(t *testing.T, n int) {
	t.Helper()
	if n < 0 {
		n = c.held.Len()
	}
	if _, err := c.Conn.Write(c.held.Next(n)); err != nil {
		t.Fatal(err)
	}
}

// readerPair is a session's far end and the reader of its near one.
func readerPair(t *testing.T, maxVersion uint16) (*tls.Conn, *gathering, *reader) {
	w := newWorld(t, nil)
	l := listen(t)
	t.Cleanup(func() { l.Close() })
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close() })
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	leaf, err := w.ca.leaf("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	tcp := &peeked{Conn: accepted}
	near := tls.Server(tcp, &tls.Config{Certificates: []tls.Certificate{*leaf}, MaxVersion: maxVersion})
	wire := &gathering{Conn: dialled}
	far := tls.Client(wire, &tls.Config{RootCAs: w.ca.pool, ServerName: "127.0.0.1"})
	shaken := make(chan error, 1)
	go func() { shaken <- near.Handshake() }()
	if err := far.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	return far, wire, w.proxy.newReader(near, tcp)
}

func (r *reader) wantNext(t *testing.T, want string) {
	t.Helper()
	awaited := make(chan error, 1)
	go func() { awaited <- r.await() }()
	select {
	case err := <-awaited:
		if err != nil {
			t.Fatalf("waiting for %q: %v", want, err)
		}
	case <-time.After(patience):
		t.Fatalf("waited for %q, which had come", want)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

// What the session has read of the connection already needs no waiting for: the
// kernel has nothing of it any more.
func TestAwaitWhatTheSessionHolds(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			far, wire, r := readerPair(t, version)
			wire.hold = true
			for _, record := range []string{"one", "two", "three"} {
				io.WriteString(far, record)
			}
			wire.send(t, -1)
			r.wantNext(t, "one")
			r.wantNext(t, "two")
			r.wantNext(t, "three")
		})
	}
}

// A record that is cut anywhere is waited for, and a wait that ends in time does
// not end the session.
func TestAwaitARecordInParts(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			far, wire, r := readerPair(t, version)
			io.WriteString(far, "first")
			r.wantNext(t, "first")
			wire.hold = true
			for cut := 1; cut < 30; cut++ {
				io.WriteString(far, "record")
				wire.send(t, cut%wire.held.Len())
				r.tcp.SetReadDeadline(time.Now().Add(time.Millisecond))
				if err := r.await(); !isTimeout(err) {
					t.Fatalf("cut at %d: got %v, want a time limit's end", cut, err)
				}
				r.tcp.SetReadDeadline(time.Time{})
				wire.send(t, -1)
				r.wantNext(t, "record")
			}
		})
	}
}

// An end is told as Peek tells it, in the clear too.
func TestAwaitTheEnd(t *testing.T) {
	l := listen(t)
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	tcp := &peeked{Conn: near, ahead: []byte("a")}
	r := newWorld(t, nil).proxy.newReader(tcp, tcp)
	r.wantNext(t, "a")
	io.WriteString(far, "b")
	r.wantNext(t, "b")
	far.Close()
	for range 2 {
		if err := r.await(); err != io.EOF {
			t.Fatalf("got %v, want the end", err)
		}
	}
}

// The beginning of an alert behind data is no error of the data's readers, nor of
// who reads on.
func TestAwaitDataBehindWhichAnAlertBegins(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			far, wire, r := readerPair(t, version)
			wire.hold = true
			io.WriteString(far, "last")
			far.CloseWrite()
			wire.SetWriteDeadline(time.Time{}) // which that has set
			wire.send(t, wire.held.Len()-3)
			r.wantNext(t, "last")
			read := make(chan error, 1)
			go func() {
				_, err := r.Peek(1)
				read <- err
			}()
			wire.send(t, -1)
			if err := <-read; err != io.EOF {
				t.Errorf("got %v, want the end", err)
			}
		})
	}
}

// A late connection holds back its second write, and all later ones, until it is let.
type late struct {
	net.Conn
	writes int
	let    chan struct{}
}

func (c *late) Write(p []byte) (int, error) {
	if c.writes++; c.writes > 1 {
		<-c.let
	}
	return c.Conn.Write(p)
}

// A watched connection tells when it is waited for.
type watched struct {
	*net.TCPConn
	waits func()
}

func (c *watched) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.TCPConn.SyscallConn()
	return &watchedRaw{raw, c}, err
}

type watchedRaw struct {
	syscall.RawConn
	c *watched
}

func (c *watchedRaw) Read(f func(uintptr) bool) error {
	c.c.waits()
	return c.RawConn.Read(f)
}

// A connection holds no buffer behind a record that has no data either: many servers
// send their tickets when nothing is asked of them yet.
func TestAwaitBehindATicket(t *testing.T) {
	w := newWorld(t, nil)
	leaf, err := w.ca.leaf("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialled.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	wire := &late{Conn: accepted, let: make(chan struct{})}
	server := tls.Server(wire, &tls.Config{
		Certificates: []tls.Certificate{*leaf},
		ClientAuth:   tls.RequestClientCert, // else the ticket comes in the first flight
	})
	shaken := make(chan error, 1)
	go func() { shaken <- server.Handshake() }()
	conn := &watched{TCPConn: dialled.(*net.TCPConn)}
	tcp := &peeked{Conn: conn}
	session := tls.Client(tcp, &tls.Config{RootCAs: w.ca.pool, ServerName: "127.0.0.1", ClientSessionCache: tls.NewLRUClientSessionCache(1)})
	if err := session.Handshake(); err != nil {
		t.Fatal(err)
	}
	r := w.proxy.newReader(session, tcp)
	waits := make(chan bool, 10)
	conn.waits = func() { waits <- r.Reader != nil }
	awaited := make(chan error, 1)
	go func() { awaited <- r.await() }()
	for _, what := range []string{"a record", "data"} {
		select {
		case holds := <-waits:
			if holds {
				t.Errorf("waiting for %s, it holds a buffer", what)
			}
		case <-time.After(patience):
			t.Fatal("never waited for " + what)
		}
		if what == "a record" {
			close(wire.let)
			if err := <-shaken; err != nil {
				t.Fatal(err)
			}
		}
	}
	io.WriteString(server, "data")
	if err := <-awaited; err != nil {
		t.Fatal(err)
	}
	r.wantNext(t, "data")
}
