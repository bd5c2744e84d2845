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

// The logs of the HAR's targets: what a crawl of a shop left; a long one, and
// one twice as long; one of bombs, and one of bodies that come to as much.
const (
	crawlEntries = 1441
	crawlBody    = 4 << 10
	longBody     = 2 << 10
	bombs        = 200
)

// hars measures what making HARs takes. crawl is a log of a crawl.
func (b *bench) hars(ctx context.Context, r *results, crawl string) error {
	p, err := b.convert(ctx, nameHAR, crawl, fmt.Sprintf("a log of %d entries turned into a HAR, whole process", crawlEntries), b.rounds)
	if err != nil {
		return err
	}
	r.parts = append(r.parts, p)
	if b.entries > 0 {
		for _, one := range []struct {
			name    string
			entries int
		}{{nameLongHAR, b.entries}, {nameTwiceHAR, 2 * b.entries}} {
			log := filepath.Join(b.dir, "long.jsonl")
			write := func() error { return writeLog(log, one.entries, longBody) }
			if p, err = b.convertOnce(ctx, one.name, log, fmt.Sprintf("a log of %d entries", one.entries), write); err != nil {
				return err
			}
			p.entries = one.entries
			r.parts = append(r.parts, p)
		}
	}
	log := filepath.Join(b.dir, "bombs.jsonl")
	for _, one := range []struct {
		name, about string
		write       func() error
	}{
		{nameBomb, fmt.Sprintf("a log of %d bombs of some 300 bytes", bombs), func() error { return writeBombs(log, bombs) }},
		{nameNoBomb, fmt.Sprintf("a log of %d bodies of 1 MiB", bombs), func() error { return writeLog(log, bombs, mib) }},
	} {
		if p, err = b.convertOnce(ctx, one.name, log, one.about, one.write); err != nil {
			return err
		}
		r.parts = append(r.parts, p)
	}
	return nil
}

// convertOnce writes a log, turns it into a HAR some times and removes it.
func (b *bench) convertOnce(ctx context.Context, name, log, about string, write func() error) (part, error) {
	if err := write(); err != nil {
		return part{}, err
	}
	defer os.Remove(log)
	return b.convert(ctx, name, log, about, min(b.rounds, 3))
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
