package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentenv/netlog/har/hartest"
)

// What check says of a HAR with one thing wrong is what its readers themselves
// make of it.
func TestCheckAgreesWithReaders(t *testing.T) {
	dir := t.TempDir()
	var files, texts []string
	var cases []hartest.Case
	for _, c := range hartest.Cases() {
		file := filepath.Join(dir, fmt.Sprintf("%03d.har", len(files)))
		if err := os.WriteFile(file, []byte(c.HAR()), 0o600); err != nil {
			t.Fatal(err)
		}
		cases, files = append(cases, c), append(files, file)
		texts = append(texts, strings.ToValidUTF8(c.HAR(), "\ufffd"))
	}
	said := make([][]fault, len(files))
	for i, file := range files {
		said[i] = faults(t, file)
	}
	has := func(i int, rule string) bool {
		return slices.ContainsFunc(said[i], func(f fault) bool { return f.Rule == rule })
	}
	// agree compares verdicts: a reader refuses what check says that it does, and
	// nothing else but what one of the rules of others says, too.
	agree := func(t *testing.T, rule string, verdicts []reading, others ...string) {
		t.Helper()
		if len(verdicts) != len(files) {
			t.Fatalf("%d verdicts on %d files", len(verdicts), len(files))
		}
		refused := 0
		for i, v := range verdicts {
			reason, known := v[rule]
			if cases[i].NotJSON || !known {
				continue
			}
			if reason != nil {
				refused++
			}
			also := slices.ContainsFunc(others, func(other string) bool { return has(i, other) })
			if got := has(i, rule); got != (reason != nil) && !(also && !got) {
				t.Errorf("%q: check says %v, it says %.300v", cases[i].Name, said[i], reason)
			}
		}
		if refused < 2 {
			t.Errorf("it refuses %d files", refused)
		}
	}
	t.Run("har-validator and har-to-k6", func(t *testing.T) {
		t.Parallel()
		verdicts := readings(t, nodeWithPackages(t), append([]string{inTestdata(t, "readers", "verdicts.js")}, files...)...)
		for i, v := range verdicts {
			if (v["json"] != nil) != cases[i].NotJSON || cases[i].NotJSON && !has(i, "json") {
				t.Errorf("%q: check says %v, JSON.parse %v", cases[i].Name, said[i], v["json"])
			}
		}
		agree(t, "har-validator", verdicts)
		agree(t, "k6", verdicts, "har-validator")
	})
	t.Run("mitmproxy", func(t *testing.T) {
		t.Parallel()
		python := inVenv(t, ".venv-mitmproxy", "python")
		agree(t, "mitmproxy", readings(t, python, append([]string{inTestdata(t, "readers", "verdicts_mitmproxy.py")}, files...)...), "har-validator", "har", "json")
	})
	t.Run("haralyzer", func(t *testing.T) {
		t.Parallel()
		agree(t, "haralyzer", readings(t, venv(t), append([]string{inTestdata(t, "readers", "verdicts_haralyzer.py")}, files...)...), "har-validator", "json")
	})
	t.Run("DevTools", func(t *testing.T) {
		t.Parallel()
		verdicts, err := askDevTools[[]reading](t, "verdicts_devtools.js", texts)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, "devtools", verdicts)
	})
}
