package netlog_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

// wait polls until done.
func wait(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing happens")
		}
	}
}

// follow reads up to the line n.
func follow(t testing.TB, r *netlog.Reader, after, n int64) *netlog.Page {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := &netlog.Page{Next: after}
	for all.Next < n {
		p, err := r.Follow(ctx, all.Next, 1<<20)
		if err != nil {
			t.Fatalf("waiting for line %d after %d: %v", n, all.Next, err)
		}
		all.Lines, all.Next = append(all.Lines, p.Lines...), p.Next
		all.Unreadable += p.Unreadable
	}
	return all
}

// TestRecovery cuts a log at every byte and goes on with it.
func TestRecovery(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.jsonl")
	w := openWriter(t, path)
	o, e := someOpen(), someEnd("x")
	o.Time = time.Now()
	first := w.Open(o)
	exchange(w, `{"a":{"b":1}}`)
	e.Time = time.Now()
	e.Timings = netlog.NoTimings(e.Time.Sub(o.Time).Microseconds())
	w.End(first, e)
	closeWriter(t, w)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		path := filepath.Join(dir, "network.jsonl")
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		lines := int64(bytes.Count(whole[:cut], []byte("\n")))
		inside := cut > 0 && whole[cut-1] != '\n'
		open := int64(bytes.Count(whole[:cut-max(cut-1-bytes.LastIndexByte(whole[:cut], '\n'), 0)], []byte(`"event":"open"`)))
		open -= int64(bytes.Count(whole[:bytes.LastIndexByte(whole[:cut], '\n')+1], []byte(`"event":"end"`)))

		w := openWriter(t, path)
		wait(t, func() bool { return w.Stats().Lines == 1+open })
		id := exchange(w, "y")
		closeWriter(t, w)
		p, err := netlog.NewReader(path).Page(0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}

		o := netlogtest.Options{}
		if inside {
			o.Unreadable = 1
		}
		got := netlogtest.ValidateWith(t, path, o)
		if p.Unreadable != o.Unreadable {
			t.Errorf("cut at %d: the reader passes over %d lines, want %d", cut, p.Unreadable, o.Unreadable)
		}
		if n := int64(len(got)); n != lines+1+open+2 || id != n-1 {
			t.Errorf("cut at %d: %d lines, want %d; the next id is %d", cut, n, lines+1+open+2, id)
		}
		restarted := int64(0)
		for _, l := range got {
			if l.End != nil && l.End.Failed != nil {
				if *l.End.Failed != (netlog.Failed{Phase: netlog.PhaseProxy, Code: netlog.CodeRestarted, Reason: "the proxy was restarted"}) {
					t.Errorf("cut at %d: ended with %+v", cut, l.End.Failed)
				}
				restarted++
			}
		}
		if restarted != open {
			t.Errorf("cut at %d: %d ended as restarted, want %d", cut, restarted, open)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(after, whole[:cut]) {
			t.Errorf("cut at %d: what was there has changed, %v", cut, err)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestRecoveryTwice stops a process before it has ended what its predecessor left.
func TestRecoveryTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "network.jsonl")
	var log bytes.Buffer
	head := func(n int, event, rest string) {
		fmt.Fprintf(&log, `{"n":%d,"event":"%s"%s}`+"\n", n, event, rest)
	}
	const start = `,"t":"2026-01-01T00:00:00.000000Z","format":1,"program":"p","version":"1","pid":1,"mode":"proxy","limits":{"request_body":0,"response_body":0,"types":"none"}`
	open := func(n int) {
		head(n, "open", fmt.Sprintf(`,"id":%d,"t":"2026-01-01T00:00:00.000000Z","kind":"tunnel","via":"tunnel","client":"127.0.0.1:1","target":"a:1"`, n))
	}
	head(1, "start", start)
	open(2)
	head(3, "start", start)
	open(4)
	head(5, "start", start)
	if err := os.WriteFile(path, log.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	w := openWriter(t, path)
	follow(t, netlog.NewReader(path), 0, 8)
	closeWriter(t, w)
	lines := netlogtest.Validate(t, path)
	var ended []int64
	for _, l := range lines {
		if l.End != nil {
			ended = append(ended, l.ID)
		}
	}
	if !slices.Equal(ended, []int64{2, 4}) {
		t.Errorf("ended %d, want 2 and 4", ended)
	}
}

// TestStartLineNamesOpenIDs has an id that was opened in an older file.
func TestStartLineNamesOpenIDs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "network.jsonl")
	older := `{"n":1,"event":"start","t":"2026-01-01T00:00:00.000000Z","format":1,"program":"p","version":"1","pid":1,"mode":"proxy","limits":{"request_body":0,"response_body":0,"types":"none"}}
{"n":2,"event":"open","id":2,"t":"2026-01-01T00:00:00.000000Z","kind":"tunnel","via":"tunnel","client":"127.0.0.1:1","target":"a:1"}
`
	live := `{"n":3,"event":"start","t":"2026-01-01T00:00:00.000000Z","format":1,"program":"p","version":"1","pid":1,"mode":"proxy","limits":{"request_body":0,"response_body":0,"types":"none"},"open":[2]}
`
	for name, content := range map[string]string{"network.1.jsonl": older, "network.jsonl": live} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := openWriter(t, path)
	follow(t, netlog.NewReader(dir), 0, 5)
	closeWriter(t, w)
	lines := netlogtest.Validate(t, dir)
	if last := lines[len(lines)-1]; last.N != 5 || last.ID != 2 || last.End == nil {
		t.Errorf("the last line is %+v", last.Head)
	}
	// Without the live file the numbers go on from the older one.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w = openWriter(t, path)
	closeWriter(t, w)
	if got := w.Stats().Last; got != 3 {
		t.Errorf("the numbers go on with %d, want 3", got)
	}
}

const childLog = "NETLOG_TEST_CHILD_LOG"

// TestKill kills a process in the middle of its writes, again and again, and goes
// on with its log.
func TestKill(t *testing.T) {
	if path := os.Getenv(childLog); path != "" {
		writeUntilKilled(t, path)
	}
	path := filepath.Join(t.TempDir(), "network.jsonl")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		var out bytes.Buffer
		cmd := exec.Command(exe, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), childLog+"="+path)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait() })
		t.Cleanup(func() {
			kill()
			if t.Failed() {
				t.Logf("the child said:\n%s", &out)
			}
		})
		before := size(path)
		wait(t, func() bool { return size(path) > before+int64(round+1)*50_000 })
		kill()
	}
	left := map[int64]bool{}
	log, err := netlog.OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	s := log.Scan()
	for s.Next() {
		switch last = s.Head().N; s.Head().Event {
		case netlog.EventOpen:
			left[s.Head().ID] = true
		case netlog.EventEnd:
			delete(left, s.Head().ID)
		}
	}
	log.Close()

	w := openWriter(t, path)
	follow(t, netlog.NewReader(path), last, last+1+int64(len(left)))
	closeWriter(t, w)
	if s := w.Stats(); s.Last != last+1+int64(len(left)) {
		t.Errorf("the last line is %d, want %d", s.Last, last+1+int64(len(left)))
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := int64(0)
	for line := range bytes.Lines(content) {
		if _, err := netlog.ParseLine(line); err != nil {
			cut++
		}
	}
	if cut > 5 {
		t.Errorf("%d lines are cut, by 5 kills", cut)
	}
	lines := netlogtest.ValidateWith(t, path, netlogtest.Options{Unreadable: cut})
	starts := 0
	for _, l := range lines {
		if l.Start != nil {
			starts++
		}
	}
	t.Logf("%d lines of %d processes, %d cut, %d left open by the last", len(lines), starts, cut, len(left))
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// writeUntilKilled never returns.
func writeUntilKilled(t *testing.T, path string) {
	w := openWriter(t, path)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := 0; ; n++ {
				exchange(w, strings.Repeat("}", (i*n)%2000))
			}
		})
	}
	wg.Wait()
}

// TestFollowWhileWriting has 64 writers and a reader that sees each line once and
// in order.
func TestFollowWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "network.jsonl")
	const writers, each = 64, 16
	r := netlog.NewReader(path)
	var wg sync.WaitGroup
	wg.Go(func() {
		w := openWriter(t, path)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				for range each {
					exchange(w, strings.Repeat("x", i*100))
				}
			})
		}
		wg.Wait()
		closeWriter(t, w)
	})
	last := int64(1 + 2*writers*each)
	p := follow(t, r, 0, last)
	wg.Wait()
	for i, raw := range p.Lines {
		l, err := netlog.ParseLine(raw)
		if err != nil || l.N != int64(i+1) {
			t.Fatalf("line %d: %v, %.100q", i+1, err, raw)
		}
	}
	if int64(len(p.Lines)) != last || p.Unreadable != 0 {
		t.Errorf("%d lines, %d unreadable, want %d", len(p.Lines), p.Unreadable, last)
	}
	netlogtest.Validate(t, path)
}

// TestEveryEvent writes a socket's lines.
func TestEveryEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "network.jsonl")
	w := openWriter(t, path)
	o, e := someOpen(), someEnd("")
	o.Time = time.Now()
	e.Response.Status, e.Response.Body = 101, nil
	id := w.Open(o)
	w.Answer(id, &netlog.Answer{Response: e.Response})
	w.Message(id, &netlog.Message{Dir: "send", Opcode: 1, Size: new(int64(5)), WireSize: 5, Frames: 1, Text: new("h\xc3\xa9l\n")})
	w.Message(id, &netlog.Message{Dir: "receive", Opcode: 2, WireSize: 9, Frames: 2, Base64: bytes.Repeat([]byte{7}, 100_000), More: true})
	e.WebSocket = &netlog.WebSocket{
		Sent:     netlog.Frames{Messages: 1, Bytes: 5, Frames: 1},
		Received: netlog.Frames{Messages: 1, Bytes: 9, Frames: 2, Control: 1},
		Close:    &netlog.Close{Code: 1000, By: "server"},
	}
	e.Time = time.Now()
	e.Timings = netlog.NoTimings(e.Time.Sub(o.Time).Microseconds())
	w.End(id, e)
	closeWriter(t, w)
	lines := netlogtest.Validate(t, path)
	if len(lines) != 6 {
		t.Fatalf("%d lines, want 6", len(lines))
	}
	if a := lines[2].Answer; a == nil || a.Response.Status != 101 {
		t.Errorf("the answer is %+v", lines[2])
	}
	if m := lines[3].Message; m == nil || *m.Text != "h\u00e9l\n" || *m.Size != 5 || m.Frames != 1 {
		t.Errorf("the first message is %+v", m)
	}
	if m := lines[4].Message; m == nil || len(m.Base64) != 100_000 || !m.More || m.Size != nil {
		t.Errorf("the second message is %+v", m)
	}
}
