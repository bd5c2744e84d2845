package pcap

import (
	"bytes"
	"cmp"
	"slices"
)

// What came early is held until what is between has come, this much at most.
const (
	maxHeld      = 64
	maxHeldBytes = 256 << 10
)

// A stream puts one direction of a TCP connection in order, and gives it to its
// talk.
type stream struct {
	begun bool
	next  uint32 // the sequence number that is to come
	held  []segment
	bytes int // in held
	talk  talk
}

type segment struct {
	seq     uint32
	data    []byte
	missing int // bytes behind data that were not captured
}

// begin says that the first byte has this number.
func (s *stream) begin(seq uint32) { s.begun, s.next = true, seq }

// add takes a segment in. Of one that begins in the middle of a connection
// nothing is known before it.
func (s *stream) add(seg segment) {
	if s.talk.state == stateOff {
		return
	}
	if !s.begun {
		s.begin(seg.seq)
		s.talk.lose(0)
	}
	if s.early(seg) {
		seg.data = bytes.Clone(seg.data)
		s.held = append(s.held, seg)
		s.bytes += len(seg.data)
		if s.talk.budget.wait(len(seg.data)) && len(s.held) <= maxHeld && s.bytes <= maxHeldBytes {
			return
		}
		s.flush()
		return
	}
	s.take(seg)
	s.release()
}

func (s *stream) early(seg segment) bool { return int32(seg.seq-s.next) > 0 }

// take gives the talk what of a segment is new.
func (s *stream) take(seg segment) {
	old := int(s.next - seg.seq)
	if old >= len(seg.data)+seg.missing {
		return
	}
	if old < len(seg.data) {
		s.talk.hear(seg.data[old:])
	}
	if seg.missing > 0 {
		s.talk.lose(min(seg.missing, len(seg.data)+seg.missing-old))
	}
	s.next = seg.seq + uint32(len(seg.data)+seg.missing)
}

// release takes what is no longer early.
func (s *stream) release() {
	for len(s.held) > 0 {
		s.sort()
		if s.early(s.held[0]) {
			return
		}
		s.bytes -= len(s.held[0].data)
		s.talk.budget.wait(-len(s.held[0].data))
		s.take(s.held[0])
		s.held = s.held[1:]
	}
	s.held = nil
}

// flush takes all that is held, and passes over what is missing between.
func (s *stream) flush() {
	for len(s.held) > 0 {
		s.sort()
		if lost := s.held[0].seq - s.next; s.early(s.held[0]) {
			s.talk.lose(int(lost))
			s.next = s.held[0].seq
		}
		s.release()
	}
}

func (s *stream) sort() {
	slices.SortStableFunc(s.held, func(a, b segment) int { return cmp.Compare(int32(a.seq-s.next), int32(b.seq-s.next)) })
}
