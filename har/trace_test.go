package har

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// unzip gives a ZIP's members by name.
func unzip(t testing.TB, b []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name] != nil {
			t.Errorf("%s is there twice", f.Name)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// The lines of a trace's network are the HAR's entries, with what a viewer needs
// of the answers' bodies and of the time.
func TestTrace(t *testing.T) {
	f := newFixture(t)
	every(f)
	f.exchange(get("https://shop.example/again"), ok("image/png", []byte("\x89PNG\r\n\x1a\n"))) // another entry has it too
	log := f.log()
	var out, again bytes.Buffer
	stats, err := Convert(log, &out, Options{Format: Trace, Title: "network.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Convert(log, &again, Options{Format: Trace, Title: "network.jsonl"}); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("the same log gave other bytes, %v", err)
	}
	want, wantStats := entriesOf(t, log, Options{})
	if stats != wantStats {
		t.Errorf("stats %+v, want %+v", stats, wantStats)
	}
	files := unzip(t, out.Bytes())
	lines := strings.Split(strings.TrimSuffix(string(files["trace.network"]), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines for %d entries", len(lines), len(want))
	}
	resources := map[string]bool{}
	for i, line := range lines {
		var event struct {
			Type     string
			Snapshot *Entry
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&event); err != nil || event.Type != "resource-snapshot" {
			t.Fatalf("line %d: %v, type %q", i+1, err, event.Type)
		}
		e := event.Snapshot
		began, err := time.Parse(time.RFC3339, e.StartedDateTime)
		if err != nil || int64(e.MonotonicTime) != began.UnixMicro() || e.Pageref != "page_1" {
			t.Errorf("line %d: _monotonicTime %d, begun %s, page %q", i+1, e.MonotonicTime, e.StartedDateTime, e.Pageref)
		}
		if body := answerBytes(&e.Response.Content); len(body) > 0 {
			sum := sha1.Sum(body)
			name := "resources/" + hex.EncodeToString(sum[:])
			if name != "resources/"+e.Response.Content.SHA1 || !bytes.Equal(files[name], body) {
				t.Errorf("line %d: %s has %q, want %q", i+1, name, files[name], body)
			}
			resources[name] = true
		} else if e.Response.Content.SHA1 != "" {
			t.Errorf("line %d: a resource of nothing", i+1)
		}
		e.MonotonicTime, e.Response.Content.SHA1, e.Pageref = 0, "", ""
		if !sameEntry(t, e, want[i]) {
			t.Errorf("line %d differs from the HAR's entry", i+1)
		}
	}
	if len(files) != len(resources)+2 {
		t.Errorf("%d files for %d resources", len(files), len(resources))
	}
	if name := "resources/" + hash(want[len(want)-1]); string(files[name]) != "\x89PNG\r\n\x1a\n" {
		t.Errorf("an image's resource is %q", files[name])
	}

	// A viewer opens the first file, of which the first line has to tell the format.
	contextLines := strings.Split(strings.TrimSuffix(string(files["trace.trace"]), "\n"), "\n")
	var first struct {
		Type, Title             string
		Version                 int
		WallTime, MonotonicTime float64
		Options                 map[string]any
	}
	if err := json.Unmarshal([]byte(contextLines[0]), &first); err != nil || len(contextLines) != 3 {
		t.Fatalf("%d lines, %v", len(contextLines), err)
	}
	if first.Type != "context-options" || first.Version != 7 || first.Title != "network.jsonl" || first.WallTime != float64(time0.Add(2*1234*time.Microsecond).UnixMilli()) ||
		first.MonotonicTime != first.WallTime || first.Options == nil {
		t.Errorf("the context: %+v", first)
	}
	for _, line := range append(contextLines, lines...) {
		if strings.Contains(line, "null") || strings.ContainsFunc(line, func(r rune) bool { return r > 0x7e || r < ' ' }) {
			t.Errorf("null, or no ASCII: %.200s", line)
		}
	}
}

func hash(e *Entry) string {
	sum := sha1.Sum(answerBytes(&e.Response.Content))
	return hex.EncodeToString(sum[:])
}

func TestTraceOfNothing(t *testing.T) {
	f := newFixture(t)
	var out bytes.Buffer
	if _, err := Convert(f.log(), &out, Options{Format: Trace}); err != nil {
		t.Fatal(err)
	}
	files := unzip(t, out.Bytes())
	if len(files) != 2 || len(files["trace.network"]) != 0 || !bytes.HasPrefix(files["trace.trace"], []byte(`{"type":"context-options",`)) {
		t.Errorf("%d files, %q", len(files), files["trace.trace"])
	}
}

func TestGzip(t *testing.T) {
	f := newFixture(t)
	every(f)
	log := f.log()
	var plain, packed bytes.Buffer
	if _, err := Convert(log, &plain, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Convert(log, &packed, Options{Format: Gzip}); err != nil {
		t.Fatal(err)
	}
	if packed.Len() >= plain.Len() {
		t.Errorf("%d bytes of %d", packed.Len(), plain.Len())
	}
	for _, b := range []*bytes.Buffer{&packed, bytes.NewBuffer(bytes.Clone(plain.Bytes()))} {
		r, err := Unpack(b)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain.Bytes()) {
			t.Errorf("got %d bytes back, want %d: %v", len(got), plain.Len(), err)
		}
	}
	for _, in := range []string{"", "\x1f", "{"} {
		r, err := Unpack(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != in {
			t.Errorf("%q became %q, %v", in, got, err)
		}
	}
	if _, err := Unpack(strings.NewReader("\x1f\x8bnonsense")); err == nil {
		t.Error("nonsense was unpacked")
	}
}
