package e2e

import (
	"fmt"
	"testing"
)

// The rules that internal/webarena restates are WebArena-Verified's: it grades
// the HAR of har's tests by the same tasks, and finds as much.
func TestWebArenaVerifiedGradesAsItsRulesSay(t *testing.T) {
	python := inVenv(t, ".venv-webarena", "python")
	const files = "../har/testdata/webarena/"
	verdicts := readings(t, python, inTestdata(t, "readers", "with_webarena.py"), files+"network.har", files+"tasks.json", "http://shop.test:7770", t.TempDir())
	for _, r := range verdicts {
		want := "success 1"
		if r["wrong"] != 0.0 {
			want = "failure 0"
		}
		if got := fmt.Sprint(r["status"], " ", r["score"]); got != want {
			t.Errorf("%s, wrong expectation %v: %s, want %s: %v", r["task"], r["wrong"], got, want, r["errors"])
		}
	}
	if len(verdicts) < 51 {
		t.Errorf("only %d verdicts", len(verdicts))
	}
}
