package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// A mode is what the proxy makes entries of, and how to get one entry for each
// request.
type mode struct {
	name  string
	args  []string
	http2 bool
	asker func(p *proxy, w *world) func(i int) (*http.Response, error)
}

func modes() []mode {
	post := func(c *http.Client, base string, i int) (*http.Response, error) {
		return c.Post(fmt.Sprintf("%s/echo?load=%d", base, i), "text/plain", strings.NewReader(fmt.Sprint("body ", i)))
	}
	return []mode{
		{
			name: "interception",
			asker: func(p *proxy, w *world) func(int) (*http.Response, error) {
				c := p.client()
				return func(i int) (*http.Response, error) { return post(c, "https://"+w.origin.host, i) }
			},
		},
		{
			name:  "interception over HTTP/2",
			http2: true,
			asker: func(p *proxy, w *world) func(int) (*http.Response, error) {
				c := p.multiplexing()
				return func(i int) (*http.Response, error) { return post(c, "https://"+w.origin.host, i) }
			},
		},
		{
			// Exchanges of http://, and each fourth a tunnel of its own.
			name: "stand-in",
			args: []string{"--stand-in"},
			asker: func(p *proxy, w *world) func(int) (*http.Response, error) {
				c, once := p.client(), p.client()
				once.Transport.(*http.Transport).DisableKeepAlives = true
				return func(i int) (*http.Response, error) {
					if i%4 == 0 {
						return post(once, "https://"+w.origin.host, i)
					}
					return post(c, "http://"+w.origin.plain, i)
				}
			},
		},
	}
}

// load asks for total answers, some at a time, each by its number; what fails
// is not asked again. It returns once all workers are done, with the number
// that were answered whole.
func load(ask func(i int) (*http.Response, error), total, atATime int) int {
	var next, answered atomic.Int64
	var workers sync.WaitGroup
	for range atATime {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= total {
					return
				}
				r, err := ask(i)
				if err != nil {
					continue
				}
				b, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err == nil && string(b) == fmt.Sprint("POST body ", i) {
					answered.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return int(answered.Load())
}

// kill -9 in the middle of 4,096 requests, 16 at a time, and a new start on
// the same log.
func TestAKilledProxyLosesNoNumber(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) { killed(t, m) })
	}
}

func killed(t *testing.T, m mode) {
	const total, atATime = 4096, 16
	w := newWorld(t)
	first := w.proxy(m.args...)
	// Two entries that surely are open when the proxy dies: their open lines are
	// in the file, and nobody will end them.
	held := first.client()
	if m.http2 {
		held = first.multiplexing()
	}
	go held.Get("https://" + w.origin.host + "/held")
	go held.Get("http://" + w.origin.plain + "/held")
	until(t, "the held requests' open lines", func() bool { return bytes.Count(contentOf(t, first.log), []byte(`,"event":"open",`)) == 2 })

	// The client has the process that lives at the moment.
	ask := m.asker(first, w)
	answered := load(func(i int) (*http.Response, error) {
		if i == total/2 {
			first.cmd.Process.Kill()
		}
		return ask(i)
	}, total, atATime)
	first.wait("SIGKILL")
	if answered == 0 || answered >= total {
		t.Fatalf("%d of %d answered: the kill was not in the middle", answered, total)
	}
	written := contentOf(t, first.log)
	cut := 0
	if len(written) > 0 && written[len(written)-1] != '\n' {
		cut = 1
	}

	second := w.proxy(m.args...)
	after := load(m.asker(second, w), total-total/2, atATime)
	if after != total-total/2 {
		t.Errorf("after the new start %d of %d were answered", after, total-total/2)
	}
	second.stop()

	log := readLog(t, second.log) // no gap, no repeat, one end for each open line
	if log.unreadable != cut {
		t.Errorf("%d lines are cut, %d was cut by the kill", log.unreadable, cut)
	}
	if !strings.HasPrefix(string(contentOf(t, second.log)), string(written)) {
		t.Error("what the dead process had written was changed")
	}
	dead, restart := map[int64]bool{}, 0
	for i, l := range log.lines {
		if l.Event == "start" {
			restart = i
		}
	}
	if restart == 0 {
		t.Fatal("the second process has no start line")
	}
	for _, l := range log.lines[:restart] {
		switch l.Event {
		case "open":
			dead[l.ID] = true
		case "end":
			delete(dead, l.ID)
		}
	}
	if len(dead) < 2 {
		t.Errorf("%d entries were open when the proxy died", len(dead))
	}
	for _, e := range slices.Concat(log.exchanges, log.tunnels) {
		restarted := e.end.Failed != nil && e.end.Failed.Phase == "proxy" && e.end.Failed.Code == "restarted"
		if restarted != dead[e.open.ID] {
			t.Errorf("%d, %+v: open at the death %v, ended with %+v", e.open.ID, e.open, dead[e.open.ID], e.end.Failed)
		}
	}
	if n := len(log.lines) - restart; n < 2*after {
		t.Errorf("the second process wrote %d lines for %d requests", n, after)
	}
}

// 1,024 requests, 64 at a time, while a poller follows the log: it gets each
// line once, in order, as it stands in the file.
func TestAFollowerGetsEachLineOnceInOrder(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) { followed(t, m) })
	}
}

func followed(t *testing.T, m mode) {
	const total, atATime, limit = 1024, 64, 64 << 10
	w := newWorld(t)
	p := w.proxy(m.args...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got bytes.Buffer
	var follower sync.WaitGroup
	follower.Go(func() {
		reader := netlog.NewReader(p.log)
		for after, ends := int64(0), 0; ends < total; {
			page, err := reader.Follow(ctx, after, limit)
			if err != nil {
				t.Errorf("after line %d and %d end lines: %v", after, ends, err)
				return
			}
			if page.BegunAgain || page.Unreadable != 0 {
				t.Errorf("after line %d: begun again %v, unreadable %d", after, page.BegunAgain, page.Unreadable)
			}
			size := 0
			for _, l := range page.Lines {
				size += len(l) + 1
				got.Write(append(l, '\n'))
				if bytes.Contains(l, []byte(`,"event":"end",`)) {
					ends++
				}
			}
			if size > limit && len(page.Lines) > 1 {
				t.Errorf("a page of %d bytes; the limit is %d", size, limit)
			}
			after = page.Next
		}
	})
	if answered := load(m.asker(p, w), total, atATime); answered != total {
		t.Errorf("%d of %d were answered", answered, total)
	}
	follower.Wait()
	p.stop()
	log := readLog(t, p.log)
	is(t, "the entries of the log", len(log.exchanges)+len(log.tunnels), total)
	if len(m.args) > 0 {
		stoodIn(t, w, log)
	}
	if !bytes.Equal(got.Bytes(), contentOf(t, p.log)) {
		t.Errorf("the follower got %d bytes, which are not the %d of the log", got.Len(), len(contentOf(t, p.log)))
	}
}
