package netlog

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
)

// A Parser gives what ParseLine gives, of as many lines as may be, and what it
// gave stays what it is until Release.
func TestParser(t *testing.T) {
	var lines [][]byte
	for _, l := range everyLine() {
		b, err := AppendLine(nil, l)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b)
	}
	for size := 1; size < 4*parserBytes; size *= 3 { // with those that have no room
		o, e := exchange(size)
		for i := range size % 200 {
			o.Request.Headers = append(o.Request.Headers, Header{"X", fmt.Sprint(i)})
		}
		opened, _ := AppendLine(nil, &Line{Head: Head{N: 2, Event: EventOpen, ID: 2, Time: at}, Open: o})
		ended, _ := AppendLine(nil, &Line{Head: Head{N: 3, Event: EventEnd, ID: 2, Time: at}, End: e})
		lines = append(lines, opened, ended)
	}
	var p Parser
	for range 3 {
		var got []*Line
		for range 3 {
			for _, b := range lines {
				l, err := p.ParseLine(bytes.Clone(b))
				if err != nil {
					t.Fatal(err)
				}
				for _, list := range headersOf(l) {
					_ = append(list, Header{"a caller's", "own"})
				}
				got = append(got, l)
			}
		}
		for i, l := range got {
			want, err := ParseLine(lines[i%len(lines)])
			if err != nil || !reflect.DeepEqual(l, want) {
				t.Fatalf("line %d: got %+v, want %+v, %v", i, l, want, err)
			}
		}
		p.Release()
	}
}

func headersOf(l *Line) (lists [][]Header) {
	if l.Open != nil && l.Open.Request != nil {
		lists = append(lists, l.Open.Request.Headers, l.Open.Request.Trailers)
	}
	if l.End != nil && l.End.Response != nil {
		lists = append(lists, l.End.Response.Headers, l.End.Response.Trailers)
	}
	return lists
}

// What most lines have, takes no memory of its own.
func TestParserAllocates(t *testing.T) {
	_, e := exchange(4 << 10)
	line, err := AppendLine(nil, &Line{Head: Head{N: 3, Event: EventEnd, ID: 2, Time: at}, End: e})
	if err != nil {
		t.Fatal(err)
	}
	var p Parser
	n := testing.AllocsPerRun(100, func() {
		p.Release()
		if _, err := p.ParseLine(line); err != nil {
			t.Fatal(err)
		}
	})
	each := testing.AllocsPerRun(100, func() { ParseLine(line) })
	if n > each-2 {
		t.Errorf("%v allocations, and %v for who keeps the line", n, each)
	}
}
