package netlog_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are what users read, with their text.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, path := range append(all, "README.md", "CHANGELOG.md", "netlog/FORMAT.md") {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(b)
	}
	return texts
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	mark    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	target  = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	made    = regexp.MustCompile("(?m)(?:`|^)make((?: +[a-z0-9-]+)+)")
)

// anchors are what a page's headings are linked by, as GitHub makes them.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		all[strings.ReplaceAll(mark.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return all
}

// Every link within the repository leads to a file that is there and to a heading
// that it has.
func TestLinksLeadSomewhere(t *testing.T) {
	found := 0
	for path, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			b, err := os.ReadFile(to)
			if err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			} else if anchor != "" && !anchors(string(b))[anchor] {
				t.Errorf("%s links to %s, which has no such heading", path, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d links were found", found)
	}
}

// Every target that the pages name is the Makefile's.
func TestMakeMakesWhatThePagesSay(t *testing.T) {
	b, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(string(b), -1) {
		targets[m[1]] = true
	}
	found := 0
	for path, text := range pages(t) {
		for _, m := range made.FindAllStringSubmatch(text, -1) {
			for _, name := range strings.Fields(m[1]) {
				if found++; !targets[name] {
					t.Errorf("%s says make %s", path, name)
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d targets were found", found)
	}
}
