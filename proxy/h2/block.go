package h2

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A Head is a header list, or a trailer section, and what came with it.
type Head struct {
	Fields  []Field // in the order of the wire, pseudo-header fields too
	Size    int     // bytes of its HEADERS and CONTINUATION frames
	End     bool    // nothing follows it
	TooLong bool    // Fields is only its beginning: it was over the limit

	// Malformed says why a request must not be passed on (RFC 9113 §8.1.1); "" when
	// it may. Its stream is then reset by whoever takes it.
	Malformed string
	// Refused is why nothing becomes of a request: its stream was reset, or its
	// connection ended, as soon as it had come, and Fields are what could be read of it.
	// nil: it was not.
	Refused *Error

	Priority    http2.PriorityParam // by the peer's numbers: see Stream.Priority
	HasPriority bool

	list int // its size by RFC 9113 §6.5.2
}

// Pseudo are the pseudo-header fields, which are the first.
func (h *Head) Pseudo() []Field { return h.Fields[:h.regular()] }

// Regular are the fields behind the pseudo-header fields.
func (h *Head) Regular() []Field { return h.Fields[h.regular():] }

func (h *Head) regular() int {
	n := 0
	for n < len(h.Fields) && strings.HasPrefix(h.Fields[n].Name, ":") {
		n++
	}
	return n
}

// Get is the value of the first field of that name, in lower case, and whether
// there is one.
func (h *Head) Get(name string) (value string, ok bool) {
	for i := range h.Fields {
		if h.Fields[i].Name == name {
			return h.Fields[i].Value, true
		}
	}
	return "", false
}

// ListSize is the size of the header list by RFC 9113 §6.5.2's measure.
func (h *Head) ListSize() int { return h.list }

// Status is an answer's; 0 when there is none that can be read.
func (h *Head) Status() int {
	value, _ := h.Get(":status")
	if len(value) != 3 || value[0] < '1' {
		return 0
	}
	status := 0
	for _, c := range []byte(value) {
		if c < '0' || c > '9' {
			return 0
		}
		status = status*10 + int(c-'0')
	}
	return status
}

// readBlock reads the header block that begins with f, and whatever follows it of
// it. Every block has to be decoded, as the next ones depend on it.
func (c *Conn) readBlock(f *http2.HeadersFrame, h *Head) error {
	h.Size, h.End = frameHead+int(f.Length), f.StreamEnded()
	h.Priority, h.HasPriority = f.Priority, f.HasPriority()
	c.decoding, c.fields = h, c.fields[:0]
	defer func() {
		h.Fields = slices.Clone(c.fields)
		if clear(c.fields); cap(c.fields) > keptFields {
			c.fields = nil
		}
	}()
	c.decoder.SetEmitEnabled(true)
	piece, ended := f.HeaderBlockFragment(), f.HeadersEnded()
	if !ended {
		c.limit(c.cfg.Head)
		defer c.limit(0)
	}
	for frames, size := 1, 0; ; frames++ {
		size += len(piece)
		if size > 2*c.cfg.MaxHeaderList || frames > maxContinuations {
			h.TooLong = true
			return connError(http2.ErrCodeEnhanceYourCalm, "a header block without end")
		}
		if _, err := c.decoder.Write(piece); errors.Is(err, hpack.ErrStringLength) {
			h.TooLong = true
			return connError(http2.ErrCodeEnhanceYourCalm, "a header field longer than is taken")
		} else if err != nil {
			return connError(http2.ErrCodeCompression, err.Error())
		}
		if ended {
			break
		}
		next, err := c.next()
		if isTimeout(err) {
			return lateError(http2.ErrCodeEnhanceYourCalm, "a header block that stops")
		} else if err != nil {
			return err
		}
		more := next.(*http2.ContinuationFrame) // the framer lets nothing else pass
		piece, ended = more.HeaderBlockFragment(), more.HeadersEnded()
		h.Size += frameHead + int(more.Length)
	}
	if err := c.decoder.Close(); err != nil {
		return connError(http2.ErrCodeCompression, err.Error())
	}
	return nil
}

// unread gives on a request whose header block is why its connection ends.
func (c *Conn) unread(id uint32, h *Head, why *Error) {
	c.mu.Lock()
	fresh := id%2 == 1 && id > c.lastID && !c.draining && c.err == nil
	if fresh {
		c.lastID = id
	}
	c.mu.Unlock()
	if fresh {
		h.Refused = why
		c.cfg.Stream(refused(c, id, h))
	}
}

// refused is the stream of a request of which nothing becomes.
func refused(c *Conn, id uint32, h *Head) *Stream {
	s := newStream(c)
	s.id, s.head, s.err = id, h, h.Refused
	s.left, s.closed = true, true
	return s
}

// keptFields is how long a list of fields is used again.
const keptFields = 256

// field takes a field from the decoder.
func (c *Conn) field(f Field) {
	h := c.decoding
	h.list += int(f.Size())
	if h.list > c.cfg.MaxHeaderList || h.list > max(freeList, maxRatio*h.Size) || len(c.fields) == maxFields {
		h.TooLong = true
		c.decoder.SetEmitEnabled(false)
		return
	}
	c.fields = append(c.fields, f)
}

// headers takes a header block.
func (c *Conn) headers(f *http2.HeadersFrame) error {
	id := f.StreamID
	h := new(Head)
	if err := c.readBlock(f, h); err != nil {
		var e *Error
		if c.server && errors.As(err, &e) {
			c.unread(id, h, e)
		}
		return err
	}
	if c.server {
		return c.fromBrowser(id, h)
	}
	return c.fromServer(id, h)
}

// fromBrowser takes a request, or one's trailers.
func (c *Conn) fromBrowser(id uint32, h *Head) error {
	s, err := c.openOrEnd(id, h)
	if s != nil {
		c.cfg.Stream(s)
	}
	return err
}

func (c *Conn) openOrEnd(id uint32, h *Head) (opened *Stream, err error) {
	c.mu.Lock()
	defer c.unlock()
	if s := c.streams[id]; s != nil {
		return nil, c.trailers(s, h)
	}
	switch {
	case id%2 == 0:
		return nil, connError(http2.ErrCodeProtocol, "a request on a stream of even number")
	case id <= c.lastID:
		switch ours, theirs := c.past.has(id); {
		case ours:
			return nil, nil // it was on its way
		case theirs:
			return nil, connError(http2.ErrCodeStreamClosed, "HEADERS of a stream that is closed")
		}
		return nil, connError(http2.ErrCodeProtocol, "a stream's number below an earlier one's")
	case c.draining || c.err != nil:
		c.passed = max(c.passed, id)
		return nil, nil // above what our GOAWAY named: not acted on (RFC 9113 §6.8)
	}
	c.lastID = id
	most := int(c.offer.MaxStreams)
	if !c.heard { // what was begun meanwhile may be more
		most = max(most, unsettledStreams)
	}
	// The end of one that is over for its browser may still be at work, though not of
	// any number.
	if len(c.streams) >= most || c.active >= max(2*most, unsettledStreams) {
		return c.refuse(id, h)
	}
	h.Malformed = checkRequest(h, c.offer.Connect)
	if h.HasPriority && h.Priority.StreamDep == id { // RFC 7540 §5.3.1
		h.Malformed = "a stream that depends on itself"
	}
	s := newStream(c)
	s.id, s.head, s.length = id, h, h.length()
	s.credit, s.window = c.peer.window, c.cfg.StreamWindow
	c.streams[id] = s
	c.active++
	if c.idle != nil {
		c.idle.Stop()
	}
	if h.End {
		if s.length > 0 && h.Malformed == "" {
			h.Malformed = "no content, but a content-length"
		}
		s.endReceiving()
	}
	return s, nil
}

// refuse resets a request that is one more than its browser was offered, which
// costs as much as one that is given up.
func (c *Conn) refuse(id uint32, h *Head) (*Stream, error) {
	h.Refused = &Error{Code: http2.ErrCodeRefusedStream, Reason: "more requests at once than were offered", Stream: true}
	if err := c.resetLocked(id, h.Refused.Code, h.Refused.Reason); err != nil {
		return nil, err
	}
	if !c.resets.spend() {
		return nil, connError(http2.ErrCodeEnhanceYourCalm, "too many requests above what was offered")
	}
	return refused(c, id, h), nil
}

// trailers takes the fields behind a body.
func (c *Conn) trailers(s *Stream, h *Head) error {
	switch {
	case s.ended:
		return c.resetLocked(s.id, http2.ErrCodeStreamClosed, "HEADERS behind a stream's end")
	case !h.End:
		return c.resetLocked(s.id, http2.ErrCodeProtocol, "trailers that do not end their stream")
	case h.TooLong:
		return c.resetLocked(s.id, http2.ErrCodeEnhanceYourCalm, "trailers longer than are taken")
	case c.server:
		if why := checkTrailers(h); why != "" {
			return c.resetLocked(s.id, http2.ErrCodeProtocol, why)
		}
		if s.length >= 0 && s.came != s.length {
			return c.resetLocked(s.id, http2.ErrCodeProtocol, "less content than the content-length")
		}
	}
	if len(h.Fields) > 0 {
		s.trailing = h
	}
	s.endReceiving()
	return nil
}

// fromServer takes an answer's head, or trailers.
func (c *Conn) fromServer(id uint32, h *Head) error {
	c.mu.Lock()
	defer c.unlock()
	s := c.streams[id]
	switch {
	case s == nil && c.isIdle(id):
		return connError(http2.ErrCodeProtocol, "an answer without a request")
	case s == nil:
		return nil
	case s.answered:
		return c.trailers(s, h)
	case h.TooLong:
		return c.resetLocked(id, http2.ErrCodeEnhanceYourCalm, "an answer's head longer than is taken")
	}
	status := h.Status()
	switch {
	case status == 0:
		return c.resetLocked(id, http2.ErrCodeProtocol, "an answer without a status")
	case status < 200 && h.End:
		return c.resetLocked(id, http2.ErrCodeProtocol, "an informational answer that ends its stream")
	case status == 101: // RFC 9113 §8.6
		return c.resetLocked(id, http2.ErrCodeProtocol, "a 101, which HTTP/2 has not")
	case len(s.heads) == maxHeads, s.unreadHeads() > c.cfg.MaxHeaderList:
		return c.resetLocked(id, http2.ErrCodeEnhanceYourCalm, "too many informational answers")
	}
	s.heads = append(s.heads, h)
	s.answered = status >= 200
	if h.End {
		s.endReceiving()
	}
	s.readers.Broadcast()
	return nil
}

// unreadHeads is the size of those that have come and were not read.
func (s *Stream) unreadHeads() (size int) {
	for _, h := range s.heads {
		size += h.list
	}
	return size
}
