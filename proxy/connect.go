package proxy

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// established is how a CONNECT is granted.
const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// connect serves a CONNECT, whose head was read at the given time.
func (c *client) connect(t wire.Target, at time.Time) {
	target := Target{Host: t.Host, Port: t.Port, Scheme: "https"}
	deny := func(f *failure) {
		c.denyTunnel(c.newTunnel(target, c.p.way(netlog.ViaTunnel), at), f)
	}
	switch {
	case isOwnName(t):
		deny(refusedOwn())
		return
	case c.p.isBack(&c.req):
		deny(c.p.refusedLoop())
		return
	}
	c.trail = c.p.trailOf(&c.req)
	c.writing.clear() // of what was answered on the connection before
	d := c.p.decide(target)
	switch {
	case d.Action == Refuse:
		deny(forbidden(d))
		return
	case d.Action == TunnelThrough, c.p.Leaf == nil, c.p.StandIn:
		tunnel := c.newTunnel(target, c.p.way(netlog.ViaTunnel), at)
		if d.Action == TunnelThrough {
			tunnel.seen.Reason = d.Reason
		}
		c.connectTunnel(tunnel, target)
		return
	}
	if _, err := c.conn.Write([]byte(established)); err != nil {
		return
	}
	c.unread()
	c.afterConnect(target, d, at)
}

// unread gives back to the connection what was read of it behind the CONNECT's
// head, which has been served: a browser may send its ClientHello without waiting.
func (c *client) unread() {
	rest, _ := c.br.Peek(c.br.Buffered())
	c.tcp.ahead = append(append([]byte(nil), rest...), c.tcp.ahead...)
	c.br.give()
	c.forget()
}

// denyTunnel ends a tunnel that does not come to be with our page.
func (c *client) denyTunnel(t *tunnel, f *failure) {
	t.finish(f)
	if wanted(f) {
		c.write(page(false, f, false))
		c.linger()
	}
}

// connectTunnel grants the CONNECT once the server is connected.
func (c *client) connectTunnel(t *tunnel, target Target) {
	c.unread()
	d, f := c.dialWatched(&t.marks, target)
	if f != nil {
		t.server.Address = d.address
		c.denyTunnel(t, f)
		return
	}
	if _, err := c.conn.Write([]byte(established)); err != nil {
		d.conn.Close()
		t.server.Address = d.address
		t.finish(failed(netlog.PhaseSend, netlog.CodeClientGone, errClientGone.Error()))
		return
	}
	c.tunnelTo(t, d)
}

// dialWatched dials target while a browser that goes away ends that.
func (c *client) dialWatched(m *marks, target Target) (*dialled, *failure) {
	m.dialling = c.p.now()
	watch := c.watch()
	d, err := c.dial(c.ctx, hop{Target: target})
	watch.stop()
	m.lookup, m.resolved, m.connected = d.lookup, d.resolved, d.connected
	if err != nil {
		return d, c.fail(netlog.PhaseConnect, err)
	}
	return d, nil
}

// watch ends the connection's work when the browser goes away before it is read again.
func (c *client) watch() *lookout {
	c.tcp.SetReadDeadline(time.Time{}) // the wait for the request may have left one
	return lookOut(c.tcp, func(err error) {
		if err != nil {
			c.cancel(errClientGone)
		}
	})
}

// closeAtEnd has conn closed when the connection's work ends.
func (c *client) closeAtEnd(conn *peeked) (stop func() bool) {
	return context.AfterFunc(c.ctx, func() { conn.Conn.Close() })
}

// An early is a connection to the server that is made while the browser has
// still to say what it wants to do with it.
type early struct {
	c     *client
	to    hop
	spoke atomic.Bool // the server has sent something

	done  chan struct{} // closed when what follows is there
	conn  *dialled
	err   error
	watch *lookout // looks for a server that speaks first
	over  bool     // the server has ended it; once settled
}

// dialEarly starts to connect to target or, if it is routed, to its route. A
// server that speaks before the browser does (ssh, smtp) wakes the browser's reader.
func (c *client) dialEarly(target Target, d Decision) *early {
	e := &early{c: c, to: hop{Target: target}, done: make(chan struct{})}
	if d.routes() {
		if host, port, err := wire.SplitHostPort(d.Route.Address, routePort(d.Route)); err == nil {
			e.to = hop{Target: Target{Host: host, Port: port, Scheme: schemeOf(d.Route.TLS)}, routed: true}
		}
	}
	go e.dial()
	return e
}

func (e *early) dial() {
	defer close(e.done)
	e.conn, e.err = e.c.dial(e.c.ctx, e.to)
	if e.err != nil {
		return
	}
	spoke := func(err error) {
		if err == nil && !e.alerts() {
			e.spoke.Store(true)
			e.c.tcp.SetReadDeadline(past)
		}
	}
	if len(e.conn.conn.ahead) > 0 { // behind a parent's answer
		spoke(nil)
		return
	}
	e.watch = lookOut(e.conn.conn, spoke)
}

// alerts tells whether what the server has sent is a TLS alert, by which some end a
// connection on which nothing comes.
func (e *early) alerts() bool {
	ahead := e.conn.conn.ahead
	return len(ahead) > 0 && ahead[0] == recordAlert
}

// settle waits for the connection and ends the look at it.
func (e *early) settle() (*dialled, error) {
	<-e.done
	if e.watch != nil {
		e.over = e.watch.stop() != nil
	}
	e.over = e.over || e.err == nil && e.alerts()
	return e.conn, e.err
}

// settleFor is settle for o's requests, which may turn out to go elsewhere. A
// server may have had enough of waiting for the first of them, which it has seen
// nothing of: they get a new connection.
func (e *early) settleFor(o *origin) (*dialled, error) {
	to := o.hop()
	if e.to.Host == to.Host && e.to.Port == to.Port && e.to.routed == to.routed {
		if d, err := e.settle(); err != nil || !e.over {
			return d, err
		}
	}
	e.drop()
	return e.c.dial(e.c.ctx, to)
}

// drop closes the connection that nobody came to need.
func (e *early) drop() {
	if e == nil {
		return
	}
	if d, err := e.settle(); err == nil {
		d.conn.Close()
	}
}

// afterConnect finds out from the first bytes what the connection is used for:
// TLS, HTTP, or anything else, which is tunnelled. An entry is begun only when
// there is something to tell: its requests are a decrypted CONNECT's record.
func (c *client) afterConnect(target Target, d Decision, at time.Time) {
	c.tcp.SetReadDeadline(time.Now().Add(c.p.Timeouts.ClientHead)) // first: a server that speaks cuts it short
	e := c.dialEarly(target, d)
	kind, err := c.firstBytes(e)
	c.tcp.SetReadDeadline(time.Time{})
	if err != nil {
		// A browser that goes away here had the connection only in store.
		if isTimeout(err) {
			t := c.newTunnel(target, netlog.ViaMITM, at)
			t.finish(failed(netlog.PhaseClientTLS, netlog.CodeTimeout, "the browser sent nothing after its CONNECT"))
		}
		c.cancel(errClientGone)
		e.drop()
		return
	}
	switch kind {
	case speaksTLS:
		c.intercept(target, d, e, at)
	case speaksHTTP:
		c.plainInside(target, e)
	default:
		c.lateTunnel(c.newTunnel(target, netlog.ViaTunnel, at), e)
	}
}

// plainInside serves http:// requests that came through a CONNECT, as ws:// does.
func (c *client) plainInside(target Target, e *early) {
	target.Scheme = "http"
	d := c.p.decide(target)
	o, err := newOrigin(target, target.Host, target.Port, netlog.ViaPlain, d)
	switch {
	case err != nil:
		c.forbid = failed(netlog.PhaseProxy, netlog.CodeInternal, err.Error())
	case d.Action == Refuse:
		c.forbid = forbidden(d)
	}
	if c.forbid != nil {
		o, _ = newOrigin(target, target.Host, target.Port, netlog.ViaPlain, Decision{})
		e.drop()
	} else {
		c.first = e
	}
	o.named = !isAddress(target.Host)
	c.origin, c.served = o, false
	c.serve()
	if c.first != nil {
		c.first.drop()
	}
}

// lateTunnel relays a connection that turned out not to be one to look into.
func (c *client) lateTunnel(t *tunnel, e *early) {
	t.marks.dialling = t.open.Time
	d, err := e.settle()
	t.marks.lookup, t.marks.resolved, t.marks.connected = d.lookup, d.resolved, d.connected
	if err != nil {
		t.server.Address = d.address
		f := c.fail(netlog.PhaseConnect, err)
		if f.refused != nil { // its CONNECT is granted already
			f = refusalClosed(f.refused.Code, f.Reason)
		}
		t.finish(f)
		return
	}
	c.tunnelTo(t, d)
}

func routePort(r *Route) uint16 {
	if r.TLS {
		return 443
	}
	return 80
}
