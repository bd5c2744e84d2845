package har

import (
	"github.com/agentenv/netlog/netlog"
)

// An Assembler makes entries of a log's lines as they come, for who follows a
// log that is being written. Its zero value is ready; it holds what is open and
// no more. Entries are those of [Entries] with NoBodies: in the order of their
// ends, and without bodies and messages.
type Assembler struct {
	live    map[int64]*record
	process process
	pid     int
	builder builder
}

// Add takes a line and returns the entry that ends with it, nil when none does.
// The line is the Assembler's to keep.
func (a *Assembler) Add(l *netlog.Line) *Entry {
	if a.live == nil {
		a.live = make(map[int64]*record)
		a.builder.noBodies = true
	}
	switch {
	case l.Start != nil:
		if l.Start.PID != a.pid || a.process.first == 0 { // else it begins a file after a rotation
			a.process = process{first: l.N, limits: l.Start.Limits}
		}
		a.pid = l.Start.PID
	case l.Open != nil:
		if q := l.Open.Request; q != nil && q.Body != nil {
			q.Body.Kept = nil
		}
		a.live[l.ID] = &record{id: l.ID, open: l.Open}
	case l.Answer != nil:
		if r := a.live[l.ID]; r != nil {
			r.answer = l.Answer
		}
	case l.End != nil:
		r := a.live[l.ID]
		if r == nil {
			return nil
		}
		delete(a.live, l.ID)
		r.end = l.End
		return a.builder.entry(a.process, r)
	}
	return nil
}

// Open is the entry of that number as far as it is known; nil when it is not
// open.
func (a *Assembler) Open(id int64) *Entry {
	r := a.live[id]
	if r == nil {
		return nil
	}
	return a.builder.entry(a.process, r)
}
