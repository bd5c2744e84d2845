package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A target is what a figure must reach.
type target struct {
	what  string
	least bool // the figure is to be limit or more, else limit or less
	limit float64
	unit  string // behind the figure; "×" for a ratio
	value func(*results) (float64, bool)
}

// targets are those of what is built.
func targets() []target {
	cpu := func(workload, other string) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) { return r.cpuRatio(workload, other) }
	}
	throughput := func(workload, other string) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) {
			return r.ratio(workload, other, func(s sample) float64 { return s.bytesRate })
		}
	}
	of := func(workload string, figure func(sample) float64) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) {
			one, ok := r.row(workload, "ours")
			return figure(one.sample), ok
		}
	}
	partOf := func(name string, figure func(part) float64) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) {
			one, ok := r.part(name)
			return figure(one), ok
		}
	}
	million := func(figure func(part) float64) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) {
			one, ok := r.converted(1_000_000)
			return figure(one), ok
		}
	}
	rss := func(s sample) float64 { return float64(s.rss) / mib }
	milliseconds := func(p part) float64 { return float64(p.took) / float64(time.Millisecond) }
	return []target{
		{"json: CPU of a request over goproxy's", false, 0.75, "×", cpu("json", "goproxy")},
		{"json: CPU of a request over the floor's", false, 1.8, "×", cpu("json", "floor")},
		{"connect: CPU of a request over goproxy's", false, 0.75, "×", cpu("connect", "goproxy")},
		{"connect: CPU of a request over the floor's", false, 1.15, "×", cpu("connect", "floor")},
		{"large: CPU over the floor's", false, 1.35, "×", cpu("large", "floor")},
		{"large: throughput over the floor's", true, 0.85, "×", throughput("large", "floor")},
		{"large: peak RSS", false, 64, "MiB", of("large", rss)},
		{"no-hash: CPU over the floor's", false, 1.05, "×", cpu("no-hash", "floor")},
		{"no-hash: throughput over the floor's", true, 0.97, "×", throughput("no-hash", "floor")},
		{"h2: CPU of a request over the floor's", false, 1.6, "×", cpu("h2", "floor")},
		{"h2-large: CPU over the floor's", false, 1.6, "×", cpu("h2-large", "floor")},
		{"plain: CPU of a request over goproxy's", false, 0.7, "×", cpu("plain", "goproxy")},
		{"tunnel: CPU over that of a bare splice(2) relay", false, 1.05, "×", cpu("tunnel", "floor")},
		{"upload: peak RSS", false, 400, "MiB", of("upload", rss)},
		{"idle: memory of a connection", false, 60, "KiB", of("idle", func(s sample) float64 { return float64(s.connection) / (1 << 10) })},
		{"lines: CPU of an exchange", false, 8, "µs", partOf(nameLines, func(p part) float64 { return float64(p.cpu) / float64(time.Microsecond) })},
		{"lines: allocations of an exchange", false, 6, "", partOf(nameLines, func(p part) float64 { return p.alloc })},
		{"start: until it listens", false, 80, "ms", partOf(nameStart, milliseconds)},
		{"start, a GiB of log: until it listens", false, 80, "ms", partOf(nameStartLong, milliseconds)},
		{"dns: answers a second", true, 30_000, "", partOf(nameDNS, func(p part) float64 { return p.answers })},
		{"network: the end of a GiB of log", false, 5, "ms", partOf(nameNetwork, milliseconds)},
		{"capture: packets dropped at 200 MB/s", false, 0, "", partOf(nameCapture, func(p part) float64 { return float64(p.dropped) })},
		{"har: 1,441 entries", false, 50, "ms", partOf(nameHAR, milliseconds)},
		{"har, long: log a second", true, 120, "MiB", partOf(nameLongHAR, func(p part) float64 { return p.rate / mib })},
		{"har, long: peak RSS", false, 160, "MiB", partOf(nameLongHAR, func(p part) float64 { return float64(p.rss) / mib })},
		{"har, a million entries: log a second", true, 120, "MiB", million(func(p part) float64 { return p.rate / mib })},
		{"har, a million entries: peak RSS", false, 160, "MiB", million(func(p part) float64 { return float64(p.rss) / mib })},
		{"har, twice as long: CPU over that of the long one", false, 2.3, "×", func(r *results) (float64, bool) {
			return r.partRatio(nameTwiceHAR, nameLongHAR, func(p part) float64 { return float64(p.cpu) })
		}},
		// The collector lets the memory be twice the 60 bytes that are held.
		{"har, twice as long: peak RSS more for each entry", false, 128, "B", func(r *results) (float64, bool) {
			long, ok := r.part(nameLongHAR)
			twice, also := r.part(nameTwiceHAR)
			if !ok || !also || long.entries == 0 {
				return 0, false
			}
			return float64(twice.rss-long.rss) / float64(long.entries), true
		}},
		{"har, bombs: CPU over that of as many bodies of 1 MiB", false, 1, "×", func(r *results) (float64, bool) {
			return r.partRatio(nameBomb, nameNoBomb, func(p part) float64 { return float64(p.cpu) })
		}},
	}
}

// printTargets says of each target whose figure was measured whether it holds.
func (r *results) printTargets(w io.Writer) {
	header := "\ntargets:\n"
	for _, t := range targets() {
		v, ok := t.value(r)
		if !ok {
			continue
		}
		fmt.Fprint(w, header)
		header = ""
		verdict, sign := "MISSED", "≤"
		if t.least {
			sign = "≥"
		}
		if t.holds(v) {
			verdict = "holds"
		}
		fmt.Fprintf(w, "  %-6s  %s: %s (%s %g)\n", verdict, t.what, strings.TrimSpace(figure(v)+" "+t.unit), sign, t.limit)
	}
}

// figure is a number in three digits, and all of them of a large one.
func figure(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func (t target) holds(v float64) bool {
	if t.least {
		return v >= t.limit
	}
	return v <= t.limit
}
