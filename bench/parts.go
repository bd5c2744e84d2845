package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// A part is a figure of a piece of work that is no proxying.
type part struct {
	name  string
	about string
	took  time.Duration // of the whole process, or of one exchange
	cpu   time.Duration
	rss   int64   // bytes, at most
	rate  float64 // bytes of log a second
	alloc float64 // allocations of one exchange

	answers float64 // a second, of a nameserver
	entries int     // of a long log

	packets, dropped int64 // of a capture
}

// errLacking says that this machine can't have a figure.
var errLacking = errors.New("not measured")

// parts measures those that are selected.
func (b *bench) parts(ctx context.Context, r *results) error {
	for _, one := range []struct {
		name    string
		measure func(context.Context) ([]part, error)
	}{
		{nameLines, b.lines},
		{nameNetwork, b.network},
		{nameStart, b.starts}, // its proxies continue the log of the one above
		{nameDNS, b.names},
		{nameCapture, b.capture},
		{nameHAR, b.hars},
	} {
		if !selected(b.only, one.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "\r\033[K%s", one.name)
		parts, err := one.measure(ctx)
		switch {
		case errors.Is(err, errLacking):
			fmt.Fprintf(os.Stderr, "\r\033[K%s: %v\n", one.name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", one.name, err)
		}
		r.parts = append(r.parts, parts...)
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	return nil
}

// starts is from starting the proxy until it listens, with an authority and a log
// that is there, and with one of more than a GiB.
func (b *bench) starts(ctx context.Context) ([]part, error) {
	crawl, err := b.crawlLog()
	if err != nil {
		return nil, err
	}
	long, err := b.gibLog()
	if err != nil {
		return nil, err
	}
	first, err := b.startUp(ctx, nameStart, crawl)
	if err != nil {
		return nil, err
	}
	second, err := b.startUp(ctx, nameStartLong, long)
	return []part{first, second}, err
}

func (b *bench) startUp(ctx context.Context, name, log string) (part, error) {
	info, err := os.Stat(log)
	if err != nil {
		return part{}, err
	}
	took := make([]time.Duration, b.rounds)
	for i := range took {
		if err := ctx.Err(); err != nil {
			return part{}, err
		}
		p, err := start(filepath.Join(b.dir, "agentenv-netlog"), []string{"proxy", "--listen", "127.0.0.1:0", "--log", log,
			"--ca-dir", b.caDir, "--upstream-ca", b.roots})
		if err != nil {
			return part{}, err
		}
		took[i] = p.ready
		if err := p.stop(); err != nil {
			return part{}, err
		}
	}
	return part{name: name, about: fmt.Sprintf("from the proxy's start until it listens, with a log of %s", memory(info.Size())), took: middleOf(took)}, nil
}

// lines is what encoding and writing the lines of an exchange takes, in this
// process.
func (b *bench) lines(context.Context) ([]part, error) {
	const exchanges = 50_000
	path := filepath.Join(b.dir, "lines.jsonl")
	defer os.Remove(path)
	p := part{name: nameLines, about: "the lines of an exchange with 4 KiB kept, encoded and written"}
	w, err := netlog.OpenWriter(netlog.WriterConfig{
		Path: path, Program: "bench", Mode: "proxy",
		Limits: netlog.Limits{RequestBody: 10 * mib, ResponseBody: mib, Types: "text"},
	})
	if err != nil {
		return nil, err
	}
	open, end := exchange(1, 4<<10, time.Now())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpuBefore, began := ownCPU(), time.Now()
	for range exchanges {
		w.End(w.Open(open), end)
	}
	err = w.Close()
	runtime.ReadMemStats(&after)
	p.cpu = (ownCPU() - cpuBefore) / exchanges
	p.took = time.Since(began) / exchanges
	p.alloc = float64(after.Mallocs-before.Mallocs) / exchanges
	return []part{p}, err
}

// ownCPU is the processors' time that this process has taken.
func ownCPU() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func middleOf(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}
