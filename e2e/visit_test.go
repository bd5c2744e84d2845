package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// A visit is what a browser did at the site and the shop, recorded by the proxy
// and by Playwright, which drove it.
type visit struct {
	w       *world
	log     string // the proxy's
	har     string // made of that
	entries []harEntry
	theirs  string // Playwright's own HAR
	upload  string // the file that was uploaded
	shop    place
	dead    string
	said    map[string]string // by Playwright, of each step, and of each cookie
}

// visits records one.
func visits(t *testing.T) *visit {
	t.Helper()
	v := &visit{dead: freePort(t)}
	mux := http.NewServeMux()
	mux.Handle("/shop/", shop(t, v.dead))
	mux.Handle("/", site())
	v.w = newWorldOf(t, mux)
	v.shop = place{"http", v.w.origin.plain}
	v.upload = filepath.Join(v.w.dir, "žluť.txt")
	if err := os.WriteFile(v.upload, []byte("one\r\ntwo ž\n\x00\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := v.w.proxy("--keep-types", "all")
	home := t.TempDir()
	trustInNSS(t, home, p.ca, "proxy")
	v.log, v.har, v.theirs = p.log, filepath.Join(v.w.dir, "ours.har"), filepath.Join(v.w.dir, "theirs.har")
	v.said = v.drive(t, map[string]any{
		"proxy": map[string]string{"server": "http://" + p.address, "bypass": "<-loopback>"}, "home": home,
		"record": v.theirs, "site": "https://" + v.w.origin.host,
	})
	p.stop()
	v.entries = convertTo(t, v.log, v.har)
	return v
}

// drive has Playwright go through the steps, and returns what it saw.
func (v *visit) drive(t *testing.T, settings map[string]any) map[string]string {
	t.Helper()
	settings["executablePath"] = need(t, "chromium")
	settings["args"] = quiet
	settings["shop"] = v.shop.url("")
	settings["upload"] = v.upload
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), nodeWithPackages(t), inTestdata(t, "readers", "visit.js"), string(text))
	cmd.Env = clean(os.Environ())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("Playwright: %v\n%.4000s", err, stderr.String())
	}
	var said map[string]string
	if err := json.Unmarshal(stdout.Bytes(), &said); err != nil {
		t.Fatalf("Playwright said %.2000s: %v", stdout.String(), err)
	}
	return said
}

// What a browser did is in the HAR as it was: for Playwright, which recorded it
// too and serves it again, and for a grader.
func TestVisit(t *testing.T) {
	v := visits(t)
	t.Run("Playwright recorded the same", func(t *testing.T) {
		v.asTheirs(t, v.entries)
	})
	t.Run("check finds what har-to-k6 refuses", func(t *testing.T) {
		t.Parallel()
		for file, rules := range map[string][]string{v.har: {"k6"}, v.theirs: {"k6", "httpwatch"}} { // of times
			found := map[string]bool{}
			for _, f := range faults(t, file) {
				if found[f.Rule] = true; !slices.Contains(rules, f.Rule) {
					t.Errorf("%s, entry %d: %s: %s", filepath.Base(file), f.Entry, f.Rule, f.Text)
				}
			}
			if !found["k6"] {
				t.Errorf("%s has the percent sign of the form", filepath.Base(file))
			}
		}
	})
	t.Run("Playwright serves it again", func(t *testing.T) {
		t.Parallel()
		har := filepath.Join(t.TempDir(), "network.har")
		convertTo(t, v.log, har, "--for", "playwright")
		v.servedAgain(t, har)
	})
	t.Run("WebArena-Verified grades the HAR", func(t *testing.T) {
		t.Parallel()
		har := filepath.Join(t.TempDir(), "network.har")
		convertTo(t, v.log, har, "--for", "webarena")
		if f := faults(t, har, "--for", "webarena"); len(f) > 0 {
			t.Errorf("check finds %+v", f)
		}
		v.graded(t, har)
	})
	t.Run("WebArena-Verified grades the trace", func(t *testing.T) {
		t.Parallel()
		v.graded(t, v.trace(t, "--for", "webarena"))
	})
	t.Run("WebArena-Verified grades Playwright's own HAR", func(t *testing.T) {
		t.Parallel()
		v.graded(t, v.theirs, "upload a file") // whose bytes Playwright does not get
	})
	t.Run("WebArena-Verified as the pages have it", func(t *testing.T) {
		t.Parallel()
		v.gradedByPages(t)
	})
	t.Run("Playwright reads the trace", func(t *testing.T) {
		t.Parallel()
		traced(t, v.trace(t), v.entries)
	})
}

// trace makes a Playwright trace of the log.
func (v *visit) trace(t *testing.T, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.zip")
	if _, stderr, code := run(t, t.TempDir(), append([]string{"har", v.log, "-o", file}, args...)...); code != 0 {
		t.Fatalf("har ended with %d: %s", code, stderr)
	}
	return file
}
