package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A trickle is bodies on many streams of one connection, which one side would send
// at once and the other takes a part at a time.
type trickle struct {
	streams, parts int
	each           int64 // bytes of one body
	sent, taken    atomic.Int64
	turns          []chan struct{} // of each body: lets a part be taken
}

func newTrickle() *trickle {
	t := &trickle{streams: 8, parts: 4, each: 256 << 20 / 8}
	for range t.streams {
		t.turns = append(t.turns, make(chan struct{}, t.parts))
	}
	if os.Getenv("NETLOG_E2E") == "all" && !raceEnabled {
		t.each *= 4
	}
	return t
}

// body is what is sent on stream n.
func (t *trickle) body(n int) io.Reader {
	return io.TeeReader(io.LimitReader(noise(n), t.each), counter{&t.sent})
}

// take takes body n at the pace of its turns, and returns its SHA-256.
func (t *trickle) take(n int, body io.Reader) (string, error) {
	sum := sha256.New()
	for range t.turns[n] {
		if _, err := io.CopyN(io.MultiWriter(sum, counter{&t.taken}), body, t.each/int64(t.parts)); err != nil {
			return "", err
		}
	}
	more, err := io.Copy(io.Discard, body)
	if more > 0 {
		err = fmt.Errorf("%d bytes too many", more)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

// ServeHTTP sends a body for a GET, and takes one otherwise.
func (t *trickle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var n int
	fmt.Sscanf(r.URL.Path, "/%d", &n)
	if r.Method == "GET" {
		io.Copy(w, t.body(n))
		return
	}
	sum, err := t.take(n, r.Body)
	if err != nil {
		sum = err.Error()
	}
	io.WriteString(w, sum)
}

// What one side does not take over HTTP/2 the other can't send: of a quarter of a
// GiB (one whole with make e2e) the proxy never holds more than its windows are.
func TestASlowSideSlowsTheOther(t *testing.T) {
	for _, way := range []struct {
		method string
		// ahead is how far the sending side may be: the proxy's windows for that side,
		// those of the taking side (4 MiB for each stream of Go's client, 1 MiB of the
		// server) and what sockets hold.
		ahead int64
	}{
		{"GET", 8*(4<<20) + 16<<20 + 16<<20},
		{"POST", 8*(1<<20) + 8<<20 + 16<<20},
	} {
		t.Run(way.method, func(t *testing.T) {
			s := newTrickle()
			w := newQuietWorld(t, s)
			p := w.proxy("--keep-types", "none", "--max-request-body", "0")
			c := p.multiplexing()
			c.Timeout = patience
			before := p.vitals()
			sums := make([]string, s.streams)
			var running sync.WaitGroup
			for n := range s.streams {
				running.Go(func() {
					var err error
					if sums[n], err = s.move(c, way.method, fmt.Sprintf("https://%s/%d", w.origin.host, n), n); err != nil {
						t.Error(err)
					}
				})
			}
			for part := range s.parts {
				s.rests(t)
				if ahead := s.sent.Load() - s.taken.Load(); ahead > way.ahead {
					t.Errorf("%d MiB were sent that nobody had taken", ahead>>20)
				}
				for _, turn := range s.turns {
					turn <- struct{}{}
					if part == s.parts-1 {
						close(turn)
					}
				}
				until(t, "a part of all", func() bool { return s.taken.Load() == int64(part+1)*s.each/int64(s.parts)*int64(s.streams) })
			}
			running.Wait()
			after := p.vitals()
			t.Logf("before: %v\nafter:  %v", before, after)
			if grown := after.peak - before.resident; !raceEnabled && grown > 64<<20 {
				t.Errorf("%d MiB more at the peak", grown>>20)
			}
			c.CloseIdleConnections()
			p.stop()
			log := readLog(t, p.log)
			spoke(t, log.exchanges, "HTTP/2")
			for n := range s.streams {
				e := log.find(t, way.method, fmt.Sprintf("https://%s/%d", w.origin.host, n))
				went(t, e)
				body := e.end.Response.Body
				if way.method == "POST" {
					if body = e.open.Request.Body; e.end.Request != nil {
						body = e.end.Request.Body
					}
				}
				if body == nil || body.Size != s.each || body.SHA256 != sums[n] {
					t.Errorf("the body of %s is %+v, want %d bytes of %s", e.open.Request.URL, body, s.each, sums[n])
				}
			}
		})
	}
}

// rests waits until whoever sends can't go on.
func (t *trickle) rests(test *testing.T) {
	test.Helper()
	last, still := int64(-1), 0
	until(test, "the sending side to wait", func() bool {
		if now := t.sent.Load(); now != last {
			last, still = now, 0
		}
		still++
		return still == 20
	})
}

// move has one body go one way, and returns its SHA-256 by whoever took it.
func (t *trickle) move(c *http.Client, method, url string, n int) (string, error) {
	var body io.Reader
	if method != "GET" {
		body = t.body(n)
	}
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		return "", err
	}
	answer, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if method == "GET" {
		return t.take(n, answer.Body)
	}
	var said strings.Builder
	_, err = io.Copy(&said, answer.Body)
	return said.String(), err
}
