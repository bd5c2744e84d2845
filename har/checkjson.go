package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The kinds of a JSON value, by how it begins; 0 for one that is not there.
const (
	kindObject = '{'
	kindArray  = '['
	kindString = '"'
	kindNumber = '0'
	kindTrue   = 't'
	kindFalse  = 'f'
	kindNull   = 'n'
)

// A value is what a check knows of a JSON value: of a string its beginning.
type value struct {
	kind   byte
	offset int64
	text   string // of a string what holdText allows, or the number as it is written
	size   int64  // of a string, in bytes of UTF-8
	space  bool   // a string has white space (as JavaScript's \s)
	hash   bool   // a string has a #
	wide   bool   // a string has what is not ASCII
	dollar bool   // a string has ${…} in a line, which is a variable to k6
}

// holdText is how much of a string is held; enough for all that is looked into.
const holdText = 1 << 10

func (v value) is(kind byte) bool { return v.kind == kind }

// whole says that all of a string is held.
func (v value) whole() bool { return v.size == int64(len(v.text)) }

// what names a value in a fault's text, cut and in ASCII.
func (v value) what() string {
	switch v.kind {
	case kindObject:
		return "an object"
	case kindArray:
		return "an array"
	case kindString:
		return v.quoted()
	case kindTrue:
		return "true"
	case kindFalse:
		return "false"
	case kindNull:
		return "null"
	case kindNumber:
		return fmt.Sprintf("%.40s", v.text)
	}
	return "missing"
}

func (v value) quoted() string {
	const most = 60
	if v.size <= most {
		return strconv.QuoteToASCII(v.text)
	}
	return strconv.QuoteToASCII(v.text[:min(most, len(v.text))]) + "..."
}

// maxNesting is where reading ends: Python's json goes little deeper.
const maxNesting = 500

// A jsonReader reads one JSON text (RFC 8259) as it comes: a value of any length
// takes no memory but its beginning's. What of it is wrong and can be passed over
// goes to fault; anything else ends the reading, and then there are no values.
type jsonReader struct {
	src   io.Reader
	fault func(offset int64, format string, args ...any)
	field func() string // the path to what is read

	buf    []byte
	i, n   int   // what of buf is not read yet
	base   int64 // where buf begins
	depth  int
	srcErr error // the source's, io.EOF at its end
	err    error // why reading ended
	held   []byte
	names  map[string]string
	dollar byte  // how much of ${ the string ends in: 0, '$' or '{'
	saved  int64 // bytes of UTF-8 that are no UTF-16 units of their own
	wide   int64 // where the first byte that is not ASCII is; -1: nowhere
}

// A syntaxError is what ends the reading of a JSON text.
type syntaxError struct {
	offset int64
	field  string
	text   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.offset, e.text) }

func newJSONReader(src io.Reader, fault func(int64, string, ...any), field func() string) *jsonReader {
	return &jsonReader{src: src, fault: fault, field: field, buf: make([]byte, 64<<10), wide: -1, names: make(map[string]string)}
}

func (r *jsonReader) offset() int64 { return r.base + int64(r.i) }

func (r *jsonReader) fail(format string, args ...any) {
	switch {
	case r.err != nil:
	case r.srcErr != nil && r.srcErr != io.EOF && r.n-r.i < longestToken:
		r.err = r.srcErr // it has cut what does not look right
	default:
		r.err = &syntaxError{r.offset(), r.field(), fmt.Sprintf(format, args...)}
	}
}

// longestToken is more than a word or an escape takes.
const longestToken = 16

// ensure has the next bytes in buf, if there are so many.
func (r *jsonReader) ensure(want int) bool {
	for idle := 0; r.n-r.i < want && r.err == nil && r.srcErr == nil; {
		if r.i > 0 {
			r.base += int64(r.i)
			r.n = copy(r.buf, r.buf[r.i:r.n])
			r.i = 0
		}
		var n int
		n, r.srcErr = r.src.Read(r.buf[r.n:])
		r.n += n
		if idle++; n > 0 {
			idle = 0
		} else if idle == 100 && r.srcErr == nil {
			r.srcErr = io.ErrNoProgress
		}
	}
	return r.err == nil && r.n-r.i >= want
}

// peek returns the next byte that is no white space, 0 at the end.
func (r *jsonReader) peek() byte {
	for r.err == nil && (r.i < r.n || r.ensure(1)) {
		switch c := r.buf[r.i]; c {
		case ' ', '\t', '\r', '\n':
			r.i++
		default:
			return c
		}
	}
	return 0
}

// over says that the source is read to its end, which may be an error of its.
func (r *jsonReader) over() bool {
	if r.err != nil || r.i < r.n {
		return false
	}
	if r.srcErr != nil && r.srcErr != io.EOF {
		r.err = r.srcErr
	}
	return true
}

func (r *jsonReader) unexpected(what string) {
	c := r.peek()
	switch {
	case r.err != nil:
	case r.over():
		r.fail("the file ends in the middle: %s is expected", what)
	default:
		r.fail("%s is expected, not %s", what, strconv.QuoteToASCII(string(rune(c))))
	}
}

// object reads an object's members; member has to read each value.
func (r *jsonReader) object(member func(name string)) {
	if !r.descend() {
		return
	}
	for first := true; ; first = false {
		c := r.peek()
		if c == '}' && first {
			r.i++
			break
		}
		if c != '"' {
			r.unexpected("a member's name")
			return
		}
		name := r.name()
		if r.peek() != ':' {
			r.unexpected("a colon")
			return
		}
		r.i++
		member(name)
		if !r.more('}') {
			break
		}
	}
	r.depth--
}

// array reads an array's elements; element has to read each.
func (r *jsonReader) array(element func(i int)) {
	if !r.descend() {
		return
	}
	if r.peek() == ']' {
		r.i++
	} else {
		for i := 0; ; i++ {
			element(i)
			if !r.more(']') {
				break
			}
		}
	}
	r.depth--
}

// descend goes into an object or an array.
func (r *jsonReader) descend() bool {
	if r.err != nil {
		return false
	}
	if r.depth++; r.depth > maxNesting {
		r.fail("values are nested deeper than %d", maxNesting)
		return false
	}
	r.i++
	return true
}

// more reads what follows a member or an element.
func (r *jsonReader) more(end byte) bool {
	switch c := r.peek(); {
	case r.err != nil:
		return false
	case c == ',':
		r.i++
		return true
	case c == end:
		r.i++
		return false
	}
	r.unexpected(fmt.Sprintf("a comma or %s", strconv.QuoteRune(rune(end))))
	return false
}

// scalar reads a value that is no object and no array. The bytes of a string go
// to sink, too.
func (r *jsonReader) scalar(sink io.Writer) value {
	c := r.peek()
	v := value{offset: r.offset()}
	switch {
	case r.err != nil:
	case c == '"':
		return r.string(sink)
	case c == '-' || c >= '0' && c <= '9':
		r.number(&v)
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		r.word(&v)
	default:
		r.unexpected("a value")
	}
	return v
}

// word reads true, false or null, and what some programs write for numbers that
// JSON does not have.
func (r *jsonReader) word(v *value) {
	r.ensure(longestToken)
	n := 0
	for n < longestToken && r.i+n < r.n && isLetter(r.buf[r.i+n]) {
		n++
	}
	switch word := string(r.buf[r.i : r.i+n]); word {
	case "true", "false", "null":
		v.kind = word[0]
	case "NaN", "Infinity":
		v.kind, v.text = kindNumber, word
		r.fault(v.offset, "is %s, which JSON does not have", word)
	default:
		r.unexpected("a value")
		return
	}
	r.i += n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// number reads a number, of which that much at most is a sensible one.
func (r *jsonReader) number(v *value) {
	const most = 400
	r.ensure(most)
	b := r.buf[r.i:r.n]
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[0] == '-' {
		i++
	}
	if bytes.HasPrefix(b[i:], []byte("Infinity")) {
		v.kind, v.text = kindNumber, "-Infinity"
		r.fault(v.offset, "is -Infinity, which JSON does not have")
		r.i += i + len("Infinity")
		return
	}
	zero := i < len(b) && b[i] == '0'
	from := i
	ok := digits()
	if zero && i > from+1 {
		ok = false
	}
	if ok && i < len(b) && b[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok || i >= most {
		r.i += min(i, r.n-r.i)
		r.fail("not a number")
		return
	}
	v.kind, v.text = kindNumber, string(b[:i])
	r.i += i
}

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

// end makes sure that nothing follows.
func (r *jsonReader) end() {
	if c := r.peek(); r.err == nil && !r.over() {
		r.fail("something follows the end: %s", strconv.QuoteToASCII(string(rune(c))))
	}
}

// broken is the syntax error that ended the reading, if one did.
func (r *jsonReader) broken() *syntaxError {
	var syntax *syntaxError
	errors.As(r.err, &syntax)
	return syntax
}
