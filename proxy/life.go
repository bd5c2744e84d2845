package proxy

import (
	"fmt"
	"runtime/debug"
)

// A browser's connection lives in parts, rests between its requests, and ends.

// run does the connection's next part, which may leave another to a goroutine of its
// own: handshakes take a deep stack, and one that then only waits would keep it.
func (c *client) run() {
	c.part()
	if c.next != nil {
		go c.run()
		return
	}
	c.br.give()
	c.cancel(nil)
	c.tcp.Close()
	c.upsRun.Wait()
	c.trunks.running.Wait()
	c.p.remove(c)
}

// part does the next part.
func (c *client) part() {
	defer c.recovered("serving a browser")
	do := c.next
	c.next = nil
	do()
	if c.next == nil {
		c.conn.Close()
	}
}

// recovered keeps a fault of ours to the connection that met it.
func (c *client) recovered(doing string) {
	if fault := recover(); fault != nil {
		c.p.fault(doing, fault)
		c.cancel(errFault)
		if c.current != nil {
			c.current.finish(errFault)
		}
	}
}

func (p *Proxy) fault(doing string, fault any) {
	p.Logger.Error("a fault of the proxy's own", "doing", doing, "fault", fmt.Sprint(fault), "stack", string(debug.Stack()))
}

// work marks the connection as busy; false when it is to be closed instead.
func (c *client) work() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = !c.stopping
	return c.busy
}

// rest marks it as between requests; false when it is to be closed.
func (c *client) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	return !c.stopping
}

// closeIfIdle closes the connection now or, when it is busy, at its next rest.
func (c *client) closeIfIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	if c.h2 != nil {
		c.h2.Shutdown()
		return
	}
	if !c.busy {
		c.cancel(errStopped)
		c.tcp.Conn.Close()
	}
}

// hangUp is the browser's half of a server's closing an idle connection.
func (c *client) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hung = true
	if !c.busy {
		c.stopping = true
		c.conn.Close()
	}
}

// hungUp tells whether the server's connection has ended already.
func (c *client) hungUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hung
}

// kill ends whatever the connection is doing.
func (c *client) kill() {
	c.cancel(errStopped)
	c.tcp.Conn.Close()
}
