package proxy

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// An exchange is one request and its answer. It is owned by the goroutine that
// reads the browser until an upstream connection takes it, and then by the one
// that reads the server; its owner alone ends it.
type exchange struct {
	entry
	*outcome
	c         *client
	from      asker
	ctx       context.Context // ends with its work
	cancel    context.CancelCauseFunc
	req       *wire.Request // as HTTP/1 has it
	target    wire.Target   // of req; zero when it could not be read
	origin    *origin
	method    string
	oldHTTP   bool  // an HTTP/1.0 request: no 1xx, no chunks
	http2     bool  // asked over HTTP/2: no chunks either
	last      bool  // the browser means to send no other request on its connection
	upgrade   bool  // the request asks for another protocol
	expects   bool  // it expects a 100
	misframed error // how long its body is can't be told
	malformed bool  // its head could not be read whole: nor can its body
	marks     marks

	// The request's side, of the goroutine that reads the browser until uploaded.
	asking    string // what a parent is asked for; "": none is
	head      []byte // as it goes up, when it may be sent once more; nil: not so
	sending   body
	lastSent  atomic.Int64  // when some of it went up last, in nanoseconds since 1970
	lastHeard atomic.Int64  // when a 1xx came last, likewise
	uploaded  chan struct{} // closed when no more of it comes
	changed   []string      // what an option has changed of it
	unsent    error         // what kept the rest from going up; read after uploaded
	came      atomic.Bool   // some of its body has come
	abandoned atomic.Bool   // it goes nowhere any more and is read for the log alone
	declined  atomic.Bool   // no more of it need come
	unwanted  chan struct{} // closed when it is declined; nil: it has no body
	hurried   atomic.Bool   // and what has not come by now is not waited for

	up, down atomic.Int64 // bytes on the wire each way, heads and framing with them

	// The answer's side, of the owner.
	informational []netlog.Informational
	informed      int              // bytes of their heads
	response      *netlog.Response // nil: there was no answer
	receiving     body
	answerLine    *time.Timer
	splice        *splice // what a 101 made of it
	socket        *netlog.WebSocket
	unparsed      bool
	server        netlog.Server
	dialled       *dialled // the connection's making, in its first exchange
	closeDone     sync.Once
}

// An outcome is what the goroutine that reads the browser waits for. It waits for the
// next request too, which may take long: the rest of the exchange is let go meanwhile.
type outcome struct {
	u         *upstream     // that owns the exchange
	sent      bool          // all of the request has gone up
	delivered atomic.Bool   // nothing but the end line is to come: the browser may close
	strange   atomic.Bool   // the answer is no HTTP to us, whose end the browser may see before its connection's
	switched  chan struct{} // closed when the answer is a 101; nil when it can't be
	again     bool          // the browser's connection can take another request; read after done
	done      chan struct{} // closed when the end line is written
}

// newExchange is the exchange of the head in c.req, read at the given time. Its open
// line is on its way.
func (c *client) newExchange(o *origin, at time.Time) *exchange {
	r := &c.req
	ex := &exchange{
		from: c, ctx: c.ctx, cancel: c.cancel,
		req: r, target: c.target,
		method:  string(r.Method),
		oldHTTP: r.Minor == 0,
		last:    !r.KeepAlive() || r.Minor == 0,
		upgrade: asksToUpgrade(r),
		expects: r.Fields.HasToken("expect", "100-continue"),
	}
	var framing wire.Framing
	if framing, ex.misframed = r.Framing(); ex.misframed == nil {
		ex.sending.frame(framing, false)
		c.p.tapRequest(&ex.sending.tap)
	}
	url, target := urlOf(o, c.target, string(r.Target))
	c.opened(ex, o, at, c.p.request(r, url, target))
	if ex.upgrade {
		ex.switched = make(chan struct{})
	}
	ex.begin()
	c.current = ex
	return ex
}

// opened makes ex an exchange for o, of a request that was read at the given time.
func (c *client) opened(ex *exchange, o *origin, at time.Time, r *netlog.Request) {
	ex.c, ex.origin = c, o
	ex.uploaded = make(chan struct{})
	ex.outcome = &outcome{done: make(chan struct{})}
	ex.p, ex.secret = c.p, o.redact
	ex.open = netlog.Open{
		Time: at, Kind: netlog.KindExchange, Via: o.via, Site: o.site(),
		Client: c.addr, Connection: c.number, Stream: ex.open.Stream,
		Request: r,
	}
	if c.p.StandIn {
		bare(r)
	}
}

// begin has the open line written: at once where nothing more of the request is to
// come.
func (ex *exchange) begin() {
	if !ex.sending.whole {
		ex.unwanted = make(chan struct{})
		ex.entry.begin()
		return
	}
	ex.p.count(ex.open.Kind, 1)
	ex.know()
}

// asksToUpgrade tells a request for another protocol. HTTP/2 in the clear is none
// that is passed on: RFC 9113 §3.1 has given that upgrade up, and what came behind
// it would be no exchange any more.
func asksToUpgrade(r *wire.Request) bool {
	return r.Minor > 0 && r.Fields.HasToken("connection", "upgrade") &&
		r.Fields.Count("upgrade") > 0 && !r.Fields.HasToken("upgrade", "h2c")
}

// urlOf is the URL of a request for o whose target is t, in exact bytes raw, and
// those when they say more.
func urlOf(o *origin, t wire.Target, raw string) (url, target string) {
	base := o.scheme + "://" + o.authority()
	switch {
	case t.Path == nil && strings.Contains(raw, "@"): // not to be read, and maybe with a password
		return base + "/", ""
	case t.Path == nil:
		return base + "/", raw
	case string(t.Path) == "*":
		return base + "/", raw
	}
	path := wire.EscapeURL(t.Path)
	url = base + path
	switch {
	case raw == path, raw == url:
		return url, ""
	case t.Userinfo && path == string(t.Path):
		return url, ""
	case t.Userinfo: // never logged
		return url, string(t.Path)
	}
	return url, raw
}

// drainTime is how long the body of a request that goes nowhere is read for the
// log. A browser that waits for a 100 is expected to wait for one second only
// (RFC 9110 §10.1.1 lets it send without one).
func (ex *exchange) drainTime() time.Duration {
	switch {
	case ex.hurried.Load():
		return 0
	case ex.expects:
		return 2 * time.Second
	}
	return 10 * time.Second
}

// limitDrain sets that time.
func (ex *exchange) limitDrain() {
	ex.from.SetReadDeadline(time.Now().Add(ex.drainTime()))
	if ex.hurried.Load() { // meanwhile
		ex.from.SetReadDeadline(time.Now())
	}
}

// abandon says that the request goes nowhere any more: what still comes of its
// body is only for the log.
func (ex *exchange) abandon() {
	if !ex.abandoned.Swap(true) {
		ex.decline()
		ex.limitDrain()
	}
}

// decline says that no more of the request need come.
func (ex *exchange) decline() {
	if ex.unwanted != nil && !ex.declined.Swap(true) {
		close(ex.unwanted)
	}
}

// hurry does so when the browser is to learn at once of the exchange's end, which
// ends its sending too: the log has what had come by then.
func (ex *exchange) hurry() {
	ex.hurried.Store(true)
	ex.abandoned.Store(true)
	ex.from.SetReadDeadline(time.Now())
}

// isUploaded tells whether no more of the request comes.
func (ex *exchange) isUploaded() bool {
	select {
	case <-ex.uploaded:
		return true
	default:
		return false
	}
}

// know says what became known of the request's body: to the open line, which it
// then writes, or in the returned part of the end line.
func (ex *exchange) know() *netlog.Request {
	if ex.p.StandIn {
		ex.writeOpen()
		return nil
	}
	if ex.knows() {
		return nil
	}
	r := ex.entry.know(ex.sending.tap.body(), ex.p.published(ex.p.trailers(&ex.sending)))
	if r == nil {
		ex.sending.tap.kept.drop()
	}
	return r
}

// finish ends the exchange: with f as what broke it, or nil when it went well.
func (ex *exchange) finish(f *failure) {
	if ex.answerLine != nil {
		ex.answerLine.Stop()
	}
	end := &netlog.End{Time: ex.p.now(), ClientTLS: ex.c.tls, WebSocket: ex.socket, Changed: ex.changed, Unparsed: ex.unparsed}
	end.Timings = ex.marks.timings(ex.open.Time, end.Time)
	if ex.response != nil {
		ex.response.Body = ex.receiving.tap.body()
		ex.response.Trailers = ex.p.trailers(&ex.receiving)
		ex.response.Complete = ex.receiving.whole
		end.Response = ex.response
	}
	if ex.server.Address != "" {
		if ex.dialled != nil {
			ex.server.Dialled = ex.dialled.figures()
		}
		end.Server = &ex.server
	}
	switch {
	case f == nil:
	case f.refused != nil:
		end.Refused = f.refused
	default:
		end.Failed = &f.Failed
	}
	end.Request = ex.know()
	if ex.p.StandIn {
		ex.bareEnd(end)
	}
	ex.end(end)
	ex.sending.tap.kept.drop()
	ex.receiving.tap.kept.drop()
	ex.closeDone.Do(ex.close)
}

func (ex *exchange) close() {
	if ex.asking != "" {
		ex.p.askings.remove(ex.asking)
	}
	close(ex.done)
}
