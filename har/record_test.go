package har

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// Lines that are read ahead are those that lie there, however they lie.
func TestReadAhead(t *testing.T) {
	body := func(size int) *netlog.Response { return ok("text/plain", []byte(strings.Repeat("x", size))) }
	opened := func(f *fixture, i int) int64 {
		return f.open(&netlog.Open{Request: get(fmt.Sprintf("http://h/%d", i))})
	}
	for _, test := range []struct {
		name  string
		lines func(f *fixture)
		ahead bool // of the first job
	}{
		{"one after the other", func(f *fixture) {
			for i := range 40 {
				f.exchange(get(fmt.Sprintf("http://h/%d", i)), body(i*10))
			}
		}, true},
		{"all open first", func(f *fixture) {
			var ids []int64
			for i := range 40 {
				ids = append(ids, opened(f, i))
			}
			for _, id := range ids {
				f.end(id, &netlog.End{Response: body(100)})
			}
		}, false},
		{"the first ends last", func(f *fixture) {
			id := opened(f, 0)
			for i := range 40 {
				f.exchange(get(fmt.Sprintf("http://h/%d", i)), body(20<<10))
			}
			f.end(id, &netlog.End{Response: body(5)})
		}, true},
		{"one longer than a stretch", func(f *fixture) {
			for i := range 12 {
				f.exchange(get(fmt.Sprintf("http://h/%d", i)), body(100+i%4*longestStretch))
			}
		}, true},
		{"times that fall", func(f *fixture) {
			for i := range 40 {
				id := f.open(&netlog.Open{Time: f.now.AddDate(0, 0, -i), Request: get(fmt.Sprintf("http://h/%d", i))})
				f.end(id, &netlog.End{Response: body(500)})
			}
		}, true},
		{"none has an end", func(f *fixture) {
			for i := range 20 {
				opened(f, i)
			}
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			test.lines(f)
			log := f.log()
			index, err := makeIndex(log, func(int64, int64) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			r := recordReader{log: log, index: index}
			for first := 0; first < index.items.n; first += jobItems {
				n := min(jobItems, index.items.n-first)
				r.readAhead(first, n)
				if ahead := r.ahead.pos.Length > 0; first == 0 && ahead != test.ahead {
					t.Errorf("read ahead: %v, want %v", ahead, test.ahead)
				}
				if len(r.ahead.bytes) > longestStretch {
					t.Errorf("%d bytes read ahead", len(r.ahead.bytes))
				}
				for i := range n {
					it := index.items.at(first + i)
					for _, pos := range []netlog.Pos{it.open, it.end} {
						want, err := log.ReadLine(pos, nil)
						if err != nil {
							t.Fatal(err)
						}
						if got, ok := r.ahead.line(pos); ok && !bytes.Equal(got, want) {
							t.Fatalf("got %q, want %q", got, want)
						}
					}
				}
			}
			entries, _ := f.convert()
			if !slices.IsSortedFunc(entries.Entries, func(a, b Entry) int { return strings.Compare(a.StartedDateTime, b.StartedDateTime) }) {
				t.Error("the entries are not in order")
			}
		})
	}
}

// A log that is cut to a part of itself between the passes has what is left, and
// says what it lacks.
func TestCutBetweenThePasses(t *testing.T) {
	const n = 40
	f := newFixture(t)
	var ends []int // of the open lines and of the end lines
	for i := range n {
		id := f.open(&netlog.Open{Request: get(fmt.Sprintf("http://h/%d", i))})
		ends = append(ends, f.buf.Len())
		f.end(id, &netlog.End{Response: ok("text/plain", []byte("x"))})
		ends = append(ends, f.buf.Len())
	}
	path := filepath.Join(t.TempDir(), "network.jsonl")
	for cut := 0; cut <= f.buf.Len(); cut += 97 {
		if err := os.WriteFile(path, f.buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := netlog.OpenLog(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := newConverter(log, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, int64(cut)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := c.archive(&out); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
		log.Close()
		opened, ended := int64(0), int64(0)
		for i, end := range ends {
			if end-1 > cut { // the newline is not asked for
				break
			} else if i%2 == 0 {
				opened++
			} else {
				ended++
			}
		}
		want := Stats{Lines: f.n, Entries: opened, Open: opened - ended, Unreadable: n - opened + opened - ended}
		if c.stats != want {
			t.Errorf("cut at %d: %+v, want %+v", cut, c.stats, want)
		}
		for _, fault := range faults(out.Bytes()) {
			t.Errorf("cut at %d: %s", cut, fault)
		}
	}
}
