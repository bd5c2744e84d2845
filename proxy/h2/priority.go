package h2

import "golang.org/x/net/http2"

// Pair says that a browser's stream is relayed to up: from then on what the browser
// says of its priority is passed on.
func (s *Stream) Pair(up *Stream) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.pair = up
}

// Prioritize has a request that is still to be sent carry the priority that it
// came with on the stream from (RFC 7540 §5.3.2), by the numbers of this connection.
func (s *Stream) Prioritize(from *Stream) {
	if !from.head.HasPriority {
		return
	}
	p := from.head.Priority
	p.StreamDep = from.c.idOf(p.StreamDep)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if !s.c.peer.NoPriorities {
		s.priority = p
	}
}

// paired is the stream to which the one of that number is relayed; nil: to none.
func (c *Conn) paired(id uint32) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[id]; s != nil {
		return s.pair
	}
	return nil
}

// idOf is a stream's number on the other side of the relay; 0, the root, when it
// is not open there.
func (c *Conn) idOf(id uint32) uint32 {
	if up := c.paired(id); up != nil {
		return up.ID()
	}
	return 0
}

// priority passes on what was said of a stream's priority (RFC 9113 §5.3.2: it may
// be of any stream at any time).
func (c *Conn) priority(f *http2.PriorityFrame) error {
	if f.StreamDep == f.StreamID {
		return c.reset(f.StreamID, http2.ErrCodeProtocol, "a stream that depends on itself")
	}
	c.mu.Lock()
	err := c.spend()
	c.mu.Unlock()
	up := c.paired(f.StreamID)
	if err != nil || up == nil {
		return err
	}
	p := f.PriorityParam
	p.StreamDep = c.idOf(p.StreamDep)
	up.reprioritize(func(framer *http2.Framer, peer *Settings) {
		if !peer.NoPriorities && p.StreamDep != up.id {
			framer.WritePriority(up.id, p)
		}
	})
	return nil
}

// priorityUpdate does so for RFC 9218 §7.1's.
func (c *Conn) priorityUpdate(f *http2.PriorityUpdateFrame) error {
	c.mu.Lock()
	err := c.spend()
	c.mu.Unlock()
	if err != nil || !c.server {
		return err
	}
	if up := c.paired(f.PrioritizedStreamID); up != nil {
		up.reprioritize(func(framer *http2.Framer, _ *Settings) { framer.WritePriorityUpdate(up.id, f.Priority) })
	}
	return nil
}

// reprioritize writes a frame about an open stream, unless what was sent before it
// is not read: it says only what would be better.
func (s *Stream) reprioritize(write func(*http2.Framer, *Settings)) {
	c := s.c
	c.mu.Lock()
	defer c.unlock()
	if s.id != 0 && c.streams[s.id] == s && c.err == nil && len(c.out) < outRoom {
		write(c.framer, &c.peer)
		c.writer.Signal()
	}
}
