package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// intercepted checks that the log has exactly what the origin was asked: each
// request once, with the same status and the same bodies, and that nothing
// failed.
func intercepted(t *testing.T, w *world, log *record) {
	t.Helper()
	asked := w.origin.accesses(t)
	var origin, logged []string
	for _, a := range asked {
		answer := sum(a.ResponseBody)
		if a.Method == "HEAD" {
			answer = sum(nil)
		}
		origin = append(origin, fmt.Sprintf("%s %s, body %s: %d, body %s", a.Method, a.URL, sum(a.RequestBody), a.Status, answer))
	}
	for _, e := range log.to(w.ours()...) {
		went(t, e)
		if s := e.end.WebSocket; e.status() == 101 && (s == nil || s.Sent.Messages != 3 || s.Received.Messages != 3 || s.Close == nil || s.Close.Code != 1000 || s.Close.By != "client") {
			t.Errorf("%s: %+v; each client sends three messages, gets them back and closes", e.url(), s)
		}
		logged = append(logged, fmt.Sprintf("%s %s, body %s: %d, body %s", e.open.Request.Method, e.asked(), hashOf(e.open.Request, e.end.Request), e.status(), hashOf(e.end.Response)))
	}
	tally(t, "the origin", origin, "the log", logged)
	for _, tunnel := range log.tunnels {
		if w.hostOf(tunnel.open.Target) != "" && !gaveUp(tunnel) {
			t.Errorf("a tunnel to %s: %+v", tunnel.open.Target, tunnel.end)
		}
	}
}

// stoodIn checks that the log has one tunnel for each connection that came to
// the origin by a CONNECT, with its bytes, and one exchange for each http://
// request that did not.
func stoodIn(t *testing.T, w *world, log *record) {
	t.Helper()
	asked := w.origin.accesses(t)
	bare := map[string]int{} // the log's exchanges
	sent, received := int64(0), int64(0)
	for _, e := range log.to(w.ours()...) {
		went(t, e)
		is(t, "via", e.open.Via, "stand-in")
		if e.end.Tunnel == nil {
			t.Fatalf("line %d has no bytes", e.end.N)
		}
		sent, received = sent+e.end.Tunnel.Sent, received+e.end.Tunnel.Received
		bare[fmt.Sprintf("%s %s %d", e.open.Request.Method, e.asked(), e.status())]++
	}
	// What the log has as an exchange came in absolute form; the connections of
	// the rest are tunnels.
	absolute := map[*counted]bool{}
	for _, a := range asked {
		if key := fmt.Sprintf("%s %s %d", a.Method, a.URL, a.Status); a.conn.host == w.origin.plain && bare[key] > 0 {
			bare[key]--
			absolute[a.conn] = true
		}
	}
	for key, n := range bare {
		if n > 0 {
			t.Errorf("%s: the log has it %d times more than the origin", key, n)
		}
	}
	var read, written int64
	tunnelled := map[string][]traffic{}
	for _, host := range []string{w.origin.host, w.origin.plain} {
		for _, c := range w.origin.connections(t, host) {
			if absolute[c] {
				read, written = read+c.read.Load(), written+c.written.Load()
			} else {
				tunnelled[host] = append(tunnelled[host], traffic{c.read.Load(), c.written.Load()})
			}
		}
	}
	if sent != read || received != written {
		t.Errorf("the exchanges sent %d bytes and received %d; the origin read %d and wrote %d", sent, received, read, written)
	}
	tunnels := map[string][]traffic{}
	for _, e := range log.tunnels {
		host := w.hostOf(e.open.Target)
		if host == "" || e.end.Tunnel.Sent == 0 && e.end.Tunnel.Received == 0 {
			continue
		}
		is(t, "via", e.open.Via, "stand-in")
		// An origin that closes before it has read the client's good-bye resets the
		// connection, which passes the tunnel and is told.
		if f := e.end.Failed; f != nil && f.Code != "reset" || e.end.Refused != nil {
			t.Errorf("the tunnel to %s failed %+v, refused %+v", e.open.Target, e.end.Failed, e.end.Refused)
		}
		if host == w.origin.host {
			name, _, _ := strings.Cut(e.open.Target, ":")
			is(t, "the name in the ClientHello", e.end.Tunnel.SNI, name)
		}
		tunnels[host] = append(tunnels[host], traffic{e.end.Tunnel.Sent, e.end.Tunnel.Received})
	}
	if len(tunnels) == 0 && len(absolute) == 0 {
		t.Error("nothing came to the origin")
	}
	for _, host := range []string{w.origin.host, w.origin.plain} {
		if !alike(tunnels[host], tunnelled[host]) {
			t.Errorf("the tunnels to %s carried %v, its connections %v", host, tunnels[host], tunnelled[host])
		}
	}
}

// traffic is a connection's bytes: to the origin, and from it.
type traffic [2]int64

// TLS's good-bye may find nobody there (RFC 8446 §6.1), and its bytes, of which
// there are no more, are then one party's alone.
const goodbye = 64

// alike tells whether two parties counted the same connections.
func alike(a, b []traffic) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range 2 {
		by := func(x, y traffic) int { return int(x[i] - y[i]) }
		a, b := slices.SortedFunc(slices.Values(a), by), slices.SortedFunc(slices.Values(b), by)
		for j := range a {
			if d := a[j][i] - b[j][i]; d > goodbye || d < -goodbye {
				return false
			}
		}
	}
	return true
}

// named are the origin's two hosts by a name that no resolver knows.
func (w *world) named() []string {
	named := []string{w.origin.host, w.origin.plain}
	for i, host := range named {
		_, port, _ := strings.Cut(host, ":")
		named[i] = "site.test:" + port
	}
	return named
}

// ours are the origin's hosts by all their names.
func (w *world) ours() []string {
	return append(w.named(), w.origin.host, w.origin.plain)
}

// hostOf is the origin's host that a tunnel's target means; "" when none.
func (w *world) hostOf(target string) string {
	if i := slices.Index(w.ours(), target); i >= 0 {
		return w.ours()[i%2+2]
	}
	return ""
}

// went checks that an exchange came to its end.
func went(t *testing.T, e entry) {
	t.Helper()
	if e.end.Failed != nil || e.end.Refused != nil || e.end.Response == nil || !e.end.Response.Complete {
		t.Errorf("%s %s: failed %+v, refused %+v, response %+v", e.open.Request.Method, e.open.Request.URL, e.end.Failed, e.end.Refused, e.end.Response)
	}
}

// asked is the request's URL with the target spelt as it was sent, where the
// log's URL had to spell it otherwise.
func (e entry) asked() string {
	r := e.open.Request
	path := r.Target
	if _, rest, absolute := strings.Cut(r.Target, "://"); absolute && path[0] != '/' {
		path = rest[max(strings.IndexByte(rest, '/'), 0):]
	}
	if !strings.HasPrefix(path, "/") {
		return r.URL
	}
	scheme, rest, _ := strings.Cut(r.URL, "://")
	authority, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + authority + path
}

func (e entry) status() int {
	if e.end.Response == nil {
		return 0
	}
	return e.end.Response.Status
}

// hashOf is the hash of the body that one of the records has; of none, that
// of no bytes.
func hashOf(records ...*message) string {
	for _, m := range records {
		if m != nil && m.Body != nil && m.Body.Size > 0 {
			return m.Body.SHA256
		}
	}
	return sum(nil)
}

// tally compares two lists of facts, in whatever order.
func tally(t *testing.T, nameA string, a []string, nameB string, b []string) {
	t.Helper()
	if len(a) == 0 {
		t.Errorf("%s has nothing", nameA)
	}
	count := map[string][2]int{}
	for i, side := range [][]string{a, b} {
		for _, fact := range side {
			c := count[fact]
			c[i]++
			count[fact] = c
		}
	}
	var differences strings.Builder
	for _, fact := range sortedKeys(count) {
		if c := count[fact]; c[0] != c[1] {
			fmt.Fprintf(&differences, "%s\n\t%s %d times, %s %d times\n", fact, nameA, c[0], nameB, c[1])
		}
	}
	if differences.Len() > 0 {
		t.Errorf("%.20000s", differences.String())
	}
}
