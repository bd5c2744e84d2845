package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// oneStop is how long a signal may be followed by others that mean the same stop.
// timeout(1), npm and their like send to a process and to its group, a terminal to all
// in it.
const oneStop = 500 * time.Millisecond

// untilInterrupted gives a context that the first signal to end us cancels. The
// next one does what it always does, should we be stuck.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, func() { time.AfterFunc(oneStop, stop) })
	return ctx, stop
}

// untilStopped gives the signals by which a program that stays is to stop, to its
// very end: one too many must not cut a log short. It also outlives its terminal.
func untilStopped() <-chan os.Signal {
	outliveReaders()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	return stops(signals)
}

// stops passes signals on, of those that mean one stop the first.
func stops(signals <-chan os.Signal) <-chan os.Signal {
	out := make(chan os.Signal, 2)
	go func() {
		var last time.Time
		for s := range signals {
			if time.Since(last) >= oneStop {
				last = time.Now()
				select {
				case out <- s:
				default: // two say it all
				}
			}
		}
	}()
	return out
}

// outliveReaders has what is said to nobody any more (a closed pipe) end nothing:
// else the first warning would. Caught, not ignored: a command that we start would
// inherit that.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// interrupted is the failure of work that a signal ended.
func interrupted(hint string) error {
	return &failure{errors.New("interrupted"), hint, exitInterrupted}
}

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
