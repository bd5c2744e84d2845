package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentenv/netlog/bench/internal/plot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		p50  []time.Duration
		want time.Duration
	}{
		{[]time.Duration{7}, 7},
		{[]time.Duration{9, 1, 5}, 5},
		{[]time.Duration{9, 1, 5, 7}, 6},
	} {
		var samples []sample
		for i, d := range test.p50 {
			samples = append(samples, sample{p50: d, rss: int64(i)})
		}
		if got := median(samples).p50; got != test.want {
			t.Errorf("median of %d: %d, want %d", test.p50, got, test.want)
		}
	}
}

func TestAProcessSaysWhereItListensAndWhatItTakes(t *testing.T) {
	p, err := start("/bin/sh", []string{"-c", "echo noise >&2; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo listening on 127.0.0.1:9 >&2; while :; do :; done"})
	if err != nil {
		t.Fatal(err)
	}
	if p.address != "127.0.0.1:9" || p.ready <= 0 {
		t.Errorf("listens on %q after %v", p.address, p.ready)
	}
	if rss, err := p.memory("VmHWM"); err != nil || rss < 100<<10 || rss > 1<<30 {
		t.Errorf("VmHWM %d, %v", rss, err)
	}
	if u, err := p.cpu(); err != nil || u.all <= 0 {
		t.Errorf("CPU %+v, %v", u, err)
	}
	if err := p.stop(); err == nil {
		t.Error("a shell ended by SIGTERM ended well")
	}
}

func TestUserAndSystemAreAllOfIt(t *testing.T) {
	before := usage{user: 10, system: 10, all: 25}
	for _, test := range []struct {
		now          usage
		user, system time.Duration
	}{
		{before, 0, 0},
		{usage{user: 10, system: 10, all: 29}, 4, 0}, // less than /proc can tell
		{usage{user: 20, system: 40, all: 65}, 10, 30},
	} {
		if user, system := test.now.since(before); user != test.user || system != test.system {
			t.Errorf("%+v: %d and %d, want %d and %d", test.now, user, system, test.user, test.system)
		}
	}
}

func TestAProcessThatDoesNotListenIsAnError(t *testing.T) {
	if p, err := start("/bin/sh", []string{"-c", "echo no port >&2"}); err == nil {
		p.stop()
		t.Error("it started")
	}
}

func TestTargetsCompareOurs(t *testing.T) {
	w := workload{name: "json"}
	r := &results{rows: []row{
		{workload: w, party: "ours", sample: sample{user: 60}},
		{workload: w, party: "goproxy", sample: sample{user: 100}},
		{workload: w, party: "floor", err: os.ErrInvalid},
	}}
	if v, ok := r.cpuRatio("json", "goproxy"); !ok || v != 0.6 {
		t.Errorf("ratio to goproxy %v, %v", v, ok)
	}
	if _, ok := r.cpuRatio("json", "floor"); ok {
		t.Error("a ratio to a party without figures")
	}
	if !(target{limit: 2}).holds(2) || (target{limit: 2}).holds(2.1) || (target{limit: 2, least: true}).holds(1.9) {
		t.Error("a target is held to the wrong side")
	}
}

func TestProgramsSayWhereTheyListen(t *testing.T) {
	const want = "127.0.0.1:8080"
	for _, said := range []string{
		want + "\n",                           // agentenv-netlog
		want + ".\n",                          // mitmdump
		want + " remote=[::] FD 24 flags=9\n", // squid
		want + ", tls\n",                      // nghttpx
	} {
		if got := addressIn(said); got != want {
			t.Errorf("of %q: %q", said, got)
		}
	}
}

func TestOnlyOutsidersAreLookedFor(t *testing.T) {
	for _, name := range []string{"ours", "floor", "before"} {
		if o, program := outside(name); o.name != "" || program != "" {
			t.Errorf("%s is looked for as %q", name, program)
		}
	}
	for _, o := range outsiders() {
		if found, _ := outside(o.name); found.name != o.name {
			t.Errorf("%s is no outsider", o.name)
		}
	}
}

func TestABlockOfAPageIsReplaced(t *testing.T) {
	const page = "# Title\n\n<!-- bench: table -->\n```\nold\n```\n\n<!-- bench: growth -->\n```\n```\nend\n"
	got, err := replaceBlock(page, tableBlock, "\nnew\n  lines\n\n")
	if err == nil {
		got, err = replaceBlock(got, growthBlock, "grown")
	}
	const want = "# Title\n\n<!-- bench: table -->\n```\nnew\n  lines\n```\n\n<!-- bench: growth -->\n```\ngrown\n```\nend\n"
	if err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if got, err = replaceBlock(page, tableBlock, ""); err != nil || got != page {
		t.Errorf("without a text: %q, %v", got, err)
	}
	for _, page := range []string{"", "<!-- bench: table -->\n", "<!-- bench: table -->\n```\nold\n"} {
		if got, err := replaceBlock(page, tableBlock, "new"); err == nil {
			t.Errorf("%q became %q", page, got)
		}
	}
}

func TestAGrowthIsDrawnAtWhatWasReached(t *testing.T) {
	ours := func(rate float64) row {
		return row{party: "ours", sample: sample{user: 60, rate: rate, p50: 1, p99: 2, rss: mib}}
	}
	g := &growth{name: nameRates, of: "messages", write: count, sizes: []float64{200, 2000}, rates: true, at: func(float64) workload { return workload{} }}
	g.points = []point{{size: 200, rows: []row{ours(100)}}, {size: 2000, rows: []row{ours(700)}},
		{size: 6000, rows: []row{ours(600)}}, // too much: less went
		{size: 20_000, rows: []row{{party: "ours", err: os.ErrDeadlineExceeded}}},
	}
	want := []plot.Line{{Name: "ours", Colour: colours["ours"], Points: []plot.Point{{X: 200, Y: 60}, {X: 1400, Y: 60}}}}
	if got := g.figure().Charts[0].Lines; !reflect.DeepEqual(got, want) {
		t.Errorf("drawn as %v, want %v", got, want)
	}
	if err := g.faults(); err == nil || !strings.Contains(err.Error(), "20,000") {
		t.Errorf("faults: %v", err)
	}
}

func TestSizesAreReadable(t *testing.T) {
	for n, want := range map[float64]string{1: "1", 999: "999", 1000: "1,000", 1_234_567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%v is %q, want %q", n, got, want)
		}
	}
	for n, want := range map[float64]string{1: "1 B", 16 << 10: "16 KiB", 1 << 30: "1 GiB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%v is %q, want %q", n, got, want)
		}
	}
}

func TestThePageHasAPlaceForAllThatIsMeasured(t *testing.T) {
	b, err := os.ReadFile("../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, block := range []string{tableBlock, growthBlock} {
		if _, err := replaceBlock(page, block, "new"); err != nil {
			t.Error(err)
		}
	}
	for _, g := range growths() {
		if !strings.Contains(page, "](performance/"+g.name+".svg)") {
			t.Errorf("it does not show how cost grows with %s", g.name)
		}
	}
}
