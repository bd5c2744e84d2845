// Command bench measures the proxy beside its peers and beside the floor, in
// one run on one machine, and says which of the project's targets hold.
//
//	make bench                                   # all of it
//	go run ./bench -only json,large -rounds 7
//	go run ./bench -only json -parties ours -rounds 1 -profile /tmp/json
//	go run ./bench -only json -before /tmp/agentenv-netlog
//	go run ./bench -only connections,sizes -plots /tmp/plots -points 3
//	make performance                             # all of it, and docs/performance.md
//
// Each party is a process of its own: agentenv-netlog as it is built, with its log
// on; bench/floor, which ends TLS on both sides and copies bytes; goproxy without a
// log and martian with its HAR log, in bench/peers; mitmdump with its flow file,
// squid with its access log and, for HTTP/2, nghttpx without a log where they are
// installed. Every figure is the median of some rounds in which the parties take
// turns, since a machine's speed drifts. What counts is the processor's time of the
// party's process for a request (/proc, so that this runs on Linux alone) as a
// ratio: throughput and latencies depend on the load generator, which has the same
// processors.
//
// It is no test: it fails only when something can't be measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	rounds  int
	only    string
	parties string
	seconds float64
	entries int
	profile string
	before  string
	plots   string
	points  int
	page    string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "how often each party has its turn")
	flag.StringVar(&o.only, "only", "", "measure these `workloads` alone, separated by commas: "+strings.Join(workloadNames(), ", "))
	flag.StringVar(&o.parties, "parties", "", "measure these `parties` alone, separated by commas: ours, goproxy, martian, floor, mitmdump, squid, nghttpx")
	flag.Float64Var(&o.seconds, "seconds", 2, "how long each measurement is")
	flag.IntVar(&o.entries, "entries", 125_000, "convert a log of `N` entries, and one of twice as many (1000000 are some 4 GiB; 0: neither)")
	flag.StringVar(&o.profile, "profile", "", "write profiles of our proxy to `PREFIX`-workload.cpu and .allocs; its figures are those of bench/ours then")
	flag.StringVar(&o.before, "before", "", "measure another agentenv-netlog, the `PROGRAM` of an older commit, as the party \"before\"")
	flag.StringVar(&o.plots, "plots", "", "measure how cost grows too, and draw it in this `FOLDER`")
	flag.IntVar(&o.points, "points", 0, "measure the first `N` sizes of what grows; 0: all")
	flag.StringVar(&o.page, "page", "", "put what is printed into this `FILE` of Markdown too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// selected tells whether a list separated by commas names one; an empty list
// names all.
func selected(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

func run(ctx context.Context, o options) error {
	for _, name := range strings.Split(o.only, ",") {
		if name != "" && !selected(strings.Join(workloadNames(), ","), name) {
			return fmt.Errorf("there is no workload %q", name)
		}
	}
	for _, g := range growths() {
		if o.only != "" && o.plots == "" && selected(o.only, g.name) {
			return fmt.Errorf("%q is drawn: -plots says where", g.name)
		}
	}
	if o.page != "" { // what is wrong with it is better known before than after
		if err := renew(o.page, "", ""); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "netlog-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir); err != nil {
		return err
	}
	b, err := newBench(dir, o)
	if err != nil {
		return err
	}
	defer b.close()
	r, err := b.results(ctx)
	if err != nil {
		return err
	}
	if o.plots != "" {
		if r.grown, err = b.grow(ctx, o.points); err != nil {
			return err
		}
		if err := draw(o.plots, r.grown); err != nil {
			return err
		}
	}
	var table, growth strings.Builder
	if len(r.rows)+len(r.parts) > 0 {
		r.print(&table)
	}
	printGrowths(&growth, r.grown)
	fmt.Print(table.String(), "\n", growth.String())
	if o.page == "" {
		return nil
	}
	return renew(o.page, table.String(), growth.String())
}

// results measures the workloads and parts that are selected.
func (b *bench) results(ctx context.Context) (*results, error) {
	var r results
	for _, w := range workloads() {
		if !selected(b.only, w.name) {
			continue
		}
		rows, err := b.measure(ctx, w)
		if err != nil {
			return nil, err
		}
		r.rows = append(r.rows, rows...)
	}
	return &r, b.parts(ctx, &r)
}

// build makes every party's program in dir.
func build(ctx context.Context, dir string) error {
	began := time.Now()
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", dir+string(filepath.Separator),
		"./cmd/agentenv-netlog", "./bench/ours", "./bench/floor", "./bench/peers/goproxy", "./bench/peers/martian")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("building the parties (run this in the module's folder): %w", err)
	}
	fmt.Fprintf(os.Stderr, "built in %v\n", time.Since(began).Round(time.Millisecond))
	return nil
}
