package netlog

import (
	"unicode/utf16"
	"unicode/utf8"
)

// raw reads a string and returns what is between its quotes, escapes and all.
func (p *parser) raw() (s []byte, escaped bool) {
	if !p.take('"') {
		return nil, false
	}
	from := p.i
	for i := from + plainLen(p.b[from:]); i < len(p.b); i += plainLen(p.b[i:]) {
		c := p.b[i]
		switch {
		case c == '"':
			p.i = i + 1
			return p.b[from:i], escaped
		case c == '\\':
			n := escapeLen(p.b[i:])
			if n == 0 {
				p.i = i
				p.fail("unknown escape")
				return nil, false
			}
			escaped = true
			i += n
		case c < ' ':
			p.i = i
			p.fail("control character in a string")
			return nil, false
		default:
			_, n := utf8.DecodeRune(p.b[i:])
			if n == 1 {
				p.i = i
				p.fail("invalid UTF-8")
				return nil, false
			}
			i += n
		}
	}
	p.fail("unterminated string")
	return nil, false
}

// escapeLen is how long the escape is that b begins with; 0 when it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b); ok {
			return 6
		}
	}
	return 0
}

// hex4 reads the escape of a UTF-16 unit (RFC 8259 §7) that b begins with.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 + rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 + rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 + rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// appendUnescaped appends what raw returned, decoded.
func appendUnescaped(out, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			out = append(out, s[i])
			i++
			continue
		}
		switch c := s[i+1]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := hex4(s[i:])
			if utf16.IsSurrogate(r) {
				low, _ := hex4(s[i+6:])
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
			i += 4
		default:
			out = append(out, c)
		}
		i += 2
	}
	return out
}

func (p *parser) string() string {
	s, escaped := p.raw()
	if escaped {
		p.spare = appendUnescaped(p.spare[:0], s)
		s = p.spare
	}
	return p.keep(s)
}

const (
	// keepRoom is how many bytes of short strings are made at once.
	keepRoom = 1 << 10
	// shortString is up to how many bytes a string is short. One that outlives its
	// line holds no more than keepRoom.
	shortString = keepRoom / 4
)

// keep returns s as a string. A line has dozens of them: the short ones are cut
// from a few long ones.
func (p *parser) keep(s []byte) string {
	if len(s) == 0 || len(s) > shortString {
		return string(s)
	}
	if p.strings.Cap()-p.strings.Len() < len(s) {
		p.strings.Reset() // what was cut from it stays
		p.strings.Grow(max(len(s), min(keepRoom, len(p.b)-p.i)))
	}
	at := p.strings.Len()
	p.strings.Write(s)
	return p.strings.String()[at:]
}

func (p *parser) name() []byte {
	s, escaped := p.raw()
	if escaped {
		return appendUnescaped(nil, s)
	}
	return s
}
