package main

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
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
	p, err := start("/bin/sh", []string{"-c", "echo noise >&2; echo listening on 127.0.0.1:9 >&2; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done >&2; read line"})
	if err != nil {
		t.Fatal(err)
	}
	if p.address != "127.0.0.1:9" || p.ready <= 0 {
		t.Errorf("listens on %q after %v", p.address, p.ready)
	}
	if rss, err := p.memory("VmHWM"); err != nil || rss < 100<<10 || rss > 1<<30 {
		t.Errorf("VmHWM %d, %v", rss, err)
	}
	if _, _, err := p.cpu(); err != nil {
		t.Error(err)
	}
	if err := p.stop(); err == nil {
		t.Error("a shell ended by SIGTERM ended well")
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
