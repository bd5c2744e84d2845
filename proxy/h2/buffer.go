package h2

import (
	"slices"
	"sync"
)

// A chunk is what a piece of a body is read into, and held in.
type chunk [chunkSize]byte

// chunkSize is that of the largest frame, and of a TLS record.
const chunkSize = frameSize

// keptOut is the largest write buffer that is used again.
const keptOut = 2 * outRoom

// Buffers are memory that connections share. The zero value is ready.
type Buffers struct {
	chunks, outs sync.Pool
}

func (b *Buffers) chunk() *chunk {
	if c, ok := b.chunks.Get().(*chunk); ok {
		return c
	}
	return new(chunk)
}

func (b *Buffers) put(c *chunk) { b.chunks.Put(c) }

// out is an empty write buffer.
func (b *Buffers) out() []byte {
	if p, ok := b.outs.Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, 4<<10)
}

func (b *Buffers) putOut(p []byte) {
	if cap(p) > 0 && cap(p) <= keptOut {
		b.outs.Put(&p)
	}
}

// A held is what has come of a body and has not gone on.
type held struct {
	pieces []piece
	size   int
	lent   bool // the first piece is in its reader's hands
}

// A piece is a chunk's bytes from begin to end.
type piece struct {
	chunk      *chunk
	begin, end int
}

// add takes the first n bytes of c, and says whether it has taken the chunk itself:
// a few bytes are copied behind the last ones, so that a body in many small frames
// takes up no more than twice its size.
func (h *held) add(c *chunk, n int) (taken bool) {
	h.size += n
	if len(h.pieces) > 0 {
		last := &h.pieces[len(h.pieces)-1]
		if n <= chunkSize-last.end {
			copy(last.chunk[last.end:], c[:n])
			last.end += n
			return false
		}
	}
	h.pieces = append(h.pieces, piece{chunk: c, end: n})
	return true
}

// first is the first piece. It stays as it is until it is taken.
func (h *held) first() []byte {
	if h.size == 0 {
		return nil
	}
	h.lent = true
	p := h.pieces[0]
	return p.chunk[p.begin:p.end]
}

// take takes n bytes of the first piece, and says how many there were.
func (h *held) take(n int, b *Buffers) int {
	h.lent = false
	if len(h.pieces) == 0 {
		return 0 // it was dropped meanwhile
	}
	p := &h.pieces[0]
	n = min(n, p.end-p.begin)
	p.begin += n
	h.size -= n
	if p.begin == p.end {
		b.put(p.chunk)
		h.pieces = slices.Delete(h.pieces, 0, 1)
	}
	return n
}

// drop gives all of it up, and says how much that was.
func (h *held) drop(b *Buffers) int {
	for i, p := range h.pieces {
		if i > 0 || !h.lent {
			b.put(p.chunk)
		}
	}
	n := h.size
	*h = held{lent: h.lent}
	return n
}
