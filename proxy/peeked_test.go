package proxy

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// The kernel tells of a reset once: a look must not take that from the reader.
func TestLookKeepsAReset(t *testing.T) {
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
	far.(*net.TCPConn).SetLinger(0)
	far.Close()
	c := &peeked{Conn: near}
	for _, read := range []func() error{
		c.look,
		func() error { _, err := c.Read(make([]byte, 1)); return err },
		c.look,
	} {
		if err := read(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v, want the reset", err)
		}
	}
}

// Most looks find nothing, on connections that live long.
func TestALookThatFindsNothingHoldsNothing(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	near.SetReadDeadline(past)
	c := &peeked{Conn: near}
	if err := c.look(); !isTimeout(err) || cap(c.ahead) != 0 {
		t.Errorf("got %v, want a timeout; holds %d bytes, want 0", err, cap(c.ahead))
	}
}

// The credentials for the proxy are in no line, wherever a browser puts them.
func TestCredentialsInATrailer(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.expect("0\r\nX: 1\r\nProxy-Authorization: Basic c2VjcmV0\r\n\r\n")
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		p.br.Peek(1)
	})
	b := w.browser()
	b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\nProxy-Authorization: Basic c2VjcmV0\r\n\r\n")
	b.head()
	p := w.want(addr, "exchange plain POST http://ADDR/ 200")[0]
	trailers := p.open.Request.Trailers
	if p.end.Request != nil {
		trailers = p.end.Request.Trailers
	}
	if len(trailers) != 1 || trailers[0].Name != "X" {
		t.Errorf("trailers: %v", trailers)
	}
}
