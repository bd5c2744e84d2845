package proxy

import (
	"strconv"
	"time"

	"github.com/agentenv/netlog/proxy/h2"
	"github.com/agentenv/netlog/proxy/wire"
)

// A body follows the framing of one body as its bytes pass.
type body struct {
	kind   wire.FramingKind
	left   int64 // of wire.Length, and of HTTP/2 by its content-length; -1: it has none
	chunks wire.Chunked
	tap    tap
	whole  bool // its end has passed

	fields []h2.Field // behind a body of HTTP/2

	unframed bool   // gather the content in content, for an HTTP/1.0 client
	content  []byte // of the last take
}

// frame makes a new b follow a body that is delimited by f. Servers are read more
// leniently than browsers.
func (b *body) frame(f wire.Framing, lenient bool) {
	b.kind, b.left, b.chunks.Lenient = f.Kind, f.Length, lenient
	if f.Kind == wire.Length {
		b.tap.length, b.tap.framed = f.Length, true
	}
	b.whole = f.Kind == wire.None || f.Kind == wire.Length && f.Length == 0
}

// follow makes a new b follow what comes behind a head of HTTP/2, where pass takes it.
func (b *body) follow(h *h2.Head) {
	b.kind, b.whole, b.left = wire.UntilClose, h.End, -1
	if value, ok := h.Get("content-length"); ok {
		if length, err := strconv.ParseInt(value, 10, 64); err == nil {
			b.tap.length, b.left = length, length
		}
	}
}

// pass taps the next piece, or the last, of a body that is from's.
func (b *body) pass(piece []byte, end bool, from *h2.Stream, now time.Time) {
	if end && b.tap.size == 0 { // else a server may send more than it has told of
		b.tap.length, b.tap.framed = int64(len(piece)), true
	}
	b.tap.pass(piece, now)
	if b.left >= 0 {
		b.left -= int64(len(piece))
	}
	if end {
		b.whole = true
		if trailers := from.Trailers(); trailers != nil {
			b.fields = trailers.Fields
		}
	}
}

// take says how many of p's bytes are the body's, and taps their content. It
// takes nothing once the body is whole.
func (b *body) take(p []byte, now time.Time) (n int, err error) {
	b.content = b.content[:0]
	switch {
	case b.whole:
		return 0, nil
	case b.kind == wire.UntilClose:
		b.tap.pass(p, now)
		return len(p), nil
	case b.kind == wire.Length:
		n = int(min(int64(len(p)), b.left))
		b.left -= int64(n)
		b.whole = b.left == 0
		b.tap.pass(p[:n], now)
		return n, nil
	}
	for n < len(p) && !b.whole {
		m, content, err := b.chunks.Next(p[n:])
		n += m
		b.tap.pass(content, now)
		if b.unframed {
			b.content = append(b.content, content...)
		}
		if err != nil {
			return n, err
		}
		b.whole = b.chunks.Done()
	}
	return n, nil
}

// check says whether p can be the body's next bytes, without taking any: what is
// seen to be malformed before the head has gone up is turned down.
func (b *body) check(p []byte) error {
	if b.kind != wire.ByChunks {
		return nil
	}
	chunks := b.chunks
	for len(p) > 0 && !chunks.Done() {
		n, _, err := chunks.Next(p)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// trailers are those of a chunked body.
func (b *body) trailers() []wire.Field {
	if b.kind != wire.ByChunks {
		return nil
	}
	return b.chunks.Trailers()
}
