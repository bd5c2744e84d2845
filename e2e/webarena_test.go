package e2e

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentenv/netlog/internal/webarena"
)

// graded has WebArena-Verified grade a HAR, or a trace, of the visit: it finds
// what tasks expect of it, but for some, and finds no wrong expectation. Its
// rules as internal/webarena restates them give the same verdicts.
func (v *visit) graded(t *testing.T, trace string, but ...string) {
	t.Helper()
	python := inVenv(t, ".venv-webarena", "python")
	verdicts := readings(t, python, inTestdata(t, "readers", "with_webarena.py"), trace, inTestdata(t, "readers", "tasks.json"), v.shop.url(""), t.TempDir())
	var restated map[string]bool
	if trace != v.theirs { // which is not as those would have a HAR of ours
		restated = gradedByRules(t, trace, inTestdata(t, "readers", "tasks.json"), v.shop.url(""))
	}
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
		key := fmt.Sprint(r["task"], " ", r["wrong"])
		if succeeds, ok := restated[key]; ok != (restated != nil) || ok && succeeds != (r["status"] == "success") {
			t.Errorf("%s: %v, as restated it succeeds: %v", key, r["status"], succeeds)
		}
		if got := fmt.Sprint(r["status"], " ", r["score"]); got != want {
			t.Errorf("%s, wrong expectation %v: %s, want %s: %v", r["task"], r["wrong"], got, want, r["errors"])
		}
	}
	if right < 13 || wrong < 37 {
		t.Errorf("it graded by %d tasks, and by %d wrong expectations", right, wrong)
	}
}

// gradedByRules are the verdicts of internal/webarena, by task and wrong expectation.
func gradedByRules(t *testing.T, file, tasks, site string) map[string]bool {
	t.Helper()
	load, text := webarena.Load, contentOf(t, file)
	if strings.HasSuffix(file, ".zip") {
		archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		if text, err = fs.ReadFile(archive, "trace.network"); err != nil {
			t.Fatal(err)
		}
		load = webarena.LoadTrace
	}
	trace, err := load(text)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := webarena.LoadCases(contentOf(t, tasks))
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]bool{}
	for _, c := range cases {
		for i, task := range append([]webarena.Task{c.Task}, c.Wrong...) {
			verdict, err := trace.Grade(task, map[string]string{"SHOPPING": site})
			if err != nil {
				t.Errorf("%s %d: %v", c.Name, i, err)
			}
			verdicts[fmt.Sprint(c.Name, " ", i)] = verdict.Success
		}
	}
	return verdicts
}

// gradedByPages runs the commands of docs/grading.md on the visit's log: a task of
// WebArena-Verified's own, whose site is the shop.
func (v *visit) gradedByPages(t *testing.T) {
	t.Helper()
	program := inVenv(t, ".venv-webarena", "webarena-verified")
	need(t, "jq")
	dir := t.TempDir()
	lines := readme(t, "sh")
	from := slices.Index(lines, "mkdir -p out/44")
	to := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "jq -r .status out/44/") })
	if from < 0 || to < from {
		t.Fatal("no page has such steps")
	}
	if err := os.MkdirAll(filepath.Join(dir, "out", "44"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(block(t, `{"environments"`), "http://localhost:8023", v.shop.url("/shop"), 1)
	for name, text := range map[string]string{"config.json": config, "out/44/agent_response.json": block(t, `{"task_type"`)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(v.log, filepath.Join(dir, "network.jsonl")); err != nil {
		t.Fatal(err)
	}
	sh := exec.CommandContext(t.Context(), "sh", "-ec", strings.Join(lines[from:to+1], "\n"))
	sh.Dir = dir
	sh.Env = append(clean(os.Environ()), "HOME="+dir, "PATH="+filepath.Dir(binary(t))+":"+filepath.Dir(program)+":"+os.Getenv("PATH"))
	out, err := sh.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "\nsuccess\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
