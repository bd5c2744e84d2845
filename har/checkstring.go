package har

import (
	"bytes"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a string, whose quote is next.
func (r *jsonReader) string(sink io.Writer) value {
	v := value{kind: kindString, offset: r.offset()}
	if !r.characters(&v, sink) {
		return value{}
	}
	v.text = string(r.held)
	return v
}

// name reads a string that is the same again and again.
func (r *jsonReader) name() string {
	var v value
	r.characters(&v, nil)
	if known, ok := r.names[string(r.held)]; ok {
		return known
	}
	name := string(r.held)
	if len(r.names) < 1000 && len(name) < 64 {
		r.names[name] = name
	}
	return name
}

// characters reads a string's, of which it holds the first.
func (r *jsonReader) characters(v *value, sink io.Writer) bool {
	r.i++
	r.held, r.dollar = r.held[:0], 0
	told := false
	tell := func(format string, args ...any) {
		if !told { // once a string
			told = true
			r.fault(r.offset(), format, args...)
		}
	}
	for r.err == nil {
		if r.i == r.n && !r.ensure(1) {
			r.unexpected("the end of a string")
			break
		}
		j := r.i
		for j < r.n && plain[r.buf[j]] {
			j++
		}
		r.emit(v, r.buf[r.i:j], sink)
		r.i = j
		if j == r.n {
			continue
		}
		switch c := r.buf[j]; {
		case c == '"':
			r.i++
			return true
		case c == '\\':
			r.escape(v, sink, tell)
		case c < ' ':
			tell("has the control character %#02x, which is to be escaped", c)
			r.emitRune(v, rune(c), sink)
			r.i++
		case c == 0x7f:
			r.emit(v, r.buf[j:j+1], sink)
			r.i++
		default:
			r.unicode(v, sink, tell)
		}
	}
	return false
}

// emit takes a piece of a string.
func (r *jsonReader) emit(v *value, p []byte, sink io.Writer) {
	if len(p) == 0 {
		return
	}
	if room := holdText - len(r.held); room > 0 {
		r.held = append(r.held, p[:min(room, len(p))]...)
	}
	v.size += int64(len(p))
	v.space = v.space || bytes.IndexByte(p, ' ') >= 0
	v.hash = v.hash || bytes.IndexByte(p, '#') >= 0
	if r.dollar != 0 || bytes.IndexByte(p, '$') >= 0 {
		r.variable(v, p)
	}
	if sink != nil {
		sink.Write(p)
	}
}

// variable looks for ${…}.
func (r *jsonReader) variable(v *value, p []byte) {
	for _, c := range p {
		switch {
		case r.dollar == '{' && c == '}':
			v.dollar, r.dollar = true, 0
		case r.dollar == '{' && (c < '\t' || c > '\r'), r.dollar == '$' && c == '{':
			r.dollar = '{'
		case c == '$':
			r.dollar = '$'
		default:
			r.dollar = 0
		}
	}
}

func (r *jsonReader) emitRune(v *value, c rune, sink io.Writer) {
	var b [utf8.UTFMax]byte
	v.wide = v.wide || c >= utf8.RuneSelf
	v.space = v.space || isJSSpace(c)
	r.emit(v, b[:utf8.EncodeRune(b[:], c)], sink)
}

// isJSSpace says whether JavaScript's \s matches a character.
func isJSSpace(c rune) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '\v', '\f', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return c >= 0x2000 && c <= 0x200a
}

// unicode reads characters beyond ASCII as they stand.
func (r *jsonReader) unicode(v *value, sink io.Writer, tell func(string, ...any)) {
	if r.wide < 0 {
		r.wide = r.offset()
	}
	for r.ensure(1) && r.buf[r.i] >= utf8.RuneSelf {
		r.ensure(utf8.UTFMax)
		c, n := utf8.DecodeRune(r.buf[r.i:r.n])
		if n == 1 {
			tell("has the byte %#02x, which is not UTF-8", r.buf[r.i])
		} else {
			r.saved += int64(n - utf16.RuneLen(c))
		}
		r.emitRune(v, c, sink)
		r.i += n
	}
}

// escape reads an escape.
func (r *jsonReader) escape(v *value, sink io.Writer, tell func(string, ...any)) {
	if !r.ensure(2) {
		r.unexpected("the end of a string")
		return
	}
	switch c := r.buf[r.i+1]; c {
	case '"', '\\', '/':
		r.emitRune(v, rune(c), sink)
	case 'b', 'f', 'n', 'r', 't':
		r.emitRune(v, rune("\b\f\n\r\t"[bytes.IndexByte([]byte("bfnrt"), c)]), sink)
	case 'u':
		r.unit(v, sink, tell)
		return
	default:
		r.fail("an escape that JSON does not have: %s", strconv.QuoteToASCII(`\`+string(rune(c))))
		return
	}
	r.i += 2
}

// unit reads the escape of a UTF-16 unit, or of a pair of them.
func (r *jsonReader) unit(v *value, sink io.Writer, tell func(string, ...any)) {
	r.ensure(12)
	c, ok := hexUnit(r.buf[r.i:r.n])
	if !ok {
		r.fail(`not four hexadecimal digits behind \u`)
		return
	}
	n := 6
	if utf16.IsSurrogate(c) {
		low, _ := hexUnit(r.buf[r.i+6 : r.n])
		if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
			c, n = pair, 12
		} else {
			tell(`has \u%04x, half of a pair, which is no character`, c)
			c = utf8.RuneError
		}
	}
	r.emitRune(v, c, sink)
	r.i += n
}

func hexUnit(b []byte) (c rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, d := range b[2:6] {
		n := unhex(d)
		if n < 0 {
			return 0, false
		}
		c = c<<4 | rune(n)
	}
	return c, true
}
