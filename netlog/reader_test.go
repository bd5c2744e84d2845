package netlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tunnelLine is the line n of a log that began at the hour.
func tunnelLine(n int64, hour, length int) string {
	t := time.Date(2026, 1, 1, hour, 0, 0, int(n)*1000, time.UTC)
	l := &Line{Head: Head{N: n, Event: EventOpen, ID: n, Time: t}, Open: someOpen()}
	if n == 1 {
		l = &Line{Head: Head{N: 1, Event: EventStart, Time: t}, Start: &Start{}}
	} else {
		l.Open.Site = strings.Repeat("s", length)
	}
	b, _ := AppendLine(nil, l)
	return string(b)
}

func tunnelLines(first, last int64, hour int) string {
	var b strings.Builder
	for n := first; n <= last; n++ {
		b.WriteString(tunnelLine(n, hour, 0))
	}
	return b.String()
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, path, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
}

// brief is a page without its lines' contents.
func brief(p *Page) string {
	var numbers []int64
	for _, b := range p.Lines {
		h, _, ok := parseHead(b)
		if !ok || b[len(b)-1] == '\n' {
			return fmt.Sprintf("not a line: %q", b)
		}
		numbers = append(numbers, h.N)
	}
	s := fmt.Sprint(numbers, " next ", p.Next)
	if p.More {
		s += " more"
	}
	if p.BegunAgain {
		s += " begun again"
	}
	if p.Unreadable > 0 {
		s += fmt.Sprint(" unreadable ", p.Unreadable)
	}
	if p.Missing > 0 {
		s += fmt.Sprint(" missing ", p.Missing)
	}
	return s
}

func checkPage(t *testing.T, r *Reader, after int64, limit int, want string) {
	t.Helper()
	p, err := r.Page(after, limit)
	if err != nil {
		t.Errorf("after %d: %v", after, err)
	} else if got := brief(p); got != want {
		t.Errorf("after %d: %s\nwant %s", after, got, want)
	}
}

func TestPage(t *testing.T) {
	one := len(tunnelLine(2, 0, 0))
	start := len(tunnelLine(1, 0, 0))
	cut := tunnelLine(4, 0, 0)
	for _, c := range []struct {
		name, log string
		after     int64
		limit     int
		want      string
	}{
		{"empty", "", 0, 100, "[] next 0"},
		{"empty, after a number", "", 7, 100, "[] next 7"},
		{"all", tunnelLines(1, 3, 0), 0, 1 << 20, "[1 2 3] next 3"},
		{"the rest", tunnelLines(1, 3, 0), 1, 1 << 20, "[2 3] next 3"},
		{"none", tunnelLines(1, 3, 0), 3, 1 << 20, "[] next 3"},
		{"exactly the limit", tunnelLines(1, 3, 0), 1, 2 * one, "[2 3] next 3"},
		{"a byte less", tunnelLines(1, 3, 0), 1, 2*one - 1, "[2] next 2 more"},
		{"one at least", tunnelLines(1, 3, 0), 0, 0, "[1] next 1 more"},
		{"a long one", tunnelLine(1, 0, 0) + tunnelLine(2, 0, 1<<20) + tunnelLine(3, 0, 0), 1, 10, "[2] next 2 more"},
		{"partial last line", tunnelLines(1, 2, 0) + cut[:20], 0, 1 << 20, "[1 2] next 2"},
		{"last line but for its newline", tunnelLines(1, 2, 0) + cut[:len(cut)-1], 1, 1 << 20, "[2] next 2"},
		{"unreadable", tunnelLine(1, 0, 0) + "x\n\n{}\n" + tunnelLine(2, 0, 0), 0, 1 << 20, "[1 2] next 2 unreadable 3"},
		{"unreadable, behind the one asked for", tunnelLine(1, 0, 0) + "x\n" + tunnelLine(2, 0, 0), 1, 1 << 20, "[2] next 2 unreadable 1"},
		{"unreadable, behind the limit", tunnelLine(1, 0, 0) + "x\n" + tunnelLine(2, 0, 0), 0, start, "[1] next 1 more"},
		{"unreadable, at the end", tunnelLines(1, 2, 0) + "x\n", 1, 1 << 20, "[2] next 2 unreadable 1"},
		{"not JSON behind its head", tunnelLines(1, 2, 0) + strings.Replace(tunnelLine(3, 0, 0), "kind", "ki\"nd", 1) + tunnelLine(4, 0, 0), 1, 1 << 20, "[2 4] next 4 unreadable 1 missing 1"},
		{"cut where it looks whole", tunnelLines(1, 3, 0) + cut[:strings.Index(cut, ",\"kind")] + "}\n" + cut, 2, 1 << 20, "[3 4] next 4 unreadable 1"},
		{"begun again", tunnelLines(1, 3, 0), 4, 1 << 20, "[1 2 3] next 3 begun again"},
		{"begun again, in pages", tunnelLines(1, 3, 0), 400, start, "[1] next 1 more begun again"},
		{"no such number", tunnelLines(1, 2, 0) + tunnelLines(5, 6, 0), 3, 1 << 20, "[5 6] next 6 missing 1"},
		{"an unknown event", tunnelLine(1, 0, 0) + `{"n":2,"event":"dns","id":2,"t":"2026-01-01T00:00:00.000000Z","x":[{}]}` + "\n", 1, 1 << 20, "[2] next 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), LiveName)
			write(t, path, c.log)
			checkPage(t, NewReader(path), c.after, c.limit, c.want)
			checkPage(t, NewReader(filepath.Dir(path)), c.after, c.limit, c.want)
		})
	}
}

func TestPageOfAnotherLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, LiveName)
	const all = 1 << 20
	r := NewReader(path)
	checkPage(t, r, 0, all, "[] next 0") // there is none yet
	write(t, path, tunnelLines(1, 3, 0))
	checkPage(t, r, 0, all, "[1 2 3] next 3")

	// Another log in its place, longer than what was read.
	write(t, path+".new", tunnelLines(1, 5, 1))
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	checkPage(t, r, 3, all, "[1 2 3 4 5] next 5 begun again")
	checkPage(t, r, 5, all, "[] next 5")

	// The same file, cut and begun again.
	write(t, path, tunnelLines(1, 9, 2))
	checkPage(t, r, 5, all, "[1 2 3 4 5 6 7 8 9] next 9 begun again")

	// Cut to nothing, and its writer goes on.
	write(t, path, "")
	checkPage(t, r, 9, all, "[] next 9")
	appendTo(t, path, tunnelLines(10, 11, 2))
	checkPage(t, r, 9, all, "[10 11] next 11")

	// Rotated: the live file is another one.
	if err := os.Rename(path, filepath.Join(dir, "network.10.jsonl")); err != nil {
		t.Fatal(err)
	}
	write(t, path, tunnelLines(12, 13, 2))
	checkPage(t, r, 10, all, "[11 12 13] next 13")
	checkPage(t, r, 0, all, "[10 11 12 13] next 13 missing 9")
	checkPage(t, r, 12, all, "[13] next 13")

	// Rotated twice, the file that was read is gone.
	if err := errors.Join(os.Remove(filepath.Join(dir, "network.10.jsonl")), os.Rename(path, filepath.Join(dir, "network.12.jsonl"))); err != nil {
		t.Fatal(err)
	}
	write(t, path, tunnelLines(14, 14, 2))
	checkPage(t, r, 10, all, "[12 13 14] next 14 missing 1")

	// A reader that has seen nothing can still tell by the numbers.
	checkPage(t, NewReader(path), 15, all, "[12 13 14] next 14 begun again missing 11")
}

// TestSeek compares bisection with a scan, at every number of logs of all kinds.
func TestSeek(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	junk := func() string { return strings.Repeat("x", random.IntN(3000)) + "\n" }
	none := func() string { return "" }
	sometimes := func() string {
		if random.IntN(4) == 0 {
			return junk()
		}
		return ""
	}
	for _, c := range []struct {
		name   string
		lines  int64
		length func() int
		before func() string // what stands before a line
		tail   string
	}{
		{"no line", 0, func() int { return 0 }, none, ""},
		{"only a partial line", 0, func() int { return 0 }, none, `{"n":1,"ev`},
		{"only unreadable lines", 0, func() int { return 0 }, none, "x\n\n"},
		{"one line", 1, func() int { return 0 }, none, ""},
		{"one line and a partial one", 1, func() int { return 0 }, none, tunnelLine(2, 0, 9)[:150]},
		{"short lines", 1000, func() int { return random.IntN(50) }, none, ""},
		{"short lines, others between", 500, func() int { return random.IntN(50) }, sometimes, "junk\n"},
		{"long lines", 60, func() int { return random.IntN(200_000) }, none, ""},
		{"lines of all kinds", 200, func() int { return 1 << random.IntN(18) }, sometimes, tunnelLine(201, 0, 100_000)[:90_000]},
		{"one long line among short ones", 100, func() int {
			if random.IntN(50) == 0 {
				return 1 << 20
			}
			return 10
		}, none, ""},
		{"cut lines", 300, func() int { return 200 }, func() string { return "cut" }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for n := int64(1); n <= c.lines; n++ {
				line := tunnelLine(n, 0, c.length())
				if before := c.before(); before != "cut" {
					b.WriteString(before)
				} else if n > 1 && n%3 == 0 { // its number is given again
					b.WriteString(line[:random.IntN(len(line)-1)] + "\n")
				}
				b.WriteString(line)
			}
			b.WriteString(c.tail)
			path := filepath.Join(t.TempDir(), LiveName)
			write(t, path, b.String())
			log, err := OpenLog(path)
			if errors.Is(err, ErrNotLog) {
				log, err = openSet(path)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			behind := places(t, log)
			for n := int64(0); n <= c.lines+2; n++ {
				want := behind[min(n, c.lines)]
				if got, err := log.seek(n); got != want || err != nil {
					t.Fatalf("after %d: %+v, want %+v, %v", n, got, want, err)
				}
				if n == 0 || n > c.lines {
					continue
				}
				if got, err := log.bisect(0, n); got != want || err != nil {
					t.Fatalf("after %d: bisection finds %+v, want %+v, %v", n, got, want, err)
				}
				if n%97 == 1 {
					if got, err := log.seekSlowly(n); got != want || err != nil {
						t.Fatalf("after %d: a scan finds %+v, want %+v, %v", n, got, want, err)
					}
				}
			}
		})
	}
}

// places is where the lines after each number begin, by one scan.
func places(t *testing.T, log *Log) []place {
	t.Helper()
	list := []place{{}}
	s := log.Scan()
	for s.Next() {
		pos, h := s.Pos(), s.Head()
		p := place{int(pos.File), pos.Offset + int64(pos.Length) + 1, h.N}
		for int64(len(list)) < h.N { // a number without a line
			list = append(list, list[len(list)-1])
		}
		list = append(list, p)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return list
}

// TestSeekInASet has a log of several files, one of them empty.
func TestSeekInASet(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "network.1.jsonl"), tunnelLines(1, 40, 0))
	write(t, filepath.Join(dir, "network.41.jsonl"), "")
	write(t, filepath.Join(dir, "network.100.jsonl"), tunnelLines(100, 120, 0)+"partial")
	write(t, filepath.Join(dir, "network.9.jsonl.gz"), "something else")
	write(t, filepath.Join(dir, "network.041.jsonl"), "something else")
	write(t, filepath.Join(dir, "network.x.jsonl"), "something else")
	write(t, filepath.Join(dir, LiveName), tunnelLines(121, 130, 0))
	log, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var numbers []int64
	s := log.Scan()
	for s.Next() {
		numbers = append(numbers, s.Head().N)
		b, err := log.ReadLine(s.Pos(), nil)
		if err != nil || string(b)+"\n" != tunnelLine(s.Head().N, 0, 0) {
			t.Errorf("line %d is %q, %v", s.Head().N, b, err)
		}
	}
	if len(numbers) != 71 || numbers[40] != 100 || numbers[70] != 130 || s.Unreadable() != 1 {
		t.Errorf("the lines are %d, %d unreadable", numbers, s.Unreadable())
	}
	for n, want := range places(t, log) {
		if got, err := log.seek(int64(n)); got != want || err != nil {
			t.Errorf("after %d: %+v, want %+v, %v", n, got, want, err)
		}
	}
}

func TestScanner(t *testing.T) {
	two := tunnelLine(2, 0, 0)
	looksWhole := two[:strings.Index(two, ",\"kind")] + "}\n"
	for _, c := range []struct {
		name, log  string
		numbers    string
		unreadable int64
	}{
		{"empty", "", "[]", 0},
		{"whole", tunnelLines(1, 3, 0), "[1 2 3]", 0},
		{"a number twice", tunnelLines(1, 2, 0) + two, "[1 2]", 1},
		{"partial", tunnelLines(1, 2, 0) + tunnelLine(3, 0, 0)[:120], "[1 2]", 0},
		{"looks whole", tunnelLine(1, 0, 0) + looksWhole + two, "[1 2]", 1},
		{"looks whole, and another cut one", tunnelLine(1, 0, 0) + looksWhole + two[:30] + "\n" + two, "[1 2]", 2},
		{"ends in no brace", tunnelLine(1, 0, 0) + two[:len(two)-2] + "\n" + two, "[1 2]", 1},
		{"a carriage return", tunnelLine(1, 0, 0) + strings.TrimSuffix(two, "\n") + "\r\n", "[1]", 1},
		{"zeros", tunnelLine(1, 0, 0) + strings.Repeat("\x00", 5000) + "\n" + two, "[1 2]", 1},
		{"only a newline", tunnelLine(1, 0, 0) + "\n" + two, "[1 2]", 1},
		{"long", tunnelLine(1, 0, 0) + tunnelLine(2, 0, 300_000) + tunnelLine(3, 0, 65_000) + tunnelLine(4, 0, 65_536), "[1 2 3 4]", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), LiveName)
			write(t, path, c.log)
			log, err := OpenLog(path)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			numbers := []int64{}
			s := log.Scan()
			for s.Next() {
				numbers = append(numbers, s.Head().N)
				b, err := log.ReadLine(s.Pos(), nil)
				if err != nil {
					t.Fatal(err)
				}
				l, err := ParseLine(b)
				if err != nil || l.Head != s.Head() {
					t.Errorf("the head is %+v, the line %q, %v", s.Head(), b, err)
				}
			}
			if got := fmt.Sprint(numbers); got != c.numbers || s.Unreadable() != c.unreadable || s.Err() != nil {
				t.Errorf("lines %s, %d unreadable, %v; want %s, %d", got, s.Unreadable(), s.Err(), c.numbers, c.unreadable)
			}
			if s.Next() {
				t.Error("there is a line behind the end")
			}
		})
	}
}

func TestOpenLogRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenLog(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder gives %v", err)
	}
	path := filepath.Join(dir, LiveName)
	if _, err := OpenLog(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file gives %v", err)
	}
	write(t, path, "no log\n")
	if _, err := OpenLog(path); !errors.Is(err, ErrNotLog) {
		t.Errorf("another file gives %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(pipe); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a named pipe gives %v", err)
	}
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), LiveName)
	r := NewReader(path)
	next := make(chan string)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(next)
		after := int64(0)
		for {
			p, err := r.Follow(ctx, after, 1<<20)
			if err != nil {
				next <- err.Error() + ": " + brief(p)
				return
			}
			after = p.Next
			next <- brief(p)
		}
	}()
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { write(t, path, tunnelLine(1, 0, 0)) }, "[1] next 1"},
		{func() { appendTo(t, path, tunnelLine(2, 0, 0)+"{") }, "[2] next 2"},
		{func() { appendTo(t, path, "\n"+tunnelLine(3, 0, 0)) }, "[3] next 3 unreadable 1"},
		{func() {
			write(t, path+".new", tunnelLines(1, 4, 1))
			if err := os.Rename(path+".new", path); err != nil {
				t.Error(err)
			}
		}, "[1 2 3 4] next 4 begun again"},
		{func() {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
			write(t, path+".new", tunnelLines(1, 2, 2))
			if err := os.Rename(path+".new", path); err != nil {
				t.Error(err)
			}
		}, "[1 2] next 2 begun again"},
		{cancel, "context canceled: [] next 2"},
	} {
		step.do()
		if got := <-next; got != step.want {
			t.Errorf("followed %s, want %s", got, step.want)
		}
	}
}

// A log that is written anew in its place is begun again once, whenever it is
// looked at meanwhile.
func TestFollowALogWrittenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), LiveName)
	write(t, path, tunnelLines(1, 3, 0))
	r := NewReader(path)
	next := make(chan string)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(next)
		after := int64(3)
		for {
			p, err := r.Follow(ctx, after, 1<<20)
			if err != nil {
				return
			}
			after = p.Next
			next <- brief(p)
		}
	}()
	for round := 1; round <= 150; round++ {
		write(t, path, tunnelLines(1, 2, round))
		again := <-next
		appendTo(t, path, tunnelLine(3, round, 0))
		if more := <-next; again != "[1 2] next 2 begun again" || more != "[3] next 3" {
			t.Fatalf("round %d: %s, then %s", round, again, more)
		}
	}
	cancel()
	for range next {
	}
}

// TestReadingIsFlat reads a long line without holding it.
func TestReadingIsFlat(t *testing.T) {
	path := filepath.Join(t.TempDir(), LiveName)
	write(t, path, tunnelLine(1, 0, 0)+tunnelLine(2, 0, 8<<20)+tunnelLine(3, 0, 0))
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := log.Scan()
	for s.Next() {
	}
	_, err = log.seek(2)
	runtime.ReadMemStats(&after)
	if err != nil || s.Err() != nil {
		t.Fatal(err, s.Err())
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("a scan and a seek take %d bytes of memory, the line is of 8 MiB", got)
	}
}

func TestReadLineBeyondTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), LiveName)
	write(t, path, tunnelLines(1, 2, 0))
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, p := range []Pos{{File: 1}, {File: -1}, {Length: -1}, {Offset: 1 << 40, Length: 1}, {Length: 1 << 20}} {
		if b, err := log.ReadLine(p, nil); err == nil {
			t.Errorf("at %+v is %d bytes", p, len(b))
		}
	}
	buf := make([]byte, 0, 1000)
	b, err := log.ReadLine(Pos{Length: 5}, buf)
	if err != nil || string(b) != `{"n":` || !bytes.Equal(buf[:5], b) {
		t.Errorf("read %q, %v", b, err)
	}
}
