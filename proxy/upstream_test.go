package proxy

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// What a connection takes in the very moment in which it ends is not lost.
func TestExchangeOfAConnectionThatEnds(t *testing.T) {
	w := newWorld(t, nil)
	c := &client{p: w.proxy}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	defer c.cancel(nil)
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	u := newUpstream(&link{c: c, conn: near, dialled: &dialled{conn: &peeked{Conn: near}}})
	ex := &exchange{c: c, ctx: c.ctx}
	if !u.begin(ex, nil) || u.retire() != ex || u.isDead() {
		t.Error("the exchange has no owner")
	}
	if u.free(true); u.retire() != nil || u.begin(ex, nil) {
		t.Error("an ended connection has taken an exchange")
	}
}

// A limited connection notes its time limits.
type limited struct {
	net.Conn
	reading, writing time.Time
}

func (c *limited) SetReadDeadline(t time.Time) error {
	c.reading = t
	return nil
}

func (c *limited) SetWriteDeadline(t time.Time) error {
	c.writing = t
	return nil
}

// A connection that rests has none of its last exchange's limits, neither for what
// its TLS session may still have to read, nor for what that may have to write.
func TestLimitsOfAConnectionThatRests(t *testing.T) {
	w := newWorld(t, nil)
	c := &client{p: w.proxy}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	defer c.cancel(nil)
	conn := &limited{}
	u := newUpstream(&link{c: c, conn: conn, dialled: &dialled{conn: &peeked{Conn: conn}}})
	ex := &exchange{c: c, ctx: c.ctx}
	u.begin(ex, nil)
	u.writing.renew(time.Now())
	if u.rest(); conn.reading.IsZero() || conn.writing.IsZero() {
		t.Error("an exchange has lost its limits")
	}
	u.free(true)
	if u.rest(); !conn.reading.IsZero() || !conn.writing.IsZero() {
		t.Error("a connection that rests has limits")
	}
}

// Streams of one browser look for a connection while others replace theirs: the
// server closes each behind its second request without an answer.
func TestManyStreamsWhoseConnectionsDie(t *testing.T) {
	var gateway string
	w := newWorld(t, routed(&gateway))
	gateway = w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		p.br.Peek(1)
	})
	b := w.h2browser("127.0.0.1:443")
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 20 {
				if got := b.do(b.get("/")).String(); got != "200 " {
					t.Error(got)
				}
			}
		})
	}
	running.Wait()
}
