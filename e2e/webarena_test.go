package e2e

import (
	"fmt"
	"testing"
)

// graded has WebArena-Verified grade a HAR, or a trace, of the visit: it finds
// what tasks expect of it, and finds no wrong expectation.
func (v *visit) graded(t *testing.T, trace string) {
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
