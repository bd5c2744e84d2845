package api

import (
	"bufio"
	"errors"
	"io"
)

const (
	keptString = 4 << 10 // bytes of a string
	keptBody   = 4 << 20 // bytes of a body whose strings are shortened
)

var errTooLarge = errors.New("too much besides long strings")

// A shortener reads JSON and leaves out what its strings have beyond their first
// keptString bytes, so that a body with a file in it takes no memory. A body that
// is still long is errTooLarge. It judges nothing else: what is wrong with the
// JSON stays for its reader to find.
type shortener struct {
	from *bufio.Reader

	given    int
	inString bool
	length   int  // of the string
	keeping  bool // what the last character of the string was
	left     int  // bytes of an escape that are to come
	kind     bool // the first of them is
}

func newShortener(r io.Reader) *shortener { return &shortener{from: bufio.NewReaderSize(r, 32<<10)} }

func (s *shortener) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if n > 0 && s.from.Buffered() == 0 {
			break
		}
		c, err := s.from.ReadByte()
		if err != nil {
			return n, err
		}
		if !s.keeps(c) {
			continue
		}
		if s.given++; s.given > keptBody {
			return n, errTooLarge
		}
		p[n] = c
		n++
	}
	return n, nil
}

// keeps says whether the next byte is given on. An escape is as a whole, and so is
// a control character, for the reader to refuse.
func (s *shortener) keeps(c byte) bool {
	if !s.inString {
		s.inString, s.length = c == '"', 0
		return true
	}
	s.length++
	switch {
	case s.left > 0:
		s.left--
		if s.kind && c == 'u' {
			s.left = 4
		}
		s.kind = false
		return s.keeping
	case c == '"':
		s.inString = false
		return true
	case c == '\\':
		s.left, s.kind = 1, true
	}
	s.keeping = s.length <= keptString
	return s.keeping || c < ' '
}
