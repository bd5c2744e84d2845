package proxy

import (
	"io"
	"strings"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
	"github.com/agentenv/netlog/proxy/wire"
)

// A streamPipe is a stream's side of a splice.
type streamPipe struct{ *h2.Stream }

func (p streamPipe) next() ([]byte, error) {
	piece, end, err := p.Next()
	if err == nil && end && len(piece) == 0 {
		return nil, io.EOF
	}
	return piece, err
}

func (p streamPipe) waits() bool { return !p.Ready() }

func (p streamPipe) took(n int) { p.Took(n) }

func (p streamPipe) Write(b []byte) (int, error) {
	if err := p.Stream.Write(b, false); err != nil {
		return 0, err
	}
	return len(b), nil
}

// switchTo relays the other protocol that the answer with the head h has agreed to,
// most often a WebSocket's (RFC 8441), until both sides have ended.
func (st *stream) switchTo(up *h2.Stream, h *h2.Head) {
	ex := st.ex
	ex.response = ex.p.streamResponse(h)
	ex.response.Informational = ex.informational
	head := *ex.response
	ex.entry.answer(&netlog.Answer{Time: ex.p.now(), Response: &head})
	ex.receiving.frame(wire.Framing{}, true)
	s := &splice{live: newLive(ex.p.Timeouts.TunnelIdle), carried: make(chan struct{})}
	fields := asWire(h.Regular())
	protocol, _ := st.Head().Get(":protocol")
	if strings.EqualFold(protocol, "websocket") {
		s.messages = newMessages(&ex.entry, fields)
	}
	if err := st.write(h.Fields, false); err != nil {
		close(s.carried)
		st.conclude(up, ex.browserGone())
		return
	}
	go st.carry(s, up)
	err := s.pump(streamPipe{st.Stream}, streamPipe{up}, &byServer, &ex.down)
	if err == nil {
		st.put(nil, true, nil)
	} else {
		up.Reset(st.code())
		st.Reset(ex.fail(netlog.PhaseReceive, err).resetCode())
	}
	s.halve(st.SetReadDeadline)
	<-s.carried
	if s.messages != nil {
		ex.socket = s.record(fields)
	}
	st.conclude(up, s.failure(ex, err))
}

// carry takes what the browser sends to the server.
func (st *stream) carry(s *splice, up *h2.Stream) {
	defer close(s.carried)
	s.carryErr = errFault
	s.carryErr = s.pump(streamPipe{up}, streamPipe{st.Stream}, &byClient, &st.ex.up)
	if s.carryErr != nil {
		up.Reset(http2.ErrCodeCancel)
		return
	}
	up.Write(nil, true)
	s.halve(up.SetReadDeadline)
}

// asWire are fields of HTTP/2 as HTTP/1's, to be looked at.
func asWire(fields []h2.Field) wire.FieldList {
	list := make(wire.FieldList, len(fields))
	for i, f := range fields {
		list[i] = wire.Field{Name: []byte(f.Name), Value: []byte(f.Value)}
	}
	return list
}
