package proxy

import (
	"strings"
	"sync"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// openWithin is how long after its head an open line is written at the latest.
const openWithin = 100 * time.Millisecond

// An entry is the two lines of an exchange or a tunnel. Its open line is written
// when its owner says so or when its time has come, and its end line once.
type entry struct {
	p *Proxy

	secret []string // the names of fields whose values stay out of the lines

	mu     sync.Mutex
	open   netlog.Open // complete but for the request's body and trailers
	id     int64
	opened bool // the open line is written
	whole  bool // and has the request's body
	ended  bool
	timer  *time.Timer
}

// redact takes out the values of the fields whose names are secret.
func (e *entry) redact(lists ...[]netlog.Header) {
	for _, name := range e.secret {
		for _, list := range lists {
			for i := range list {
				if strings.EqualFold(list[i].Name, name) {
					list[i].Value = removed
				}
			}
		}
	}
}

// begin starts the time within which the open line is written.
func (e *entry) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(openWithin, e.writeOpen)
	e.p.count(e.open.Kind, 1)
}

// writeOpen writes the open line, unless it is written.
func (e *entry) writeOpen() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writeOpenLocked()
}

func (e *entry) writeOpenLocked() {
	if e.opened || e.ended {
		return
	}
	e.opened = true
	if e.timer != nil {
		e.timer.Stop()
	}
	if r := e.open.Request; r != nil {
		e.redact(r.Headers, r.Trailers)
	}
	e.id = e.p.Log.Open(&e.open)
}

// knows tells whether the open line has all of the request.
func (e *entry) knows() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.whole
}

// know takes what became known of the request's body. It writes the open line
// with it, or else returns it for the end line.
func (e *entry) know(body *netlog.Body, trailers []netlog.Header) *netlog.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.whole {
		return nil
	}
	if e.opened {
		return &netlog.Request{Body: body, Trailers: trailers}
	}
	e.open.Request.Body, e.open.Request.Trailers = body, trailers
	e.whole = true
	e.writeOpenLocked()
	if body != nil {
		body.Kept = nil // it is not held until the end
	}
	return nil
}

// answer writes the answer line, unless the entry has ended.
func (e *entry) answer(a *netlog.Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.writeOpenLocked()
		e.redact(a.Response.Headers)
		e.p.Log.Answer(e.id, a)
	}
}

// message writes the line of a WebSocket message, unless the entry has ended.
func (e *entry) message(m *netlog.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.p.Log.Message(e.id, m)
	}
}

// end writes the end line; only the first call does.
func (e *entry) end(end *netlog.End) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	e.writeOpenLocked()
	e.ended = true
	if r := end.Request; r != nil {
		e.redact(r.Trailers)
	}
	if r := end.Response; r != nil {
		e.redact(r.Headers, r.Trailers)
		for _, i := range r.Informational {
			e.redact(i.Headers)
		}
	}
	e.p.Log.End(e.id, end)
	e.p.count(e.open.Kind, -1)
	if e.p.Ended != nil {
		e.p.Ended(e.id, &e.open, end)
	}
}
