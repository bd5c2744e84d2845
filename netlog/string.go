package netlog

import (
	"math/bits"
	"unicode/utf8"
)

// appendString appends s as a JSON string (RFC 8259 §7). A byte that is not part
// of valid UTF-8 becomes U+FFFD; exact says that there was none.
func appendString(b []byte, s string) (_ []byte, exact bool) {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	exact = true
	from := 0 // what of s is not yet appended
	for i := plainLen(s); i < len(s); i += plainLen(s[i:]) {
		c := s[i]
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

// plainLen is how many of s's first bytes stand for themselves in a JSON string
// and are ASCII. It looks at eight of them at once.
func plainLen[S string | []byte](s S) int {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		// The top bit is set in the first byte that is not plain, and in none before
		// it: only such a byte borrows from the next.
		if odd := (w | (w - ' '*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) & tops; odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(s) && plain[s[i]] {
		i++
	}
	return i
}

// plain are the bytes that plainLen counts.
var plain = func() (p [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		p[c] = c != '"' && c != '\\'
	}
	return p
}()
