package har

import (
	"sort"

	"github.com/agentenv/netlog/netlog"
)

// An index says where the lines of each entry lie. It holds nothing of them
// but that, so that a log of any length can be put in order.
type index struct {
	processes []segment
	items     items
	answers   map[netlog.Pos]netlog.Pos   // by the open line's position
	messages  map[netlog.Pos][]netlog.Pos // likewise
	stats     Stats
}

// A segment is one process's items.
type segment struct {
	process
	begin, end int
}

// process is the one of item i.
func (x *index) process(i int) process {
	p := sort.Search(len(x.processes), func(p int) bool { return x.processes[p].end > i })
	return x.processes[p].process
}

// length is that of all of an item's lines.
func (x *index) length(it *item) int64 {
	n := int64(it.open.Length) + int64(it.end.Length) + int64(x.answers[it.open].Length)
	for _, pos := range x.messages[it.open] {
		n += int64(pos.Length)
	}
	return n
}

// indexLines is after how many lines progress is told of the first pass.
const indexLines = 4096

// makeIndex makes the first pass, which reads only the lines' heads and the
// start lines.
func makeIndex(log *netlog.Log, progress func(done, total int64) error) (*index, error) {
	x := &index{answers: map[netlog.Pos]netlog.Pos{}, messages: map[netlog.Pos][]netlog.Pos{}}
	s := &scan{index: x, live: map[int64]int{}, log: log}
	lines := log.Scan()
	for lines.Next() {
		if x.stats.Lines%indexLines == 0 {
			if err := progress(x.stats.Lines, 0); err != nil {
				return nil, err
			}
		}
		if err := s.line(lines.Head(), lines.Pos()); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(x.processes) > 0 {
		x.processes[len(x.processes)-1].end = x.items.n
	}
	x.stats.Unreadable += lines.Unreadable()
	x.stats.Lines += lines.Unreadable()
	for _, p := range x.processes {
		x.items.sort(p.begin, p.end)
	}
	return x, nil
}

// A scan is the state of the first pass.
type scan struct {
	*index
	log   *netlog.Log
	live  map[int64]int // the item of each id that has no end yet
	first int64         // the log's first number
	last  int64         // the highest so far
	begun int           // the first item since the numbers last began again
	pid   int
	buf   []byte
}

func (s *scan) line(h netlog.Head, pos netlog.Pos) error {
	s.stats.Lines++
	s.stats.Lost += h.Lost
	if s.first == 0 {
		s.first = h.N
	}
	if h.Event == netlog.EventStart {
		return s.start(h, pos)
	}
	if len(s.processes) == 0 {
		s.processes = append(s.processes, segment{process: process{first: h.N}}) // its start line can't be read
	}
	switch h.Event {
	case netlog.EventOpen:
		if h.ID != h.N || s.known(h.ID) {
			s.stats.Unreadable++
			break
		}
		s.live[h.ID] = s.items.n
		s.items.add(item{micros: h.Time.UnixMicro(), id: h.ID, open: pos})
	case netlog.EventAnswer, netlog.EventMessage:
		i, ok := s.live[h.ID]
		if !ok {
			if h.ID > s.first { // else its open line was in a file that is gone
				s.stats.Unreadable++
			}
			break
		}
		open := s.items.at(i).open
		if h.Event == netlog.EventMessage {
			s.messages[open] = append(s.messages[open], pos)
		} else {
			s.answers[open] = pos
		}
	case netlog.EventEnd:
		if i, ok := s.live[h.ID]; ok {
			s.items.at(i).end = pos
			delete(s.live, h.ID)
		} else if s.known(h.ID) {
			s.stats.Unreadable++ // a second end
		} else {
			s.stats.Orphans++
		}
	}
	s.last = max(s.last, h.N)
	return nil
}

// start begins a process, but at the start line that a rotation puts before
// the lines of one that goes on.
func (s *scan) start(h netlog.Head, pos netlog.Pos) error {
	var err error
	if s.buf, err = s.log.ReadLine(pos, s.buf); err != nil {
		return err
	}
	line, err := netlog.ParseLine(s.buf)
	if err != nil || line.Start == nil {
		s.stats.Unreadable++
		line = &netlog.Line{Start: &netlog.Start{}}
	}
	rotated := pos.Offset == 0 && len(s.processes) > 0 && line.Start.PID == s.pid
	s.pid = line.Start.PID
	if !rotated {
		if n := len(s.processes); n > 0 {
			s.processes[n-1].end = s.items.n
		}
		s.processes = append(s.processes, segment{
			process: process{first: h.N, limits: line.Start.Limits},
			begin:   s.items.n,
		})
	}
	if h.N <= s.last { // another log was put behind this one
		clear(s.live)
		s.begun, s.last = s.items.n, 0
	}
	s.last = max(s.last, h.N)
	return nil
}

// known says whether an open line of that number was seen. Numbers rise in a
// log that nobody has changed.
func (s *scan) known(id int64) bool {
	n := s.items.n - s.begun
	i := sort.Search(n, func(i int) bool { return s.items.at(s.begun+i).id >= id })
	return i < n && s.items.at(s.begun+i).id == id
}
