package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// vitals are what a proxy's process takes of its machine.
type vitals struct {
	resident, peak int64 // bytes of memory, now and at most
	files          int   // descriptors
	goroutines     int
}

func (v vitals) String() string {
	return fmt.Sprintf("%d MiB resident (at most %d), %d descriptors, %d goroutines", v.resident>>20, v.peak>>20, v.files, v.goroutines)
}

// vitals measures the process, as the kernel and /metrics have it.
func (p *proxy) vitals() vitals {
	p.t.Helper()
	v := vitals{goroutines: int(p.metric("go_goroutines"))}
	proc := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
	status, err := os.ReadFile(proc + "/status")
	if err != nil {
		p.t.Skipf("no figures of processes on this system: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			v.resident = kib << 10
		case "VmHWM":
			v.peak = kib << 10
		}
	}
	files, err := os.ReadDir(proc + "/fd")
	if err != nil {
		p.t.Fatal(err)
	}
	v.files = len(files)
	return v
}

// metric is one figure of /metrics, asked for on a connection of its own.
func (p *proxy) metric(name string) float64 {
	p.t.Helper()
	direct := &http.Transport{DisableKeepAlives: true}
	r, err := (&http.Client{Transport: direct, Timeout: patience}).Get("http://" + p.address + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				p.t.Fatalf("/metrics: %q: %v", lines.Text(), err)
			}
			return v
		}
	}
	p.t.Fatalf("/metrics has no %s: %v", name, lines.Err())
	return 0
}

// slack is the memory that a process may keep: pages that the allocator has not
// given back, and what has been learnt (leaf certificates, sessions of TLS).
const slack = 48 << 20

// recovers waits until the process takes no more than it did: not a descriptor
// and not a goroutine more, and memory within slack. The race detector has
// memory of its own, which is left out.
func (p *proxy) recovers(from vitals) {
	p.t.Helper()
	now := p.vitals()
	loaded := now
	// Memory goes back to the system little by little, and after a collection of
	// garbage that comes every two minutes at the latest.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; now = p.vitals() {
		if now.files <= from.files && now.goroutines <= from.goroutines && (raceEnabled || now.resident <= from.resident+slack) {
			p.t.Logf("before: %v\nafter:  %v\n%v later: %v", from, loaded, time.Since(began).Round(time.Second), now)
			return
		}
		if time.Since(began) > 4*time.Minute {
			p.t.Errorf("before: %v\nafter:  %v\n4 minutes later: %v", from, loaded, now)
			return
		}
		<-tick.C
	}
}

// heavy leaves a test to make e2e.
func heavy(t *testing.T) {
	t.Helper()
	if os.Getenv("NETLOG_E2E") != "all" {
		t.Skip("it takes much time, memory or disk: make e2e runs it")
	}
	if raceEnabled {
		t.Skip("the race detector takes too much memory and time; the packages' own tests have it")
	}
}
