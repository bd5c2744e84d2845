package proxy

import (
	"context"
	"errors"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// exchange relays the request and its answer.
func (st *stream) exchange() {
	ex := st.ex
	for last := false; ; last = true {
		if ex.origin.route != nil {
			st.toHTTP1(nil)
			return
		}
		t, l, f := st.c.trunkFor(ex)
		switch {
		case f != nil:
			st.turnDown(f)
			return
		case l != nil:
			st.toHTTP1(l)
			return
		case st.over(t, last):
			return
		}
		ex.marks, ex.server = marks{}, netlog.Server{}
	}
}

// over relays the exchange on a trunk; last: for the last time. It is false when
// that has come to nothing and may be done again.
func (st *stream) over(t *trunk, last bool) bool {
	ex := st.ex
	up, err := t.begin(ex)
	if err == nil {
		defer up.Close()
		if st.up.Store(up); st.ctx.Err() != nil { // meanwhile
			up.Reset(st.code())
		}
		err = st.sendHead(up)
	}
	if err != nil {
		return st.unanswered(up, err, last)
	}
	if !st.bodiless {
		st.uploading = true
		// The browser hears of it once it pauses: curl 7.88 loses an answer whose stream
		// is reset in the same read.
		up.OnGone(func(error) { ex.abandon() })
		go st.upload(trunkSink{up})
	} else if ex.marks.sent = ex.p.now(); !st.uploading { // else it is the second time
		st.uploading = true
		close(ex.uploaded)
	}
	h, err := st.answerHead(up)
	switch {
	case err != nil:
		return st.unanswered(up, err, last)
	case ex.upgrade && h.Status() < 300:
		st.switchTo(up, h)
	default:
		st.conclude(up, st.answer(up, h))
	}
	return true
}

// code is that of a browser's end of the stream, for the server.
func (st *stream) code() http2.ErrCode {
	var reset browserReset
	if errors.As(context.Cause(st.ctx), &reset) && !reset.all {
		return reset.code
	}
	return http2.ErrCodeCancel
}

// sendHead sends the request's head on.
func (st *stream) sendHead(up *h2.Stream) error {
	ex := st.ex
	st.Pair(up)
	up.Prioritize(st.Stream)
	if st.bodiless {
		ex.marks.sending = ex.p.now()
	}
	fields := st.forward()
	up.SetWriteDeadline(time.Now().Add(ex.p.Timeouts.Answer))
	err := up.WriteHead(fields, st.Head().End)
	ex.marks.ready = ex.p.now() // it may have waited for others
	ex.server.Stream = int64(up.ID())
	ex.lastSent.Store(time.Now().UnixNano())
	return err
}

// forward are the request's fields as they go on: as they came, but for the
// browser's credentials for the proxy itself and what an option takes off.
func (st *stream) forward() []h2.Field {
	fields := st.Head().Fields
	count := func(name string) (n int) {
		for i := range fields {
			if fields[i].Name == name {
				n++
			}
		}
		return n
	}
	strips := st.ex.strips(count)
	if !strips && count("proxy-authorization") == 0 {
		return fields
	}
	kept := make([]h2.Field, 0, len(fields))
	for _, f := range fields {
		if f.Name != "proxy-authorization" && !(strips && isConditional(f.Name)) {
			kept = append(kept, f)
		}
	}
	return kept
}

// upload sends the request's body on and says so, even when a fault of ours ends it.
func (st *stream) upload(to sink) {
	ex := st.ex
	ex.unsent = errFault
	defer close(ex.uploaded)
	defer st.faulted("sending a request")
	ex.unsent = st.send(to)
}

// faulted ends the work that a fault of ours has met; it is deferred.
func (st *stream) faulted(doing string) {
	if fault := recover(); fault != nil {
		st.c.p.fault(doing, fault)
		st.cancel(errFault)
	}
}

// send sends each piece of the body as it comes. Its error is what kept the rest
// from going up.
func (st *stream) send(to sink) error {
	ex := st.ex
	coming := deadline{set: st.SetReadDeadline, after: ex.p.Timeouts.Idle}
	going := deadline{set: to.SetWriteDeadline, after: ex.p.Timeouts.Answer}
	var broken error
	if ex.sending.whole {
		ex.lastPiece()
		going.renew(time.Now())
		if err := to.put(nil, true, nil); err != nil {
			return errUpstream{err}
		}
	}
	if !ex.sending.whole && !st.Ready() { // a server may be waited for before more comes
		going.renew(time.Now())
		if err := to.put(nil, false, nil); err != nil {
			broken = errUpstream{err}
			ex.abandon()
		}
	}
	for !ex.sending.whole {
		if !ex.abandoned.Load() {
			coming.renew(time.Now())
			if ex.abandoned.Load() { // meanwhile: its deadline goes before ours
				ex.limitDrain()
			}
		}
		piece, end, err := st.Next()
		if err != nil {
			return st.cutShort(err, broken)
		}
		ex.came.Store(true)
		ex.sending.pass(piece, end, st.Stream, time.Time{})
		now := time.Now()
		ex.lastSent.Store(now.UnixNano())
		if broken == nil {
			if end {
				ex.lastPiece()
			}
			going.renew(now)
			if err := to.put(piece, end, ex.sending.fields); err != nil {
				broken = errUpstream{err}
				ex.abandon()
			}
		}
		st.Took(len(piece))
		if broken != nil && ex.sending.tap.size >= ex.p.Keep.RequestBody {
			return broken
		}
	}
	if broken == nil {
		ex.marks.sent = ex.p.now()
		ex.know()
	}
	return broken
}

// cutShort is the end of a request whose body broke off: unless it was already
// going nowhere, that ends the work upstream too.
func (st *stream) cutShort(err, broken error) error {
	ex := st.ex
	if ex.abandoned.Load() {
		if broken == nil {
			broken = errUpstream{err}
		}
		return broken
	}
	st.met(err)
	var f *failure
	var fault browserFault
	switch {
	case errors.As(context.Cause(ex.ctx), &fault):
		return fault.failed(netlog.PhaseSend)
	case errors.As(context.Cause(ex.ctx), &f):
		return f
	case isTimeout(err):
		f = failed(netlog.PhaseSend, netlog.CodeTimeout, "the browser stopped sending its request's body")
		ex.cancel(f)
		return f
	}
	ex.cancel(errClientGone)
	return errClientGone
}
