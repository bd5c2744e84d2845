package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
)

const (
	followPage = 1 << 20 // bytes of lines that are read at a time

	// openAfter is how long an entry may be going before it is shown as open, and
	// again when it ends. Most end sooner.
	openAfter = time.Second
)

// A follower shows a log's entries as they end.
type follower struct {
	assembler har.Assembler
	filter    *har.Filter
	show      func(*har.Entry) error
	began     []begun // what may have to be shown as open, in the order of the lines
}

type begun struct {
	id int64
	t  time.Time
}

// followLog goes on until ctx or a signal ends it, which is no failure.
func followLog(ctx context.Context, path string, f *follower, out *bufio.Writer, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	reader := netlog.NewReader(path)
	after, unreadable := int64(0), int64(0)
	for {
		p, err := f.wait(ctx, reader, after)
		if ctx.Err() != nil {
			return nil
		} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return unreadableArchive(err)
		}
		if p.BegunAgain {
			warn(stderr, "the log was begun again")
			f.assembler, f.began = har.Assembler{}, nil
		}
		if gone := p.Missing - p.Unreadable; after > 0 && gone > 0 {
			warn(stderr, "%d lines were deleted from the log before they could be read", gone)
		}
		after = p.Next
		unreadable += p.Unreadable
		if p.Unreadable > 0 {
			warn(stderr, "%s of the log could not be used", count(unreadable, "line"))
		}
		if err := f.lines(p.Lines); err != nil {
			return err
		}
		if !p.More {
			if err := f.open(time.Now()); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// wait returns when there are lines, or when an entry is to be shown as open.
func (f *follower) wait(ctx context.Context, reader *netlog.Reader, after int64) (*netlog.Page, error) {
	if len(f.began) > 0 {
		due, cancel := context.WithDeadline(ctx, f.began[0].t.Add(openAfter))
		defer cancel()
		ctx = due
	}
	return reader.Follow(ctx, after, followPage)
}

func (f *follower) lines(lines [][]byte) error {
	for _, b := range lines {
		l, err := netlog.ParseLine(b)
		if err != nil {
			continue // the page counts lines that are none
		}
		if l.Open != nil {
			f.began = append(f.began, begun{l.ID, l.Open.Time})
		}
		if e := f.assembler.Add(l); e != nil && f.filter.Keeps(e) {
			if err := f.show(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// open shows what has been going for long.
func (f *follower) open(now time.Time) error {
	for len(f.began) > 0 {
		next := f.began[0]
		e := f.assembler.Open(next.id)
		if e != nil && now.Sub(next.t) < openAfter {
			return nil
		}
		f.began = f.began[1:]
		if e == nil || !f.filter.Keeps(e) {
			continue
		}
		if err := f.show(e); err != nil {
			return err
		}
	}
	return nil
}
