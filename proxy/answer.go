package proxy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// answerAfter is how long an answer's body may take before an answer line tells
// of its head.
const answerAfter = time.Second

// maxInformational bounds the 1xx answers of one exchange.
const maxInformational = 100

func tooInformative() *failure {
	return failed(netlog.PhaseWait, netlog.CodeBadAnswer, "the server sent too many informational answers")
}

// informs takes note of a 1xx of that size; false: together they are more than a
// head may be.
func (ex *exchange) informs(status, size int, headers []netlog.Header) bool {
	if ex.informed += size; ex.informed > headLimit {
		return false
	}
	ex.informational = append(ex.informational, netlog.Informational{Status: status, Headers: headers})
	return true
}

// serve relays the answer of ex, of which the first byte is there or which err
// has kept from coming. It says whether the connection goes on.
func (u *upstream) serve(ex *exchange, err error) bool {
	if err != nil {
		return u.unanswered(ex, err)
	}
	u.answer = ex.p.answers.take()
	defer u.forget()
	ex.marks.first = ex.p.now()
	ex.writeOpen()                  // whoever has the answer finds the request in the log
	u.waiting.renew(ex.marks.first) // else an old one could end in mid-head
	for range maxInformational {
		err := wire.ReadAnswer(u.br.Reader, u.answer, headLimit)
		if err != nil {
			return u.badHead(ex, err)
		}
		if u.answer.Status >= 200 || u.answer.Status == http.StatusSwitchingProtocols {
			return u.final(ex)
		}
		if !u.informational(ex) {
			return false
		}
		if err := u.awaitNext(ex); err != nil {
			return u.badHead(ex, err)
		}
	}
	return u.fail(ex, tooInformative())
}

// awaitNext waits for what comes behind a 1xx, for as long as for an answer's first
// byte: the request may still be going up.
func (u *upstream) awaitNext(ex *exchange) error {
	ex.lastHeard.Store(time.Now().UnixNano())
	for {
		err := u.br.await()
		if err == nil {
			u.waiting.renew(time.Now())
			return nil
		}
		left := ex.mayWait()
		if !isTimeout(err) || left <= 0 {
			return err
		}
		u.waiting.replace(time.Now().Add(left))
	}
}

// unanswered is the end of an exchange whose connection ended, or stayed
// silent, before a byte of the answer.
func (u *upstream) unanswered(ex *exchange, err error) bool {
	if left := ex.mayWait(); isTimeout(err) && left > 0 {
		u.waiting.replace(time.Now().Add(left))
		return true
	}
	alive := ex.ctx.Err() == nil
	if u.used && alive && !isTimeout(err) {
		if ex.head != nil {
			return u.again(ex)
		}
		// The browser does what it would do without us: Chromium sends it again.
		f := failed(netlog.PhaseWait, netlog.CodeReset, "the server closed the connection, which had been used before, without an answer")
		return u.conclude(ex, f, false)
	}
	f := *ex.fail(netlog.PhaseWait, err)
	u.giveUp(ex)
	if ex.unsent != nil && f.Phase == netlog.PhaseWait {
		f.Phase = netlog.PhaseSend
	}
	return u.fail(ex, &f)
}

// mayWait is what is left of the limit for an answer that has not begun: it runs
// from when some of the request was sent last, or the last 1xx came.
func (ex *exchange) mayWait() time.Duration {
	last := max(ex.lastSent.Load(), ex.lastHeard.Load())
	return time.Until(time.Unix(0, last).Add(ex.p.Timeouts.Answer))
}

// again sends the request, which has no body, on a new connection.
func (u *upstream) again(ex *exchange) bool {
	u.conn.Close()
	<-ex.uploaded
	ex.unsent = nil
	head := ex.head
	ex.head = nil // once only
	ex.marks = marks{dialling: ex.p.now()}
	fresh, err := u.c.establish(ex.ctx, ex.origin, nil, httpOnly)
	ex.dialledBy(fresh.dialled)
	if err != nil {
		var f *failure
		errors.As(err, &f)
		ex.server = netlog.Server{Address: fresh.dialled.address}
		return u.fail(ex, f)
	}
	u.replace(fresh)
	ex.server, ex.dialled = u.server(), u.dialled
	now := ex.p.now()
	ex.marks.ready = now
	ex.lastSent.Store(now.UnixNano())
	u.waiting.renew(now)
	u.writing.renew(now)
	n, err := u.conn.Write(head)
	ex.up.Add(int64(n))
	if err != nil {
		return u.fail(ex, ex.fail(netlog.PhaseSend, err))
	}
	ex.marks.sent = ex.p.now()
	return true
}

// badHead is an answer whose head could not be read as HTTP. It is relayed as
// it came, but not on a route, where it could hold what must be rewritten, nor to
// a browser that speaks HTTP/2.
func (u *upstream) badHead(ex *exchange, err error) bool {
	var unreadable *wire.Unreadable
	if !errors.As(err, &unreadable) {
		if ex.ctx.Err() == nil && (err == io.ErrUnexpectedEOF || err == io.EOF) {
			err = failed(netlog.PhaseWait, netlog.CodeReset, "the server closed the connection in the answer's head")
		}
		return u.fail(ex, ex.fail(netlog.PhaseWait, err))
	}
	ex.unparsed = true
	if ex.origin.route != nil || ex.http2 {
		return u.fail(ex, failed(netlog.PhaseWait, netlog.CodeBadAnswer, "the answer is no HTTP: "+unreadable.Reason))
	}
	ex.strange.Store(true)
	ex.response = &netlog.Response{Informational: ex.informational}
	ex.receiving.frame(wire.Framing{Kind: wire.UntilClose}, true)
	ex.p.tapAnswer(&ex.receiving.tap, "")
	ex.receiving.take(u.answer.Raw, ex.p.now())
	ex.from.begin(ex, u.answer)
	return u.conclude(ex, u.relay(ex), false)
}

// informational relays and records a 1xx, which an HTTP/1.0 client does not get.
func (u *upstream) informational(ex *exchange) bool {
	ex.rewriteAnswer(u.answer)
	if !ex.informs(u.answer.Status, len(u.answer.Raw), ex.p.headers(u.answer.Fields)) {
		return u.fail(ex, tooInformative())
	}
	if ex.oldHTTP {
		return true
	}
	if err := ex.from.inform(ex, u.answer); err != nil {
		return u.conclude(ex, ex.browserGone(), false)
	}
	return true
}

// rewriteAnswer is the route's part of an answer's head.
func (ex *exchange) rewriteAnswer(a *wire.Answer) {
	if route := ex.origin.route; route != nil && route.Answer != nil {
		route.Answer(a, ex.c.visit(ex.origin))
	}
}

// headBytes is the size of an answer's head as the browser gets it.
func (ex *exchange) headBytes(a *wire.Answer) int64 {
	if ex.origin.route == nil {
		return int64(len(a.Raw))
	}
	n := len(a.Line) + len("\r\n")
	for i := range a.Fields {
		n += len(a.Fields[i].Line)
	}
	return int64(n)
}

// final relays the answer proper.
func (u *upstream) final(ex *exchange) bool {
	a := u.answer
	framing, err := a.Framing(ex.method)
	if err != nil {
		return u.badHead(ex, err)
	}
	if parent := u.origin.asked; parent != nil && a.Status == http.StatusProxyAuthRequired {
		return u.fail(ex, parent.declinedWith(a)) // the browser has none for it
	}
	if a.Status == http.StatusSwitchingProtocols && !ex.upgrade {
		return u.fail(ex, failed(netlog.PhaseWait, netlog.CodeBadAnswer, "the server switched protocols without being asked to"))
	}
	ex.rewriteAnswer(a)
	if ex.p.StandIn {
		ex.response = bareAnswer(a)
	} else {
		ex.response = ex.p.response(a)
		ex.response.HeaderBytes = ex.headBytes(a)
		ex.response.Informational = ex.informational
	}
	if a.Status == http.StatusSwitchingProtocols {
		return u.switchProtocols(ex)
	}
	contentType, _ := a.Fields.Get("content-type")
	ex.receiving.frame(framing, true)
	ex.p.tapAnswer(&ex.receiving.tap, string(contentType))
	ex.receiving.unframed = (ex.oldHTTP || ex.http2) && framing.Kind == wire.ByChunks
	goesOn := a.KeepAlive() && a.Minor > 0 && framing.Kind != wire.UntilClose
	// Between http:// requests the browser's connection outlives the server's, but
	// not one that ends an upload: the browser has to know that.
	outlives := u.c.origin == nil && ex.isUploaded()
	ex.again = !ex.last && framing.Kind != wire.UntilClose && (goesOn || outlives)
	ex.from.begin(ex, a)
	ex.announce(string(contentType), ex.receiving.kind == wire.Length && ex.receiving.left <= int64(u.br.Buffered()))
	f := u.relay(ex)
	if f == nil && u.br.Buffered() > 0 {
		goesOn = false // bytes behind the answer belong to no request
		ex.again = ex.again && u.c.origin == nil
	}
	return u.conclude(ex, f, goesOn)
}

// announce writes the answer line: at once for an event stream, whose parts are
// timed, and for any other answer whose body takes long. here: all of it has come.
func (ex *exchange) announce(contentType string, here bool) {
	if ex.receiving.whole || here {
		return
	}
	head := *ex.response
	line := func() { ex.entry.answer(&netlog.Answer{Time: ex.p.now(), Response: &head}) }
	if media, _, _ := strings.Cut(contentType, ";"); strings.EqualFold(strings.TrimSpace(media), "text/event-stream") {
		ex.receiving.tap.timed, ex.receiving.tap.since = true, ex.open.Time
		line()
		return
	}
	ex.answerLine = time.AfterFunc(answerAfter, line)
}

// relay passes on the body, each piece as it comes, behind its head.
func (u *upstream) relay(ex *exchange) *failure {
	limit := deadline{set: u.waiting.replace, after: ex.p.Timeouts.TunnelIdle}
	for !ex.receiving.whole {
		if u.br.Buffered() == 0 {
			if err := ex.from.flush(ex); err != nil {
				return ex.browserGone()
			}
			if u.canMove(ex) {
				return u.move(ex)
			}
			limit.renew(time.Now())
		}
		if _, err := u.br.Peek(1); err != nil {
			return u.brokeOff(ex, err)
		}
		piece, _ := u.br.Peek(u.br.Buffered())
		n, err := ex.receiving.take(piece, ex.p.now())
		if err != nil {
			ex.from.pass(ex, piece[:n])
			ex.from.flush(ex)
			u.br.Discard(n)
			return failed(netlog.PhaseReceive, netlog.CodeBadAnswer, "the answer's chunks: "+err.Error())
		}
		if ex.receiving.whole {
			ex.delivered.Store(true)
		}
		if err := ex.from.pass(ex, piece[:n]); err != nil {
			return ex.browserGone()
		}
		u.br.Discard(n)
	}
	ex.delivered.Store(true)
	if err := ex.from.flush(ex); err != nil {
		return ex.browserGone()
	}
	return nil
}

// brokeOff is the end of the server's stream within the body, which for a body
// that lasts until then is its own.
func (u *upstream) brokeOff(ex *exchange, err error) *failure {
	ex.from.flush(ex)
	if ex.ctx.Err() == nil && ex.receiving.kind == wire.UntilClose && err == io.EOF {
		// TLS that ends without a close_notify may have been cut: nobody can tell.
		ex.receiving.whole = u.tls == nil || !u.dialled.conn.ended
		ex.delivered.Store(true)
		if err := ex.from.flush(ex); err != nil {
			return ex.browserGone()
		}
		return nil
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = failed(netlog.PhaseReceive, netlog.CodeReset, "the server closed the connection before the answer's end")
		if ex.ctx.Err() != nil {
			err = io.EOF
		}
	} else if errors.Is(err, syscall.ECONNRESET) {
		u.reset = true
	}
	return ex.fail(netlog.PhaseReceive, err)
}

// browserGone ends the work for a browser that takes no more.
func (ex *exchange) browserGone() *failure {
	phase := netlog.PhaseReceive
	if ex.response == nil {
		phase = netlog.PhaseWait
	}
	ex.cancel(errClientGone)
	return ex.fail(phase, errClientGone)
}

// fail ends an exchange that has no answer: the browser gets our page, once its
// request has been read for the log.
func (u *upstream) fail(ex *exchange, f *failure) bool {
	u.giveUp(ex)
	if wanted(f) {
		ex.from.page(ex, f)
	}
	return u.conclude(ex, f, false)
}

// giveUp ends the connection and waits for the request's end.
func (u *upstream) giveUp(ex *exchange) {
	ex.abandon()
	u.conn.Close() // so that sending ends too
	<-ex.uploaded
}

// wanted tells whether there is a browser to show the page for f to, and one
// that has kept to the protocol.
func wanted(f *failure) bool {
	return f.Code != netlog.CodeClientGone && f.Code != netlog.CodeStopped && f.Code != netlog.CodeBadRequest
}

// conclude ends the exchange with f, nil when it went well, and leaves both
// connections as they have to be. goesOn says whether the one to the server can
// take another request; so does what it returns.
func (u *upstream) conclude(ex *exchange, f *failure, goesOn bool) bool {
	if f != nil {
		goesOn = false
		if ex.http2 {
			ex.hurry()
		}
		u.giveUp(ex)
	}
	if f == nil && !u.awaitUpload(ex) {
		goesOn = false
		ex.again = ex.again && u.c.origin == nil // as idleEnded has it
	}
	u.br.give() // it is as good as read, and the log may be slow
	<-ex.uploaded
	if ex.unsent != nil {
		goesOn, ex.again = false, false
		f = ex.notSent(f)
	}
	ex.again = ex.again && f == nil
	goesOn = u.free(goesOn && !u.c.crowded())
	ex.from.release(ex, f, u.reset)
	ex.finish(f)
	return goesOn
}

// notSent is what the request's not going up whole makes of an exchange that ends
// with f.
func (ex *exchange) notSent(f *failure) *failure {
	// A browser may stop sending once it has its answer whole, and a server reading.
	if f == nil && ex.unsent != errClientGone && !errors.As(ex.unsent, new(errUpstream)) {
		f = ex.fail(netlog.PhaseSend, ex.unsent)
	}
	return f
}
