package h2

import (
	"net"
	"time"

	"golang.org/x/net/http2"
)

// A Stream is one request and its answer. What is read of it and what is written
// are each for one goroutine at a time.
type Stream struct {
	c *Conn

	id      uint32 // 0: not opened yet
	head    *Head  // the request, in a server's Conn
	err     error  // why it has ended before its time
	gone    func(error)
	left    bool // we have ended it
	closed  bool
	readers waiting
	writers waiting

	// Receiving.
	heads    []*Head // of answers, not read yet
	answered bool    // the answer proper's has come
	held     held
	window   int   // what the peer may still send
	owed     int   // what has gone on and was not given back
	length   int64 // the content-length of a browser's request; -1: none
	came     int64
	trailing *Head
	ended    bool // END_STREAM has come

	// Sending.
	sending  bool // one of the following waits to be sent
	fields   []Field
	isHead   bool // fields, be they none
	body     []byte
	andEnd   bool // it is the last
	queued   bool // in the connection's turns
	counted  bool // in the connection's opened
	credit   int64
	sentEnd  bool
	priority http2.PriorityParam

	pair *Stream // on the other side of the relay
}

func newStream(c *Conn) *Stream {
	s := &Stream{c: c, length: -1}
	s.readers.L, s.writers.L = &c.mu, &c.mu
	return s
}

// ID is the stream's number; 0 while it has none.
func (s *Stream) ID() uint32 {
	if s.c.server { // it never had none
		return s.id
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.id
}

// Head is the request's, in a server's Conn.
func (s *Stream) Head() *Head { return s.head }

// SetReadDeadline bounds reading's waits; zero: they last. What has come is still read.
func (s *Stream) SetReadDeadline(at time.Time) error { return s.setDeadline(&s.readers, at) }

// SetWriteDeadline bounds writing's waits; zero: they last.
func (s *Stream) SetWriteDeadline(at time.Time) error { return s.setDeadline(&s.writers, at) }

func (s *Stream) setDeadline(w *waiting, at time.Time) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	w.by = at
	w.Broadcast() // who waits already waits by the other one
	return nil
}

// ReadHead waits for the next head of the answer, of which all but the last are
// informational; in a client's Conn.
func (s *Stream) ReadHead() (*Head, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for len(s.heads) == 0 {
		if err := s.waitRead(); err != nil {
			return nil, err
		}
	}
	h := s.heads[0]
	s.heads = s.heads[1:]
	return h, nil
}

// waitRead waits for something to have come.
func (s *Stream) waitRead() error {
	if s.err != nil {
		return s.err
	}
	return s.c.wait(&s.readers)
}

// Next waits for more of the body, and gives what has come of it. end says that
// nothing but Trailers comes behind it. The piece stays as it is until Took; a
// piece is given again until it has been taken.
func (s *Stream) Next() (piece []byte, end bool, err error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for s.held.size == 0 && (!s.ended || s.left) {
		if err := s.waitRead(); err != nil {
			return nil, false, err
		}
	}
	piece = s.held.first()
	return piece, s.ended && len(piece) == s.held.size, nil
}

// Ready tells whether Next would not wait.
func (s *Stream) Ready() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.held.size > 0 || s.ended || s.err != nil
}

// Whole tells whether all of the body has come.
func (s *Stream) Whole() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.ended
}

// Took says that n bytes of the last piece have gone on.
func (s *Stream) Took(n int) {
	c := s.c
	c.mu.Lock()
	defer c.unlock()
	n = s.held.take(n, c.cfg.Buffers)
	if n > 0 {
		c.giveBack(n)
		s.giveBack(n)
	}
}

// Trailers are the fields behind the body, once Next has come to its end; nil:
// there are none.
func (s *Stream) Trailers() *Head {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.trailing
}

// check counts n bytes of the body, of a frame with a payload of so many in all, and
// says why they must not be taken; nil: they may.
func (s *Stream) check(n, all int, end bool) *Error {
	s.came += int64(n)
	why := func(code http2.ErrCode, reason string) *Error {
		return &Error{Code: code, Reason: reason, Stream: true}
	}
	switch {
	case s.ended:
		return why(http2.ErrCodeStreamClosed, "DATA behind a stream's end")
	case all > s.window:
		return why(http2.ErrCodeFlowControl, "more than the stream's window")
	case !s.c.server && !s.answered:
		return why(http2.ErrCodeProtocol, "DATA before an answer's head")
	case s.length >= 0 && (s.came > s.length || end && s.came < s.length):
		return why(http2.ErrCodeProtocol, "content of another length than the content-length")
	}
	return nil
}

// receive takes those bytes, which are buffer's first, and says whether it has taken
// that.
func (s *Stream) receive(buffer *chunk, n, all int, end bool) (taken bool) {
	s.window -= all
	if padding := all - n; padding > 0 {
		s.c.giveBack(padding)
		s.giveBack(padding)
	}
	if n > 0 {
		taken = s.held.add(buffer, n)
	}
	if end {
		s.endReceiving()
	} else {
		s.readers.Broadcast()
	}
	return taken
}

// giveBack counts what has gone on, and lets the peer send as much again once that
// is worth a frame.
func (s *Stream) giveBack(n int) {
	s.owed += n
	if s.owed >= s.c.cfg.StreamWindow/4 && !s.ended && s.err == nil && s.id != 0 {
		s.c.framer.WriteWindowUpdate(s.id, uint32(s.owed))
		s.window += s.owed
		s.owed = 0
		s.c.writer.Signal()
	}
}

// giveBack does so for the connection.
func (c *Conn) giveBack(n int) {
	c.owed += n
	if c.owed >= c.cfg.Window/4 && c.err == nil {
		c.framer.WriteWindowUpdate(0, uint32(c.owed))
		c.window += c.owed
		c.owed = 0
		c.writer.Signal()
	}
}

func (s *Stream) endReceiving() {
	s.ended = true
	s.readers.Broadcast()
	s.settle()
}

// settle forgets a stream of which both sides have ended.
func (s *Stream) settle() {
	if s.ended && s.sentEnd {
		s.forget(false)
	}
}

// forget takes the stream off its connection; ours says that frames of it may
// still be on their way.
func (s *Stream) forget(ours bool) {
	c := s.c
	if s.counted {
		s.counted = false
		c.opened--
		defer c.openNext()
	}
	if s.id == 0 || c.streams[s.id] != s {
		return
	}
	delete(c.streams, s.id)
	c.past.add(s.id, ours)
	c.rest()
	c.finish()
}

// fail ends the stream for a reason of the peer's.
func (s *Stream) fail(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	s.stopSending()
	s.readers.Broadcast()
	e, isOurs := err.(*Error)
	s.forget(isOurs && !e.Remote)
	s.tell()
}

// tell has OnGone's function called.
func (s *Stream) tell() {
	if gone, err := s.gone, s.err; gone != nil {
		s.gone = nil
		s.c.hooks = append(s.c.hooks, func() { gone(err) })
	}
}

// OnGone has gone called, once, when the peer ends the stream before its time or
// the connection ends. It must not wait.
func (s *Stream) OnGone(gone func(error)) {
	s.c.mu.Lock()
	defer s.c.unlock()
	s.gone = gone
	if s.err != nil && !s.left {
		s.tell()
	}
}

// stopSending wakes whoever waits to send. What he wanted to send is his again.
func (s *Stream) stopSending() {
	if s.queued {
		s.queued = false
		s.c.turns.remove(s)
		s.c.starved.remove(s)
	}
	s.c.opening.remove(s)
	s.sending, s.fields, s.body = false, nil, nil
	s.writers.Broadcast()
}

// Reset ends the stream, unless it has ended: the peer is told the code. Nothing
// more is read or written.
func (s *Stream) Reset(code http2.ErrCode) {
	c := s.c
	c.mu.Lock()
	defer c.unlock()
	s.leave(code)
}

func (s *Stream) leave(code http2.ErrCode) {
	c := s.c
	if s.left {
		return
	}
	s.left, s.gone = true, nil
	if n := s.held.drop(c.cfg.Buffers); n > 0 {
		c.giveBack(n)
	}
	if s.err == nil {
		s.err = net.ErrClosed
		if s.id != 0 && c.streams[s.id] == s {
			c.framer.WriteRSTStream(s.id, code)
			c.writer.Signal()
		}
	}
	s.stopSending()
	s.readers.Broadcast()
	s.forget(true)
}

// Close gives the stream up: one that has not ended is reset.
func (s *Stream) Close() {
	c := s.c
	c.mu.Lock()
	defer c.unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.leave(http2.ErrCodeCancel)
	if c.server {
		c.active--
	}
}
