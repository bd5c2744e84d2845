package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// traced has Playwright's own reader of traces list the requests of one, and
// show one of them with its bodies.
func traced(t *testing.T, trace string, entries []harEntry) {
	t.Helper()
	node, cli := nodeWithPackages(t), filepath.Join("node_modules", "playwright-core", "cli.js")
	cli, err := filepath.Abs(cli)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	reader := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), node, append([]string{cli, "trace"}, args...)...)
		cmd.Dir = dir
		cmd.Env = clean(os.Environ())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("playwright trace %q: %v\n%.2000s", args, err, out)
		}
		return string(out)
	}
	if said := reader("open", trace); !strings.Contains(said, fmt.Sprintf(" %d requests\n", len(entries))) {
		t.Errorf("of %d entries: %s", len(entries), said)
	}
	var want, got []string
	for i, e := range entries {
		status := "ERR"
		if e.Response.Status > 0 {
			status = fmt.Sprint(e.Response.Status)
		}
		want = append(want, fmt.Sprintf("%d. %s %s", i+1, e.Request.Method, status))
	}
	for line := range strings.Lines(reader("requests")) {
		// Its number, when it began, the method, the status.
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasSuffix(fields[0], ".") {
			got = append(got, strings.Join(slices.Delete(fields[:4], 1, 2), " "))
		}
	}
	is(t, "the list", strings.Join(got, "\n"), strings.Join(want, "\n"))

	i := slices.IndexFunc(entries, func(e harEntry) bool { return strings.HasSuffix(e.Request.URL, "/shop/api/items") })
	shown := reader("request", fmt.Sprint(i+1))
	if !strings.Contains(shown, entries[i].Request.URL) || !strings.Contains(shown, entries[i].posted()) {
		t.Errorf("of %s it shows %s", entries[i].Request.URL, shown)
	}
	_, body, _ := strings.Cut(shown, "Response body\n")
	is(t, "the answer's body", string(contentOf(t, filepath.Join(dir, strings.TrimSpace(body)))), entries[i].body(t))
}
