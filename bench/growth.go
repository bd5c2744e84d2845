package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentenv/netlog/bench/internal/load"
	"github.com/agentenv/netlog/bench/internal/origin"
)

// A growth is how a cost grows with one thing, and what was measured of it.
type growth struct {
	name  string
	about string
	of    string // what there is more and more of
	write func(float64) string
	sizes []float64
	at    func(size float64) workload
	rates bool // sizes are of messages a second: what counts is how many went

	points []point
}

// A point is what one size took.
type point struct {
	size float64
	rows []row // of the parties
	log  *part // of a log that was converted
}

// Growth is measured in shorter rounds than the workloads: it is many of them.
const (
	growthRounds  = 3
	growthSeconds = 1
	socketsAtOnce = 100
)

// growths are all of them.
func growths() []*growth {
	parties := []string{"ours", "goproxy", "floor"}
	return []*growth{
		{
			name: nameConnections, about: "1.5 KB of JSON over kept-alive TLS connections, as many requests as go", of: "connections", write: count,
			sizes: []float64{1, 10, 100, 500, 1000, 2000},
			at: func(n float64) workload {
				return workload{load: load.Config{Target: origin.JSON, Tunnel: true, Connections: int(n)}, secure: true, parties: parties}
			},
		}, {
			name: nameSizes, about: "answers over a kept-alive TLS connection, one after the other", of: "body", write: bytesOf,
			sizes: []float64{1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20, 1 << 30},
			at: func(n float64) workload {
				return workload{load: load.Config{Target: fmt.Sprintf("%s%.0f", origin.Bytes, n), Tunnel: true, Connections: 1}, secure: true, parties: parties}
			},
		}, {
			name: nameRates, about: fmt.Sprintf("messages of 100 B on %d WebSockets, half of them the others' echoes", socketsAtOnce), of: "messages a second", write: count,
			sizes: []float64{200, 600, 2000, 6000, 20_000, 60_000}, rates: true,
			at: func(n float64) workload {
				return workload{load: load.Config{Target: origin.Echo, Tunnel: true, Connections: socketsAtOnce, Message: 100, Rate: n / 2}, secure: true, parties: parties}
			},
		}, {
			name: nameLogs, about: "logs turned into a HAR, 2 KiB of each answer kept", of: "entries", write: count,
			sizes: []float64{1000, 10_000, 100_000, 1_000_000},
		},
	}
}

// grow measures those that are selected, at so many sizes of each; 0: at all.
func (b *bench) grow(ctx context.Context, sizes int) ([]*growth, error) {
	short := *b
	short.rounds, short.seconds = min(b.rounds, growthRounds), min(b.seconds, growthSeconds)
	var grown []*growth
	for _, g := range growths() {
		if !selected(b.only, g.name) {
			continue
		}
		if sizes > 0 {
			g.sizes = g.sizes[:min(sizes, len(g.sizes))]
		}
		for _, size := range g.sizes {
			p, err := short.growTo(ctx, g, size)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", g.name, g.write(size), err)
			}
			g.points = append(g.points, p)
		}
		grown = append(grown, g)
	}
	return grown, nil
}

func (b *bench) growTo(ctx context.Context, g *growth, size float64) (p point, err error) {
	p.size = size
	if g.at != nil {
		w := g.at(size)
		w.name = fmt.Sprintf("%s, %s", g.name, g.write(size))
		p.rows, err = b.measure(ctx, w)
		return p, err
	}
	log := filepath.Join(b.dir, "grown.jsonl")
	rounds := b.rounds
	if size >= 100_000 {
		rounds = 1 // which is long enough
	}
	made, err := b.convertOnce(ctx, g.name, log, "", rounds, func() error { return writeLog(log, int(size), longBody) })
	p.log = &made
	return p, err
}

// faults are why points have no figures.
func (g *growth) faults() error {
	var errs []error
	for _, p := range g.points {
		for _, r := range p.rows {
			if r.err != nil {
				errs = append(errs, fmt.Errorf("%s, %s, %s: %w", g.name, g.write(p.size), r.party, r.err))
			}
		}
	}
	return errors.Join(errs...)
}

func count(n float64) string {
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func bytesOf(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 1024 {
			return fmt.Sprintf("%.3g %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.3g GiB", n)
}
