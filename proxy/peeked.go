package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// peekSize is how much one look ahead reads at most.
const peekSize = 4 << 10

// A peeked is a connection whose next bytes can be looked at before they are
// read.
type peeked struct {
	net.Conn
	ahead []byte
	ended bool // the other side's end has been read

	broken error // what a look met: the kernel tells of a reset only once
	dry    bool  // Read takes nothing from the connection and says errDry
	sipped bool  // once Read has taken all that is there, the connection is dry
	awaiting
}

// Read gives the bytes that were looked at first.
func (c *peeked) Read(p []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
			c.ahead = nil // a connection may live long
		}
		return n, nil
	}
	if c.broken != nil {
		return 0, c.broken
	}
	if c.dry {
		return 0, errDry
	}
	n, err := c.Conn.Read(p)
	c.dry = c.sipped && n < len(p)
	c.ended = c.ended || err == io.EOF
	return n, err
}

// lateTime is how long what is written may take behind a time limit that had run out
// before.
const lateTime = time.Second

// Write takes no time limit for its own that had run out while nothing was written: a
// TLS session that reads answers a side that wants new keys (RFC 8446 §4.6.3), however
// long that side was silent, and never writes again once it could not.
func (c *peeked) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	c.Conn.SetWriteDeadline(time.Now().Add(lateTime))
	return c.Conn.Write(p)
}

// look reads once more from the connection, behind what was looked at before.
func (c *peeked) look() error {
	if c.broken != nil {
		return c.broken
	}
	old := len(c.ahead)
	buf := make([]byte, old+peekSize)
	copy(buf, c.ahead)
	n, err := c.Conn.Read(buf[old:])
	if n > 0 {
		c.ahead = buf[:old+n]
		return nil
	}
	if !isTimeout(err) {
		c.broken = err
		c.ended = err == io.EOF
	}
	return err
}

// CloseWrite ends the writing side, where the connection has one of its own.
func (c *peeked) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite passes an end of stream on to conn without ending what it sends.
func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}

// past is a deadline that has run out: it wakes a blocked read.
var past = time.Unix(1, 0)

// A lookout looks ahead on a connection while its owner is busy elsewhere, so
// that bytes or an end are noticed when they come.
type lookout struct {
	conn *peeked
	done chan struct{}

	mu      sync.Mutex
	stopped bool

	err error // of the look; read after done
}

// lookOut starts a look at conn and calls then when bytes came (nil) or the
// connection ended, unless the lookout was stopped before.
func lookOut(conn *peeked, then func(error)) *lookout {
	l := &lookout{conn: conn, done: make(chan struct{})}
	go l.watch(then)
	return l
}

func (l *lookout) watch(then func(error)) {
	defer close(l.done)
	err := l.conn.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped && errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	l.err = err
	if !l.stopped {
		then(err)
	}
}

// stop ends the look and leaves the connection without a read deadline. It
// returns the error when the connection had ended.
func (l *lookout) stop() error {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.conn.SetReadDeadline(past)
	<-l.done
	l.conn.SetReadDeadline(time.Time{})
	return l.err
}
