package main

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentenv/netlog/netlog"
)

const (
	recentRows = 50
	recentText = 1000 // bytes of each of a row's texts
)

// recent are the rows of what has ended last. The zero value is ready.
type recent struct {
	mu   sync.Mutex
	rows [recentRows]recentRow
	n    int // rows ever added
}

type recentRow struct {
	row
	took time.Duration
}

func (r *recent) add(id int64, o *netlog.Open, e *netlog.End) {
	new := openRow(id, o)
	new.end(e)
	for _, text := range []*string{&new.method, &new.kind, &new.url} {
		if len(*text) > recentText {
			*text = strings.ToValidUTF8((*text)[:recentText], "") + "…"
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows[r.n%recentRows] = recentRow{*new, time.Duration(e.Timings.Total) * time.Microsecond}
	r.n++
}

// list gives the rows, the last first.
func (r *recent) list() []recentRow {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []recentRow
	for i := max(0, r.n-recentRows); i < r.n; i++ {
		list = append(list, r.rows[i%recentRows])
	}
	slices.Reverse(list)
	return list
}
