package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

// mixed is traffic of every kind at once, and what the log must have of it.
type mixed struct {
	t      *testing.T
	w      *world
	p      *proxy
	origin *patient
	like   *http.Transport // what the clients' are like: the proxy, and trust in it
	turns  chan struct{}   // each lets one client do one thing; closed when all are to leave

	asked    atomic.Int64
	failures atomic.Int64

	mu   sync.Mutex
	made []string
}

// newMixed starts an origin and a proxy which relays one of its names
// undecrypted.
func newMixed(t *testing.T, args ...string) *mixed {
	t.Helper()
	m := &mixed{t: t, origin: newPatient(), turns: make(chan struct{})}
	m.w = newQuietWorld(t, m.origin)
	// Little is kept of bodies, so that the log can be held in memory.
	m.p = m.w.proxy(append(args, "--tunnel", m.tunnelled(), "--max-request-body", "1KiB", "--max-response-body", "1KiB", "--tls-timeout", patience.String())...)
	m.like = m.p.client().Transport.(*http.Transport)
	return m
}

func (m *mixed) tunnelled() string {
	return strings.Replace(m.w.origin.host, "localhost", "127.0.0.1", 1)
}

// client has connections of its own.
func (m *mixed) client() *http.Client {
	return &http.Client{Transport: m.like.Clone(), Timeout: patience}
}

// next is a number that no other request has.
func (m *mixed) next() int64 { return m.asked.Add(1) }

// did notes what the log must have once.
func (m *mixed) did(what, how string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made = append(m.made, what+": "+how)
}

// failed reports what went wrong for a client, as long as it is news.
func (m *mixed) failed(err error) {
	if m.failures.Add(1) <= 20 {
		m.t.Error(err)
	}
}

// run has clients take turns, about so many a second, for a while.
func (m *mixed) run(clients, turns int, d time.Duration) {
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() { kindOf(i).work(m) })
	}
	defer running.Wait()
	defer close(m.turns)
	end := time.After(d)
	tick := time.NewTicker(time.Second / time.Duration(turns))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			select {
			case m.turns <- struct{}{}:
			case <-end:
				return
			}
		case <-end:
			return
		}
	}
}

// agree stops the proxy and compares its log with what was done.
func (m *mixed) agree() {
	m.t.Helper()
	m.p.stop()
	var logged []string
	for key, entries := range pairs(netlogtest.Validate(m.t, m.p.log)) {
		for _, e := range entries {
			logged = append(logged, key+": "+e.story())
		}
	}
	m.t.Logf("%d entries", len(logged))
	tally(m.t, "the clients", m.made, "the log", logged)
}

// story is how an entry of mixed traffic went, as its client has it.
func (p pair) story() string {
	switch how := p.outcome(); {
	case p.end.WebSocket != nil && how == "101":
		return fmt.Sprintf("101, %d messages and %d", p.end.WebSocket.Sent.Messages, p.end.WebSocket.Received.Messages)
	case how == "200":
		return fmt.Sprintf("200, sent %s, received %s", hash(p.body()), hash(p.end.Response.Body))
	default:
		return how
	}
}

func hash(b *netlog.Body) string {
	if b == nil || b.Size == 0 {
		return sum(nil)
	}
	return b.SHA256
}

// 2,000 clients of every kind for a minute (make e2e), half an hour (make soak)
// or, a tenth of them, for a moment: each request has its one entry, and when
// they have gone the proxy takes no more than before they came.
func TestMixedTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds, and more until the memory is given back")
	}
	t.Parallel()
	clients, turns, d := 200, 200, 2*time.Second
	if os.Getenv("NETLOG_E2E") == "all" {
		clients, turns, d = 2000, 400, time.Minute
	}
	if soak := os.Getenv("NETLOG_SOAK"); soak != "" {
		var err error
		if d, err = time.ParseDuration(soak); err != nil {
			t.Fatal(err)
		}
		clients, turns = 2000, 200 // the log of half an hour is to be held in memory
	}
	m := newMixed(t)
	before := m.p.vitals()
	m.run(clients, turns, d)
	m.p.recovers(before)
	m.agree()
}

// Requests that are given up leave nothing behind in the proxy, and each has
// its entry.
func TestAbortedRequestsLeaveNothing(t *testing.T) {
	m := newMixed(t)
	before := m.p.vitals()
	var running sync.WaitGroup
	for range 200 {
		running.Go(m.abandon)
	}
	running.Wait()
	m.p.recovers(before)
	m.agree()
}
