package netlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// notes is what a parser keeps of a line that is checked, besides its values.
type notes struct {
	path    []step   // around what is read
	unknown []string // the paths of fields that the format does not have
	failed  string   // the path where reading ended
	kept    []span   // the members that hold what was kept of bodies, from their commas on
	until   int      // find the path at this byte; 0: don't
	found   string
}

// A step is a member's name or, when that is nil, an element's index.
type step struct {
	name  []byte
	index int
	start int // where it begins in the line
}

type span struct{ from, to int }

// maxUnknown bounds how many unknown fields of one line are told of.
const maxUnknown = 8

func (n *notes) enter(s step) {
	n.path = append(n.path, s)
	if n.until > 0 && s.start <= n.until {
		n.found = n.at()
	}
}

// leave is called where what was entered ends.
func (n *notes) leave(end int) {
	n.path = n.path[:len(n.path)-1]
	if n.until > 0 && end <= n.until {
		n.found = n.at()
	}
}

// skipped is called for a value whose name says nothing to the parser.
func (n *notes) skipped() {
	if len(n.unknown) < maxUnknown && n.until == 0 {
		n.unknown = append(n.unknown, n.at())
	}
}

// at is the path: "request.headers[2]". Names that are not the format's are
// spelt in ASCII and cut.
func (n *notes) at() string {
	var b strings.Builder
	for i, s := range n.path {
		switch {
		case s.name == nil:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		b.WriteString(strings.Trim(quote(string(s.name)), `"`))
	}
	return b.String()
}

// parseStrict is ParseLine for a line that is checked: it says more, and of what
// was kept of bodies only the sum.
func parseStrict(b []byte) (*Line, *notes, error) {
	n := new(notes)
	l, err := parseLine(&parser{b: b, notes: n})
	return l, n, err
}

// fieldAt is the path of the field that a byte of a line is in, or before.
func fieldAt(line []byte, at int) string {
	if at < len(line) && line[at] == ',' {
		at++
	}
	n := &notes{until: max(at, 1)}
	p := parser{b: line, notes: n}
	p.skip()
	return n.found
}

// kept reads the bytes that were kept of a body.
func (p *parser) kept() Kept {
	if p.notes == nil {
		return Bytes(p.base64())
	}
	from := bytes.LastIndexByte(p.b[:p.i], ',')
	s := p.sum()
	if from >= 0 {
		p.notes.kept = append(p.notes.kept, span{from, p.i})
	}
	return s
}

// A sum is what is known of kept bytes that are not held.
type sum struct {
	n      int64
	sha256 [sha256.Size]byte
}

func (s *sum) Len() int64 { return s.n }

func (s *sum) WriteTo(io.Writer) (int64, error) {
	return 0, errors.New("the bytes are not held")
}

// sum reads a string of canonical base64, as base64 does.
func (p *parser) sum() *sum {
	s := new(sum)
	if !p.take('"') {
		return s
	}
	n := bytes.IndexByte(p.b[p.i:], '"')
	if n < 0 {
		p.fail("unterminated string")
		return s
	}
	enc := base64.StdEncoding.Strict()
	hash := sha256.New()
	var buf [3 << 12]byte
	for text := p.b[p.i : p.i+n]; len(text) > 0; {
		part := text[:min(len(text), 4<<12)]
		text = text[len(part):]
		m, err := enc.Decode(buf[:], part)
		if err != nil || enc.EncodedLen(m) != len(part) || m%3 != 0 && len(text) > 0 {
			p.fail("not base64")
			return s
		}
		hash.Write(buf[:m])
		s.n += int64(m)
	}
	p.i += n + 1
	hash.Sum(s.sha256[:0])
	return s
}

// form holds a line against its canonical form: the same fields as the Writer
// puts them.
func (c *checker) form(l *Line, n *notes) {
	again, err := AppendLine(c.again[:0], withoutKept(l))
	c.again = again
	if err != nil {
		c.fault(RuleForm, "", "%v", err)
		return
	}
	again = bytes.TrimSuffix(again, []byte("\n"))
	at, want := difference(c.buf, again, n.kept)
	if at < 0 {
		return
	}
	c.fault(RuleForm, fieldAt(c.buf, at), "is written as %s, not as %s", around(c.buf, at), around(again, want))
}

// difference is where a line and its canonical form, which lacks what the spans
// hold, differ first; -1 when they don't.
func difference(line, canonical []byte, without []span) (at, want int) {
	for i := 0; ; i++ {
		end := len(line)
		if i < len(without) {
			end = without[i].from
		}
		part := line[at:end]
		same := 0
		for same < len(part) && want+same < len(canonical) && part[same] == canonical[want+same] {
			same++
		}
		at, want = at+same, want+same
		if same < len(part) || i == len(without) && want < len(canonical) {
			return at, want
		}
		if i == len(without) {
			return -1, 0
		}
		at = without[i].to
	}
}

// around quotes what stands at a byte.
func around(b []byte, at int) string {
	s := string(b[max(at-12, 0):min(at+24, len(b))])
	if strconv.CanBackquote(s) && isASCII(s) {
		return "`" + s + "`"
	}
	return quote(s)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// withoutKept is l without what was kept of its bodies.
func withoutKept(l *Line) *Line {
	bare := func(b *Body) *Body {
		if b == nil {
			return nil
		}
		b2 := *b
		b2.Kept = nil
		return &b2
	}
	request := func(r *Request) *Request {
		if r == nil {
			return nil
		}
		r2 := *r
		r2.Body = bare(r.Body)
		return &r2
	}
	l2 := *l
	if l.Open != nil {
		o := *l.Open
		o.Request = request(o.Request)
		l2.Open = &o
	}
	if l.End != nil {
		e := *l.End
		e.Request = request(e.Request)
		if e.Response != nil {
			r := *e.Response
			r.Body = bare(r.Body)
			e.Response = &r
		}
		l2.End = &e
	}
	return &l2
}

// quote quotes what a log says, in ASCII and cut.
func quote(s string) string {
	const most = 60
	if len(s) <= most {
		return strconv.QuoteToASCII(s)
	}
	return strconv.QuoteToASCII(s[:most]) + "..."
}
