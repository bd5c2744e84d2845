package wire

import (
	"bytes"
	"iter"
)

// Field is one field line of a head or of a trailer section. All three are
// slices of the bytes that were read, but for the Value of a folded field.
type Field struct {
	Name  []byte // as spelled
	Value []byte // without the whitespace around it; of a folded one (answers only), the lines joined by one space
	Line  []byte // the whole line or, of a folded one, lines, with the CRLF
}

// A FieldList is a head's fields in the order of the wire. Names are compared
// without regard to case.
type FieldList []Field

// Get returns the value of the first field of that name, and whether there is one.
func (f FieldList) Get(name string) (value []byte, ok bool) {
	for i := range f {
		if equalFold(f[i].Name, name) {
			return f[i].Value, true
		}
	}
	return nil, false
}

// Count returns how many fields have that name.
func (f FieldList) Count(name string) int {
	n := 0
	for i := range f {
		if equalFold(f[i].Name, name) {
			n++
		}
	}
	return n
}

// Values yields the value of each field of that name, in order.
func (f FieldList) Values(name string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range f {
			if equalFold(f[i].Name, name) && !yield(f[i].Value) {
				return
			}
		}
	}
}

// Elements yields the elements of the comma-separated list (RFC 9110 §5.6.1)
// that all fields of that name make together, without the whitespace around
// them and without empty ones. Quotes are not looked at, so it serves lists of
// tokens only.
func (f FieldList) Elements(name string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range f {
			if !equalFold(f[i].Name, name) {
				continue
			}
			for rest, more := f[i].Value, true; more; {
				var e []byte
				e, rest, more = bytes.Cut(rest, comma)
				if e = trimSpace(e); len(e) > 0 && !yield(e) {
					return
				}
			}
		}
	}
}

// HasToken says whether the comma-separated list that all fields of that name
// make together has the token, in any case: HasToken("connection", "close").
func (f FieldList) HasToken(name, token string) bool {
	for e := range f.Elements(name) {
		if equalFold(e, token) {
			return true
		}
	}
	return false
}

var comma = []byte{','}

// equalFold compares in ASCII without regard to case, without allocation.
func equalFold[T string | []byte](b []byte, s T) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if lower(b[i]) != lower(s[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// trimSpace cuts optional whitespace (RFC 9110 §5.6.3: space and tab) off both ends.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// isControl includes the tab and DEL.
func isControl(c byte) bool { return c < ' ' || c == 0x7f }

// isToken says whether b is a token (RFC 9110 §5.6.2).
func isToken(b []byte) bool {
	for _, c := range b {
		if !tokenBytes[c] {
			return false
		}
	}
	return len(b) > 0
}

var tokenBytes = set("!#$%&'*+-.^_`|~" + alphanumeric)

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func set(bytes string) (s [256]bool) {
	for i := range len(bytes) {
		s[bytes[i]] = true
	}
	return s
}
