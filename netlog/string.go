package netlog

import "unicode/utf8"

// appendString appends s as a JSON string (RFC 8259 §7). A byte that is not part
// of valid UTF-8 becomes U+FFFD; exact says that there was none.
func appendString(b []byte, s string) (_ []byte, exact bool) {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	exact = true
	from := 0 // what of s is not yet appended
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if _, n := utf8.DecodeRuneInString(s[i:]); n > 1 {
				i += n
				continue
			}
		}
		b = append(b, s[from:i]...)
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, "\uFFFD"...)
			exact = false
		}
		i++
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"'), exact
}

// plain are the bytes that stand for themselves in a JSON string.
var plain = func() (p [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		p[c] = c != '"' && c != '\\'
	}
	return p
}()
