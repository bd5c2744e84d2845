package proxy

import (
	"context"
	"errors"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// answerHead waits for the answer proper's head, and relays what comes before it.
func (st *stream) answerHead(up *h2.Stream) (*h2.Head, error) {
	ex := st.ex
	up.SetReadDeadline(time.Now().Add(ex.p.Timeouts.Answer))
	for range maxInformational + 1 {
		h, err := up.ReadHead()
		for isTimeout(err) && st.mayWait(up) {
			h, err = up.ReadHead()
		}
		if err != nil {
			return nil, err
		}
		if ex.marks.first.IsZero() {
			ex.marks.first = ex.p.now()
			ex.writeOpen() // whoever has the answer finds the request in the log
		}
		if h.Status() >= 200 {
			return h, nil
		}
		if !ex.informs(h.Status(), h.ListSize(), ex.p.fields(h.Regular())) {
			break
		}
		ex.lastHeard.Store(time.Now().UnixNano())
		if err := st.write(h.Fields, false); err != nil {
			return nil, ex.browserGone()
		}
	}
	return nil, tooInformative()
}

// mayWait tells whether the limit for an answer that has not begun has not run out
// yet, as the request was still being sent, and sets what is left of it.
func (st *stream) mayWait(up *h2.Stream) bool {
	left := st.ex.mayWait()
	if left > 0 {
		up.SetReadDeadline(time.Now().Add(left))
	}
	return left > 0
}

// unanswered is the end of an exchange whose server did not answer. It is false when
// the request is to be made again: on another connection unless its own goes on, of
// which others' requests are to know nothing.
func (st *stream) unanswered(up *h2.Stream, err error, last bool) bool {
	if !last && st.mayRepeat(err) {
		return false
	}
	f := st.ex.fail(netlog.PhaseWait, err)
	st.conclude(up, f)
	return true
}

// mayRepeat tells whether the request may be made again, since the server has not
// acted on it (RFC 9113 §8.7) or, as in HTTP/1, since its connection had been used
// before.
func (st *stream) mayRepeat(err error) bool {
	ex := st.ex
	if !st.bodiless || ex.ctx.Err() != nil || !ex.marks.first.IsZero() {
		return false
	}
	var e *h2.Error
	switch {
	case errors.As(err, &e) && e.Unprocessed:
		return true
	case isTimeout(err), errors.As(err, &e) && (e.Stream || !e.Remote), errors.As(err, new(*failure)):
		return false
	}
	return ex.server.Reused && ex.mayRepeat()
}

// answer relays the answer, of which h is the head.
func (st *stream) answer(up *h2.Stream, h *h2.Head) *failure {
	ex := st.ex
	ex.response = ex.p.streamResponse(h)
	ex.response.Informational = ex.informational
	contentType, _ := h.Get("content-type")
	ex.receiving.follow(h)
	ex.p.tapAnswer(&ex.receiving.tap, contentType)
	here := up.Whole()
	ex.announce(contentType, here)
	_, located := h.Get("location")
	st.move(h.Status(), located)
	if err := st.write(h.Fields, h.End); err != nil {
		return ex.browserGone()
	}
	limit := deadline{set: up.SetReadDeadline, after: ex.p.Timeouts.TunnelIdle}
	for !ex.receiving.whole {
		if !here {
			limit.renew(time.Now())
		}
		piece, end, err := up.Next()
		if err != nil && ex.receiving.left == 0 && st.left() {
			break
		}
		if err != nil {
			return ex.fail(netlog.PhaseReceive, err)
		}
		had := ex.receiving.left == 0
		ex.receiving.pass(piece, end, up, ex.p.now())
		if err := st.put(piece, end, ex.receiving.fields); err != nil && !(had && end && !isTimeout(err) && !ex.p.killed.Load()) {
			return ex.browserGone()
		}
		up.Took(len(piece))
	}
	// Some browsers, such as curl, leave with the content that the head tells of, and
	// do not wait for the end behind it.
	ex.receiving.whole = true
	return nil
}

// left tells whether the browser has gone away, or given the stream up.
func (st *stream) left() bool {
	cause := context.Cause(st.ctx)
	return cause == errClientGone || errors.As(cause, new(browserReset))
}

// conclude ends the exchange with f, nil when it went well; up is nil when there
// was no stream for it.
func (st *stream) conclude(up *h2.Stream, f *failure) {
	ex := st.ex
	paged := f != nil && ex.response == nil && wanted(f) && !f.isReset()
	switch {
	case paged:
		ex.abandon()
	case f != nil:
		ex.hurry()
	}
	if f != nil {
		if up != nil {
			up.Reset(st.code())
		}
		if !st.uploading {
			st.drainBeside()
		}
	}
	if paged && !st.awaitRest() {
		st.page(ex, f)
	} else {
		paged = false
	}
	if f == nil {
		ex.awaitUpload(restTime)
	}
	<-ex.uploaded
	if ex.unsent != nil {
		f = ex.notSent(f)
	}
	if notWhole := ex.unsent != nil || !ex.sending.whole; notWhole && f != nil && f.Phase == netlog.PhaseWait && ex.marks.first.IsZero() {
		sending := *f
		sending.Phase = netlog.PhaseSend
		f = &sending
	}
	if !paged && f != nil && ex.response == nil && wanted(f) && !f.isReset() {
		st.page(ex, f)
	}
	st.release(ex, f, false)
	ex.finish(f)
}

// isReset tells what a browser is shown as a reset of its stream: a server's own,
// and that the server has not looked at the request, which it may make again.
func (f *failure) isReset() bool {
	return f.peer != nil && f.peer.Remote && (f.peer.Stream || f.peer.Unprocessed)
}

// resetCode is how a stream is reset that ends with f.
func (f *failure) resetCode() http2.ErrCode {
	switch {
	case f == nil || f.peer == nil || !f.peer.Remote:
		return http2.ErrCodeInternal
	case f.peer.Unprocessed:
		return http2.ErrCodeRefusedStream
	}
	return f.peer.Code
}
