package h2

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// read reads frames until the connection ends.
func (c *Conn) read() error {
	c.limit(c.cfg.Preface)
	if c.server {
		if err := c.preface(); err != nil {
			return err
		}
	}
	f, err := c.next()
	if isTimeout(err) && !c.server {
		return lateError(http2.ErrCodeProtocol, "no SETTINGS have come")
	} else if err != nil {
		return err
	}
	if settings, ok := f.(*http2.SettingsFrame); !ok || settings.IsAck() {
		return connError(http2.ErrCodeProtocol, "the first frame is no SETTINGS")
	}
	c.limit(0)
	for {
		if f != nil {
			err = c.frame(f)
		}
		if err == nil {
			f, err = c.next()
		}
		if err != nil {
			return err
		}
	}
}

// limit sets the time limit of reading; 0: none.
func (c *Conn) limit(d time.Duration) {
	var at time.Time
	if d > 0 {
		at = time.Now().Add(d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil { // else the deadline is that of the end
		c.nc.SetReadDeadline(at)
	}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// preface reads RFC 9113 §3.4's, and no further than the first byte that is not of it.
func (c *Conn) preface() error {
	for i := range len(http2.ClientPreface) {
		b, err := c.in.ReadByte()
		if err != nil {
			return err
		}
		if b != http2.ClientPreface[i] {
			return connError(http2.ErrCodeProtocol, "no HTTP/2 preface")
		}
	}
	return nil
}

// next reads a frame; nil for one that has only ended its stream, or that it has
// taken itself.
func (c *Conn) next() (f http2.Frame, err error) {
	head, err := c.framer.ReadFrameHeader()
	switch {
	case err != nil:
	case head.Type == http2.FrameData && head.StreamID != 0 && !head.Flags.Has(http2.FlagDataPadded):
		return nil, c.content(head)
	default:
		f, err = c.framer.ReadFrameForHeader(head)
	}
	if err != nil {
		return nil, c.frameError(head, err)
	}
	return f, nil
}

// content reads a piece of a body to where it is held. The framer would have it in
// a buffer of its own first, as data has it.
func (c *Conn) content(head http2.FrameHeader) error {
	n, buffer := int(head.Length), c.cfg.Buffers.chunk()
	_, err := io.ReadFull(&c.in, buffer[:n])
	taken := false
	if err == nil {
		taken, err = c.receive(head, buffer, n)
	}
	if !taken {
		c.cfg.Buffers.put(buffer)
	}
	return err
}

// data takes a piece of a body that has padding.
func (c *Conn) data(f *http2.DataFrame) error {
	buffer := c.cfg.Buffers.chunk()
	taken, err := c.receive(f.FrameHeader, buffer, copy(buffer[:], f.Data()))
	if !taken {
		c.cfg.Buffers.put(buffer)
	}
	return err
}

// frameError says what an error of the framer means for the connection.
func (c *Conn) frameError(head http2.FrameHeader, err error) error {
	var stream http2.StreamError
	var conn http2.ConnectionError
	switch {
	case errors.As(err, &stream) && head.Type == http2.FrameWindowUpdate:
		return c.reset(stream.StreamID, stream.Code, "a WINDOW_UPDATE of nothing")
	case errors.As(err, &stream): // of a header block, without which no later one can be decoded
		return connError(stream.Code, "the padding does not fit its frame")
	case errors.As(err, &conn):
		reason := "a malformed " + head.Type.String() + " frame"
		if detail := c.framer.ErrorDetail(); detail != nil {
			reason = detail.Error()
		}
		return connError(http2.ErrCode(conn), reason)
	case errors.Is(err, http2.ErrFrameTooLarge):
		return connError(http2.ErrCodeFrameSize, "a frame larger than is taken")
	case err == io.ErrUnexpectedEOF && c.in.err == nil:
		return connError(http2.ErrCodeFrameSize, "a frame too short for its type")
	}
	return err
}

// frame takes one frame. An error ends the connection.
func (c *Conn) frame(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.DataFrame:
		return c.data(f)
	case *http2.HeadersFrame:
		return c.headers(f)
	case *http2.RSTStreamFrame:
		return c.rst(f)
	case *http2.WindowUpdateFrame:
		return c.windowUpdate(f)
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		return c.ping(f)
	case *http2.GoAwayFrame:
		return c.goAway(f)
	case *http2.PriorityFrame:
		return c.priority(f)
	case *http2.PriorityUpdateFrame:
		return c.priorityUpdate(f)
	case *http2.PushPromiseFrame:
		return connError(http2.ErrCodeProtocol, "a PUSH_PROMISE")
	}
	c.mu.Lock()
	defer c.unlock()
	return c.spend() // of a type that is not known: RFC 9113 §5.5
}

// spend counts, under the lock, a frame that brings nothing.
func (c *Conn) spend() error {
	if !c.calm.spend() {
		return connError(http2.ErrCodeEnhanceYourCalm, "too many frames that bring nothing")
	}
	return nil
}

// isIdle tells the numbers of streams that have not been opened.
func (c *Conn) isIdle(id uint32) bool {
	return id > max(c.lastID, c.passed) || id%2 == 0
}

// receive takes a piece of a body, the first n bytes of buffer, and says whether it
// has taken that.
func (c *Conn) receive(head http2.FrameHeader, buffer *chunk, n int) (taken bool, err error) {
	c.mu.Lock()
	defer c.unlock()
	id, all, end := head.StreamID, int(head.Length), head.Flags.Has(http2.FlagDataEndStream)
	if all > c.window { // padding counts too (RFC 9113 §6.9.1)
		return false, connError(http2.ErrCodeFlowControl, "more than the connection's window")
	}
	c.window -= all
	if n == 0 && !end {
		if err := c.spend(); err != nil {
			return false, err
		}
	}
	s := c.streams[id]
	if s == nil {
		if c.isIdle(id) {
			return false, connError(http2.ErrCodeProtocol, "DATA of a stream that is not open")
		}
		c.giveBack(all)
		if ours, theirs := c.past.has(id); ours || !theirs && (!c.server || id > c.lastID) {
			return false, c.spend() // it was on its way
		}
		return false, c.resetLocked(id, http2.ErrCodeStreamClosed, "DATA of a stream that is closed")
	}
	if e := s.check(n, all, end); e != nil {
		c.giveBack(all)
		return false, c.resetLocked(id, e.Code, e.Reason)
	}
	if n > 0 {
		c.calm.earn(1)
	}
	return s.receive(buffer, n, all, end), nil
}

// rst ends a stream that the peer has given up.
func (c *Conn) rst(f *http2.RSTStreamFrame) error {
	c.mu.Lock()
	defer c.unlock()
	if c.isIdle(f.StreamID) {
		return connError(http2.ErrCodeProtocol, "RST_STREAM of a stream that is not open")
	}
	s := c.streams[f.StreamID]
	if s == nil {
		return c.spend()
	}
	if err := c.giveUp(s); err != nil {
		return err
	}
	s.fail(&Error{Code: f.ErrCode, Remote: true, Stream: true, Unprocessed: !c.server && f.ErrCode == http2.ErrCodeRefusedStream})
	return nil
}

// giveUp counts a request that its browser has given up, or has had us give up
// (CVE-2023-44487, CVE-2025-8671), before it was answered.
func (c *Conn) giveUp(s *Stream) error {
	if c.server && !s.sentEnd && !c.resets.spend() {
		return connError(http2.ErrCodeEnhanceYourCalm, "too many requests that were given up")
	}
	return nil
}

// reset ends a stream on which the peer has broken the protocol.
func (c *Conn) reset(id uint32, code http2.ErrCode, reason string) error {
	c.mu.Lock()
	defer c.unlock()
	return c.resetLocked(id, code, reason)
}

func (c *Conn) resetLocked(id uint32, code http2.ErrCode, reason string) error {
	if c.isIdle(id) {
		return connError(code, reason)
	}
	if err := c.control(); err != nil {
		return err
	}
	c.framer.WriteRSTStream(id, code)
	c.writer.Signal()
	s := c.streams[id]
	if s == nil {
		c.past.add(id, true)
		return c.spend()
	}
	if err := c.giveUp(s); err != nil {
		return err
	}
	s.fail(streamError(code, reason))
	return nil
}

// control counts an answer to one of the peer's frames, and says whether it may be
// queued.
func (c *Conn) control() error {
	if c.answers++; c.answers > maxAnswers {
		return connError(http2.ErrCodeEnhanceYourCalm, "answers to frames are not read")
	}
	return nil
}

// windowUpdate takes room to send.
func (c *Conn) windowUpdate(f *http2.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.unlock()
	if err := c.spend(); err != nil {
		return err
	}
	more := int64(f.Increment)
	if f.StreamID == 0 {
		if c.credit+more > maxWindow {
			return connError(http2.ErrCodeFlowControl, "a connection's window beyond the largest")
		}
		c.credit += more
		c.turns.append(&c.starved)
		c.pump()
		return nil
	}
	s := c.streams[f.StreamID]
	switch {
	case s == nil && c.isIdle(f.StreamID):
		return connError(http2.ErrCodeProtocol, "WINDOW_UPDATE of a stream that is not open")
	case s == nil:
	case s.credit+more > maxWindow:
		return c.resetLocked(f.StreamID, http2.ErrCodeFlowControl, "a stream's window beyond the largest")
	default:
		s.credit += more
		s.queue()
		c.pump()
	}
	return nil
}

// ping answers one.
func (c *Conn) ping(f *http2.PingFrame) error {
	c.mu.Lock()
	defer c.unlock()
	if err := c.spend(); err != nil || f.IsAck() {
		return err
	}
	if err := c.control(); err != nil {
		return err
	}
	c.framer.WritePing(true, f.Data)
	c.writer.Signal()
	return nil
}

// goAway takes note that the peer takes no new streams, and ends those that it
// does not act on.
func (c *Conn) goAway(f *http2.GoAwayFrame) error {
	c.mu.Lock()
	defer c.unlock()
	if err := c.spend(); err != nil {
		return err
	}
	last := f.LastStreamID
	if c.goneAway != nil {
		last = min(last, c.lastTaken) // RFC 9113 §6.8: it must not grow
	}
	said := f.DebugData()
	c.goneAway = &Error{Code: f.ErrCode, Reason: strings.ToValidUTF8(string(said[:min(len(said), maxSaid)]), ""), Remote: true}
	c.lastTaken = last
	if !c.server {
		away := &Error{Code: f.ErrCode, Reason: "the server takes no more requests on the connection", Remote: true, Unprocessed: true}
		for id, s := range c.streams {
			if id > last {
				s.fail(away)
			}
		}
		for s := c.opening.pop(); s != nil; s = c.opening.pop() {
			s.fail(away)
		}
		for _, s := range slices.Clone(c.turns.list) {
			if s.id == 0 {
				s.fail(away)
			}
		}
	}
	c.finish()
	return nil
}
