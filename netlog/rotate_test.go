package netlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

// rotating is a writer of the log in dir whose files are that large.
func rotating(t testing.TB, dir string, maxBytes int64, maxFiles int) *netlog.Writer {
	t.Helper()
	c := config(filepath.Join(dir, netlog.LiveName))
	c.MaxBytes, c.MaxFiles = maxBytes, maxFiles
	w, err := netlog.OpenWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// names are those in dir, an older file as its number.
func names(t testing.TB, dir string) (list []string, numbers []int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		number := strings.TrimSuffix(strings.TrimPrefix(e.Name(), "network."), ".jsonl")
		if n, err := strconv.Atoi(number); err == nil {
			numbers = append(numbers, n)
		} else {
			list = append(list, e.Name())
		}
	}
	slices.Sort(numbers)
	return list, numbers
}

// A begun is an exchange that takes its time.
type begun struct {
	id int64
	at time.Time
}

func begin(w *netlog.Writer) begun {
	o := someOpen()
	o.Time = time.Now()
	return begun{w.Open(o), o.Time}
}

func finish(w *netlog.Writer, b begun) {
	e := someEnd("late")
	e.Time = time.Now()
	e.Timings = netlog.NoTimings(e.Time.Sub(b.at).Microseconds())
	w.End(b.id, e)
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	const limit, writers, each = 20_000, 8, 40
	w := rotating(t, dir, limit, 0)
	long := begin(w)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for range each {
				exchange(w, strings.Repeat("x", i*100))
			}
		})
	}
	wg.Wait()
	finish(w, long)
	closeWriter(t, w)

	rest, numbers := names(t, dir)
	if !slices.Equal(rest, []string{netlog.LiveName}) || len(numbers) < 3 {
		t.Fatalf("files: %q and %d", rest, numbers)
	}
	lines := netlogtest.Validate(t, dir)
	if got := int64(len(lines)); got != w.Stats().Last || got != int64(1+2*(1+writers*each)+len(numbers)) {
		t.Errorf("%d lines, the last is %d", got, w.Stats().Last)
	}
	for _, n := range numbers {
		path := filepath.Join(dir, fmt.Sprintf("network.%d.jsonl", n))
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first, err := netlog.ParseLine(content[:bytes.IndexByte(content, '\n')])
		if err != nil || first.Start == nil || first.N != int64(n) {
			t.Errorf("%s begins with %.100s: %v", path, content, err)
		}
		if len(content) < limit || content[len(content)-1] != '\n' {
			t.Errorf("%s has %d bytes", path, len(content))
		}
		if n > 1 && !slices.Contains(first.Start.Open, long.id) {
			t.Errorf("%s begins with %d open, and without %d", path, first.Start.Open, long.id)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v: %v", info, err)
		}
	}
}

// The live file stays locked, and its own.
func TestRotationKeepsTheLock(t *testing.T) {
	dir := t.TempDir()
	w := rotating(t, dir, 1000, 0)
	for {
		exchange(w, "x")
		if _, numbers := names(t, dir); len(numbers) > 2 {
			break
		}
	}
	if _, err := netlog.OpenWriter(config(filepath.Join(dir, netlog.LiveName))); !errors.Is(err, netlog.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	closeWriter(t, w)
	w = rotating(t, dir, 1000, 0)
	exchange(w, "x")
	closeWriter(t, w)
	netlogtest.Validate(t, dir)
}

func TestRotationDeletesTheOldest(t *testing.T) {
	for _, most := range []int{1, 3} {
		dir := t.TempDir()
		w := rotating(t, dir, 1000, most)
		var open []begun
		for range 5 {
			open = append(open, begin(w))
		}
		for range 100 {
			exchange(w, "x")
		}
		for _, b := range open {
			finish(w, b)
		}
		closeWriter(t, w)
		rest, numbers := names(t, dir)
		if len(rest) != 1 || len(numbers) != most-1 {
			t.Errorf("at most %d files: %q and %d", most, rest, numbers)
		}
		log, err := netlog.OpenLog(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := log.Scan()
		s.Next()
		first := s.Head().N
		log.Close()
		lines := netlogtest.ValidateWith(t, dir, netlogtest.Options{First: first})
		if last := lines[len(lines)-1].N; last != w.Stats().Last {
			t.Errorf("the last line is %d, want %d", last, w.Stats().Last)
		}
	}
}

// A reader that follows sees each line once and in order, and whoever opens the
// log finds one, whenever that is.
func TestReadWhileRotating(t *testing.T) {
	dir := t.TempDir()
	const count = 600
	w := rotating(t, dir, 3000, 0)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range count {
			exchange(w, strings.Repeat("x", 50))
		}
		closeWriter(t, w)
	})
	stop := make(chan struct{})
	var opens sync.WaitGroup
	opens.Go(func() {
		for last := int64(0); ; {
			select {
			case <-stop:
				return
			default:
			}
			log, err := netlog.OpenLog(dir)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			n := int64(0)
			for s := log.Scan(); s.Next(); n++ {
				if s.Head().N != n+1 {
					t.Errorf("line %d stands at %d", s.Head().N, n+1)
				}
			}
			log.Close()
			if n < last {
				t.Errorf("%d lines, there were %d", n, last)
			}
			last = n
		}
	})
	r := netlog.NewReader(dir)
	after := int64(0)
	for after < 2*count+1 {
		p, err := r.Follow(t.Context(), after, 4000)
		if err != nil {
			t.Fatal(err)
		}
		if p.BegunAgain || p.Unreadable > 0 {
			t.Fatalf("after %d: %+v", after, p)
		}
		for _, b := range p.Lines {
			l, err := netlog.ParseLine(b)
			if err != nil || l.N != after+1 {
				t.Fatalf("after %d: %s: %v", after, b, err)
			}
			after = l.N
		}
	}
	wg.Wait()
	close(stop)
	opens.Wait()
	netlogtest.Validate(t, dir)
}

// What a crash leaves at each step of a turn is the whole log, and is put in order
// by the next process.
func TestCrashWhileRotating(t *testing.T) {
	for name, crash := range map[string]func(live string){
		"the next file is made": func(live string) { write(t, filepath.Join(filepath.Dir(live), ".network.jsonl.next"), "") },
		"its start line is cut": func(live string) { write(t, filepath.Join(filepath.Dir(live), ".network.jsonl.next"), `{"n":1`) },
		"there are two names":   func(live string) { link(t, live, filepath.Join(filepath.Dir(live), "network.1.jsonl")) },
		"both": func(live string) {
			write(t, filepath.Join(filepath.Dir(live), ".network.jsonl.next"), "x")
			link(t, live, filepath.Join(filepath.Dir(live), "network.1.jsonl"))
		},
		"the test's link": func(live string) { link(t, live, filepath.Join(filepath.Dir(live), ".network.jsonl.next")) },
	} {
		for _, limit := range []int64{0, 1000} {
			t.Run(fmt.Sprint(name, " limit ", limit), func(t *testing.T) {
				dir := t.TempDir()
				live := filepath.Join(dir, netlog.LiveName)
				w := openWriter(t, live)
				exchange(w, "x")
				closeWriter(t, w)
				crash(live)
				if lines := netlogtest.Validate(t, dir); len(lines) != 3 {
					t.Errorf("%d lines", len(lines))
				}
				w = rotating(t, dir, limit, 0)
				for range 10 {
					exchange(w, "y")
				}
				closeWriter(t, w)
				rest, numbers := names(t, dir)
				if !slices.Equal(rest, []string{netlog.LiveName}) || limit == 0 && len(numbers) > 0 {
					t.Errorf("files: %q and %d", rest, numbers)
				}
				lines := netlogtest.Validate(t, dir)
				if last := lines[len(lines)-1].N; last != w.Stats().Last || w.Stats().Last < 24 {
					t.Errorf("the last line is %d, want %d", last, w.Stats().Last)
				}
			})
		}
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const rotatingChild = "NETLOG_TEST_ROTATING_CHILD"

// TestKillWhileRotating kills a process that does little else than to rotate.
func TestKillWhileRotating(t *testing.T) {
	if dir := os.Getenv(rotatingChild); dir != "" {
		w := rotating(t, dir, 1000, 0)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					exchange(w, strings.Repeat("x", (i*n)%700))
				}
			})
		}
		wg.Wait()
	}
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		_, before := names(t, dir)
		var out bytes.Buffer
		cmd := exec.Command(exe, "-test.run=^TestKillWhileRotating$")
		cmd.Env = append(os.Environ(), rotatingChild+"="+dir)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait() })
		t.Cleanup(kill)
		wait(t, func() bool {
			_, now := names(t, dir)
			return len(now) > len(before)+3
		})
		kill()
	}
	w := rotating(t, dir, 0, 0)
	wait(t, func() bool { return w.Stats().Lines > 0 })
	closeWriter(t, w)
	log, err := netlog.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := log.Scan()
	for s.Next() {
	}
	cut := s.Unreadable()
	log.Close()
	if cut > 8 {
		t.Errorf("%d lines are cut, by 8 kills", cut)
	}
	netlogtest.ValidateWith(t, dir, netlogtest.Options{Unreadable: cut, Live: true})
}

// A folder in which a log can't be rotated is refused before anything is written.
func TestRotationIsRefused(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, netlog.LiveName)
	w := openWriter(t, live)
	closeWriter(t, w)
	before := content(t, live)
	if err := os.MkdirAll(filepath.Join(dir, ".network.jsonl.next", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := config(live)
	c.MaxBytes = 1000
	if w, err := netlog.OpenWriter(c); err == nil || !strings.Contains(err.Error(), live) {
		w.Close()
		t.Errorf("the error is %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".network.jsonl.next")); err != nil {
		t.Fatal(err)
	}
	if after := content(t, live); after != before {
		t.Errorf("the log was\n%s\nand is\n%s", before, after)
	}
	w = openWriter(t, live)
	closeWriter(t, w)
}

// A turn that fails costs nothing but the turn.
func TestRotationThatFails(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, netlog.LiveName)
	var said bytes.Buffer
	c := config(live)
	c.MaxBytes = 1000
	c.Logger = slog.New(slog.NewTextHandler(&said, nil))
	w, err := netlog.OpenWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "network.1.jsonl"), "somebody else's\n")
	for range 20 {
		exchange(w, "x")
	}
	closeWriter(t, w)
	if strings.Count(said.String(), "can't be rotated") != 1 {
		t.Errorf("it said %q", said.String())
	}
	if err := os.Remove(filepath.Join(dir, "network.1.jsonl")); err != nil {
		t.Fatal(err)
	}
	if rest, numbers := names(t, dir); len(rest) != 1 || len(numbers) != 0 {
		t.Errorf("files: %q and %d", rest, numbers)
	}
	starts, unrotated := 0, 0
	lines := netlogtest.Validate(t, dir)
	for _, l := range lines {
		switch l.Event {
		case netlog.EventStart:
			starts++
		case netlog.EventUnrotated:
			unrotated++
		}
	}
	if starts != 1 || unrotated < 2 || len(lines) != 41+unrotated {
		t.Errorf("%d lines, %d of them of a start and %d unrotated", len(lines), starts, unrotated)
	}
}
