package h2

import (
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/net/http2"
)

// A queue holds streams in the order in which they came.
type queue struct{ list []*Stream }

func (q *queue) empty() bool { return len(q.list) == 0 }

func (q *queue) push(s *Stream) { q.list = append(q.list, s) }

// pop takes the first; nil when there is none.
func (q *queue) pop() *Stream {
	if len(q.list) == 0 {
		return nil
	}
	s := q.list[0]
	q.list = slices.Delete(q.list, 0, 1)
	return s
}

func (q *queue) remove(s *Stream) {
	if i := slices.Index(q.list, s); i >= 0 {
		q.list = slices.Delete(q.list, i, i+1)
	}
}

// append moves all of from behind q's.
func (q *queue) append(from *queue) {
	q.list = append(q.list, from.list...)
	clear(from.list)
	from.list = from.list[:0]
}

// NewStream is a stream for a request, which opens it; in a client's Conn. The
// error is an *Error that is Unprocessed, or why the connection has ended.
func (c *Conn) NewStream() (*Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.mayOpen(); err != nil {
		return nil, err
	}
	return newStream(c), nil
}

func (c *Conn) mayOpen() error {
	switch {
	case c.err != nil:
		return c.err
	case c.goneAway != nil || c.draining || c.lastID >= maxStreamID-2:
		return &Error{Code: http2.ErrCodeNo, Reason: "the connection takes no more requests", Remote: true, Unprocessed: true}
	}
	return nil
}

// Usable tells whether a request may be begun.
func (c *Conn) Usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mayOpen() == nil
}

// openNext lets streams open for which the server has room.
func (c *Conn) openNext() {
	most := int(min(c.peer.MaxStreams, math.MaxInt32))
	if !c.settled {
		most = unsettledStreams
	}
	for c.opened < most && !c.opening.empty() {
		s := c.opening.pop()
		s.counted = true
		c.opened++
		s.queue()
	}
	c.pump()
}

// WriteHead sends a head, or trailers: it opens a request's stream, or is the next
// of an answer. It returns when they are on their way. The fields are not kept.
func (s *Stream) WriteHead(fields []Field, end bool) error {
	c := s.c
	c.mu.Lock()
	defer c.unlock()
	if err := s.maySend(); err != nil {
		return err
	}
	s.sending, s.fields, s.isHead, s.andEnd = true, fields, true, end
	if s.id == 0 && !c.server {
		if err := c.mayOpen(); err != nil {
			s.stopSending()
			return err
		}
		c.opening.push(s)
		c.openNext()
	} else {
		s.queue()
		c.pump()
	}
	return s.waitSent()
}

// Write sends a piece of the body; end: the last. It returns when all of it is on
// its way, and p is the caller's again.
func (s *Stream) Write(p []byte, end bool) error {
	c := s.c
	c.mu.Lock()
	defer c.unlock()
	if err := s.maySend(); err != nil || len(p) == 0 && !end {
		return err
	}
	s.sending, s.body, s.andEnd = true, p, end
	s.queue()
	c.pump()
	return s.waitSent()
}

func (s *Stream) maySend() error {
	switch {
	case s.err != nil:
		return s.err
	case s.sentEnd || s.left:
		return os.ErrClosed
	}
	return nil
}

func (s *Stream) waitSent() error {
	for s.sending {
		if err := s.c.wait(&s.writers); err != nil {
			s.stopSending()
			return err
		}
	}
	if s.err != nil && !s.sentEnd {
		return s.err
	}
	return nil
}

// queue makes the stream wait for its turn, if there is something of it that could
// be sent.
func (s *Stream) queue() {
	if s.sending && !s.queued && (s.isHead || s.credit > 0 || len(s.body) == 0) {
		s.queued = true
		s.c.turns.push(s)
	}
}

// pump moves what streams have to send into the write buffer, a frame of each in
// turn, as far as there is room.
func (c *Conn) pump() {
	if c.turns.empty() || c.err != nil {
		return
	}
	if cap(c.out) == 0 {
		c.out = c.cfg.Buffers.out()
	}
	for len(c.out) < outRoom {
		s := c.turns.pop()
		if s == nil {
			break
		}
		switch {
		case s.isHead:
			s.queued = false
			s.sendHead()
		case c.credit <= 0 && len(s.body) > 0:
			c.starved.push(s)
		default:
			s.queued = false
			s.sendPiece()
		}
	}
	if len(c.out) > 0 {
		c.writer.Signal()
	}
}

// sendHead encodes the stream's fields.
func (s *Stream) sendHead() {
	c := s.c
	if s.id == 0 {
		if err := c.mayOpen(); err != nil {
			s.fail(err)
			return
		}
		if c.lastID == 0 {
			c.lastID = 1
		} else {
			c.lastID += 2
		}
		s.id = c.lastID
		s.credit, s.window = c.peer.window, c.cfg.StreamWindow
		c.streams[s.id] = s
	}
	c.block.Reset()
	for _, f := range s.fields {
		c.encoder.WriteField(f)
	}
	block := c.block.Bytes()
	room := c.peer.frame - 5 // a priority's bytes
	n := min(len(block), room)
	c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: s.id, BlockFragment: block[:n], EndStream: s.andEnd, EndHeaders: n == len(block), Priority: s.priority,
	})
	s.priority = http2.PriorityParam{}
	for block = block[n:]; len(block) > 0; block = block[n:] {
		n = min(len(block), c.peer.frame)
		c.framer.WriteContinuation(s.id, n == len(block), block[:n])
	}
	s.sent()
}

// sendPiece makes a frame of as much of the stream's body as its window, the
// connection's and a frame take.
func (s *Stream) sendPiece() {
	c := s.c
	n := int(min(int64(min(len(s.body), c.peer.frame)), max(s.credit, 0), max(c.credit, 0)))
	last := n == len(s.body)
	if n > 0 || last {
		c.out = appendData(c.out, s.id, s.body[:n], last && s.andEnd)
		s.body = s.body[n:]
		s.credit -= int64(n)
		c.credit -= int64(n)
		c.calm.earn(4) // the peer may answer with frames
	}
	if last {
		s.sent()
		return
	}
	s.queue()
}

// sent ends the wait of the stream's writer.
func (s *Stream) sent() {
	s.sending, s.isHead, s.fields, s.body = false, false, nil, nil
	s.writers.Broadcast()
	if s.andEnd {
		s.sentEnd = true
		s.settle()
	}
}

// appendData encodes a DATA frame, without the copy that the framer would make.
func appendData(out []byte, id uint32, p []byte, end bool) []byte {
	n := len(p)
	var flags byte
	if end {
		flags = byte(http2.FlagDataEndStream)
	}
	out = append(out, byte(n>>16), byte(n>>8), byte(n), byte(http2.FrameData), flags, byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
	return append(out, p...)
}

// write sends what is in out until the connection ends, and says so then.
func (c *Conn) write() {
	var out []byte
	for {
		var ok bool
		if out, ok = c.take(out); !ok {
			break
		}
		if err := c.send(out); err != nil {
			c.end(err)
			c.nc.Close()
			return
		}
	}
	c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}

// send writes encoded frames.
func (c *Conn) send(out []byte) error {
	if c.gathered == nil || len(out) <= recordSize {
		_, err := c.nc.Write(out)
		return err
	}
	c.gathered.gather((len(out) + recordSize - 1) / recordSize)
	_, err := c.nc.Write(out)
	if rest := c.gathered.rest(); err == nil {
		err = rest
	}
	return err
}

// take waits for something to write, and puts the buffer that was written in its
// place; false when there is nothing more to come.
func (c *Conn) take(written []byte) (out []byte, ok bool) {
	c.mu.Lock()
	defer c.unlock()
	waited := false
	for !c.closing && (len(c.out) == 0 || !c.writing) {
		if len(c.streams) == 0 && len(c.out) == 0 { // it may rest for long
			c.cfg.Buffers.putOut(written)
			c.cfg.Buffers.putOut(c.out)
			written, c.out = nil, nil
		}
		c.writer.Wait()
		waited = true
	}
	if waited && !c.closing { // whoever else is about to send goes with it
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	if len(c.out) == 0 || !c.writing {
		return nil, false
	}
	out, c.out, c.answers = c.out, written[:0], 0
	c.pump()
	if now := time.Now(); c.cfg.Write > 0 && c.err == nil && now.Sub(c.renewed) > c.cfg.Write/16 {
		c.renewed = now
		c.nc.SetWriteDeadline(now.Add(c.cfg.Write))
	}
	return out, true
}
