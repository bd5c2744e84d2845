package proxy

import (
	"net"
	"slices"
	"sync"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// A trunk is a connection to a server that speaks HTTP/2: it carries the exchanges
// of one browser connection, each on a stream.
type trunk struct {
	link
	h2 *h2.Conn

	mu sync.Mutex // guards link.used
}

// trunks are a browser connection's. There is one at a time; those before it go on
// until their exchanges have ended.
type trunks struct {
	running sync.WaitGroup

	mu     sync.Mutex
	last   *trunk  // nil: none was made yet, or it is not to be used any more
	making *making // nil: none is being made
}

// A making is that of a trunk, which others wait for. It fails for all of them.
type making struct {
	done    chan struct{} // closed at its end
	failed  *failure      // nil: not, or only for the exchange that it was begun for
	address string        // of the server, when it has failed
}

// newTrunk speaks HTTP/2 on a connection to a server.
func newTrunk(l *link) *trunk {
	c := l.c
	t := &trunk{link: *l}
	t.h2 = h2.NewClient(l.conn, h2.Config{
		Settings: c.offerWhat,
		Fault:    func(fault any) { c.p.fault("writing to a server", fault) },

		StreamWindow: answerWindow, Window: answersWindow,
		MaxHeaderList: headLimit,
		Buffers:       &c.p.buffers,
		Timeouts:      h2.Timeouts{Preface: c.p.Timeouts.TLS, Head: c.p.Timeouts.TLS, Write: c.p.Timeouts.Answer},
	})
	c.trunks.running.Go(t.run)
	return t
}

// run reads the connection until it ends.
func (t *trunk) run() {
	defer t.unwatch()
	defer t.c.offerAnyway()
	defer t.lost()
	t.h2.Serve()
}

// lost keeps a fault of our own to the connection that met it.
func (t *trunk) lost() {
	if fault := recover(); fault != nil {
		t.c.p.fault("reading a server", fault)
		t.h2.Close(net.ErrClosed)
	}
}

// begin gives ex a stream, which nothing is sent on yet.
func (t *trunk) begin(ex *exchange) (*h2.Stream, error) {
	up, err := t.h2.NewStream()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ex.server, ex.dialled = t.server(), nil
	if !t.used {
		ex.dialled = t.dialled
	}
	t.used = true
	return up, nil
}

// trunkFor gives ex a connection to its server: one of HTTP/2 or, where the server
// does not speak that any more, a new one that is for ex alone.
func (c *client) trunkFor(ex *exchange) (*trunk, *link, *failure) {
	for {
		t, m, ours := c.trunks.now()
		switch {
		case t != nil:
			return t, nil, nil
		case ours:
			return c.newTrunkFor(ex, m)
		}
		select {
		case <-m.done:
			if m.failed != nil {
				ex.server = netlog.Server{Address: m.address}
				return nil, nil, m.failed
			}
		case <-ex.ctx.Done():
			return nil, nil, ex.fail(netlog.PhaseConnect, ex.ctx.Err())
		}
	}
}

// now is the trunk that can be used, or, when there is none, the making of one, which
// may be the caller's to do.
func (ts *trunks) now() (t *trunk, m *making, ours bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.last != nil && ts.last.h2.Usable() {
		return ts.last, nil, false
	}
	if ts.making == nil {
		ts.making, ours = &making{done: make(chan struct{})}, true
	}
	return nil, ts.making, ours
}

// made says that one was made; nil: that it was not.
func (ts *trunks) made(t *trunk) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.leave()
	ts.last = t
	close(ts.making.done)
	ts.making = nil
}

// leave has the last one end with its exchanges.
func (ts *trunks) leave() {
	if ts.last != nil {
		ts.last.h2.Shutdown()
	}
}

// end ends them, once what is on its way to their servers has gone out.
func (ts *trunks) end() {
	ts.mu.Lock()
	ts.leave()
	ts.mu.Unlock()
	ts.running.Wait()
}

// newTrunkFor makes a connection for ex.
func (c *client) newTrunkFor(ex *exchange, m *making) (t *trunk, l *link, f *failure) {
	defer func() { c.trunks.made(t) }()
	if err := ex.ctx.Err(); err != nil { // which may have ended the last one
		return nil, nil, ex.fail(netlog.PhaseWait, err)
	}
	l, f = c.dialFor(ex, []string{"h2", "http/1.1"})
	switch {
	case f != nil && ex.ctx.Err() == nil:
		m.failed, m.address = f, ex.server.Address
	case f == nil && l.speaksHTTP2():
		return newTrunk(l), nil, nil
	}
	return nil, l, f
}

// mayOfferHTTP2 tells whether what a browser offers has HTTP/2, and we speak it.
func (c *client) mayOfferHTTP2(offered []string) bool {
	return !c.p.HTTP1 && slices.Contains(offered, "h2")
}
