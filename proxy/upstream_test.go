package proxy

import (
	"context"
	"net"
	"sync"
	"testing"
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
