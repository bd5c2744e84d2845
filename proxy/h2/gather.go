package h2

import (
	"net"
	"sync"
)

// Gather is what a TLS session is to be over that a Conn is made of. A session
// writes each of its records by itself; gathered, those of one buffer of frames go
// in one write(2).
func Gather(nc net.Conn, b *Buffers) net.Conn { return &gathered{Conn: nc, buffers: b} }

type gathered struct {
	net.Conn
	buffers *Buffers

	mu   sync.Mutex // the session's reader writes too: alerts, and new keys
	left int        // writes that are still held back
	held []byte
}

// gatheredUnder is what a session is over; nil: not that, or no session.
func gatheredUnder(nc net.Conn) *gathered {
	if session, ok := nc.(interface{ NetConn() net.Conn }); ok {
		g, _ := session.NetConn().(*gathered)
		return g
	}
	return nil
}

func (g *gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left == 0 {
		return g.Conn.Write(p)
	}
	if g.held == nil {
		g.held = g.buffers.out()
	}
	g.held = append(g.held, p...)
	if g.left--; g.left > 0 {
		return len(p), nil
	}
	return len(p), g.flush()
}

// gather holds back so many writes, the last of which writes all: within the
// session's Write, which its Close does not wait for.
func (g *gathered) gather(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = n
}

// rest writes what is still held back, should there have been fewer writes.
func (g *gathered) rest() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left = 0; g.held == nil {
		return nil
	}
	return g.flush()
}

func (g *gathered) flush() error {
	held := g.held
	g.held = nil
	_, err := g.Conn.Write(held)
	g.buffers.putOut(held)
	return err
}
