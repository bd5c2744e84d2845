package netlog

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// A parser reads one JSON text (RFC 8259) strictly. After the first error it
// reads nothing more, so that only the end needs a check.
type parser struct {
	b     []byte
	i     int
	depth int
	err   error
	notes *notes // nil: the line is only read

	strings strings.Builder // what short strings are cut from
	spare   []byte          // what strings are unescaped in
	reused  *Parser         // nil: what is parsed is the caller's to keep
}

// maxDepth bounds the nesting of values that are skipped.
const maxDepth = 100

func (p *parser) fail(what string) {
	if p.err == nil {
		p.err = fmt.Errorf("byte %d: %s", p.i, what)
		if p.notes != nil {
			p.notes.failed = p.notes.at()
		}
	}
	p.i = len(p.b)
}

// peek returns the next byte that is no white space, 0 at the end.
func (p *parser) peek() byte {
	for p.i < len(p.b) {
		c := p.b[p.i]
		if c > ' ' {
			return c
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return c
		}
	}
	return 0
}

// take reads c, or fails.
func (p *parser) take(c byte) bool {
	if p.peek() != c || p.i == len(p.b) {
		p.fail("expected " + strconv.QuoteRune(rune(c)))
		return false
	}
	p.i++
	return true
}

func (p *parser) literal(s string) bool {
	p.peek()
	if len(p.b)-p.i < len(s) || string(p.b[p.i:p.i+len(s)]) != s {
		return false
	}
	p.i += len(s)
	return true
}

// end makes sure that nothing follows.
func (p *parser) end() error {
	if p.err == nil && p.peek() != 0 || p.i < len(p.b) {
		p.fail("expected the end")
	}
	return p.err
}

// object reads an object; field reads the value of each name.
func (p *parser) object(field func(name []byte)) {
	if p.take('{') {
		p.fields(field)
	}
}

// fields reads an object from its first field on.
func (p *parser) fields(field func(name []byte)) {
	if p.peek() == '}' {
		p.i++
		return
	}
	for p.err == nil {
		start := p.i
		name := p.name()
		if !p.take(':') {
			return
		}
		if p.notes == nil {
			field(name)
		} else {
			p.notes.enter(step{name: name, start: start})
			field(name)
			p.notes.leave(p.i)
		}
		if p.peek() == ',' {
			p.i++
			continue
		}
		p.take('}')
		return
	}
}

// array reads an array; element reads each one.
func (p *parser) array(element func()) {
	if !p.take('[') {
		return
	}
	if p.peek() == ']' {
		p.i++
		return
	}
	for i := 0; p.err == nil; i++ {
		if p.notes == nil {
			element()
		} else {
			p.notes.enter(step{index: i, start: p.i})
			element()
			p.notes.leave(p.i)
		}
		if p.peek() == ',' {
			p.i++
			continue
		}
		p.take(']')
		return
	}
}

func (p *parser) stringList() (list []string) {
	p.array(func() { list = append(list, p.string()) })
	return list
}

// base64 reads a string of canonical base64. It finds the end before it looks at
// the characters: this is where most of a log's bytes are.
func (p *parser) base64() []byte {
	if !p.take('"') {
		return nil
	}
	n := bytes.IndexByte(p.b[p.i:], '"')
	if n < 0 {
		p.fail("unterminated string")
		return nil
	}
	s := p.b[p.i : p.i+n]
	enc := base64.StdEncoding.Strict()
	b := p.reused.room(enc.DecodedLen(n))
	m, err := enc.Decode(b, s)
	if err != nil || enc.EncodedLen(m) != n { // Decode passes over line ends
		p.fail("not base64")
		return nil
	}
	p.i += n + 1
	return b[:m]
}

// int reads a number without a fraction or an exponent.
func (p *parser) int() int64 {
	p.peek()
	from := p.i
	if !p.number() {
		return 0
	}
	n, err := strconv.ParseInt(string(p.b[from:p.i]), 10, 64)
	if err != nil {
		p.fail("not a whole number of 64 bits")
	}
	return n
}

// number reads a number as JSON has it.
func (p *parser) number() bool {
	p.peek()
	b := p.b[p.i:]
	i := 0
	run := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	zero := i < len(b) && b[i] == '0'
	if zero {
		i++
	}
	ok := zero || run()
	if ok && i < len(b) && b[i] == '.' {
		i++
		ok = run()
	}
	if ok && i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		ok = run()
	}
	if !ok {
		p.fail("not a number")
		return false
	}
	p.i += i
	return true
}

func (p *parser) bool() bool {
	switch {
	case p.literal("true"):
		return true
	case !p.literal("false"):
		p.fail("expected true or false")
	}
	return false
}

// skip reads a value of any kind.
func (p *parser) skip() {
	if p.depth == 0 && p.notes != nil {
		p.notes.skipped()
	}
	if p.depth++; p.depth > maxDepth {
		p.fail("nested too deep")
		return
	}
	switch p.peek() {
	case '{':
		p.object(func([]byte) { p.skip() })
	case '[':
		p.array(p.skip)
	case '"':
		p.raw()
	case 't', 'f':
		p.bool()
	case 'n':
		if !p.literal("null") {
			p.fail("not a value")
		}
	default:
		p.number()
	}
	p.depth--
}
