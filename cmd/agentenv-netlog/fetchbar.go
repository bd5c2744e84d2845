package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agentenv/netlog/capture/traffic"
)

// A bar is a line on a terminal that says how far a fetch is, and goes when there
// is something to say.
type bar struct {
	out   io.Writer
	shows bool // out is a terminal

	mu    sync.Mutex
	envs  []traffic.Progress
	next  time.Time
	shown bool
}

func newBar(out io.Writer, envs int) *bar {
	return &bar{
		out: out, envs: make([]traffic.Progress, envs), next: time.Now().Add(progressAfter),
		shows: columns(out) > 0 && os.Getenv("TERM") != "dumb",
	}
}

// Write says something in the bar's place.
func (b *bar) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	return b.out.Write(p)
}

// tell is told by the env of that number.
func (b *bar) tell(env int, p traffic.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.shows || env < 0 || env >= len(b.envs) {
		return
	}
	b.envs[env] = p
	now := time.Now()
	if now.Before(b.next) {
		return
	}
	b.next, b.shown = now.Add(progressEvery), true
	var done, total int64
	for _, e := range b.envs {
		done += e.Done
		total += max(e.Total, e.Done) // a HAR's length is not known before
	}
	fmt.Fprint(b.out, "\r\x1b[K"+barText(p.File, done, total, columns(b.out)-1))
}

// barText is the line, of so many columns at most.
func barText(file string, done, total int64, room int) string {
	const width = 24
	part := 0
	if total > 0 {
		part = int(min(done, total) * width / total)
	}
	line := fmt.Sprintf("%s: [%s%s] %s of %s", program, strings.Repeat("#", part), strings.Repeat(".", width-part), sizeText(done), sizeText(total))
	return screen{}.fit(line+" "+printable(file), room)
}

// clear takes the line away for good.
func (b *bar) clear() {
	if b.shown {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
	b.shows, b.shown = false, false
}
