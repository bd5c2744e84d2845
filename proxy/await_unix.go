//go:build unix

package proxy

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// An awaiting is what waiting for a connection without reading it needs.
type awaiting struct {
	raw   syscall.RawConn
	asked bool                  // the kernel has been asked, and had nothing
	ready func(fd uintptr) bool // tells whether there is something to read
}

// canAwait tells whether await waits.
func (c *peeked) canAwait() bool {
	if c.raw != nil {
		return true
	}
	conn, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	c.raw = raw
	c.ready = func(fd uintptr) bool {
		if c.asked {
			return true
		}
		c.asked = true
		asked := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(asked[:], 0)
		return n != 0 || err != nil
	}
	return true
}

// await waits until the connection has bytes, an end or an error to be read, or
// until its read deadline.
func (c *peeked) await() {
	if len(c.ahead) > 0 || c.broken != nil {
		return
	}
	c.asked = false
	c.raw.Read(c.ready) // the next Read says how it ended
}
