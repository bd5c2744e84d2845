package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A reader is a program that people give HARs to.
type reader struct {
	name string
	read func(t *testing.T, c *collection)
}

func readers() []reader {
	return []reader{
		{"haralyzer", readWithHaralyzer},
		{"har-to-k6", readWithK6},
		{"har-to-openapi", readWithOpenAPI},
		{"mitmproxy", readWithMitmproxy},
		{"Chromium's DevTools", readWithDevTools},
		{"Firefox's DevTools", readWithFirefox},
	}
}

// A run that has an entry of every sort: its HAR says what was asked and
// answered, and each reader finds that in it.
func TestReaders(t *testing.T) {
	c := collect(t)
	byURL := map[string]harEntry{}
	for _, e := range c.entries {
		byURL[e.Request.URL] = e
	}
	for _, s := range specimens() {
		t.Run("specimen"+strings.ReplaceAll(s.path, "/", " "), func(t *testing.T) {
			e, ok := byURL[s.address(c.plain)]
			if !ok {
				t.Fatal("it is not there")
			}
			s.check(t, e)
		})
	}
	t.Run("check", func(t *testing.T) {
		t.Parallel()
		checked(t, c)
	})
	for _, r := range readers() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.read(t, c)
		})
	}
}

// What no run of today's gives, a log made by hand does: its HAR is read too.
func TestReadersOfTheGoldenHAR(t *testing.T) {
	file := filepath.Join("..", "har", "testdata", "golden.har")
	c := &collection{har: file, entries: readHAR(t, file)}
	for _, r := range readers() {
		if r.name == "har-to-k6" || r.name == "Firefox's DevTools" {
			continue // one wants it made for it, one is slow to start
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.read(t, c)
		})
	}
}

// facts are what a HAR says of an entry, by the names under which readers print
// what they have. What is not there is nil.
func (e harEntry) facts(t *testing.T) map[string]any {
	t.Helper()
	var posted, content any
	if p := e.Request.PostData; p != nil {
		posted = p.Text
	}
	if e.Response.Content.Text != nil {
		content = base64.StdEncoding.EncodeToString([]byte(e.body(t)))
	}
	port := 0
	if e.Connection != "" {
		json.Unmarshal([]byte(e.Connection), &port)
	}
	return map[string]any{
		"method": e.Request.Method, "url": e.Request.URL, "started": e.StartedDateTime,
		"requestHeaders": pairsOf(e.Request.Headers), "requestCookies": pairsOf(e.Request.Cookies), "posted": posted,
		"status": e.Response.Status, "phrase": e.Response.StatusText,
		"headers": pairsOf(e.Response.Headers), "cookies": pairsOf(e.Response.Cookies),
		"type": e.Response.Content.MimeType, "size": e.Response.Content.Size, "wireSize": e.Response.BodySize, "content": content,
		"time": e.Time, "timings": e.Timings, "server": e.ServerIPAddress, "port": port,
	}
}

func pairsOf(fields []harField) [][2]string {
	list := [][2]string{}
	for _, f := range fields {
		list = append(list, [2]string{f.Name, f.Value})
	}
	return list
}

// A reading is what a reader has of one entry, by the names of facts.
type reading map[string]any

// readings runs a program that prints one a line.
func readings(t *testing.T, program string, args ...string) []reading {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%.4000s", filepath.Base(program), args, err, stderr.String())
	}
	var all []reading
	for raw := range bytes.Lines(stdout.Bytes()) {
		var r reading
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatalf("%s: %v: %.1000s", filepath.Base(program), err, raw)
		}
		all = append(all, r)
	}
	return all
}

// holds compares what a reader has, entry by entry, with the HAR. differs may
// say what is to be expected of it in place of the facts.
func holds(t *testing.T, entries []harEntry, got []reading, differs func(e harEntry, facts map[string]any)) {
	t.Helper()
	if len(got) != len(entries) {
		t.Fatalf("it has %d entries of %d", len(got), len(entries))
	}
	for i, e := range entries {
		facts := e.facts(t)
		if differs != nil {
			differs(e, facts)
		}
		text, err := json.Marshal(facts)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		for name, has := range got[i] {
			if is, ok := want[name]; !ok || !reflect.DeepEqual(has, is) {
				t.Errorf("entry %d, %s %s: its %s is %.300v, the HAR's %.300v", i, e.Request.Method, e.Request.URL, name, has, is)
			}
		}
	}
}
