package proxy

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
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
	out     []byte   // a head on its way to the browser
	writing deadline // for the browser to take what it is sent
	reset   bool     // the server reset the connection
	unwatch func() bool

	mu   sync.Mutex
	ex   *exchange // that it is busy with; nil: idle
	dead bool
}

// establish makes a connection for o, on tcp when that is not nil, and speaks
// TLS over it, offering alpn.
func (c *client) establish(o *origin, tcp *dialled, alpn []string) (*upstream, error) {
	if tcp == nil {
		var err error
		if tcp, err = c.dial(o.hop()); err != nil {
			return &upstream{dialled: tcp}, c.fail(netlog.PhaseConnect, err)
		}
	}
	u := &upstream{c: c, origin: *o, dialled: tcp, conn: tcp.conn, number: c.p.servers.Add(1)}
	u.unwatch = context.AfterFunc(c.ctx, func() { tcp.conn.Conn.Close() })
	if o.tls {
		if err := u.secure(alpn); err != nil {
			u.unwatch()
			tcp.conn.Close()
			return u, c.fail(netlog.PhaseServerTLS, err)
		}
	}
	u.br = bufio.NewReaderSize(u.conn, serverBuffer)
	u.writing = deadline{set: c.conn.SetWriteDeadline, after: c.p.Timeouts.TunnelIdle}
	return u, nil
}

// secure does the TLS handshake with the server.
func (u *upstream) secure(alpn []string) error {
	o := &u.origin
	u.dialled.securing = true
	session, unverified, err := u.c.p.speakTLS(u.c.ctx, u.conn, Target{Host: o.verify, Port: o.dialPort, Scheme: "https"}, alpn)
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
	for i := len(c.ups) - 1; i >= 0; i-- {
		u := c.ups[i]
		if !u.origin.sameServer(ex.origin) {
			continue
		}
		c.ups = append(c.ups[:i], c.ups[i+1:]...)
		if u.begin(ex, head) {
			c.ups = append(c.ups, u)
			return u, nil
		}
	}
	u, f := c.dialFor(ex)
	if f != nil {
		return nil, f
	}
	u.begin(ex, head)
	c.keep(u)
	return u, nil
}

// keep adds a connection that the browser's connection has, and starts to read it.
func (c *client) keep(u *upstream) {
	if len(c.ups) == maxUpstreams {
		c.ups[0].close()
		c.ups = c.ups[1:]
	}
	c.ups = append(c.ups, u)
	c.upsRun.Add(1)
	go u.run()
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
			return nil, c.fail(netlog.PhaseConnect, err)
		}
	}
	u, err := c.establish(ex.origin, tcp, httpOnly)
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

// begin takes ex over; false when the connection is dead. It must be called
// before anything of ex is sent.
func (u *upstream) begin(ex *exchange, head []byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dead {
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
		u.c.cancel(errFault)
		u.c.tcp.Conn.Close()
		<-ex.uploaded
		ex.finish(errFault)
	}
}

func (u *upstream) current() *exchange {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ex
}

// free makes the connection idle again, or dead.
func (u *upstream) free(dead bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ex, u.dead, u.used = nil, dead, true
	if !dead {
		u.conn.SetReadDeadline(time.Time{})
	}
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
