package e2e

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// A counted is a connection of an origin, which counts the bytes on its wire.
type counted struct {
	net.Conn
	host          string // the origin's that it belongs to
	read, written atomic.Int64
	closed        atomic.Bool
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

func (c *counted) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

// counting is one of an origin's listeners.
type counting struct {
	net.Listener
	o    *origin
	host string
}

func (l counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	counted := &counted{Conn: c, host: l.host}
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	l.o.conns = append(l.o.conns, counted)
	return counted, nil
}

type countedKey struct{}

func withCounted(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, countedKey{}, c)
}

// countedOf is the connection that a request came on.
func countedOf(r *http.Request) *counted {
	c, _ := r.Context().Value(countedKey{}).(*counted)
	return c
}

// connections are those that carried anything to one of the origin's hosts,
// once all are closed.
func (o *origin) connections(t *testing.T, host string) []*counted {
	t.Helper()
	var used []*counted
	until(t, "the connections to "+host+" to be closed", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		used = used[:0]
		for _, c := range o.conns {
			if c.host != host {
				continue
			}
			if !c.closed.Load() {
				return false
			}
			if c.read.Load() > 0 {
				used = append(used, c)
			}
		}
		return true
	})
	return used
}
