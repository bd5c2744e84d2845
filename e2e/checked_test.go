package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// `check` says of a HAR what the readers themselves do: of the run of everything
// it finds what two of them refuse, and nothing in what is made for one.
func checked(t *testing.T, c *collection) {
	var got []string
	for _, f := range faults(t, c.har) {
		e := c.entries[f.Entry-1]
		got = append(got, f.Rule+" "+strings.TrimPrefix(e.Request.URL, "http://"+c.plain+"/specimen"))
	}
	slices.Sort(got)
	var want []string
	for _, s := range specimens() {
		rule := ""
		switch s.path {
		case "/stacked", "/unknown-coding":
			rule = "mitmproxy "
		case "/form":
			rule = "k6 "
		}
		if strings.HasPrefix(s.path, "/odd") {
			rule = "k6 "
		}
		if rule != "" {
			want = append(want, rule+strings.TrimPrefix(s.address(c.plain), "http://"+c.plain+"/specimen"))
		}
	}
	slices.Sort(want)
	is(t, "what it finds", strings.Join(slices.Compact(got), "\n"), strings.Join(want, "\n"))

	for _, name := range []string{"devtools", "playwright", "k6", "webarena", "mitmproxy"} {
		file := filepath.Join(t.TempDir(), name+".har")
		convertTo(t, c.path, file, "--for", name)
		for _, f := range faults(t, file, "--for", name) {
			t.Errorf("made for %s: entry %d: %s: %s", name, f.Entry, f.Rule, f.Text)
		}
	}
	if out, stderr, code := run(t, t.TempDir(), "check", c.path); code != 0 {
		t.Errorf("of the log: %s%s", out, stderr)
	}
}

// A fault is what check finds in a HAR.
type fault struct {
	Rule, Text string
	Warning    bool
	Entry      int
}

// faults are those that are more than warnings.
func faults(t *testing.T, file string, args ...string) []fault {
	t.Helper()
	out, stderr, code := run(t, t.TempDir(), append([]string{"check", "--json", file}, args...)...)
	var list []fault
	for raw := range strings.Lines(out) {
		var f fault
		if err := json.Unmarshal([]byte(raw), &f); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if !f.Warning {
			list = append(list, f)
		}
	}
	if (code == 0) != (len(list) == 0) || code > 1 {
		t.Errorf("check ended with %d for %d faults: %s", code, len(list), stderr)
	}
	return list
}

// sound is the HAR of a log, once check has found nothing in either.
func sound(t *testing.T, log string) []harEntry {
	t.Helper()
	file := filepath.Join(t.TempDir(), "network.har")
	entries := convertTo(t, log, file)
	for _, path := range []string{log, file} {
		for _, f := range faults(t, path) {
			t.Errorf("check of %s: entry %d: %s: %s", filepath.Base(path), f.Entry, f.Rule, f.Text)
		}
	}
	return entries
}
