package har

import (
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// assemble feeds a log's lines and returns the entries as they end.
func assemble(t testing.TB, a *Assembler, log *netlog.Log) []*Entry {
	t.Helper()
	var ended []*Entry
	for lines := log.Scan(); lines.Next(); {
		b, err := log.ReadLine(lines.Pos(), nil)
		if err != nil {
			t.Fatal(err)
		}
		line, err := netlog.ParseLine(b)
		if err != nil {
			t.Fatal(err)
		}
		if e := a.Add(line); e != nil {
			ended = append(ended, e)
		}
	}
	return ended
}

// Line by line come the entries that a conversion has, each when it ends.
func TestAssembler(t *testing.T) {
	f := newFixture(t)
	every(f)
	log := f.log()
	want, _ := entriesOf(t, log, Options{NoBodies: true})
	var a Assembler
	got := map[int64]*Entry{}
	for _, e := range assemble(t, &a, log) {
		got[e.ID] = e
	}
	ended := 0
	for _, e := range want {
		if e.Open {
			if open := a.Open(e.ID); open == nil || !sameEntry(t, open, e) {
				t.Errorf("entry %d, still open, differs", e.ID)
			}
			continue
		}
		ended++
		if a.Open(e.ID) != nil {
			t.Errorf("entry %d is still open", e.ID)
		}
		if got[e.ID] == nil || !sameEntry(t, got[e.ID], e) {
			t.Errorf("entry %d differs", e.ID)
		}
	}
	if len(got) != ended || ended == len(want) {
		t.Errorf("%d entries ended, want %d of %d", len(got), ended, len(want))
	}
}

func TestAssemblerPassesOver(t *testing.T) {
	f := newFixture(t)
	f.end(1, &netlog.End{Timings: netlog.NoTimings(0)}) // no open line
	id := f.open(&netlog.Open{Request: post("text/plain", []byte("a"))})
	f.end(id, &netlog.End{Timings: netlog.NoTimings(0)})
	f.end(id, &netlog.End{Timings: netlog.NoTimings(0)}) // a second end
	var a Assembler
	if got := assemble(t, &a, f.log()); len(got) != 1 || got[0].ID != id || got[0].Request.BodySize != 1 || got[0].Request.PostData != nil {
		t.Errorf("%d entries: %+v", len(got), got)
	}
}
