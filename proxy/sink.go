package proxy

import (
	"fmt"
	"time"

	"github.com/agentenv/netlog/proxy/h2"
)

// A sink is where a request's body goes.
type sink interface {
	SetWriteDeadline(time.Time) error
	// put sends a piece on; end: the last, behind which come the trailers.
	put(piece []byte, end bool, trailers []h2.Field) error
}

// A trunkSink is a server's stream.
type trunkSink struct{ *h2.Stream }

func (s trunkSink) put(piece []byte, end bool, trailers []h2.Field) error {
	if err := s.Write(piece, end && trailers == nil); err != nil || trailers == nil {
		return err
	}
	return s.WriteHead(trailers, true)
}

// A chunkSink is a connection to a server of HTTP/1.
type chunkSink struct {
	u       *upstream
	ex      *exchange
	head    []byte // that has not been sent yet
	chunked bool
	buf     []byte
}

func (s *chunkSink) SetWriteDeadline(t time.Time) error { return s.u.conn.SetWriteDeadline(t) }

func (s *chunkSink) put(piece []byte, end bool, trailers []h2.Field) error {
	b := append(s.buf[:0], s.head...)
	s.head = nil
	if s.chunked && len(piece) > 0 {
		b = fmt.Appendf(b, "%x\r\n", len(piece))
	}
	b = append(b, piece...)
	if s.chunked {
		if len(piece) > 0 {
			b = append(b, "\r\n"...)
		}
		if end {
			b = append(b, "0\r\n"...)
			for _, f := range trailers {
				b = fmt.Appendf(b, "%s: %s\r\n", f.Name, f.Value)
			}
			b = append(b, "\r\n"...)
		}
	}
	s.buf = b
	if len(b) == 0 {
		return nil
	}
	n, err := s.u.conn.Write(b)
	s.ex.up.Add(int64(n))
	return err
}
