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

// awaitStop waits for a signal, and says so, or for what is served to end: broken is
// why. Then left is the time of what is still open, what: it ends after drain, or at
// the next signal.
func awaitStop(signals <-chan os.Signal, served <-chan error, drain time.Duration, what string, stderr io.Writer) (left context.Context, cancel context.CancelFunc, broken error) {
	select {
	case <-signals:
		fmt.Fprintf(stderr, "stopping: %s have %v; a second signal ends the wait\n", what, drain)
	case broken = <-served:
	}
	left, cancel = context.WithTimeout(context.Background(), drain)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-left.Done():
		}
	}()
	return left, cancel, broken
}

// outliveReaders has what is said to nobody any more (a closed pipe) end nothing:
// else the first warning would. Caught, not ignored: a command that we start would
// inherit that.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// interrupted is the failure of work that a signal ended.
func interrupted(hint string) error {
	return &failure{errors.New("interrupted"), hint, exitInterrupted}
}
