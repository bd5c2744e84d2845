package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

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
	srcErr error             // the source's, io.EOF at its end
	err    error             // why reading ended
	held   []byte            // what of a string is held
	names  map[string]string // of members, to make no other of them
	dollar byte              // how much of ${ the string ends in: 0, '$' or '{'
	saved  int64             // bytes of UTF-8 that are no UTF-16 units of their own
	wide   int64             // where the first byte that is not ASCII is; -1: nowhere
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
