package proxy

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// maxUpstreams is how many connections to servers a browser's connection keeps;
// curl sends http:// for many hosts over one.
const maxUpstreams = 8

// An upstream is a connection to a server on behalf of one browser connection.
// The goroutine that reads the browser writes to it; one of its own, run, reads
// it and owns the exchange that it has taken.
type upstream struct {
	c      *client
	origin origin // that it was made for

	conn    net.Conn // TCP, or the TLS session over it
	br      *bufio.Reader
	dialled *dialled
	number  int64
	tls     *netlog.TLS
	used    bool // an exchange has ended on it
	answer  wire.Answer
	reset   bool // the server reset the connection
	unwatch func() bool
	unbind  func() bool // of the exchange's work; nil: it is the browser connection's

	mu   sync.Mutex
	ex   *exchange // that it is busy with; nil: idle
	dead bool
}

// establish makes a connection for o, on tcp when that is not nil, and speaks
// TLS over it, offering alpn.
func (c *client) establish(ctx context.Context, o *origin, tcp *dialled, alpn []string) (*upstream, error) {
	if tcp == nil {
		var err error
		if tcp, err = c.dial(ctx, o.hop()); err != nil {
			return &upstream{dialled: tcp}, c.p.failure(ctx, netlog.PhaseConnect, err)
		}
	}
	u := &upstream{c: c, origin: *o, dialled: tcp, conn: tcp.conn, number: c.p.servers.Add(1)}
	u.unwatch = context.AfterFunc(c.ctx, func() { tcp.conn.Conn.Close() })
	if o.tls {
		if err := u.secure(ctx, alpn); err != nil {
			u.unwatch()
			tcp.conn.Close()
			return u, c.p.failure(ctx, netlog.PhaseServerTLS, err)
		}
	}
	u.br = bufio.NewReaderSize(u.conn, serverBuffer)
	return u, nil
}

// secure does the TLS handshake with the server.
func (u *upstream) secure(ctx context.Context, alpn []string) error {
	o := &u.origin
	u.dialled.securing = true
	session, unverified, err := u.c.p.speakTLS(ctx, u.conn, Target{Host: o.verify, Port: o.dialPort, Scheme: "https"}, alpn)
	if err != nil {
		return err
	}
	u.dialled.secured = u.c.p.now()
	u.conn = session
	sni := o.verify
	if isAddress(sni) {
		sni = "" // an address is never sent as one (RFC 6066 §3)
	}
	u.tls = serverLeg(session.ConnectionState(), sni, unverified)
	return nil
}

// server is what the log says of the connection in an exchange on it.
func (u *upstream) server() netlog.Server {
	return netlog.Server{Address: u.dialled.address, Connection: u.number, Reused: u.used, TLS: u.tls}
}

// upstreamFor gives ex a connection, which takes it over: an idle one, or a new
// one. Its failure is for the caller, who still owns ex, to report.
func (c *client) upstreamFor(ex *exchange, head []byte) (*upstream, *failure) {
	if u := c.idleFor(ex, head); u != nil {
		return u, nil
	}
	u, f := c.dialFor(ex)
	if f != nil {
		return nil, f
	}
	u.begin(ex, head)
	c.keep(u)
	return u, nil
}

// idleFor gives ex an idle connection, the one that was used last; nil when there
// is none.
func (c *client) idleFor(ex *exchange, head []byte) *upstream {
	c.upsMu.Lock()
	defer c.upsMu.Unlock()
	for i := len(c.ups) - 1; i >= 0; i-- {
		u := c.ups[i]
		if u.origin.sameServer(ex.origin) && u.begin(ex, head) {
			c.ups = append(slices.Delete(c.ups, i, i+1), u)
			return u
		}
	}
	return nil
}

// keep adds a connection that the browser's connection has, and starts to read it.
// Of idle ones the oldest makes room for it.
func (c *client) keep(u *upstream) {
	c.upsMu.Lock()
	defer c.upsMu.Unlock()
	c.ups = slices.DeleteFunc(c.ups, (*upstream).isDead)
	if len(c.ups) >= maxUpstreams {
		if i := slices.IndexFunc(c.ups, (*upstream).isIdle); i >= 0 {
			c.ups[i].close()
			c.ups = slices.Delete(c.ups, i, i+1)
		}
	}
	c.ups = append(c.ups, u)
	c.upsRun.Add(1)
	go u.run()
}

// crowded tells whether there are more connections than are kept: busy ones, of a
// browser that asks for many things at once.
func (c *client) crowded() bool {
	c.upsMu.Lock()
	defer c.upsMu.Unlock()
	return len(c.ups) > maxUpstreams
}

// dialFor makes a new connection for ex, while a browser that goes away is
// noticed: none of its bytes is waited for otherwise.
func (c *client) dialFor(ex *exchange) (*upstream, *failure) {
	ex.marks.dialling = c.p.now()
	if c.conn == net.Conn(c.tcp) { // else the look would take bytes from the session
		watch := c.watch()
		defer watch.stop()
	}
	var tcp *dialled
	if e := c.first; e != nil {
		c.first = nil
		var err error
		if tcp, err = e.settleFor(ex.origin); err != nil {
			ex.dialledBy(&upstream{dialled: tcp})
			ex.server.Address = tcp.address
			return nil, ex.fail(netlog.PhaseConnect, err)
		}
	}
	u, err := c.establish(ex.ctx, ex.origin, tcp, httpOnly)
	ex.dialledBy(u)
	if err != nil {
		var f *failure
		errors.As(err, &f)
		ex.server = netlog.Server{Address: u.dialled.address}
		return nil, f
	}
	return u, nil
}

// httpOnly is what is offered to servers where no browser offered anything.
var httpOnly = []string{"http/1.1"}

// dialledBy notes when the steps of making u were over.
func (ex *exchange) dialledBy(u *upstream) {
	d := u.dialled
	ex.marks.lookup, ex.marks.resolved, ex.marks.connected, ex.marks.securing = d.lookup, d.resolved, d.connected, d.securing
}

// begin takes ex over; false when the connection is dead or busy. It must be called
// before anything of ex is sent.
func (u *upstream) begin(ex *exchange, head []byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dead || u.ex != nil {
		return false
	}
	ex.server = u.server()
	if !u.used {
		ex.dialled = u.dialled
	}
	if u.used && ex.mayRepeat() {
		ex.head = head
	}
	ex.marks.ready = u.c.p.now()
	ex.lastSent.Store(time.Now().UnixNano())
	u.ex = ex
	u.bind(ex)
	u.conn.SetReadDeadline(time.Now().Add(u.c.p.Timeouts.Answer))
	return true
}

// replace makes u the connection that fresh is.
func (u *upstream) replace(fresh *upstream) {
	u.unwatch()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.conn, u.br, u.dialled, u.number, u.tls = fresh.conn, fresh.br, fresh.dialled, fresh.number, fresh.tls
	u.unwatch, u.used = fresh.unwatch, false
	if u.unbind != nil {
		u.unbind()
		u.bind(u.ex)
	}
}

// bind has the connection end with the work of an exchange that may end without
// the browser's connection.
func (u *upstream) bind(ex *exchange) {
	if ex.ctx != u.c.ctx {
		conn := u.dialled.conn.Conn
		u.unbind = context.AfterFunc(ex.ctx, func() { conn.Close() })
	}
}

// mayRepeat tells the requests that are sent once more when a reused connection
// dies before a byte of the answer.
func (ex *exchange) mayRepeat() bool {
	switch ex.method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return ex.sending.whole && ex.sending.tap.size == 0 && !ex.upgrade
	}
	return false
}

// run reads the connection until it ends.
func (u *upstream) run() {
	defer u.c.upsRun.Done()
	defer u.close()
	defer u.lost()
	for {
		_, err := u.br.Peek(1)
		ex := u.current()
		if ex == nil {
			u.c.idleEnded(u, err)
			return
		}
		if !u.serve(ex, err) {
			return
		}
	}
}

// lost ends the exchange that a fault of our own has left without an owner.
func (u *upstream) lost() {
	fault := recover()
	if fault == nil {
		return
	}
	u.c.p.fault("reading a server", fault)
	if ex := u.current(); ex != nil {
		ex.cancel(errFault)
		ex.from.abort()
		<-ex.uploaded
		ex.finish(errFault)
	}
}

func (u *upstream) current() *exchange {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ex
}

// free makes the connection idle again, or dead when it can't be. It says which.
func (u *upstream) free(alive bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.unbind != nil {
		alive = u.unbind() && alive
		u.unbind = nil
	}
	u.ex, u.used = nil, true
	if u.dead = !alive; alive {
		u.conn.SetReadDeadline(time.Time{})
	}
	return alive
}

func (u *upstream) isDead() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.dead
}

func (u *upstream) isIdle() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ex == nil
}

// close ends the connection.
func (u *upstream) close() {
	u.mu.Lock()
	u.dead = true
	u.mu.Unlock()
	u.unwatch()
	u.conn.Close()
}

// idleEnded closes an intercepted browser connection whose server's connection
// has ended between two requests, as the server's own closing would. A server
// that only now says that it wants another certificate of us (RFC 8446 §4.4.2.4)
// says so again to the first request, whose record that is.
func (c *client) idleEnded(u *upstream, err error) {
	u.mu.Lock()
	u.dead = true
	u.mu.Unlock()
	if c.origin != nil && (u.used || !refusedCertificate(err)) {
		c.hangUp()
	}
}
