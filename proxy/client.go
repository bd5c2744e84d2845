package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
	"github.com/agentenv/netlog/proxy/wire"
)

// A client is one browser connection, read by one goroutine at a time: see run.
type client struct {
	p      *Proxy
	number int64
	addr   string
	ctx    context.Context // ends with the connection, or when its work is given up
	cancel context.CancelCauseFunc

	tcp  *peeked     // as it was accepted
	conn net.Conn    // tcp, or the TLS session over it
	br   *reader     // reads conn
	tls  *netlog.TLS // of the session
	alpn string      // what is agreed with the browser: "h2", "http/1.1" or "" for nothing

	direct      string      // the scheme of a connection as to the server itself; "": as to a proxy
	origin      *origin     // of every request on it, inside a CONNECT
	first       *early      // the connection for its first request, when it was made with the CONNECT
	forbid      *failure    // what each of its requests is told
	forbidAt    string      // the server's address, when that could not be used
	next        func()      // the part that is due; nil: none is
	refusedOurs func(error) // records a browser that turns out not to trust our certificate

	trail    trail     // of its CONNECT, or of the http:// request in req
	served   bool      // a request has been read on it
	*scratch           // nil: between requests
	current  *exchange // that no upstream connection owns yet
	awaited  *outcome  // of the exchange that one owns; nil: none is going on
	upsRun   sync.WaitGroup

	streams sync.WaitGroup // of HTTP/2, being served
	asked   time.Time      // when the last of their heads had been read
	trunks  trunks         // its connections to servers of HTTP/2

	upsMu sync.Mutex
	ups   []*upstream // its connections to servers, the last used last

	writing deadline // for the browser to take what it is sent

	mu       sync.Mutex
	busy     bool      // between a request's first byte and its end, or in a CONNECT
	stopping bool      // to be closed as soon as it is not busy
	h2       *h2.Conn  // in HTTP/2; nil: not begun, or HTTP/1
	named    string    // in HTTP/2: origin's authority, as URLs have it
	offered  *h2.Offer // in HTTP/2: what it may do; nil: not known yet
	hung     bool      // its server's connection ended while it was busy
}

func newClient(p *Proxy, conn net.Conn, direct string) *client {
	c := &client{p: p, number: p.clients.Add(1), addr: conn.RemoteAddr().String(), direct: direct}
	c.next = c.serve
	if direct == "https" {
		c.next = c.directTLS
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.tcp = &peeked{Conn: conn}
	c.use(c.tcp)
	return c
}

// use makes conn the connection that requests are read from.
func (c *client) use(conn net.Conn) {
	c.mu.Lock()
	c.conn = conn // which hangUp reads
	c.mu.Unlock()
	if c.br != nil {
		c.br.give()
	}
	if c.alpn == "h2" { // which has buffers of its own
		return
	}
	c.br = c.p.newReader(conn, c.tcp)
	c.writing = deadline{set: conn.SetWriteDeadline, after: c.p.Timeouts.TunnelIdle}
}

// serve takes one request after the other until the connection has to be closed.
func (c *client) serve() {
	for c.awaitRequest() {
		if err := c.readHead(); err != nil {
			c.refuseHead(err)
			return
		}
		c.served = true
		if !c.handle(c.p.now()) || !c.awaitAnswer() || !c.rest() {
			return
		}
	}
}

// readHead reads a request's head into c.req. Most have come whole with their first
// byte: they need no time limit.
func (c *client) readHead() error {
	if c.scratch == nil {
		c.scratch = c.p.scratches.take()
	}
	if !wire.HeadIsHere(c.br.Reader) {
		c.conn.SetReadDeadline(time.Now().Add(c.p.Timeouts.ClientHead))
		defer c.conn.SetReadDeadline(time.Time{})
	}
	return wire.ReadRequest(c.br.Reader, &c.req, headLimit)
}

// awaitRequest waits for a request's first byte.
func (c *client) awaitRequest() bool {
	if c.br.has() {
		return c.work()
	}
	limit := c.p.Timeouts.Idle // browsers hold connections that they may come to use
	if c.origin == nil && !c.served {
		limit = c.p.Timeouts.ClientHead
	}
	c.conn.SetReadDeadline(time.Now().Add(limit))
	if err := c.br.await(); err != nil {
		c.silent(err)
		return false
	}
	return c.work()
}

// silent records an intercepted connection that ended before any request because
// the browser would not have our certificate, which some say only now.
func (c *client) silent(err error) {
	if c.refusedOurs != nil && !c.served && refusedCertificate(err) {
		c.refusedOurs(err)
	}
}

// refuseHead answers a head that could not be read.
func (c *client) refuseHead(err error) {
	var bad *wire.Refusal
	f := &failure{}
	switch {
	case errors.As(err, &bad):
		f = refusal(netlog.RefusedCode(bad.Code), bad.Status, bad.Reason)
	case errors.Is(err, os.ErrDeadlineExceeded):
		f = refusal(netlog.RefusedTimeout, http.StatusRequestTimeout, "the request's head did not come in time")
	default:
		return // it went away before there was a request
	}
	// What could be read of it says at least what it was for.
	if c.target, err = wire.ParseTarget(c.req.Method, c.req.Target); err != nil {
		c.target = wire.Target{}
	}
	if c.target.Form == wire.AuthorityForm && c.origin == nil && c.direct == "" {
		c.denyTunnel(c.newTunnel(Target{Host: c.target.Host, Port: c.target.Port, Scheme: "https"}, c.p.way(netlog.ViaTunnel), c.p.now()), f)
		return
	}
	ex := c.newExchange(c.blame(), c.p.now())
	ex.malformed = true
	c.turnDown(ex, f)
}

// blame is the origin of a request that is turned down for its head.
func (c *client) blame() *origin {
	if c.origin != nil {
		return c.origin
	}
	if host, err := canonical(c.target.Host); err == nil && host != "" && c.target.Scheme != "" {
		return &origin{scheme: c.target.Scheme, host: host, port: c.target.Port, via: c.p.way(netlog.ViaPlain)}
	}
	if c.p.Credentials != nil { // which may have been meant for our page
		c.req.Fields = slices.DeleteFunc(c.req.Fields, func(f wire.Field) bool { return strings.EqualFold(string(f.Name), "authorization") })
	}
	o := &origin{scheme: "http", port: 80, host: "invalid", via: c.p.way(netlog.ViaPlain)}
	if addr, err := netip.ParseAddrPort(c.tcp.LocalAddr().String()); err == nil {
		o.host, o.port = addr.Addr().String(), addr.Port()
	}
	return o
}

// handle serves the request whose head was read at the given time. It says
// whether the connection can take another.
func (c *client) handle(at time.Time) bool {
	t, err := wire.ParseTarget(c.req.Method, c.req.Target)
	c.target = t
	if err == nil && t.Host != "" {
		t.Host, err = canonical(t.Host)
	}
	if err == nil && t.Userinfo && c.origin != nil {
		err = errors.New("a user name in the URL of a request inside a CONNECT")
	}
	own := err == nil && (t.Form == wire.OriginForm || t.Form == wire.AsteriskForm)
	if c.origin == nil && c.direct == "" && !own && !c.authenticated() {
		return c.challenge()
	}
	if err != nil {
		return c.turnDown(c.newExchange(c.blame(), at), refusal(netlog.RefusedBadRequest, http.StatusBadRequest, err.Error()))
	}
	switch {
	case c.origin != nil:
		return c.handleInside(t, at)
	case c.direct != "" && t.Form == wire.AuthorityForm:
		return c.turnDown(c.newExchange(c.blame(), at), refusal(netlog.RefusedBadRequest, http.StatusBadRequest, "a CONNECT to a server that is no proxy"))
	case c.direct != "":
		return c.handleDirect(t, at)
	case t.Form == wire.AuthorityForm:
		c.connect(t, at)
		return false
	case t.Form == wire.AbsoluteForm:
		return c.handlePlain(t, at)
	}
	return c.handleOwn(at)
}

// handleInside serves a request on a connection that a CONNECT made.
func (c *client) handleInside(t wire.Target, at time.Time) bool {
	if t.Form == wire.AuthorityForm {
		f := refusal(netlog.RefusedBadRequest, http.StatusBadRequest, "a CONNECT inside a CONNECT")
		return c.turnDown(c.newExchange(c.origin, at), f)
	}
	o := c.sibling(c.origin, t)
	if f := c.admits(o, &c.req, t); f != nil {
		return c.turnDown(c.newExchange(o, at), f)
	}
	if c.forbid != nil {
		ex := c.newExchange(o, at)
		ex.server.Address = c.forbidAt
		return c.turnDown(ex, c.forbid)
	}
	return c.exchange(c.newExchange(o, at), wire.ForwardOptions{})
}

// handlePlain serves an http:// request.
func (c *client) handlePlain(t wire.Target, at time.Time) bool {
	target := Target{Host: t.Host, Port: t.Port, Scheme: t.Scheme}
	if t.Scheme == "http" && isOwnName(t) {
		o, _ := newOrigin(target, t.Host, t.Port, c.p.way(netlog.ViaPlain), Decision{})
		return c.handleOwnName(t, o, at)
	}
	d := Decision{}
	if t.Scheme == "http" {
		d = c.p.decide(target)
	}
	via := c.p.way(netlog.ViaPlain)
	o, err := newOrigin(target, t.Host, t.Port, via, d)
	if err != nil {
		o, _ = newOrigin(target, t.Host, t.Port, via, Decision{})
		return c.turnDown(c.newExchange(o, at), failed(netlog.PhaseProxy, netlog.CodeInternal, err.Error()))
	}
	ex := c.newExchange(o, at)
	switch {
	case t.Scheme != "http":
		return c.turnDown(ex, refusal(netlog.RefusedBadRequest, http.StatusBadRequest, "an https:// URL asked of an http:// proxy: it needs a CONNECT"))
	case c.p.isBack(&c.req):
		return c.turnDown(ex, c.p.refusedLoop())
	case d.Action == Refuse:
		return c.turnDown(ex, forbidden(d))
	}
	c.trail = c.p.trailOf(&c.req)
	if f := c.admits(o, &c.req, t); f != nil {
		return c.turnDown(ex, f)
	}
	forward := wire.ForwardOptions{Target: t.Path}
	if c.req.Fields.Count("host") == 0 {
		forward.Host = []byte(o.authority()) // an HTTP/1.0 request's target named it
	}
	if !ex.upgrade { // else a tunnel is asked for: what comes behind is no HTTP
		o.asked = c.p.askedFor(o)
	}
	return c.exchange(ex, forward)
}

// turnDown ends an exchange that goes no further with the proxy's own page. It
// always answers false: the connection takes no other request.
func (c *client) turnDown(ex *exchange, f *failure) bool {
	gone := f.Code == netlog.CodeClientGone || f.Code == netlog.CodeStopped
	if gone {
		ex.hurry()
	}
	c.drain(ex)
	if gone {
		ex.finish(f)
		return false
	}
	ex.finish(f)
	c.write(page(ex.method == http.MethodHead, f, ex.isSites()))
	c.linger()
	return false
}

// write sends a page of our own.
func (c *client) write(b []byte) {
	c.writing.replace(time.Now().Add(c.p.Timeouts.ClientHead))
	c.conn.Write(b)
}

// What is read of a browser that still sends when its answer is written, so that
// closing does not reset the connection before it has read that (RFC 9112 §9.6).
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 256 << 10
)

func (c *client) linger() {
	if closeWrite(c.conn) != nil {
		return
	}
	c.conn.SetReadDeadline(time.Now().Add(lingerTime))
	io.CopyN(io.Discard, c.conn, lingerBytes)
}
