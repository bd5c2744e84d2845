package har

import (
	"encoding/base64"
	"io"
	"unicode/utf8"
)

// percent looks whether decodeURIComponent takes what is written to it: each %
// is to begin the escape of a byte, and the bytes are to be UTF-8.
type percent struct {
	state int // 1: behind %, 2: behind % and a digit
	high  int
	bytes []byte // that are no whole character yet
	wrong bool
}

func (p *percent) Write(b []byte) (int, error) {
	for _, c := range b {
		switch {
		case p.wrong:
			return len(b), nil
		case p.state == 0 && c == '%':
			p.state = 1
		case p.state == 0:
			p.wrong = len(p.bytes) > 0
		default:
			n := unhex(c)
			if p.wrong = n < 0; p.state == 1 {
				p.state, p.high = 2, n
			} else {
				p.state = 0
				p.byte(byte(p.high<<4 | n&15))
			}
		}
	}
	return len(b), nil
}

func (p *percent) byte(c byte) {
	p.bytes = append(p.bytes, c)
	if !utf8.FullRune(p.bytes) {
		return
	}
	r, n := utf8.DecodeRune(p.bytes)
	p.wrong = p.wrong || r == utf8.RuneError && n == 1
	p.bytes = p.bytes[:0]
}

func (p *percent) invalid() bool { return p.wrong || p.state != 0 || len(p.bytes) > 0 }

// A digest is a hash.Hash.
type digest interface {
	io.Writer
	Sum([]byte) []byte
}

// decodeLen is how much base64 is decoded at once.
const decodeLen = 3 << 12

// A bodySink takes a body's text, of which it is not known yet whether it is
// base64.
type bodySink struct {
	text    digest // of the text's bytes; nil: not wanted
	decoded digest
	size    int64 // of the text
	bytes   int64 // that the base64 stands for
	group   [4]byte
	n       int // characters of a group
	padded  bool
	bad     bool   // it is not base64
	odd     bool   // it has U+FFFD, which may stand for what is not UTF-8
	buf     []byte // for what is decoded, of decodeLen bytes
}

func (s *bodySink) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if s.text != nil {
		s.text.Write(p)
	}
	s.odd = s.odd || string(p) == "\ufffd" // what is not ASCII comes in pieces of its own
	s.base64(p)
	return len(p), nil
}

// base64 decodes as much as is whole. Line ends come in pieces of their own, too.
func (s *bodySink) base64(p []byte) {
	if string(p) == "\r" || string(p) == "\n" {
		return
	}
	for len(p) > 0 && !s.bad {
		if s.bad = s.padded; s.bad {
			return
		}
		if s.n > 0 || len(p) < 4 {
			s.group[s.n] = p[0]
			p = p[1:]
			if s.n++; s.n == 4 {
				s.n = 0
				s.decode(s.group[:])
			}
			continue
		}
		n := min(len(p)/4*4, decodeLen/3*4)
		s.decode(p[:n])
		p = p[n:]
	}
}

// decode takes whole groups, of which the last may be padded.
func (s *bodySink) decode(p []byte) {
	m, err := base64.StdEncoding.Decode(s.buf, p)
	s.bad = err != nil
	s.padded = m < len(p)/4*3
	s.take(s.buf[:m])
}

func (s *bodySink) take(b []byte) {
	s.bytes += int64(len(b))
	if s.decoded != nil {
		s.decoded.Write(b)
	}
}

// isBase64 says whether all of it was.
func (s *bodySink) isBase64() bool { return !s.bad && s.n == 0 }
