package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log that is not there any more is not said to be kept.
func TestWriteRecordHints(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.jsonl")
	if err := os.WriteFile(broken, []byte("Milk, bread.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "gone.jsonl"): "something removed the log",
		broken:                           "the log is kept",
	} {
		err := writeRecord(target{path: filepath.Join(dir, "x.har")}, path, "x.har", io.Discard)
		var f *failure
		if !errors.As(err, &f) || !strings.HasPrefix(f.hint, want) {
			t.Errorf("%s: %#v, want the hint %q", path, err, want)
		}
	}
}
