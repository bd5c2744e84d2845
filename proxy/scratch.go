package proxy

import (
	"sync"

	"github.com/agentenv/netlog/proxy/wire"
)

// A scratch is what a connection of HTTP/1 needs while it serves a request. It takes
// one from a pool, and gives it back with its exchange: most connections wait most of
// the time.
type scratch struct {
	req    wire.Request // the head being served
	target wire.Target  // of req; zero when it could not be read
	up     []byte       // the head on its way to a server
	out    []byte       // an answer's head on its way to the browser, and maybe what comes behind it
}

// keepOut bounds the buffers that are used again.
const keepOut = 32 << 10

// forget gives the scratch back: the request has been served.
func (c *client) forget() {
	s := c.scratch
	c.scratch = nil
	s.target = wire.Target{}
	if cap(s.up) > keepOut {
		s.up = nil
	}
	if cap(s.out) > keepOut {
		s.out = nil
	}
	c.p.scratches.give(s)
}

// forget gives the answer's head back: it has been relayed.
func (u *upstream) forget() {
	u.c.p.answers.give(u.answer)
	u.answer = nil
}

// A pool has what is used again. The zero value is ready.
type pool[T any] struct{ values sync.Pool }

// take is a T that is as it was given, or zero.
func (p *pool[T]) take() *T {
	if v, ok := p.values.Get().(*T); ok {
		return v
	}
	return new(T)
}

func (p *pool[T]) give(v *T) { p.values.Put(v) }
