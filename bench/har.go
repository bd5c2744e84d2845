package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The logs that are measured: what a crawl of a shop left; one of more than a GiB;
// a long one, and one twice as long; one of bombs, and one of bodies that come to as
// much.
const (
	crawlEntries = 1441
	crawlBody    = 4 << 10
	gibEntries   = 50_000
	gibBody      = 16 << 10
	longBody     = 2 << 10
	bombs        = 200
)

// hars measures what making HARs takes.
func (b *bench) hars(ctx context.Context) (parts []part, err error) {
	crawl, err := b.crawlLog()
	if err != nil {
		return nil, err
	}
	p, err := b.convert(ctx, nameHAR, crawl, fmt.Sprintf("a log of %d entries turned into a HAR, whole process", crawlEntries), b.rounds)
	if err != nil {
		return nil, err
	}
	parts = append(parts, p)
	log := filepath.Join(b.dir, "once.jsonl")
	type once struct {
		name, about string
		entries     int
		write       func() error
	}
	entries := func(name string, n int) once {
		return once{name, fmt.Sprintf("a log of %d entries", n), n, func() error { return writeLog(log, n, longBody) }}
	}
	all := []once{
		{nameBomb, fmt.Sprintf("a log of %d bombs of some 300 bytes", bombs), 0, func() error { return writeBombs(log, bombs) }},
		{nameNoBomb, fmt.Sprintf("a log of %d bodies of 1 MiB", bombs), 0, func() error { return writeLog(log, bombs, mib) }},
	}
	if b.entries > 0 {
		all = append([]once{entries(nameLongHAR, b.entries), entries(nameTwiceHAR, 2*b.entries)}, all...)
	}
	for _, one := range all {
		if p, err = b.convertOnce(ctx, one.name, log, one.about, min(b.rounds, 3), one.write); err != nil {
			return nil, err
		}
		p.entries = one.entries
		parts = append(parts, p)
	}
	return parts, nil
}

// convertOnce writes a log, turns it into a HAR some times and removes it.
func (b *bench) convertOnce(ctx context.Context, name, log, about string, rounds int, write func() error) (part, error) {
	if err := write(); err != nil {
		return part{}, err
	}
	defer os.Remove(log)
	return b.convert(ctx, name, log, about, rounds)
}

// convert turns a log into a HAR by the command, in rounds.
func (b *bench) convert(ctx context.Context, name, log, about string, rounds int) (part, error) {
	p := part{name: name, about: about}
	info, err := os.Stat(log)
	if err != nil {
		return p, err
	}
	har := filepath.Join(b.dir, "network.har")
	defer os.Remove(har)
	var took, cpu []time.Duration
	for range rounds {
		var said strings.Builder
		c := exec.CommandContext(ctx, filepath.Join(b.dir, "agentenv-netlog"), "har", log, "-o", har)
		c.Stderr = &said
		began := time.Now()
		if err := c.Start(); err != nil {
			return p, err
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		// What wait4(2) says of memory may be that of this process, before it became
		// the other.
		err := peakOf(&process{cmd: c}, ended, &p.rss)
		took = append(took, time.Since(began))
		if err != nil {
			return p, fmt.Errorf("converting: %w: %s", err, said.String())
		}
		cpu = append(cpu, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
	}
	p.took, p.cpu = middleOf(took), middleOf(cpu)
	p.rate = float64(info.Size()) / p.took.Seconds()
	return p, nil
}

// peakOf looks now and then at the memory that a process has taken at most, until
// it has ended.
func peakOf(p *process, ended <-chan error, rss *int64) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			if now, err := p.memory("VmHWM"); err == nil {
				*rss = max(*rss, now)
			}
		}
	}
}
