package h2

import "sync"

// chunkSize is that of the pieces that bodies are held in: a TLS record's and a
// frame's.
const chunkSize = 16 << 10

// keptOut is the largest write buffer that is used again.
const keptOut = 2 * outRoom

// Buffers are memory that connections share. The zero value is ready.
type Buffers struct {
	chunks, outs sync.Pool
}

func (b *Buffers) chunk() *[chunkSize]byte {
	if c, ok := b.chunks.Get().(*[chunkSize]byte); ok {
		return c
	}
	return new([chunkSize]byte)
}

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
	chunks []*[chunkSize]byte
	begin  int // of what is held, in the first chunk
	end    int // and in the last
	size   int
	lent   bool // the first piece is in its reader's hands
}

// add takes a copy of p.
func (h *held) add(p []byte, b *Buffers) {
	h.size += len(p)
	for len(p) > 0 {
		if len(h.chunks) == 0 || h.end == chunkSize {
			h.chunks = append(h.chunks, b.chunk())
			h.end = 0
		}
		n := copy(h.chunks[len(h.chunks)-1][h.end:], p)
		h.end += n
		p = p[n:]
	}
}

// piece is the first of it. It stays as it is until it is taken.
func (h *held) piece() []byte {
	if h.size == 0 {
		return nil
	}
	h.lent = true
	if len(h.chunks) == 1 {
		return h.chunks[0][h.begin:h.end]
	}
	return h.chunks[0][h.begin:]
}

// take takes n bytes of the first piece, and says how many there were.
func (h *held) take(n int, b *Buffers) int {
	h.lent = false
	if len(h.chunks) == 0 {
		return 0 // it was dropped meanwhile
	}
	last := len(h.chunks) == 1
	end := chunkSize
	if last {
		end = h.end
	}
	n = min(n, end-h.begin)
	h.begin += n
	h.size -= n
	if h.begin < end {
		return n
	}
	b.chunks.Put(h.chunks[0])
	left := copy(h.chunks, h.chunks[1:])
	h.chunks[left] = nil
	h.chunks = h.chunks[:left]
	h.begin = 0
	if last {
		h.end = 0
	}
	return n
}

// drop gives all of it up, and says how much that was.
func (h *held) drop(b *Buffers) int {
	for i, c := range h.chunks {
		if i > 0 || !h.lent {
			b.chunks.Put(c)
		}
	}
	n := h.size
	*h = held{lent: h.lent}
	return n
}
