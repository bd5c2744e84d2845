package h2

import (
	"errors"
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
func (c *Conn) readBlock(f *http2.HeadersFrame) (*Head, error) {
	h := &Head{
		Size: frameHead + int(f.Length), End: f.StreamEnded(),
		Priority: f.Priority, HasPriority: f.HasPriority(),
	}
	c.decoding = h
	c.decoder.SetEmitEnabled(true)
	piece, ended := f.HeaderBlockFragment(), f.HeadersEnded()
	if !ended {
		c.limit(c.cfg.Head)
		defer c.limit(0)
	}
	for frames, size := 1, 0; ; frames++ {
		size += len(piece)
		if size > 2*c.cfg.MaxHeaderList || frames > maxContinuations {
			return nil, connError(http2.ErrCodeEnhanceYourCalm, "a header block without end")
		}
		if _, err := c.decoder.Write(piece); errors.Is(err, hpack.ErrStringLength) {
			return nil, connError(http2.ErrCodeEnhanceYourCalm, "a header field longer than is taken")
		} else if err != nil {
			return nil, connError(http2.ErrCodeCompression, err.Error())
		}
		if ended {
			break
		}
		next, err := c.next()
		if err != nil {
			return nil, err
		}
		more := next.(*http2.ContinuationFrame) // the framer lets nothing else pass
		piece, ended = more.HeaderBlockFragment(), more.HeadersEnded()
		h.Size += frameHead + int(more.Length)
	}
	if err := c.decoder.Close(); err != nil {
		return nil, connError(http2.ErrCodeCompression, err.Error())
	}
	return h, nil
}

// field takes a field from the decoder.
func (c *Conn) field(f Field) {
	h := c.decoding
	h.list += int(f.Size())
	if h.list > c.cfg.MaxHeaderList || len(h.Fields) == maxFields {
		h.TooLong = true
		c.decoder.SetEmitEnabled(false)
		return
	}
	if h.Fields == nil {
		h.Fields = make([]Field, 0, 16)
	}
	h.Fields = append(h.Fields, f)
}

// headers takes a header block.
func (c *Conn) headers(f *http2.HeadersFrame) error {
	id := f.StreamID
	h, err := c.readBlock(f)
	if err != nil {
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
	if h.HasPriority && h.Priority.StreamDep == id {
		return nil, c.resetLocked(id, http2.ErrCodeProtocol, "a stream that depends on itself")
	}
	most := int(c.offer.MaxStreams)
	if !c.heard { // what was begun meanwhile may be more
		most = max(most, unsettledStreams)
	}
	if len(c.streams) >= most || c.active >= 2*most {
		return nil, c.resetLocked(id, http2.ErrCodeRefusedStream, "more streams than were offered")
	}
	h.Malformed = checkRequest(h, c.offer.Connect)
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
	case len(s.heads) == maxHeads:
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
