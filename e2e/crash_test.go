package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// load asks for total answers, some at a time, each with a URL of its own.
// asked is called before each one with its number; what fails is not asked
// again. It returns once all workers are done, with the number that were
// answered whole.
func load(client *http.Client, origin string, total, atATime int, asked func(i int)) int {
	var next, answered atomic.Int64
	var workers sync.WaitGroup
	for range atATime {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= total {
					return
				}
				asked(i)
				r, err := client.Post(fmt.Sprintf("https://%s/echo?load=%d", origin, i), "text/plain", strings.NewReader(fmt.Sprint("body ", i)))
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
	const total, atATime = 4096, 16
	w := newWorld(t)
	first := w.proxy()
	// One request that surely is open when the proxy dies: its open line is in
	// the file, and nobody will end it.
	held := first.client()
	go held.Get("https://" + w.origin.host + "/held")
	until(t, "the held request's open line", func() bool { return contains(t, first.log, `/held"`) })

	// The client has the process that lives at the moment.
	client := first.client()
	var once sync.Once
	killed := make(chan struct{})
	answered := load(client, w.origin.host, total, atATime, func(i int) {
		if i == total/2 {
			once.Do(func() {
				first.cmd.Process.Kill()
				close(killed)
			})
		}
	})
	<-killed
	first.wait("SIGKILL")
	if answered == 0 || answered >= total {
		t.Fatalf("%d of %d answered: the kill was not in the middle", answered, total)
	}
	written := contentOf(t, first.log)
	cut := 0
	if len(written) > 0 && written[len(written)-1] != '\n' {
		cut = 1
	}

	second := w.proxy()
	after := load(second.client(), w.origin.host, total-total/2, atATime, func(int) {})
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
	if len(dead) == 0 {
		t.Error("no entry was open when the proxy died")
	}
	for _, e := range log.exchanges {
		restarted := e.end.Failed != nil && e.end.Failed.Phase == "proxy" && e.end.Failed.Code == "restarted"
		if restarted != dead[e.open.ID] {
			t.Errorf("%d %s: open at the death %v, ended with %+v", e.open.ID, e.open.Request.URL, dead[e.open.ID], e.end.Failed)
		}
	}
	if n := len(log.lines) - restart; n < 2*after {
		t.Errorf("the second process wrote %d lines for %d requests", n, after)
	}
}

// 1,024 requests, 64 at a time, while a poller follows the log: it gets each
// line once, in order, as it stands in the file.
func TestAFollowerGetsEachLineOnceInOrder(t *testing.T) {
	const total, atATime, limit = 1024, 64, 64 << 10
	w := newWorld(t)
	p := w.proxy()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	if answered := load(p.client(), w.origin.host, total, atATime, func(int) {}); answered != total {
		t.Errorf("%d of %d were answered", answered, total)
	}
	follower.Wait()
	p.stop()
	log := readLog(t, p.log)
	is(t, "the exchanges of the log", len(log.exchanges), total)
	if !bytes.Equal(got.Bytes(), contentOf(t, p.log)) {
		t.Errorf("the follower got %d bytes, which are not the %d of the log", got.Len(), len(contentOf(t, p.log)))
	}
}
