package netlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeFile is written to in memory, as far as its limit allows.
type fakeFile struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	room   int           // bytes until the disk is full; negative: no limit
	hang   chan struct{} // a write waits until it is closed; nil: none does
	syncs  int
	slow   chan struct{} // an fsync waits until it is closed; nil: none does
	unsafe error         // what an fsync gives
	closed bool
}

func (f *fakeFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	hang := f.hang
	f.mu.Unlock()
	if hang != nil {
		<-hang
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room >= 0 && len(p) > f.room {
		n, _ := f.buf.Write(p[:f.room])
		f.room = 0
		return n, syscall.ENOSPC
	}
	if f.room >= 0 {
		f.room -= len(p)
	}
	return f.buf.Write(p)
}

func (f *fakeFile) Sync() error {
	f.mu.Lock()
	f.syncs++
	slow := f.slow
	f.mu.Unlock()
	if slow != nil {
		<-slow
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unsafe
}

func (f *fakeFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

func (f *fakeFile) free(room int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room = room
}

func (f *fakeFile) synced() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.syncs
}

// lines parses what was written, all of it.
func (f *fakeFile) lines(t *testing.T) []*Line {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*Line
	for raw := range bytes.Lines(f.buf.Bytes()) {
		l, err := ParseLine(raw)
		if err != nil || raw[len(raw)-1] != '\n' {
			t.Fatalf("%v: %q", err, raw)
		}
		if want := int64(len(list) + 1); l.N != want {
			t.Errorf("line %d has the number %d", want, l.N)
		}
		list = append(list, l)
	}
	return list
}

// outline is each line's event and id, and what stands out.
func outline(list []*Line) string {
	var s []string
	for _, l := range list {
		o := string(l.Event)
		if l.ID != 0 {
			o += fmt.Sprint(" ", l.ID)
		}
		if l.Lost != 0 {
			o += fmt.Sprint(" lost=", l.Lost)
		}
		if l.End != nil && l.End.Failed != nil {
			o += fmt.Sprintf(" %s/%s", l.End.Failed.Phase, l.End.Failed.Code)
		}
		s = append(s, o)
	}
	return strings.Join(s, ", ")
}

// A reports counts what is logged.
type reports struct {
	mu   sync.Mutex
	list []string
}

func (r *reports) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key != slog.MessageKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (r *reports) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, strings.TrimSpace(string(p)))
	return len(p), nil
}

func (r *reports) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.list, "\n")
}

func someOpen() *Open {
	return &Open{Kind: KindTunnel, Via: ViaTunnel, Client: "127.0.0.1:1", Target: "a.test:443"}
}

func someEnd(size int) *End {
	return &End{Timings: NoTimings(0), Response: &Response{Status: 200, Body: &Body{Size: int64(size), Kept: Bytes(make([]byte, size))}}}
}

func newTestWriter(c WriterConfig, f file) *Writer {
	w := newWriter(c, f, 1)
	w.begin(c, "")
	return w
}

func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeFile{room: -1, hang: make(chan struct{})}
		var heard reports
		w := newTestWriter(WriterConfig{QueueBytes: 32 << 10, Stall: 5 * time.Second, Logger: heard.logger()}, f)
		late, socket := w.Open(someOpen()), w.Open(someOpen())
		last := w.Open(someOpen())
		w.End(w.Open(someOpen()), someEnd(32<<10)) // fills the queue, once it is alone there
		if got := w.Stats(); got.Queued < 32<<10 && got.Lost+got.Cut == 0 {
			t.Fatalf("the queue is not full: %+v", got)
		}

		begun := time.Now()
		if id := w.Open(someOpen()); id != 0 {
			t.Errorf("a line was taken in a stall, as %d", id)
		}
		w.Answer(last, &Answer{Response: &Response{Status: 200}})
		w.Message(socket, &Message{Dir: "send", Opcode: 1, Text: new("x")})
		w.End(late, someEnd(1))
		w.End(0, someEnd(1))
		if took := time.Since(begun); took > 0 {
			t.Errorf("lines waited for %v in a stall", took)
		}
		if !w.Stats().Stalled {
			t.Error("it is no stall")
		}

		close(f.hang)
		synctest.Wait()
		if w.Stats().Stalled {
			t.Error("the stall does not end")
		}
		w.Message(socket, &Message{Dir: "send", Opcode: 1, Text: new("y")})
		w.End(socket, someEnd(1))
		w.End(last, someEnd(1))
		w.End(w.Open(someOpen()), someEnd(1))
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		want := "start, open 2, open 3, open 4, open 5, end 5 lost=1 proxy/lost, end 3 proxy/lost, end 2 proxy/lost, end 4, open 10, end 10"
		if got := outline(f.lines(t)); got != want {
			t.Errorf("the log is\n%s\nwant\n%s", got, want)
		}
		if s := w.Stats(); s.Lost != 1 || s.Cut != 3 {
			t.Errorf("%d exchanges without lines and %d without their ends, want 1 and 3", s.Lost, s.Cut)
		}
		if want := "can't be written: exchanges go without lines"; strings.Count(heard.String(), want) != 1 {
			t.Errorf("reports:\n%s\nwant one %q", &heard, want)
		}
	})
}

// TestStallNeedsTime checks that a slow disk is none that hangs.
func TestStallNeedsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeFile{room: 0}
		w := newTestWriter(WriterConfig{QueueBytes: 8 << 10, Stall: 5 * time.Second}, f)
		stop := make(chan struct{})
		go func() { // a few bytes every four seconds
			for {
				select {
				case <-stop:
					return
				case <-time.After(4 * time.Second):
					f.free(100)
				}
			}
		}()
		for range 50 {
			if id := w.Open(someOpen()); id == 0 {
				t.Fatalf("given up though something is written: %+v at %v", w.Stats(), time.Since(w.began))
			}
		}
		close(stop)
		f.free(-1)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		f.lines(t)
	})
}

func TestFullDisk(t *testing.T) {
	for room := 0; room < 1300; room += 7 {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeFile{room: room}
			var heard reports
			w := newTestWriter(WriterConfig{Logger: heard.logger()}, f)
			for range 3 {
				w.End(w.Open(someOpen()), someEnd(10))
			}
			synctest.Wait()
			short := w.Stats().Err != nil
			if short && !errors.Is(w.Stats().Err, syscall.ENOSPC) {
				t.Errorf("the figures say %v", w.Stats().Err)
			}
			time.Sleep(time.Minute) // the bubble's; the disk stays full meanwhile
			f.free(-1)
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if got := len(f.lines(t)); got != 7 {
				t.Errorf("%d bytes free: %d lines, want 7", room, got)
			}
			want := 0
			if short {
				want = 1
			}
			if got := strings.Count(heard.String(), "failed"); got != want {
				t.Errorf("%d bytes free: %d reports, want %d:\n%s", room, got, want, &heard)
			}
			if !f.closed {
				t.Error("the file is not closed")
			}
		})
	}
}

func TestCloseGivesUp(t *testing.T) {
	for _, c := range []struct {
		name string
		file *fakeFile
		want string
	}{
		{"hanging", &fakeFile{room: -1}, "the disk does not answer"},
		{"full", &fakeFile{room: 10}, "no space left on device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.name == "hanging" {
					c.file.hang = make(chan struct{})
				}
				w := newTestWriter(WriterConfig{Path: "x", Stall: 5 * time.Second}, c.file)
				begun := time.Now()
				err := w.Close()
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Close gives %v, want %q", err, c.want)
				}
				if took := time.Since(begun); took != 5*time.Second {
					t.Errorf("Close gave up after %v", took)
				}
				if w.Close() != err {
					t.Error("Close says something else the second time")
				}
				if c.file.hang != nil {
					close(c.file.hang)
				}
				<-w.done
			})
		})
	}
}

// TestQueueIsBounded checks the queue's limit, that a longer line is taken alone,
// and that callers get room in the order in which they asked.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeFile{room: -1, hang: make(chan struct{})}
		w := newTestWriter(WriterConfig{QueueBytes: 16 << 10, Stall: time.Hour}, f)
		ids := make([]int64, 3)
		for i := range ids {
			ids[i] = w.Open(someOpen())
		}
		for i, size := range []int{1 << 20, 100, 1 << 20} {
			go w.End(ids[i], someEnd(size))
			synctest.Wait()
		}
		if s := w.Stats(); s.Queued > 16<<10 || s.Lines != 4 {
			t.Errorf("%d bytes in a queue of 16384, %d lines", s.Queued, s.Lines)
		}
		close(f.hang)
		synctest.Wait()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if got, want := outline(f.lines(t)), "start, open 2, open 3, open 4, end 2, end 3, end 4"; got != want {
			t.Errorf("the log is\n%s\nwant\n%s", got, want)
		}
	})
}

func TestManyLinesOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeFile{room: -1, hang: make(chan struct{})}
		w := newTestWriter(WriterConfig{}, f)
		for range 100 {
			w.Open(someOpen())
		}
		close(f.hang)
		synctest.Wait()
		if got := w.Stats().Writes; got > 2 {
			t.Errorf("101 lines took %d writes", got)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSync(t *testing.T) {
	for _, c := range []struct {
		name            string
		sync            Sync
		opened, ended   int // calls of fsync after an open line, after an end line
		waited, stopped int // a second later, after Close
	}{
		{"never", SyncNever, 0, 0, 0, 0},
		{"interval", SyncInterval, 0, 0, 1, 2},
		{"end", SyncEnd, 0, 1, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeFile{room: -1}
				w := newTestWriter(WriterConfig{Sync: c.sync}, f)
				id := w.Open(someOpen())
				synctest.Wait()
				opened := f.synced()
				w.End(id, someEnd(1))
				synctest.Wait()
				ended := f.synced()
				time.Sleep(time.Second)
				synctest.Wait()
				waited := f.synced()
				time.Sleep(time.Hour)
				synctest.Wait()
				if f.synced() != waited {
					t.Errorf("%d calls with nothing to sync", f.synced()-waited)
				}
				w.Open(someOpen())
				if err := w.Close(); err != nil {
					t.Error(err)
				}
				got := [4]int{opened, ended, waited, f.synced()}
				if want := [4]int{c.opened, c.ended, c.waited, c.stopped}; got != want {
					t.Errorf("fsync was called %v times, want %v", got, want)
				}
			})
		})
	}
}

// A disk that takes long to confirm what it has holds no line up, neither while
// they come nor in the end, and there is one fsync at a time.
func TestSlowSync(t *testing.T) {
	for _, sync := range []Sync{SyncInterval, SyncEnd} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeFile{room: -1, slow: make(chan struct{})}
			var r reports
			w := newTestWriter(WriterConfig{Sync: sync, Stall: 5 * time.Second, QueueBytes: 1, Logger: r.logger()}, f)
			for range 5 { // each but the first waits for the room of the one before it
				w.End(w.Open(someOpen()), someEnd(1))
				time.Sleep(10 * time.Second)
			}
			synctest.Wait()
			if n := len(f.lines(t)); n != 11 || f.synced() != 1 {
				t.Errorf("%d lines are written while an fsync takes its time, and %d were begun", n, f.synced())
			}
			w.Open(someOpen())
			begun := time.Now()
			if err := w.Close(); err != nil {
				t.Error("Close:", err)
			}
			if took := time.Since(begun); took != 5*time.Second {
				t.Errorf("Close took %v", took)
			}
			if n := len(f.lines(t)); n != 13 {
				t.Errorf("%d lines are written in the end", n)
			}
			if !strings.Contains(r.String(), "the disk has not confirmed it") || strings.Contains(r.String(), "ERROR") {
				t.Errorf("reported: %s", r.String())
			}
			close(f.slow)
			<-w.done
			if f.synced() != 2 {
				t.Errorf("%d calls of fsync", f.synced())
			}
		})
	}
}

// What the disk could not be brought to keep is no log that is closed well.
func TestCloseUnforced(t *testing.T) {
	f := &fakeFile{room: -1, unsafe: syscall.EIO}
	w := newTestWriter(WriterConfig{Path: "x"}, f)
	w.Open(someOpen())
	if err := w.Close(); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "it is written") {
		t.Errorf("Close gives %v", err)
	}
	if n := len(f.lines(t)); n != 3 {
		t.Errorf("%d lines", n)
	}
}

func TestTimes(t *testing.T) {
	f := &fakeFile{room: -1}
	w := newTestWriter(WriterConfig{}, f)
	wall := w.began.Add(time.Hour).Round(0) // without a monotonic reading
	id := w.Open(&Open{Time: wall})
	w.End(id, &End{Time: wall.Add(1500 * time.Nanosecond), Timings: NoTimings(1)})
	id = w.Open(&Open{Time: w.began.Add(900 * time.Nanosecond)})
	w.End(id, &End{Time: w.began.Add(2100 * time.Nanosecond), Timings: NoTimings(1)}) // 1.2 µs later, but 2 by the clock
	id = w.Open(&Open{})
	w.End(id, &End{Timings: NoTimings(0)})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l := f.lines(t)
	for i, want := range map[int]time.Duration{0: 0, 1: time.Hour, 2: time.Hour + time.Microsecond, 3: 0, 4: time.Microsecond} {
		if got := l[i].Time.Sub(w.began); got != want {
			t.Errorf("line %d is at %v, want %v", i+1, got, want)
		}
	}
	if l[5].Time.Before(l[0].Time) || l[5].Time.After(time.Now()) {
		t.Errorf("a time that was not given is %v", l[5].Time)
	}
}

func TestEachOpenLineHasOneEnd(t *testing.T) {
	f := &fakeFile{room: -1}
	w := newTestWriter(WriterConfig{}, f)
	a, b := w.Open(someOpen()), w.Open(someOpen())
	w.End(a, someEnd(1))
	w.End(a, someEnd(2))
	w.Answer(a, &Answer{})
	w.Message(a, &Message{})
	w.End(99, someEnd(1))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.End(b, someEnd(1))
	if id := w.Open(someOpen()); id != 0 {
		t.Errorf("a line was taken after Close, as %d", id)
	}
	if got, want := outline(f.lines(t)), "start, open 2, open 3, end 2, end 3 proxy/stopped"; got != want {
		t.Errorf("the log is\n%s\nwant\n%s", got, want)
	}
	if s := w.Stats(); s.Last != 5 || s.Lost != 0 || s.Queued != 0 || s.Open != 0 {
		t.Errorf("figures %+v", s)
	}
}

func TestNilWriter(t *testing.T) {
	var w *Writer
	id := w.Open(someOpen())
	w.Answer(id, &Answer{})
	w.Message(id, &Message{})
	w.End(id, someEnd(1))
	if err := w.Close(); id != 0 || err != nil || w.Stats() != (WriterStats{}) {
		t.Errorf("a nil Writer gives %d, %v and %+v", id, err, w.Stats())
	}
}

// A brokenKept has fewer bytes than it says.
type brokenKept struct{ Bytes }

func (b brokenKept) Len() int64 { return b.Bytes.Len() + 1 }

// A diskKept is a body that is not in memory.
type diskKept struct{ path string }

func (k diskKept) Len() int64 {
	info, err := os.Stat(k.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (k diskKept) WriteTo(w io.Writer) (int64, error) {
	f, err := os.Open(k.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(w, f)
}

func TestKeptBodies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "body")
	for size := range 70 {
		want := bytes.Repeat([]byte{0xfe, 1, 2}, size)[:size*2]
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, kept := range []Kept{Bytes(want), diskKept{path}, brokenKept{want}} {
			_, broken := kept.(brokenKept)
			b, err := AppendLine(nil, &Line{Head: Head{N: 1, Event: EventEnd, ID: 1, Time: at}, End: &End{
				Response: &Response{Body: &Body{Size: 200, Kept: kept}},
			}})
			if (err != nil) != broken {
				t.Errorf("%T of %d bytes: error %v", kept, len(want), err)
			}
			l, err := ParseLine(b)
			if err != nil {
				t.Fatalf("%T of %d bytes: %v", kept, len(want), err)
			}
			body := l.End.Response.Body
			got, _ := body.Kept.(Bytes)
			if !bytes.Equal(got, want) || body.Truncated != broken {
				t.Errorf("%T of %x came back as %x, truncated %v", kept, want, got, body.Truncated)
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	w := newTestWriter(WriterConfig{}, discard{})
	defer w.Close()
	o, e := exchange(4 << 10)
	if n := testing.AllocsPerRun(1000, func() { w.End(w.Open(o), e) }); n > 6 {
		t.Errorf("%v allocations an exchange, want at most 6", n)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Sync() error                 { return nil }
func (discard) Close() error                { return nil }

// A namedFile fails with the name that it was made with.
type namedFile struct{ *fakeFile }

func (f namedFile) Write(p []byte) (int, error) {
	n, err := f.fakeFile.Write(p)
	if err != nil {
		err = &os.PathError{Op: "write", Path: "/log/.network.jsonl.next", Err: err}
	}
	return n, err
}

// A file has another name after a turn than it was made with.
func TestWriteErrorNamesTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard bytes.Buffer
		f := &fakeFile{}
		logger := slog.New(slog.NewTextHandler(&heard, &slog.HandlerOptions{Level: slog.LevelWarn}))
		w := newTestWriter(WriterConfig{Path: "/log/network.jsonl", Logger: logger}, namedFile{f})
		synctest.Wait()
		if err := w.Stats().Err; err != syscall.ENOSPC {
			t.Errorf("the error is %v", err)
		}
		f.free(-1)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		said := heard.String()
		if strings.Contains(said, ".next") || strings.Count(said, "/log/network.jsonl") != 2 || !strings.Contains(said, "can be written again") {
			t.Errorf("it said %s", said)
		}
	})
}

// What long lines are encoded in is used again, and only when it has been written.
func TestLongLinesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), LiveName)
	w, err := OpenWriter(WriterConfig{Path: path, Sync: SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for g := range 4 {
		writers.Go(func() {
			for i := range 40 {
				o, e := exchange(30<<10 + i*7<<10)
				body := e.Response.Body.Kept.(Bytes)
				for at := range body {
					body[at] = byte(at*g + i)
				}
				sum := sha256.Sum256(body)
				e.Response.Body.SHA256 = hex.EncodeToString(sum[:])
				w.End(w.Open(o), e)
			}
		})
	}
	writers.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	stats, err := Check(log, CheckOptions{Fault: func(f Fault) error {
		if f.Rule == RuleBody || f.Rule == RuleLine {
			t.Error(f)
		}
		return nil
	}})
	if err != nil || stats.Entries != 160 {
		t.Errorf("%+v, %v", stats, err)
	}
}
