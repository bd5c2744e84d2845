package proxy

import (
	"cmp"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
	"github.com/agentenv/netlog/proxy/wsframe"
)

// A splice is an exchange whose protocol was switched: from then on bytes go
// both ways as they are.
type splice struct {
	*live
	messages *messages // of a WebSocket; nil for anything else
	endedBy  atomic.Pointer[string]
	carried  chan struct{} // closed when nothing more of the browser's goes up
	carryErr error         // what ended that, nil for the browser's own end; read after carried
}

// A pipe is one side of a splice.
type pipe interface {
	// next waits for bytes, and shows them until they are taken; io.EOF: there is no
	// more.
	next() ([]byte, error)
	waits() bool // next has to
	took(n int)
	SetReadDeadline(time.Time) error
}

// A writer is where what one side of a splice sends goes.
type writer interface {
	Write([]byte) (int, error)
	SetWriteDeadline(time.Time) error
}

// A connPipe is a connection's.
type connPipe struct {
	net.Conn
	br *reader
}

func (s connPipe) next() ([]byte, error) {
	if err := s.br.await(); err != nil {
		return nil, err
	}
	return s.br.Peek(s.br.Buffered())
}

func (s connPipe) waits() bool { return s.br.Buffered() == 0 }

func (s connPipe) took(n int) { s.br.Discard(n) }

// Who closed or ended a splice.
var (
	byClient = "client"
	byServer = "server"
)

// switchProtocols relays a 101 and what comes behind it, until both sides have ended.
func (u *upstream) switchProtocols(ex *exchange) bool {
	c := u.c
	head := *ex.response
	ex.entry.answer(&netlog.Answer{Time: ex.p.now(), Response: &head})
	ex.receiving.frame(wire.Framing{}, true)
	upgrade, _ := u.answer.Fields.Get("upgrade")
	s := &splice{live: newLive(ex.p.Timeouts.TunnelIdle), carried: make(chan struct{})}
	if !ex.p.StandIn && strings.EqualFold(string(upgrade), "websocket") {
		s.messages = newMessages(&ex.entry, u.answer.Fields)
	}
	ex.splice = s
	c.begin(ex, u.answer)
	if err := c.flush(ex); err != nil {
		return u.conclude(ex, ex.browserGone(), false)
	}
	close(ex.switched)
	err := s.pump(c.conn, connPipe{u.conn, u.br}, &byServer, &ex.down)
	if err == nil {
		closeWrite(c.conn)
	} else {
		u.conn.Close()
		if isReset(err) {
			resetOnClose(c.tcp.Conn)
		}
		c.tcp.Conn.Close()
	}
	s.halve(c.conn.SetReadDeadline)
	<-s.carried
	if s.messages != nil {
		ex.socket = s.record(u.answer.Fields)
	}
	return u.conclude(ex, s.failure(ex, err), false)
}

// carry takes what the browser sends behind its upgrade to the server.
func (c *client) carry(ex *exchange, u *upstream) {
	s := ex.splice
	defer close(s.carried)
	s.carryErr = errFault
	s.carryErr = s.pump(u.conn, connPipe{c.conn, c.br}, &byClient, &ex.up)
	if s.carryErr != nil {
		u.conn.Close()
		return
	}
	closeWrite(u.conn)
	s.halve(u.conn.SetReadDeadline)
}

// pump takes bytes from src, which is by's, to dst. Frames go on first, then they
// are looked at. Its error is nil at src's own end.
func (s *splice) pump(dst writer, src pipe, by *string, passed *atomic.Int64) error {
	messages := s.messages.of(by)
	limit := deadline{set: dst.SetWriteDeadline, after: s.idle}
	for {
		if src.waits() && !s.await(src.SetReadDeadline) {
			return errSilence
		}
		piece, err := src.next()
		if err != nil {
			if isTimeout(err) {
				continue
			}
			s.endedBy.CompareAndSwap(nil, by)
			if err == io.EOF {
				return nil
			}
			return err
		}
		limit.renew(time.Now())
		if messages != nil {
			messages.begin()
		}
		n, err := dst.Write(piece)
		passed.Add(int64(n))
		if err != nil {
			s.endedBy.CompareAndSwap(nil, other(by))
			return errWrite{err}
		}
		s.touch()
		if messages != nil {
			messages.look(piece)
		}
		src.took(len(piece))
	}
}

// errSilence is the end of a connection on which nothing has passed for too long.
var errSilence = errors.New("nothing passed for too long")

// errWrite is an error of the side that is written to.
type errWrite struct{ error }

func (e errWrite) Unwrap() error { return e.error }

func other(by *string) *string {
	if by == &byClient {
		return &byServer
	}
	return &byClient
}

// record is what the log says of a WebSocket that has ended.
func (s *splice) record(fields wire.FieldList) *netlog.WebSocket {
	sent, received := &s.messages.sent.frames, &s.messages.received.frames
	w := &netlog.WebSocket{Sent: frames(sent.Counts), Received: frames(received.Counts)}
	w.Recorded = s.messages.finish(sent.Messages + received.Messages)
	if closer := s.messages.closer(); closer != nil {
		code, reason, _ := closer.frames.Closed()
		w.Close = &netlog.Close{Code: code, Reason: reason, By: *closer.by}
	}
	protocol, _ := fields.Get("sec-websocket-protocol")
	w.Subprotocol = string(protocol)
	var extensions []string
	for value := range fields.Values("sec-websocket-extensions") {
		extensions = append(extensions, string(value))
	}
	w.Extensions = strings.Join(extensions, ", ")
	return w
}

func frames(c wsframe.Counts) netlog.Frames {
	return netlog.Frames{Messages: c.Messages, Bytes: c.Bytes, Frames: c.Frames, Control: c.Control}
}

// failure is what broke the splice; nil when it came to an end of its own. A
// WebSocket's own end has a close frame (RFC 6455 §7.1.5).
func (s *splice) failure(ex *exchange, err error) *failure {
	phase := netlog.PhaseReceive
	if s.messages != nil {
		phase = netlog.PhaseWebSocket
	}
	if ex.ctx.Err() != nil {
		// A browser of HTTP/2 may end a WebSocket's stream by a reset.
		if f := ex.fail(phase, cmp.Or(err, net.ErrClosed)); f.Code != netlog.CodeClientGone || s.messages.closer() == nil {
			return f
		}
		return nil
	}
	if s.messages.closer() != nil {
		return nil
	}
	if err == nil {
		err = s.carryErr
	}
	by := s.endedBy.Load()
	switch {
	case errors.Is(err, errSilence):
		return failed(phase, netlog.CodeTimeout, errSilence.Error())
	case by == &byClient && (err != nil || s.messages != nil):
		return failed(phase, netlog.CodeClientGone, errClientGone.Error())
	case err != nil:
		return classify(phase, err)
	case s.messages != nil:
		return failed(phase, netlog.CodeReset, "the server closed the WebSocket without a close frame")
	}
	return nil
}
