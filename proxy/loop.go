package proxy

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// Proxies that are each other's parents would send a request round for ever. So
// what each asks its parent for carries a mark, which those of this kind pass on to
// their own parents: a connection option (RFC 9110 §7.6.1), which a proxy takes off
// with the Connection field. As some don't, and no server is to see it, a CONNECT
// always has it, which ends at the parent, and a request only once there are many
// alike at the same time, as there are when one goes round.

// markPrefix begins the marks of all proxies of this kind.
const markPrefix = "agentenv-netlog-"

// newMark is a process's own.
func newMark() string {
	var random [8]byte
	rand.Read(random[:])
	return markPrefix + hex.EncodeToString(random[:])
}

// A trail is what a parent is told of the way that a request has come.
type trail struct {
	via   string // the Via fields of a CONNECT, as they came, by which other proxies know theirs
	marks string // this proxy's mark behind those that the request came with; "": no parent is asked
}

// maxVia bounds the Via fields that are kept with a connection.
const maxVia = 8 << 10

// trailOf is that of a request, or a CONNECT, on its way to a parent.
func (p *Proxy) trailOf(r *wire.Request) trail {
	if p.Parent == nil {
		return trail{}
	}
	var t trail
	for i := range r.Fields {
		if f := &r.Fields[i]; strings.EqualFold(string(f.Name), "via") && len(t.via)+len(f.Line) <= maxVia {
			t.via += string(f.Line)
		}
	}
	for option := range r.Fields.Elements("connection") {
		if len(option) == len(p.mark) && strings.EqualFold(string(option[:len(markPrefix)]), markPrefix) {
			t.marks += string(option) + ", "
		}
	}
	t.marks += p.mark
	return t
}

// connection is the field that has the marks.
func (t trail) connection() string { return "Connection: " + t.marks + "\r\n" }

// manyAlike is how many requests alike a parent is asked for at once without a mark.
const manyAlike = 8

// askings are the requests that parents are being asked for, by method and URL. The
// zero value has none.
type askings struct {
	mu sync.Mutex
	n  map[string]int
}

// add counts one more, and returns how many there are.
func (a *askings) add(request string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == nil {
		a.n = map[string]int{}
	}
	a.n[request]++
	return a.n[request]
}

func (a *askings) remove(request string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n[request]--; a.n[request] == 0 {
		delete(a.n, request)
	}
}

// markFor is the field with the marks of a request that a parent is asked for; ""
// while there is no reason for one.
func (c *client) markFor(ex *exchange) string {
	ex.asking = ex.method + " " + ex.open.Request.URL
	if c.p.askings.add(ex.asking) <= manyAlike && c.trail.marks == c.p.mark {
		return ""
	}
	return c.trail.connection()
}

// isBack tells a request that this proxy has asked a parent for.
func (p *Proxy) isBack(r *wire.Request) bool { return r.Fields.HasToken("connection", p.mark) }

// refusedLoop is how it is turned down. What the browser gets may be another's
// certificate that it does not trust: people are told too.
func (p *Proxy) refusedLoop() *failure {
	p.toldLoop.Do(func() {
		p.Logger.Warn("a request has come back to this proxy by way of its upstream proxy: one of the two has to reach servers itself")
	})
	return refusal(netlog.RefusedOwnAddress, http.StatusLoopDetected,
		"the request has come back to this proxy: its upstream proxy is this proxy itself, or asks this one in its turn")
}
