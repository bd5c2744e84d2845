package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// results are the medians of everything that was measured.
type results struct {
	rows  []row
	parts []part
	grown []*growth
}

// row is the one of a workload and a party; false when it has no figures.
func (r *results) row(workload, party string) (row, bool) {
	for _, one := range r.rows {
		if one.workload.name == workload && one.party == party {
			return one, one.err == nil
		}
	}
	return row{}, false
}

func (r *results) part(name string) (part, bool) {
	for _, one := range r.parts {
		if one.name == name {
			return one, true
		}
	}
	return part{}, false
}

// converted is the log of so many entries among what grows.
func (r *results) converted(entries float64) (part, bool) {
	for _, g := range r.grown {
		for _, p := range g.points {
			if p.log != nil && p.size == entries {
				return *p.log, true
			}
		}
	}
	return part{}, false
}

func (r *results) partRatio(name, other string, figure func(part) float64) (float64, bool) {
	one, ok := r.part(name)
	two, also := r.part(other)
	if !ok || !also || figure(two) == 0 {
		return 0, false
	}
	return figure(one) / figure(two), true
}

// cpuRatio is our processor's time over another party's.
func (r *results) cpuRatio(workload, other string) (float64, bool) {
	return r.ratio(workload, other, func(s sample) float64 { return float64(s.cpu()) })
}

func (r *results) ratio(workload, other string, figure func(sample) float64) (float64, bool) {
	ours, ok := r.row(workload, "ours")
	theirs, also := r.row(workload, other)
	if !ok || !also || figure(theirs.sample) == 0 {
		return 0, false
	}
	return figure(ours.sample) / figure(theirs.sample), true
}

// print writes the table, the parts and the targets.
func (r *results) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s/%s, %d processors\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	r.printRows(w)
	r.printAbout(w)
	r.printOutsiders(w)
	r.printParts(w)
	r.printTargets(w)
}

func (r *results) printRows(w io.Writer) {
	if len(r.rows) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "workload\tparty\tCPU\tuser\tsystem\t÷ goproxy\t÷ floor\treq/s\tMiB/s\tp50\tp99\tpeak RSS\t")
	var last string
	for _, one := range r.rows {
		name := one.workload.name
		if last != "" && name != last {
			fmt.Fprintln(t, "\t\t\t\t\t\t\t\t\t\t\t\t")
		}
		last = name
		r.printRow(t, one)
	}
	t.Flush()
}

func (r *results) printRow(w io.Writer, one row) {
	name, s := one.workload.name, one.sample
	if one.err != nil {
		fmt.Fprintf(w, "%s\t%s\tfailed\t\t\t\t\t\t\t\t\t\t\n", name, one.party)
		return
	}
	if one.workload.idle {
		fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\t\t\t\t\t%s\t\n", name, one.party, memory(s.rss))
		return
	}
	over := func(party string) string {
		other, ok := r.row(name, party)
		if !ok || other.sample.cpu() == 0 {
			return ""
		}
		return fmt.Sprintf("%.2f", float64(s.cpu())/float64(other.sample.cpu()))
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.4g\t%.0f\t%s\t%s\t%s\t\n", name, one.party,
		digits(s.cpu()), digits(s.user), digits(s.system), over("goproxy"), over("floor"),
		s.rate, s.bytesRate/mib, digits(s.p50), digits(s.p99), memory(s.rss))
}

// printAbout says what the workloads are, and why a party has no figures.
func (r *results) printAbout(w io.Writer) {
	if len(r.rows) > 0 {
		fmt.Fprintln(w, "\nCPU is the party's own, of a request unless it says otherwise:")
	}
	var last string
	for _, one := range r.rows {
		if name := one.workload.name; name != last {
			last = name
			unit := ""
			if one.workload.perGiB {
				unit = " (CPU of a GiB)"
			}
			fmt.Fprintf(w, "  %-12s %s%s\n", name, one.workload.about, unit)
		}
		if one.workload.idle && one.err == nil {
			fmt.Fprintf(w, "  %-12s %s: %.0f KiB and %.1f descriptors a connection\n", "", one.party, float64(one.sample.connection)/(1<<10), one.sample.files)
		}
		if one.err != nil {
			fmt.Fprintf(w, "  %-12s %s failed: %v\n", "", one.party, one.err)
		}
	}
}

// printOutsiders says which they are, of those that some workload would have.
func (r *results) printOutsiders(w io.Writer) {
	before := "\n"
	for _, o := range outsiders() {
		if !slices.ContainsFunc(r.rows, func(one row) bool { return slices.Contains(one.workload.parties, o.name) }) {
			continue
		}
		is := "not installed and has no figures (" + o.where + ")"
		if _, program := outside(o.name); program != "" {
			is = o.version(program)
		}
		fmt.Fprintf(w, "%s%s is %s\n", before, o.name, is)
		before = ""
	}
}

func (r *results) printParts(w io.Writer) {
	if len(r.parts) > 0 {
		fmt.Fprintln(w, "\nparts:")
	}
	for _, p := range r.parts {
		fmt.Fprintf(w, "  %s: %s", p.about, digits(p.took))
		if p.cpu > 0 {
			fmt.Fprintf(w, ", CPU %s", digits(p.cpu))
		}
		if p.alloc > 0 {
			fmt.Fprintf(w, ", %.1f allocations", p.alloc)
		}
		if p.rate > 0 {
			fmt.Fprintf(w, ", %.0f MiB of log a second, peak RSS %s", p.rate/mib, memory(p.rss))
		}
		if p.answers > 0 {
			fmt.Fprintf(w, ", %.0f answers a second", p.answers)
		}
		if p.packets > 0 {
			fmt.Fprintf(w, ", %d of %d packets dropped", p.dropped, p.packets)
		}
		fmt.Fprintln(w)
	}
}

// digits is a duration in three digits.
func digits(d time.Duration) string {
	if d <= 0 {
		return d.String()
	}
	step := math.Pow(10, math.Floor(math.Log10(float64(d)))-2)
	return d.Round(time.Duration(max(step, 1))).String()
}

func memory(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/mib) }
