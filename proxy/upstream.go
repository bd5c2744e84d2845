package proxy

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/agentenv/netlog/proxy/wire"
)

// maxUpstreams is how many connections to servers a browser's connection keeps;
// curl sends http:// for many hosts over one.
const maxUpstreams = 8

// An upstream is a connection to a server that speaks HTTP/1. The goroutine that
// reads the browser writes to it; one of its own, run, reads it and owns the
// exchange that it has taken.
type upstream struct {
	link

	br     *reader
	answer *wire.Answer // that is being read, or relayed
	reset  bool         // the server reset the connection
	unbind func() bool  // of the exchange's work; nil: it is the browser connection's

	waiting deadline // for an answer's first byte
	writing deadline // for the server to take what it is sent

	mu   sync.Mutex
	ex   *exchange // that it is busy with; nil: idle
	dead bool
}

func newUpstream(l *link) *upstream {
	u := &upstream{}
	u.use(l)
	return u
}

// use makes u the connection that l is.
func (u *upstream) use(l *link) {
	u.link, u.br = *l, l.c.p.newReader(l.conn, l.dialled.conn)
	u.waiting = deadline{set: l.conn.SetReadDeadline, after: l.c.p.Timeouts.Answer}
	u.writing = deadline{set: l.conn.SetWriteDeadline, after: l.c.p.Timeouts.Answer}
}

// upstreamFor gives ex a connection, which takes it over: an idle one, or a new
// one. Its failure is for the caller, who still owns ex, to report.
func (c *client) upstreamFor(ex *exchange, head []byte) (*upstream, *failure) {
	if u := c.idleFor(ex, head); u != nil {
		return u, nil
	}
	l, f := c.dialFor(ex, httpOnly)
	if f != nil {
		return nil, f
	}
	u := newUpstream(l)
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
		if u.serves(ex.origin) && u.begin(ex, head) {
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

// serves tells whether the connection is to o's server.
func (u *upstream) serves(o *origin) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.origin.sameServer(o)
}

// begin takes ex over; false when the connection is dead or busy. It must be called
// before anything of ex is sent.
func (u *upstream) begin(ex *exchange, head []byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dead || u.ex != nil {
		return false
	}
	if u.used && ex.http2 && !ex.mayRepeat() { // nor would its browser, as one of HTTP/1 does
		return false
	}
	ex.server = u.server()
	if !u.used {
		ex.dialled = u.dialled
	}
	if u.used && ex.mayRepeat() {
		ex.head = head
	}
	now := u.c.p.now()
	ex.marks.ready = now
	ex.lastSent.Store(now.UnixNano())
	u.ex = ex
	u.bind(ex)
	u.waiting.renew(now)
	return true
}

// replace makes u the connection that fresh is.
func (u *upstream) replace(fresh *link) {
	u.unwatch()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.use(fresh)
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
	defer func() { u.br.give() }()
	defer u.close()
	defer u.lost()
	for {
		err := u.br.await()
		ex := u.current()
		switch {
		case ex != nil:
		case isTimeout(err):
			u.rest()
			continue
		default:
			if ex = u.retire(); ex == nil {
				u.c.idleEnded(u, err)
				return
			}
			if err == nil { // what had come before ex is no answer to it
				err = io.EOF
			}
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

// retire makes an idle connection that has ended one that takes no exchange, or
// gives the exchange that it has taken meanwhile.
func (u *upstream) retire() *exchange {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dead = u.dead || u.ex == nil
	return u.ex
}

// rest takes the time limits of the last exchange away, unless there is a new one: a
// TLS session may have to answer a server that wants new keys (RFC 8446 §4.6.3).
func (u *upstream) rest() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ex == nil {
		u.waiting.clear()
		u.writing.clear()
	}
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
	u.dead = !alive
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
	if c.origin != nil && c.alpn != "h2" && (u.used || !refusedCertificate(err)) {
		c.hangUp()
	}
}
