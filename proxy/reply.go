package proxy

import (
	"net"
	"net/http"
	"time"

	"github.com/agentenv/netlog/proxy/wire"
)

// How an answer goes to a browser that speaks HTTP/1: as the server's bytes. A
// client is the asker of its own exchanges.

// SetReadDeadline bounds the wait for more of the request's body.
func (c *client) SetReadDeadline(t time.Time) error { return c.conn.SetReadDeadline(t) }

func (c *client) inform(ex *exchange, a *wire.Answer) error {
	return c.toBrowser(ex, a.AppendForward(c.out[:0], wire.ForwardOptions{}))
}

func (c *client) begin(ex *exchange, a *wire.Answer) {
	if ex.unparsed {
		c.out = append(c.out[:0], a.Raw...)
		return
	}
	c.out = a.AppendForward(c.out[:0], wire.ForwardOptions{Upgrade: ex.splice != nil, Dechunk: ex.oldHTTP, Close: !ex.again && ex.splice == nil})
}

func (c *client) pass(ex *exchange, piece []byte) error {
	if ex.receiving.unframed {
		piece = ex.receiving.content
	}
	if len(c.out) == 0 {
		return c.toBrowser(ex, piece)
	}
	c.out = append(c.out, piece...)
	return c.flush(ex)
}

func (c *client) flush(ex *exchange) error {
	if len(c.out) == 0 {
		return nil
	}
	err := c.toBrowser(ex, c.out)
	c.out = c.out[:0]
	return err
}

// toBrowser sends bytes of an answer.
func (c *client) toBrowser(ex *exchange, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	c.writing.renew(time.Now())
	n, err := c.conn.Write(b)
	ex.down.Add(int64(n))
	return err
}

func (c *client) page(ex *exchange, f *failure) {
	c.write(page(ex.method == http.MethodHead, f, ex.isSites()))
}

// release leaves the connection to its next request, or makes it end: the same way
// as the server's when the answer broke off, so that a broken answer never ends
// cleanly.
func (c *client) release(ex *exchange, f *failure, reset bool) {
	if ex.again && c.rest() {
		c.forget()
		c.conn.SetReadDeadline(time.Now().Add(c.p.Timeouts.Idle))
		return
	}
	ex.again = false
	begun := ex.response != nil || ex.unparsed
	switch {
	case f != nil && (begun || !wanted(f)), begun && !ex.receiving.whole:
		if tcp, ok := c.tcp.Conn.(*net.TCPConn); ok && reset {
			tcp.SetLinger(0)
		}
		c.tcp.Conn.Close()
	default:
		closeWrite(c.conn)
		c.conn.SetReadDeadline(time.Now().Add(lingerTime))
	}
}

func (c *client) abort() { c.tcp.Conn.Close() }
