package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	progressAfter = time.Second            // what is done sooner needs no line
	progressEvery = 200 * time.Millisecond // between two states of it
)

// A progress is a line on a terminal that says how far a long conversion is, and
// what ends the conversion when its context does.
type progress struct {
	ctx   context.Context
	out   io.Writer
	shows bool // out is a terminal
	next  time.Time
	shown bool
}

func newProgress(ctx context.Context, out io.Writer) *progress {
	return &progress{
		ctx: ctx, out: out, next: time.Now().Add(progressAfter),
		shows: columns(out) > 0 && os.Getenv("TERM") != "dumb",
	}
}

// tell is a har.Options.Progress.
func (p *progress) tell(done, total int64) error {
	if total == 0 {
		return p.say("%d lines read", done)
	}
	return p.say("%d of %d entries", done, total)
}

// tellBytes is the Progress of a check.
func (p *progress) tellBytes(done, total int64) error {
	return p.say("%d %% read", done*100/max(total, 1))
}

func (p *progress) say(format string, args ...any) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	now := time.Now()
	if !p.shows || now.Before(p.next) {
		return nil
	}
	p.next, p.shown = now.Add(progressEvery), true
	fmt.Fprintf(p.out, "\r\x1b[K%s: %s", program, fmt.Sprintf(format, args...))
	return nil
}

// clear takes the line away again.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
