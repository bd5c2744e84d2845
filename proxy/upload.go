package proxy

import (
	"io"
	"net/http"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// exchange relays one request, and leaves the answer to awaitAnswer. It is false when
// there is to be neither that nor another request.
func (c *client) exchange(ex *exchange, forward wire.ForwardOptions) bool {
	if ex.misframed != nil {
		return c.turnDown(ex, refusal(netlog.RefusedBadRequest, http.StatusBadRequest, ex.misframed.Error()))
	}
	come, _ := c.br.Peek(c.br.Buffered())
	if err := ex.sending.check(come); err != nil {
		return c.turnDown(ex, refusal(netlog.RefusedBadRequest, http.StatusBadRequest, err.Error()))
	}
	if ex.origin.redirect != "" {
		return c.redirect(ex)
	}
	forward.Upgrade = ex.upgrade
	head, err := ex.forwardHead(forward)
	if err != nil {
		return c.turnDown(ex, refusal(netlog.RefusedBadRequest, http.StatusBadRequest, err.Error()))
	}
	u, f := c.upstreamFor(ex, head)
	if f != nil {
		return c.turnDown(ex, f)
	}
	c.awaited, ex.outcome.u = ex.outcome, u
	c.upload(ex, u, head)
	return true
}

// upload sends the request and says so, even when a fault of ours ends it.
func (c *client) upload(ex *exchange, u *upstream, head []byte) {
	c.current = nil // u owns it
	ex.unsent = errFault
	defer close(ex.uploaded)
	err := c.send(ex, u, head)
	c.conn.SetReadDeadline(time.Time{})
	ex.unsent, ex.sent = err, err == nil
}

var errFault = failed(netlog.PhaseProxy, netlog.CodeInternal, "a fault of the proxy's own")

// forwardHead is the request's head as it goes up.
func (ex *exchange) forwardHead(o wire.ForwardOptions) ([]byte, error) {
	r := *ex.req
	r.Fields = ex.stripConditionals(r.Fields)
	if route := ex.origin.route; route != nil && route.Request != nil {
		r.Fields = append(wire.FieldList(nil), r.Fields...)
		r.Target = ex.target.Path
		if err := route.Request(&r, ex.c.visit(ex.origin)); err != nil {
			return nil, err
		}
		o.Target = r.Target
	}
	parent := ex.origin.asked
	if parent != nil {
		o.Target = ex.origin.absolute(o.Target)
	}
	var room []byte
	if !ex.http2 { // else others on the connection make theirs
		room = ex.c.up[:0]
	}
	head := r.AppendForward(room, o)
	if parent != nil {
		head = append(head[:len(head)-len("\r\n")], ex.c.markFor(ex)+parent.authorization()+"\r\n"...)
	}
	if !ex.http2 {
		ex.c.up = head
	}
	return head, nil
}

// send sends the head and then the body, each piece as the browser sends it. Its
// error is what kept the rest of the request from going up.
func (c *client) send(ex *exchange, u *upstream, head []byte) error {
	var broken error
	write := func(b []byte) {
		if len(b) == 0 {
			return
		}
		now := time.Now()
		ex.lastSent.Store(now.UnixNano())
		if broken != nil {
			return
		}
		u.writing.renew(now)
		n, err := u.conn.Write(b)
		ex.up.Add(int64(n))
		if err != nil {
			broken = errUpstream{err}
			ex.abandon()
		}
	}
	if ex.sending.whole {
		ex.lastPiece()
	}
	if c.br.Buffered() == 0 || ex.sending.whole {
		write(head)
		head = nil
	}
	for !ex.sending.whole {
		piece, err := c.fill(ex)
		if err != nil {
			return c.cutShort(ex, err, broken)
		}
		ex.came.Store(true)
		n, err := ex.sending.take(piece, time.Time{})
		if ex.sending.whole && broken == nil {
			ex.lastPiece()
		}
		if len(head) > 0 {
			head = append(head, piece[:n]...)
			write(head)
			head = nil
		} else {
			write(piece[:n])
		}
		c.br.Discard(n)
		if err != nil {
			f := failed(netlog.PhaseSend, netlog.CodeBadRequest, err.Error())
			c.cancel(f)
			return f
		}
		if broken != nil && ex.sending.tap.size >= c.p.Keep.RequestBody {
			return broken
		}
	}
	if broken == nil {
		ex.marks.sent = c.p.now()
		ex.know()
	}
	return broken
}

// earlyOpen is the largest kept body whose open line is written before its last
// piece is sent, rather than behind that.
const earlyOpen = 64 << 10

// lastPiece says that the last of the request is about to be sent. The open line
// goes first where that holds nothing up: the server may answer before the
// sending goroutine runs again.
func (ex *exchange) lastPiece() {
	ex.marks.sending = ex.p.now()
	if ex.sending.tap.kept.size <= earlyOpen {
		ex.know()
	}
}

// errUpstream is that the server takes no more of a request, while the browser is well.
type errUpstream struct{ error }

func (e errUpstream) Unwrap() error { return e.error }

// fill waits for some of the request's body and gives what is there, unconsumed.
func (c *client) fill(ex *exchange) ([]byte, error) {
	if c.br.Buffered() == 0 {
		if !ex.abandoned.Load() {
			c.conn.SetReadDeadline(time.Now().Add(c.p.Timeouts.Idle))
			if ex.abandoned.Load() { // meanwhile: its deadline goes before ours
				c.conn.SetReadDeadline(time.Now().Add(ex.drainTime()))
			}
		}
		if _, err := c.br.Peek(1); err != nil {
			return nil, err
		}
	}
	return c.br.Peek(c.br.Buffered())
}

// cutShort is the end of a request whose body broke off: unless it was already
// going nowhere, that ends the work upstream too.
func (c *client) cutShort(ex *exchange, err, broken error) error {
	switch {
	case ex.abandoned.Load():
		if broken == nil {
			broken = errUpstream{err}
		}
		return broken
	case isTimeout(err):
		f := failed(netlog.PhaseSend, netlog.CodeTimeout, "the browser stopped sending its request's body")
		c.cancel(f)
		return f
	}
	c.cancel(errClientGone)
	return errClientGone
}

// drain reads, for the log, the body of a request that goes nowhere.
func (c *client) drain(ex *exchange) {
	if ex.misframed != nil || ex.malformed || c.target.Path == nil {
		return
	}
	c.conn.SetReadDeadline(time.Now().Add(ex.drainTime()))
	for !ex.sending.whole && ex.sending.tap.size < c.p.Keep.RequestBody {
		if _, err := c.br.Peek(1); err != nil {
			return
		}
		piece, _ := c.br.Peek(c.br.Buffered())
		n, err := ex.sending.take(piece, time.Time{})
		c.br.Discard(n)
		if err != nil {
			return
		}
	}
}

// awaitAnswer waits for the end of the exchange that goes on, if one does, and for
// what the browser does next: until that is due, its going away ends the work upstream.
// It says whether the connection can take another request.
func (c *client) awaitAnswer() bool {
	o := c.awaited
	if o == nil {
		return true
	}
	c.awaited = nil
	var err error
	if o.sent {
		err = c.br.await()
		switch {
		case err != nil && !o.mayClose():
			c.cancel(errClientGone)
		case err == nil && o.strange.Load():
			c.cancel(errClientWentOn)
		}
	}
	select {
	case <-o.switched:
		c.carry(o.u.current(), o.u)
		<-o.done
		return false
	case <-o.done:
	}
	if o.again && err == nil {
		return true
	}
	// Reading on lets the browser have the answer before the end (RFC 9112 §9.6).
	io.CopyN(io.Discard, c.conn, lingerBytes)
	return false
}

// mayClose tells whether the browser's connection may end now without the
// exchange being the worse for it: the answer is on its way whole, or the
// protocol was switched and ends as that one does.
func (o *outcome) mayClose() bool {
	if o.delivered.Load() {
		return true
	}
	select {
	case <-o.switched:
		return true
	case <-o.done:
		return true
	default:
		return false
	}
}

// A deadline renews a time limit without setting it anew for each piece.
type deadline struct {
	set   func(time.Time) error
	after time.Duration
	at    time.Time // when it was last set
}

func (d *deadline) renew(now time.Time) {
	if now.Sub(d.at) > d.after/16 {
		d.at = now
		d.set(now.Add(d.after))
	}
}

// replace sets another limit in its place.
func (d *deadline) replace(at time.Time) error {
	d.at = time.Time{}
	return d.set(at)
}

// clear takes it away.
func (d *deadline) clear() { d.replace(time.Time{}) }
