package netlog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

// written waits until all lines are.
func written(t *testing.T, w *netlog.Writer) {
	t.Helper()
	wait(t, func() bool { return w.Stats().Queued == 0 })
}

func firstLine(t *testing.T, path string) *netlog.Line {
	t.Helper()
	line, _, _ := strings.Cut(content(t, path), "\n")
	l, err := netlog.ParseLine([]byte(line))
	if err != nil || l.Start == nil {
		t.Fatalf("%s begins with %q, %v", path, line, err)
	}
	return l
}

// A log that is deleted goes on in a new file, which lacks no line that was
// written later, whether something is written soon or not.
func TestDeleted(t *testing.T) {
	for _, maxBytes := range []int64{0, 1 << 20} {
		for _, idle := range []bool{false, true} {
			dir := t.TempDir()
			live := filepath.Join(dir, netlog.LiveName)
			w := rotating(t, dir, maxBytes, 0)
			exchange(w, "x")
			b := begin(w)
			written(t, w)
			if err := os.Remove(live); err != nil {
				t.Fatal(err)
			}
			if idle {
				wait(t, func() bool { return w.Stats().Renewed == 1 })
			}
			finish(w, b)
			exchange(w, "y")
			written(t, w)
			if _, err := netlog.OpenWriter(config(live)); !errors.Is(err, netlog.ErrLocked) {
				t.Errorf("a second writer gets %v", err)
			}
			closeWriter(t, w)
			if s := w.Stats(); s.Renewed != 1 || s.Gone {
				t.Errorf("%+v", s)
			}
			lines := netlogtest.ValidateWith(t, dir, netlogtest.Options{First: 4})
			if len(lines) != 4 || lines[0].Start == nil || len(lines[0].Start.Open) != 1 {
				t.Errorf("%d lines: %+v", len(lines), lines[0])
			}
		}
	}
}

// A log that is moved away goes on behind it.
func TestMovedAway(t *testing.T) {
	dir := t.TempDir()
	live, moved := filepath.Join(dir, netlog.LiveName), filepath.Join(dir, "network.jsonl.1")
	w := rotating(t, dir, 0, 0)
	b := begin(w)
	written(t, w)
	if err := os.Rename(live, moved); err != nil {
		t.Fatal(err)
	}
	exchange(w, "x")
	wait(t, func() bool { return w.Stats().Renewed == 1 })
	exchange(w, "y")
	finish(w, b)
	closeWriter(t, w)
	first := firstLine(t, live)
	if first.N != 5 || len(first.Start.Open) != 1 {
		t.Errorf("it begins with %+v", first.Start)
	}
	write(t, moved, content(t, moved)+content(t, live))
	netlogtest.Validate(t, moved)
}

// Another file that has the name meanwhile is left alone.
func TestAnotherInThePlace(t *testing.T) {
	dir := t.TempDir()
	live, moved := filepath.Join(dir, netlog.LiveName), filepath.Join(dir, "moved")
	w := rotating(t, dir, 0, 0)
	exchange(w, "x")
	written(t, w)
	if err := os.Rename(live, moved); err != nil {
		t.Fatal(err)
	}
	write(t, live, "mine\n")
	exchange(w, "y")
	wait(t, func() bool { return w.Stats().Gone })
	exchange(w, "z")
	if err := errors.Join(os.Rename(live, live+".mine"), os.Rename(moved, live)); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return !w.Stats().Gone })
	closeWriter(t, w)
	if got := content(t, live+".mine"); got != "mine\n" {
		t.Errorf("the other file is %q", got)
	}
	if lines := netlogtest.Validate(t, live); len(lines) < 7 {
		t.Errorf("%d lines", len(lines))
	}
}

// Where no new file can be made the log says so.
func TestFolderGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w := rotating(t, dir, 0, 0)
	exchange(w, "x")
	written(t, w)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return w.Stats().Gone })
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return !w.Stats().Gone })
	exchange(w, "y")
	closeWriter(t, w)
	netlogtest.ValidateWith(t, dir, netlogtest.Options{First: 3})
}

// Each file of a log that is cut again and again has the number of its first line.
func TestCutWhileRotating(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, netlog.LiveName)
	w := rotating(t, dir, 3000, 0)
	for i := range 20 {
		for range 2 + i%7 {
			exchange(w, "x")
			exchange(w, "y")
		}
		written(t, w)
		if err := os.Truncate(live, 0); err != nil {
			t.Fatal(err)
		}
	}
	closeWriter(t, w)
	_, numbers := names(t, dir)
	if len(numbers) < 2 {
		t.Errorf("the files are %d", numbers)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "network.*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range entries {
		if l := firstLine(t, path); filepath.Join(dir, fmt.Sprintf("network.%d.jsonl", l.N)) != path {
			t.Errorf("%s begins with line %d", path, l.N)
		}
	}
}

// A reader is told how many lines were deleted before it came.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	w := rotating(t, dir, 1000, 2)
	for range 50 {
		exchange(w, "x")
	}
	closeWriter(t, w)
	p, err := netlog.NewReader(dir).Follow(t.Context(), 3, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	l, err := netlog.ParseLine(p.Lines[0])
	if err != nil || p.Missing == 0 || p.Missing != l.N-4 || p.BegunAgain {
		t.Errorf("the page from line %d misses %d, %v", l.N, p.Missing, err)
	}
}
