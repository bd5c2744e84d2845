package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

func noise(seed uint64, n int) string {
	random := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return string(b)
}

func newStore(limit int64, folder string) *store {
	return &store{limit: limit, folder: folder, log: slog.New(slog.DiscardHandler)}
}

// What is kept comes back as it came, wherever the memory ended.
func TestKept(t *testing.T) {
	body := noise(1, 700<<10)
	for _, limit := range []int64{0, 1, smallChunk, smallChunk + 1, 10 << 10, 300 << 10, 1 << 20, 8 << 20} {
		for _, piece := range []int{1000, 4096, 32 << 10, len(body)} {
			for _, expected := range []int{0, len(body)} {
				s := newStore(limit, t.TempDir())
				k := &kept{store: s}
				for at := 0; at < len(body); at += piece {
					p := []byte(body[at:min(at+piece, len(body))])
					if n := k.write(p, int64(max(expected-at, 0))); n != len(p) {
						t.Fatalf("limit %d: %d of %d bytes were taken", limit, n, len(p))
					}
				}
				var got bytes.Buffer
				for range 2 {
					got.Reset()
					if n, err := k.logged().WriteTo(&got); err != nil || n != int64(len(body)) || got.String() != body || k.Len() != n {
						t.Fatalf("limit %d, pieces of %d: %d bytes came back, %v", limit, piece, n, err)
					}
				}
				if used := s.used.Load(); used > limit || used != int64(k.held) {
					t.Errorf("limit %d: %d bytes are in use, %d held", limit, used, k.held)
				}
				if limit == 8<<20 && k.file != nil {
					t.Error("there was room in the memory")
				}
				if names, _ := os.ReadDir(s.folder); len(names) > 0 {
					t.Errorf("a file has a name: %v", names)
				}
				k.drop()
				k.drop()
				if s.used.Load() != 0 || k.Len() != 0 || k.logged() != nil {
					t.Errorf("limit %d: %d bytes are in use in the end", limit, s.used.Load())
				}
			}
		}
	}
}

// A small body of known length takes that much, and a large one is not copied
// from piece to piece.
func TestKeptTakesLittle(t *testing.T) {
	s := newStore(1<<30, "")
	k := &kept{store: s}
	k.write([]byte("hello"), 5)
	if s.used.Load() != 5 {
		t.Errorf("5 bytes took %d", s.used.Load())
	}
	k.drop()
	k.write(make([]byte, 10), 10<<20) // a slow client that has announced much
	if s.used.Load() > smallChunk {
		t.Errorf("10 bytes took %d", s.used.Load())
	}
	for range 10 << 20 / 4096 {
		k.write(make([]byte, 4096), 0)
	}
	if over := s.used.Load() - k.Len(); over > largeChunk {
		t.Errorf("%d bytes more than were kept", over)
	}
}

// A disk that hangs is waited for once, and is used again when it answers.
func TestFilesOfADiskThatHangs(t *testing.T) {
	s := newStore(0, t.TempDir())
	s.patient = time.Millisecond
	answers := make(chan struct{})
	hangs := func() (int, error) {
		<-answers
		return 1, nil
	}
	if n, err := patiently(s, hangs); n != 0 || err != errDiskHangs {
		t.Errorf("%d, %v", n, err)
	}
	k := &kept{store: s}
	if n := k.write([]byte("meanwhile"), 0); n != 0 || k.file != nil || k.logged() != nil {
		t.Errorf("%d bytes were kept meanwhile", n)
	}
	close(answers)
	eventually(t, "the disk to be used again", func() bool { return s.hanging.Load() == 0 })
	s.patient = 0
	if n := k.write([]byte("after"), 0); n != 5 || k.Len() != 5 {
		t.Errorf("%d bytes were kept after", n)
	}
	k.drop()
}

// upload posts a body to the echo of TestBodies.
func (w *world) exchangeBody(addr, body string, respond int) {
	b := w.browser()
	b.send(fmt.Sprintf("POST http://%s/ HTTP/1.1\r\nHost: %[1]s\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body))
	b.head()
	if n, err := io.CopyN(io.Discard, b.br, int64(respond)); err != nil {
		w.t.Errorf("%d bytes of the answer: %v", n, err)
	}
	b.Close()
}

// echoes answers each POST with its body.
func echoes(t *testing.T) func(*party) {
	return func(p *party) {
		if _, err := p.br.Peek(1); err != nil {
			return
		}
		head := p.head()
		var n int
		for line := range strings.Lines(head) {
			fmt.Sscanf(line, "Content-Length: %d", &n)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(p.br, body); err != nil {
			t.Error(err)
			return
		}
		p.send(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", n, body))
		p.rest()
	}
}

func sum(s string) string {
	d := sha256.Sum256([]byte(s))
	return hex.EncodeToString(d[:])
}

// Many bodies at once stay within the memory for bodies; all are in the log.
func TestBodiesShareTheMemory(t *testing.T) {
	const crowd, size, memory = 16, 60 << 10, 200 << 10
	folder := t.TempDir()
	w := newWorld(t, func(c *Config) {
		c.BodyMemory, c.BodyFolder = memory, folder
		c.Keep = netlog.Limits{RequestBody: size, ResponseBody: size, Types: "all"}
	})
	addr := w.origin(echoes(t))
	var running sync.WaitGroup
	bodies := map[string]string{}
	for i := range crowd {
		body := noise(uint64(i), size)
		bodies[sum(body)] = body
		running.Go(func() { w.exchangeBody(addr, body, size) })
	}
	most := int64(0)
	watched := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				most = max(most, w.proxy.bodies.used.Load())
			}
		}
	}()
	running.Wait()
	w.waitFor(crowd)
	close(done)
	<-watched
	if most > memory {
		t.Errorf("%d bytes of memory were in use", most)
	}
	if used := w.proxy.bodies.used.Load(); used != 0 {
		t.Errorf("%d bytes are in use in the end", used)
	}
	for _, p := range w.pairs() {
		for what, b := range map[string]*netlog.Body{"request": p.requestBody(), "response": p.end.Response.Body} {
			if b.Truncated || b.Size != size || string(b.Kept.(netlog.Bytes)) != bodies[b.SHA256] {
				t.Errorf("a %s of %d bytes, %d of them kept", what, b.Size, b.Kept.Len())
			}
		}
	}
}

// Where no file can be made, what fits is kept and said to be not all.
func TestBodiesWithoutAPlace(t *testing.T) {
	const memory, size = 64 << 10, 200 << 10
	w := newWorld(t, func(c *Config) {
		c.BodyMemory, c.BodyFolder = memory, filepath.Join(t.TempDir(), "missing")
	})
	addr := w.origin(echoes(t))
	body := noise(1, size)
	w.exchangeBody(addr, body, size)
	w.waitFor(1)
	p := w.want(addr, "exchange plain POST http://ADDR/ 200")[0]
	for what, b := range map[string]*netlog.Body{"request": p.requestBody(), "response": p.end.Response.Body} {
		if !b.Truncated || b.Size != size || b.SHA256 != sum(body) {
			t.Errorf("%s: %d bytes, truncated %v", what, b.Size, b.Truncated)
		}
		if kept := b.Kept.(netlog.Bytes); !strings.HasPrefix(body, string(kept)) || len(kept) > memory {
			t.Errorf("%s: %d bytes were kept", what, len(kept))
		}
	}
}

// A body without a type is looked at wherever its beginning is.
func TestBodyWithoutATypeInAFile(t *testing.T) {
	for text, want := range map[string]bool{strings.Repeat("text ", 300): true, noise(1, 1500): false, "short": true} {
		w := newWorld(t, func(c *Config) { c.BodyMemory, c.BodyFolder = -1, t.TempDir() })
		addr := w.origin(answers(func(string) string {
			return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}))
		b := w.browser()
		b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		b.head()
		b.expect(text)
		b.Close()
		w.waitFor(1)
		body := w.pairs()[0].end.Response.Body
		if kept := body.Kept != nil; kept != want || body.Truncated || kept && string(body.Kept.(netlog.Bytes)) != text {
			t.Errorf("%.20q: %+v", text, body)
		}
	}
}

// A request's body is held until its line is written, not until its answer comes.
func TestUploadIsNotHeldForItsAnswer(t *testing.T) {
	for range 20 { // on a busy machine the open line's time may come before all of the body
		if heldUntilItsLine(t) {
			return
		}
	}
	t.Error("no upload was in its open line")
}

// heldUntilItsLine is false when the open line could not wait for the body.
func heldUntilItsLine(t *testing.T) bool {
	const size = 307200
	w := newWorld(t, nil)
	release := make(chan struct{})
	addr := w.origin(func(p *party) {
		p.head()
		io.CopyN(io.Discard, p.br, size)
		<-release
		p.send("HTTP/1.1 204 None\r\n\r\n")
		p.rest()
	})
	answered := sync.OnceFunc(func() { close(release) })
	t.Cleanup(answered)
	b := w.browser()
	b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 307200\r\n\r\n" + noise(1, size))
	w.logHas(`"event":"open"`)
	raw, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	whole := bytes.Contains(raw, []byte(`"sha256"`))
	if whole {
		eventually(t, "memory given back", func() bool { return w.proxy.bodies.used.Load() == 0 })
	}
	answered()
	b.head()
	b.Close()
	w.waitFor(1)
	if body := w.want(addr, "exchange plain POST http://ADDR/ 204")[0].requestBody(); body.Size != size || body.Kept.Len() != size {
		t.Errorf("%+v", body)
	}
	return whole
}

// Without a log bodies are counted, and neither hashed nor held.
func TestWithoutALogBodiesAreOnlyCounted(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []func(*tap){
		p.tapRequest,
		func(t *tap) { p.tapAnswer(t, "text/plain") },
		func(t *tap) { p.tapAnswer(t, "") },
	} {
		var tap tap
		set(&tap)
		tap.pass(make([]byte, 1<<20), time.Time{})
		if tap.size != 1<<20 || tap.hash != nil || tap.kept.size != 0 {
			t.Errorf("size %d, hash %v, %d bytes kept", tap.size, tap.hash, tap.kept.size)
		}
	}
}

// The parts of a stream of events are noted up to a bound, and all of it counted.
func TestAStreamOfVeryManyEvents(t *testing.T) {
	tap := tap{timed: true}
	for range maxChunks + 10 {
		tap.pass([]byte("x"), time.Time{})
	}
	if b := tap.body(); len(b.Chunks) != maxChunks || b.Size != maxChunks+10 {
		t.Errorf("%d parts of %d bytes", len(b.Chunks), b.Size)
	}
}
