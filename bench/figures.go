package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/agentenv/netlog/bench/internal/plot"
)

// colours are the parties' in every chart.
var colours = map[string]string{"ours": "#2f81f7", "goproxy": "#e3701b", "floor": "#2da44e", "before": "#a371f7"}

// A measure is a figure of a row.
type measure func(sample) float64

// figure is the charts of a growth: processor, memory and, but for logs, latency.
func (g *growth) figure() plot.Figure {
	x := plot.Axis{Label: g.of, Write: g.write, Ticks: g.sizes}
	if g.at == nil {
		return plot.Figure{Charts: []plot.Chart{
			{Title: "time of the whole process", X: x, Y: durations, Lines: g.logLines(func(p part) float64 { return float64(p.took) })},
			{Title: "peak RSS", X: x, Y: sizes, Lines: g.logLines(func(p part) float64 { return float64(p.rss) })},
		}}
	}
	what := "request"
	if g.rates {
		what = "message and its echo"
	}
	latency := append(g.lines(func(s sample) float64 { return float64(s.p50) }, false), g.lines(func(s sample) float64 { return float64(s.p99) }, true)...)
	return plot.Figure{Charts: []plot.Chart{
		{Title: "CPU of a " + what, X: x, Y: durations, Lines: g.lines(func(s sample) float64 { return float64(s.cpu()) }, false)},
		{Title: "peak RSS", X: x, Y: sizes, Lines: g.lines(func(s sample) float64 { return float64(s.rss) }, false)},
		{Title: "latency: p50, and p99 dashed", X: x, Y: durations, Lines: latency},
	}}
}

var (
	durations = plot.Axis{Write: func(ns float64) string { return time.Duration(ns).Round(time.Microsecond).String() }}
	sizes     = plot.Axis{Write: bytesOf, Ticks: []float64{1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20, 128 << 20, 256 << 20, 512 << 20, 1 << 30}}
)

// lines are a measure of each party, up to the rate at which more makes no more.
func (g *growth) lines(of measure, dashed bool) (lines []plot.Line) {
	for _, party := range g.parties() {
		l := plot.Line{Name: party, Colour: colours[party], Dashed: dashed}
		for _, p := range g.points {
			for _, r := range p.rows {
				if n := len(l.Points); r.party == party && r.err == nil && (n == 0 || l.Points[n-1].X < g.reached(p, r)) {
					l.Points = append(l.Points, plot.Point{X: g.reached(p, r), Y: of(r.sample)})
				}
			}
		}
		lines = append(lines, l)
	}
	return lines
}

func (g *growth) logLines(of func(part) float64) []plot.Line {
	l := plot.Line{Name: "ours", Colour: colours["ours"]}
	for _, p := range g.points {
		l.Points = append(l.Points, plot.Point{X: p.size, Y: of(*p.log)})
	}
	return []plot.Line{l}
}

// reached is where a row is on the growth's axis.
func (g *growth) reached(p point, r row) float64 {
	if g.rates {
		return 2 * r.sample.rate
	}
	return p.size
}

func (g *growth) parties() (names []string) {
	if len(g.points) > 0 {
		for _, r := range g.points[0].rows {
			names = append(names, r.party)
		}
	}
	return names
}

// draw writes the figure of each growth to dir.
func draw(dir string, grown []*growth) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, g := range grown {
		if err := os.WriteFile(filepath.Join(dir, g.name+".svg"), g.figure().SVG(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// printGrowths writes the figures' numbers.
func printGrowths(w io.Writer, grown []*growth) {
	for i, g := range grown {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", g.name, g.about)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		if g.at == nil {
			fmt.Fprintf(t, "%s\ttime\tCPU\tlog a second\tpeak RSS\t\n", g.of)
		} else {
			fmt.Fprintf(t, "%s\tparty\tCPU\tp50\tp99\tpeak RSS\t\n", g.of)
		}
		for _, p := range g.points {
			if l := p.log; l != nil {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", g.write(p.size), digits(l.took), digits(l.cpu), memory(int64(l.rate)), memory(l.rss))
			}
			for _, r := range p.rows {
				if s := r.sample; r.err != nil {
					fmt.Fprintf(t, "%s\t%s\tfailed\t\t\t\t\n", g.write(p.size), r.party)
				} else {
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t\n", g.write(g.reached(p, r)), r.party, digits(s.cpu()), digits(s.p50), digits(s.p99), memory(s.rss))
				}
			}
		}
		t.Flush()
		if err := g.faults(); err != nil {
			fmt.Fprintln(w, err)
		}
	}
}
