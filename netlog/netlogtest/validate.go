// Package netlogtest checks logs that tests have produced: each line against
// schema.json and against its own canonical form, and the lines with each other.
//
//	lines := netlogtest.Validate(t, path)
//
// It reads the whole log into memory and is for tests only.
package netlogtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentenv/netlog/netlog"
)

// Options say what a log may have beyond a finished one's lines.
type Options struct {
	Live       bool  // open lines may have no end line yet
	Unreadable int64 // exactly so many lines are unreadable
	First      int64 // the first line's number, where older files were deleted; 0: 1
}

// Validate checks the finished log at path, a live file or its folder, and
// returns its lines. Each broken rule is an error of t's; a log that can't be
// read ends the test.
func Validate(t testing.TB, path string) []*netlog.Line {
	t.Helper()
	return ValidateWith(t, path, Options{})
}

// ValidateWith is Validate for a log of which o says more.
func ValidateWith(t testing.TB, path string, o Options) []*netlog.Line {
	t.Helper()
	lines, errs, err := Check(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range errs {
		if i == 20 {
			t.Errorf("and %d more", len(errs)-i)
			break
		}
		t.Error(e)
	}
	return lines
}

// Check is ValidateWith for what is not a test: errs are the rules broken, err
// is why the log could not be read.
func Check(path string, o Options) (lines []*netlog.Line, errs []error, err error) {
	schema, err := compile()
	if err != nil {
		return nil, nil, err
	}
	log, err := netlog.OpenLog(path)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	c := checker{schema: schema, first: max(o.First, 1), next: max(o.First, 1), open: make(map[int64]*netlog.Line), ended: make(map[int64]bool)}
	s := log.Scan()
	var buf []byte
	for s.Next() {
		if buf, err = log.ReadLine(s.Pos(), buf); err != nil {
			return nil, nil, err
		}
		l, err := netlog.ParseLine(buf)
		if err != nil {
			c.fail(s.Head().N, "%v", err)
			c.next = s.Head().N + 1
			continue
		}
		if c.begins = s.Pos().Offset == 0; c.begins && c.begun && l.Start == nil {
			c.fail(l.N, "begins a file and is of the event %q", l.Event)
		}
		c.line(l, buf)
		lines = append(lines, l)
	}
	if err := s.Err(); err != nil {
		return nil, nil, err
	}
	if got := s.Unreadable(); got != o.Unreadable {
		c.errs = append(c.errs, fmt.Errorf("%q: %d unreadable lines, want %d", path, got, o.Unreadable))
	}
	if !o.Live {
		for id := range c.open {
			c.fail(id, "has no end line")
		}
	}
	return lines, c.errs, nil
}

// compile compiles the schema, once: that takes longer than to check a short log.
var compile = sync.OnceValues(func() (*jsonschema.Schema, error) {
	const name = "netlog:schema.json"
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(netlog.Schema()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertContent() // of what is in base64; a pattern would take most of a test's time
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	return c.Compile(name)
})

type checker struct {
	schema *jsonschema.Schema
	begun  bool
	begins bool // the line begins a file
	pid    int  // of the last start line
	first  int64
	next   int64
	open   map[int64]*netlog.Line
	ended  map[int64]bool
	errs   []error
}

func (c *checker) fail(n int64, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("line %d: "+format, append([]any{n}, args...)...))
}

func (c *checker) line(l *netlog.Line, raw []byte) {
	if !c.begun && l.Event != netlog.EventStart {
		c.fail(l.N, "the first line is of the event %q", l.Event)
	}
	c.begun = true
	if l.N != c.next {
		c.fail(l.N, "stands where line %d belongs", c.next)
	}
	c.next = l.N + 1
	if doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw)); err != nil {
		c.fail(l.N, "%v", err)
	} else if err := c.schema.Validate(doc); err != nil {
		c.fail(l.N, "%v", err)
	}
	if again, err := netlog.AppendLine(nil, l); err != nil || !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), raw) {
		c.fail(l.N, "is not in its canonical form:\n got %.2000s\nwant %.2000s", raw, again)
	}
	c.belongs(l)
	switch {
	case l.Open != nil && l.Open.Request != nil:
		c.body(l.N, "request", l.Open.Request.Body)
	case l.End != nil:
		if r := l.End.Request; r != nil {
			c.body(l.N, "request", r.Body)
		}
		if r := l.End.Response; r != nil {
			c.body(l.N, "response", r.Body)
			if r.Status == 0 && !l.End.Unparsed {
				c.fail(l.N, "has an answer without a status that is not unparsed")
			}
		}
	}
}

// belongs checks a line's id against the lines before it.
func (c *checker) belongs(l *netlog.Line) {
	if l.Event == netlog.EventStart {
		c.start(l)
		return
	}
	if l.Event == netlog.EventUnrotated {
		return
	}
	if l.Event == netlog.EventOpen {
		if l.ID != l.N {
			c.fail(l.N, "its id is %d", l.ID)
		}
		c.open[l.ID] = l
		return
	}
	open := c.open[l.ID]
	if open == nil {
		what := "was never opened"
		if c.ended[l.ID] {
			what = "has ended before"
		}
		c.fail(l.N, "%s line of %d, which %s", l.Event, l.ID, what)
		return
	}
	if l.End == nil {
		return
	}
	delete(c.open, l.ID)
	c.ended[l.ID] = true
	if open.Open == nil {
		return
	}
	c.timings(l, open)
	if r := open.Open.Request; r != nil && (r.Method == "" || r.Version == "") && l.End.Refused == nil {
		c.fail(l.ID, "has no method or no version, though the request was not refused")
	}
	if r := l.End.Request; r != nil && r.Body != nil && open.Open.Request != nil && open.Open.Request.Body != nil {
		c.fail(l.N, "has the request's body, which open line %d has too", l.ID)
	}
}

// start checks the ids that are open after a rotation.
func (c *checker) start(l *netlog.Line) {
	for _, id := range l.Start.Open {
		switch {
		case c.open[id] != nil:
		case c.ended[id], id >= c.first && id != l.N: // a number that is gone may be given again
			c.fail(l.N, "says that %d is open, which it is not", id)
		default:
			c.open[id] = &netlog.Line{} // its open line is in a file that is gone
		}
	}
	if n := len(l.Start.Open); c.begins && c.pid == l.Start.PID && n < len(c.open) {
		c.fail(l.N, "says that %d are open, not %d", n, len(c.open))
	}
	c.pid = l.Start.PID
}

// timings checks that the phases fill the time from the open line to the end line.
func (c *checker) timings(end, open *netlog.Line) {
	t := end.End.Timings
	sum, phases := int64(0), 0
	for _, p := range []int64{t.Blocked, t.DNS, t.Connect, t.Send, t.Wait, t.Receive} {
		if p >= 0 {
			sum += p
			phases++
		}
	}
	if phases > 0 && sum != t.Total {
		c.fail(end.N, "its phases take %d µs, the total is %d", sum, t.Total)
	}
	if t.TLS > max(t.Connect, 0) {
		c.fail(end.N, "tls takes %d µs of the %d that connect takes", t.TLS, t.Connect)
	}
	// The clock of another process may have been set back.
	if f := end.End.Failed; f != nil && f.Code == netlog.CodeRestarted {
		return
	}
	if took := end.Time.Sub(open.Time); took != time.Duration(t.Total)*time.Microsecond {
		c.fail(end.N, "ends %v after line %d, its total is %d µs", took, open.N, t.Total)
	}
}

func (c *checker) body(n int64, of string, b *netlog.Body) {
	if b == nil {
		return
	}
	kept, _ := b.Kept.(netlog.Bytes)
	size := int64(len(kept))
	switch {
	case size > b.Size:
		c.fail(n, "%s: %d bytes kept of %d", of, size, b.Size)
	case size == b.Size && b.Truncated:
		c.fail(n, "%s: truncated, but all %d bytes are kept", of, size)
	case size > 0 && size < b.Size && !b.Truncated:
		c.fail(n, "%s: %d bytes kept of %d, but not truncated", of, size, b.Size)
	case size > 0 && size == b.Size && b.SHA256 != "":
		if sum := sha256.Sum256(kept); hex.EncodeToString(sum[:]) != b.SHA256 {
			c.fail(n, "%s: sha256 %s is not that of the bytes kept, %x", of, b.SHA256, sum)
		}
	}
	last := netlog.Chunk{}
	for _, ch := range b.Chunks {
		if ch.Offset < last.Offset || ch.Micros < last.Micros || ch.Offset >= b.Size {
			c.fail(n, "%s: chunk [%d,%d] after [%d,%d] of %d bytes", of, ch.Offset, ch.Micros, last.Offset, last.Micros, b.Size)
		}
		last = ch
	}
}
