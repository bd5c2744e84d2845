package har

import (
	"cmp"
	"sort"

	"github.com/agentenv/netlog/netlog"
)

// An item is one exchange or tunnel: 48 bytes.
type item struct {
	micros int64 // the open line's time
	id     int64
	open   netlog.Pos
	end    netlog.Pos // of no length: none
}

// items is a list that grows without a copy: a log may have millions of them.
type items struct {
	blocks [][]item
	n      int
}

const blockItems = 4096

func (l *items) add(it item) {
	if l.n%blockItems == 0 {
		l.blocks = append(l.blocks, make([]item, 0, blockItems))
	}
	last := &l.blocks[len(l.blocks)-1]
	*last = append(*last, it)
	l.n++
}

func (l *items) at(i int) *item { return &l.blocks[i/blockItems][i%blockItems] }

// cut leaves the first n items.
func (l *items) cut(n int) {
	l.n = n
	l.blocks = l.blocks[:(n+blockItems-1)/blockItems]
	if n%blockItems != 0 {
		last := &l.blocks[n/blockItems]
		*last = (*last)[:n%blockItems]
	}
}

// sort orders the items from begin to end by time and, at one time, by number.
func (l *items) sort(begin, end int) { sort.Sort(span{l, begin, end - begin}) }

// A span is a part of a list, to be sorted.
type span struct {
	*items
	begin, length int
}

func (s span) Len() int { return s.length }

func (s span) Less(i, j int) bool {
	a, b := s.at(s.begin+i), s.at(s.begin+j)
	return cmp.Or(cmp.Compare(a.micros, b.micros), cmp.Compare(a.id, b.id)) < 0
}

func (s span) Swap(i, j int) {
	a, b := s.at(s.begin+i), s.at(s.begin+j)
	*a, *b = *b, *a
}
