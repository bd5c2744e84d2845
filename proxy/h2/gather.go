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

	mu      sync.Mutex // the session's reader writes too: alerts, and new keys
	holding bool
	held    []byte
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
	if !g.holding {
		return g.Conn.Write(p)
	}
	if g.held == nil {
		g.held = g.buffers.out()
	}
	g.held = append(g.held, p...)
	return len(p), nil
}

// hold holds back what is written until flush.
func (g *gathered) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding = true
}

func (g *gathered) flush() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.held
	g.holding, g.held = false, nil
	_, err := g.Conn.Write(held)
	g.buffers.putOut(held)
	return err
}
