package proxy

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
	"github.com/agentenv/netlog/proxy/wire"
)

// A stream is one request of a browser that speaks HTTP/2, and the browser's side of
// its exchange. One goroutine, run, serves it: it sends the request up, or reads the
// answer while another does that.
type stream struct {
	*h2.Stream
	c   *client
	ctx context.Context // ends with the browser's interest in it
	end context.CancelCauseFunc
	up  atomic.Pointer[h2.Stream] // the server's, which ends with it; nil: none yet, or HTTP/1

	ex        *exchange
	bodiless  bool        // nothing comes behind the request's head that belongs to it
	uploading bool        // the request is going up, or has gone
	moving    atomic.Bool // the answer says to go elsewhere
	moved     atomic.Bool // and the browser did, without waiting for its end
	head      []h2.Field  // of the answer, on its way to the browser
	ended     bool        // the answer is on its way whole
	writing   deadline    // for the browser to take what it is sent
}

// movedTime is how long the rest of an answer may take whose browser has moved on.
const movedTime = time.Second

// cancel ends the stream's work, and the server's part of it at once.
func (st *stream) cancel(cause error) {
	st.end(cause)
	if up := st.up.Load(); up != nil {
		up.Reset(st.code())
	}
}

// gone ends the stream's work, whose stream err has ended.
func (st *stream) gone(err error) {
	var e *h2.Error
	switch {
	case errors.As(err, &e) && e.Remote && e.Stream && e.Code == http2.ErrCodeCancel && st.moving.Load():
		st.moved.Store(true)
		time.AfterFunc(movedTime, func() { st.cancel(browserReset{code: e.Code}) })
	case !errors.As(err, &e):
		st.cancel(errClientGone)
	case e.Remote:
		st.cancel(browserReset{code: e.Code, all: !e.Stream})
	default:
		st.cancel(browserFault{e})
	}
}

func (st *stream) run() {
	defer st.c.streams.Done()
	defer st.end(nil)
	defer st.Close()
	defer st.recovered()
	st.writing = deadline{set: st.SetWriteDeadline, after: st.c.p.Timeouts.TunnelIdle}
	st.serve()
	<-st.ex.done
}

// recovered keeps a fault of ours to the exchange that met it.
func (st *stream) recovered() {
	fault := recover()
	if fault == nil {
		return
	}
	st.c.p.fault("serving a stream", fault)
	st.cancel(errFault)
	st.abort()
	st.ex.finish(errFault)
}

// serve serves the request.
func (st *stream) serve() {
	c, h, ex := st.c, st.Head(), st.ex
	if h.Malformed != "" { // RFC 9113 §8.1.1
		ex.finish(refusalClosed(netlog.RefusedBadRequest, http2.ErrCodeProtocol.String()+": "+h.Malformed))
		st.Reset(http2.ErrCodeProtocol)
		return
	}
	if f := st.admits(); f != nil {
		st.turnDown(f)
		return
	}
	if c.forbid != nil {
		ex.server.Address = c.forbidAt
		st.turnDown(c.forbid)
		c.h2.Shutdown() // the next connection may do better
		return
	}
	st.exchange()
}

// authority is the request's, if it names one.
func (st *stream) authority() (authority string, named bool) {
	if authority, named = st.Head().Get(":authority"); !named {
		authority, named = st.Head().Get("host")
	}
	return authority, named
}

// begins makes the exchange of the request, whose head had been read at the given
// time. Its open line is written, or on its way.
func (st *stream) begins(at time.Time) {
	c := st.c
	o := c.origin
	authority, _ := st.authority()
	if authority != c.named {
		if host, port, err := hostOf(authority, o.scheme); err == nil {
			o = c.siblingFor(o, host, port)
		}
	}
	st.newExchange(o, at, authority).begin()
}

// refused records a request that was ended as it came.
func (st *stream) refused() {
	defer st.end(nil)
	defer st.Close()
	h := st.Head()
	code := netlog.RefusedBadRequest
	switch {
	case h.Refused.Late:
		code = netlog.RefusedTimeout
	case h.TooLong:
		code = netlog.RefusedHeadTooLong
	}
	st.ex.finish(refusalClosed(code, h.Refused.Error()))
}

// admits holds the request to the connection's one name, and to what is passed on.
func (st *stream) admits() *failure {
	c, h, o := st.c, st.Head(), st.ex.origin
	authority, named := st.authority()
	scheme, _ := h.Get(":scheme")
	host, both := h.Get("host")
	switch {
	case h.TooLong:
		return refusal(netlog.RefusedHeadTooLong, http.StatusRequestHeaderFieldsTooLarge, "the request's header list is too long")
	case st.ex.method == http.MethodConnect && !st.ex.upgrade:
		return refusal(netlog.RefusedBadRequest, http.StatusBadRequest, "a CONNECT inside a CONNECT")
	case !named:
		return refusal(netlog.RefusedBadRequest, http.StatusBadRequest, "the request names no host")
	case !strings.EqualFold(scheme, o.scheme):
		return misdirected(scheme+"://"+authority, o.scheme+"://"+o.authority())
	case authority == c.named && (!both || host == c.named):
		return nil
	}
	f := c.admitsHost(o, authority)
	if f == nil && both { // RFC 9113 §8.3.1
		f = c.admitsHost(o, host)
	}
	return f
}

// newExchange is the exchange of the stream's request, which is for authority.
func (st *stream) newExchange(o *origin, at time.Time, authority string) *exchange {
	h := st.Head()
	method, _ := h.Get(":method")
	path, hasPath := h.Get(":path")
	_, expects := h.Get("expect")
	_, upgrade := h.Get(":protocol") // RFC 8441
	t, raw := wire.Target{Path: []byte(path)}, path
	switch {
	case !hasPath:
		t.Path, raw = nil, authority
	case path == "*":
		t.Form = wire.AsteriskForm
	case path == "" || path[0] != '/': // which makes it a malformed request
		t.Path = nil
	}
	ex := &exchange{
		from: st, ctx: st.ctx, cancel: st.cancel,
		target: t,
		method: method, http2: true,
		expects: expects, upgrade: upgrade,
	}
	st.ex = ex
	url, target := urlOf(o, t, raw)
	ex.open.Stream = int64(st.ID())
	ex.sending.follow(h)
	st.c.p.tapRequest(&ex.sending.tap)
	ex.sending.whole = ex.sending.whole || upgrade // what comes then is no body
	st.bodiless = ex.sending.whole
	st.c.opened(ex, o, at, st.c.p.streamRequest(h, url, target))
	return ex
}

// turnDown ends an exchange that goes no further with the proxy's own page.
func (st *stream) turnDown(f *failure) {
	ex := st.ex
	if !wanted(f) {
		st.conclude(nil, f)
		return
	}
	if !st.uploading { // else it was bodiless, and is asked for once more
		st.drainBeside()
	}
	whole := st.awaitRest()
	if !whole {
		st.page(ex, f)
		<-ex.uploaded
	}
	ex.finish(f)
	if whole {
		st.page(ex, f)
	}
	st.release(ex, f, false)
}

// awaitRest waits for the rest of a request that goes nowhere; false: there is a
// pause, and the browser is to be told meanwhile.
func (st *stream) awaitRest() bool {
	whole := st.ex.comes(restTime)
	if !whole {
		st.ex.writeOpen()
	}
	return whole
}

// drainBeside reads, for the log, a request of which nothing was sent on.
func (st *stream) drainBeside() {
	st.uploading = true
	go func() {
		defer close(st.ex.uploaded)
		defer st.faulted("reading a request")
		st.drain(st.ex)
	}()
}

// drain reads, for the log, the body of a request that goes nowhere.
func (st *stream) drain(ex *exchange) {
	ex.limitDrain()
	for !ex.sending.whole && ex.sending.tap.size < st.c.p.Keep.RequestBody {
		piece, end, err := st.Next()
		if err != nil {
			return
		}
		ex.lastSent.Store(time.Now().UnixNano())
		ex.sending.pass(piece, end, st.Stream, time.Time{})
		st.Took(len(piece))
	}
}
