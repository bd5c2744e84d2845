package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// graded has WebArena-Verified grade a HAR, or a trace, of the visit: it finds
// what tasks expect of it, but for some, and finds no wrong expectation.
func (v *visit) graded(t *testing.T, trace string, but ...string) {
	t.Helper()
	python := inVenv(t, ".venv-webarena", "python")
	verdicts := readings(t, python, inTestdata(t, "readers", "with_webarena.py"), trace, inTestdata(t, "readers", "tasks.json"), v.shop.url(""), t.TempDir())
	right, wrong := 0, 0
	for _, r := range verdicts {
		want := "success 1"
		if r["wrong"] == 0.0 {
			right++
		} else {
			wrong++
		}
		if r["wrong"] != 0.0 || slices.Contains(but, r["task"].(string)) {
			want = "failure 0"
		}
		if got := fmt.Sprint(r["status"], " ", r["score"]); got != want {
			t.Errorf("%s, wrong expectation %v: %s, want %s: %v", r["task"], r["wrong"], got, want, r["errors"])
		}
	}
	if right < 12 || wrong < 34 {
		t.Errorf("it graded by %d tasks, and by %d wrong expectations", right, wrong)
	}
}

// theirsAtShop is Playwright's own HAR without the visit's second site.
func (v *visit) theirsAtShop(t *testing.T) string {
	t.Helper()
	var har struct {
		Log struct {
			Version string            `json:"version"`
			Entries []json.RawMessage `json:"entries"`
		} `json:"log"`
	}
	if err := json.Unmarshal(contentOf(t, v.theirs), &har); err != nil {
		t.Fatal(err)
	}
	har.Log.Entries = slices.DeleteFunc(har.Log.Entries, func(raw json.RawMessage) bool {
		var e harEntry
		return json.Unmarshal(raw, &e) != nil || strings.Contains(e.Request.URL, "://"+v.w.origin.host)
	})
	text, err := json.Marshal(har)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "theirs.har")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
