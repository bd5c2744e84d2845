// Package netlogtest checks logs that tests have produced: by netlog.Check, and
// each line against schema.json.
//
//	lines := netlogtest.Validate(t, path)
//
// It reads the whole log into memory and is for tests only.
package netlogtest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

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
	lines, errs, err := check(path, o)
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

// check is ValidateWith without a test: errs are the rules broken, err
// is why the log could not be read. A rule that a log may break all the same is
// broken, too, but as o says.
func check(path string, o Options) (lines []*netlog.Line, errs []error, err error) {
	log, err := netlog.OpenLog(path)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	stats, err := netlog.Check(log, netlog.CheckOptions{Fault: func(f netlog.Fault) error {
		if f.Rule != netlog.RuleLine || f.N > 0 {
			if f.Rule != netlog.RuleEnd || !o.Live {
				errs = append(errs, fmt.Errorf("line %d: %s: %s %s", f.N, f.Rule, f.Field, f.Text))
			}
		}
		return nil
	}})
	if err != nil {
		return nil, nil, err
	}
	if stats.Unreadable != o.Unreadable {
		errs = append(errs, fmt.Errorf("%q: %d unreadable lines, want %d", path, stats.Unreadable, o.Unreadable))
	}
	lines, wrong, err := read(log)
	if len(lines) > 0 && lines[0].N != max(o.First, 1) {
		errs = append(errs, fmt.Errorf("%q begins with line %d, want %d", path, lines[0].N, max(o.First, 1)))
	}
	return lines, append(errs, wrong...), err
}

// read returns the lines that can be read, and what of them schema.json forbids.
func read(log *netlog.Log) (lines []*netlog.Line, errs []error, err error) {
	schema, err := compile()
	if err != nil {
		return nil, nil, err
	}
	s := log.Scan()
	var buf []byte
	for s.Next() {
		if buf, err = log.ReadLine(s.Pos(), buf); err != nil {
			return nil, nil, err
		}
		if doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(buf)); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", s.Head().N, err))
		} else if err := schema.Validate(doc); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", s.Head().N, err))
		}
		if l, err := netlog.ParseLine(buf); err == nil {
			lines = append(lines, l)
		}
	}
	return lines, errs, s.Err()
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
