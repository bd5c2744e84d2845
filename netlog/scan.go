package netlog

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

// A Scanner goes through a log's whole lines in order and reads only the
// beginning of each; a line of any length takes no more memory. It passes over
// lines that are none: those without a head, those that do not end with a brace,
// and those whose number is used again by the next line, which a crash cut short
// where they happen to look whole. What is between a line's head and its last
// brace only ParseLine sees.
//
// A last line that is not whole yet is not given and not counted.
type Scanner struct {
	log    *Log
	file   int
	offset int64 // in the file, of buf[r]
	buf    []byte
	r, w   int // what of buf is read but not yet scanned

	head [headRoom]byte // a line's first bytes
	n    int

	held       scanned // waits for the next line's number
	holds      bool
	now        scanned
	unreadable int64
	passOver   func(passed) // is told of each line passed over; nil: nobody is
	err        error
}

// A passed is a line that is passed over.
type passed struct {
	file           int
	offset, length int64 // without its newline
	why            string
}

type scanned struct {
	head   Head
	pos    Pos
	passed int64 // lines passed over before it
}

// Scan returns a Scanner at the log's beginning.
func (l *Log) Scan() *Scanner { return l.scanFrom(0, 0) }

func (l *Log) scanFrom(file int, offset int64) *Scanner {
	return &Scanner{log: l, file: file, offset: offset, buf: make([]byte, 64<<10)}
}

// Next goes on to the next line. It is false at the log's end and on an error.
func (s *Scanner) Next() bool {
	for {
		next, ok := s.line()
		if !ok {
			had := s.holds
			s.now, s.holds = s.held, false
			if !had {
				s.now = scanned{passed: s.unreadable}
			}
			return had
		}
		before, had := s.held, s.holds
		again := had && before.head.N == next.head.N
		if again {
			p := before.pos
			s.pass(passed{int(p.File), p.Offset, int64(p.Length), "its number is used again by the next line"})
		}
		next.passed = s.unreadable
		s.held, s.holds = next, true
		if had && !again {
			s.now = before
			return true
		}
	}
}

// Head is the line's beginning.
func (s *Scanner) Head() Head { return s.now.head }

// Pos is where the line is, for Log.ReadLine.
func (s *Scanner) Pos() Pos { return s.now.pos }

// Unreadable is how many lines were passed over before this one or, when Next
// was false, in all.
func (s *Scanner) Unreadable() int64 { return s.now.passed }

// Err is why the scan ended before the log did; nil when it did not.
func (s *Scanner) Err() error { return s.err }

// line finds the next line that has a head.
func (s *Scanner) line() (scanned, bool) {
	for s.err == nil && s.file < len(s.log.files) {
		start := s.offset
		last, whole := s.skip()
		length := s.offset - start
		if !whole {
			if s.err == nil {
				if length > 0 && !s.log.files[s.file].live {
					s.pass(passed{s.file, start, length, "it ends without a newline"})
				}
				s.file, s.offset = s.file+1, 0
			}
			continue
		}
		length--
		head, _, ok := parseHead(s.head[:s.n])
		switch {
		case !ok:
			s.pass(passed{s.file, start, length, "it does not begin as a line does"})
			continue
		case last != '}':
			s.pass(passed{s.file, start, length, "it does not end with a brace"})
			continue
		case length > math.MaxInt32:
			s.pass(passed{s.file, start, length, "it is longer than 2 GiB"})
			continue
		}
		return scanned{head: head, pos: Pos{Offset: start, Length: int32(length), File: int32(s.file)}}, true
	}
	return scanned{}, false
}

func (s *Scanner) pass(p passed) {
	s.unreadable++
	if s.passOver != nil {
		s.passOver(p)
	}
}

// skip goes behind the next newline. It keeps the line's first bytes and returns
// its last one; whole is false when the file ends before the line does.
func (s *Scanner) skip() (last byte, whole bool) {
	s.n = 0
	for {
		if s.r == s.w && !s.fill() {
			return 0, false
		}
		part := s.buf[s.r:s.w]
		i := bytes.IndexByte(part, '\n')
		if i >= 0 {
			part = part[:i]
		}
		s.n += copy(s.head[s.n:], part)
		if len(part) > 0 {
			last = part[len(part)-1]
		}
		s.r += len(part)
		s.offset += int64(len(part))
		if i >= 0 {
			s.r++
			s.offset++
			return last, true
		}
	}
}

// fill reads on in the file, up to the size that it had when it was opened.
func (s *Scanner) fill() bool {
	f := s.log.files[s.file]
	n, err := f.ReadAt(s.buf[:min(int64(len(s.buf)), max(f.size-s.offset, 0))], s.offset)
	if err != nil && err != io.EOF {
		s.err = fmt.Errorf("read network log %q: %w", f.Name(), bare(err))
		return false
	}
	s.r, s.w = 0, n
	return n > 0
}
