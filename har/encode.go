package har

import (
	"io"
	"strconv"
	"unicode/utf8"
)

// flushAt is how much an encoder gathers before it writes.
const flushAt = 64 << 10

// An encoder writes JSON in pure ASCII, field by field in the order of the
// calls. Its first error stays, and what comes after it is dropped.
type encoder struct {
	w     io.Writer
	buf   []byte
	first bool // the object or array just opened has no member yet
	err   error
}

func newEncoder(w io.Writer) *encoder {
	return &encoder{w: w, buf: make([]byte, 0, flushAt+4<<10), first: true}
}

func (e *encoder) flush() error {
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
	return e.err
}

func (e *encoder) raw(s string) {
	e.buf = append(e.buf, s...)
	if len(e.buf) >= flushAt {
		e.flush()
	}
}

// write writes what is encoded already.
func (e *encoder) write(b []byte) {
	if e.flush() == nil {
		_, e.err = e.w.Write(b)
	}
}

func (e *encoder) next() {
	if !e.first {
		e.buf = append(e.buf, ',')
	}
	e.first = false
}

// name begins a member; "" begins an array's.
func (e *encoder) name(name string) {
	e.next()
	if name != "" {
		e.buf = append(e.buf, '"')
		e.buf = append(e.buf, name...)
		e.buf = append(e.buf, '"', ':')
	}
}

func (e *encoder) open(name string, bracket byte) {
	e.name(name)
	e.buf = append(e.buf, bracket)
	e.first = true
}

func (e *encoder) close(bracket byte) {
	e.buf = append(e.buf, bracket)
	e.first = false
	if len(e.buf) >= flushAt {
		e.flush()
	}
}

func (e *encoder) object(name string, members func()) {
	e.open(name, '{')
	members()
	e.close('}')
}

// array writes an array of n elements.
func (e *encoder) array(name string, n int, element func(i int)) {
	e.open(name, '[')
	for i := range n {
		element(i)
	}
	e.close(']')
}

func (e *encoder) strings(name string, list []string) {
	if len(list) > 0 {
		e.array(name, len(list), func(i int) { e.string("", list[i]) })
	}
}

func (e *encoder) int(name string, n int64) {
	e.name(name)
	e.buf = strconv.AppendInt(e.buf, n, 10)
}

// intIf leaves a zero out, as the methods below do with their zero values.
func (e *encoder) intIf(name string, n int64) {
	if n != 0 {
		e.int(name, n)
	}
}

func (e *encoder) intPtr(name string, n *int64) {
	if n != nil {
		e.int(name, *n)
	}
}

func (e *encoder) millis(name string, m Millis) {
	e.name(name)
	e.buf = appendScaled(e.buf, int64(m), 1000)
}

func (e *encoder) seconds(name string, s Seconds) {
	e.name(name)
	e.buf = appendScaled(e.buf, int64(s), 1000000)
}

func (e *encoder) bool(name string, v bool) {
	e.name(name)
	e.buf = strconv.AppendBool(e.buf, v)
}

func (e *encoder) boolIf(name string, v bool) {
	if v {
		e.bool(name, v)
	}
}

func (e *encoder) boolPtr(name string, v *bool) {
	if v != nil {
		e.bool(name, *v)
	}
}

func (e *encoder) stringIf(name, s string) {
	if s != "" {
		e.string(name, s)
	}
}

// string writes s, U+FFFD in place of each byte that is not UTF-8, so that no
// reader meets half a surrogate pair.
func (e *encoder) string(name, s string) {
	e.name(name)
	e.buf = append(e.buf, '"')
	for len(s) > 0 {
		// In pieces, so that a long body does not make the buffer grow.
		piece := s
		if len(piece) > flushAt/8 {
			piece = piece[:flushAt/8]
			for i := 0; i < utf8.UTFMax-1 && !utf8.RuneStart(s[len(piece)]); i++ {
				piece = piece[:len(piece)-1]
			}
		}
		e.buf = appendEscaped(e.buf, piece)
		s = s[len(piece):]
		if len(e.buf) >= flushAt {
			e.flush()
		}
	}
	e.buf = append(e.buf, '"')
}

const hexDigits = "0123456789abcdef"

// plain are the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

func appendEscaped(b []byte, s string) []byte {
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && plain[s[j]] {
			j++
		}
		b = append(b, s[i:j]...)
		if i = j; i == len(s) {
			break
		}
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < utf8.RuneSelf:
			b = appendUnit(b, rune(c))
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r >= 0x10000 {
				r -= 0x10000
				b = appendUnit(b, 0xd800+r>>10)
				r = 0xdc00 + r&0x3ff
			}
			b = appendUnit(b, r)
			i += size - 1
		}
		i++
	}
	return b
}

// appendUnit appends one UTF-16 code unit.
func appendUnit(b []byte, u rune) []byte {
	return append(b, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}
