package proxy

import (
	"context"
	"errors"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// How much of bodies is held for whoever gets them, of one and of all on one
// connection. A browser is near; a server may be far, and its answers have to fill
// the way.
const (
	uploadWindow, uploadsWindow = 256 << 10, 8 << 20
	answerWindow, answersWindow = 1 << 20, 16 << 20
)

const (
	// maxStreams is how many requests a browser may have open at once on one
	// connection, where the server lets it.
	maxStreams = 256
	// maxStreamsToHTTP1 is that for a server of HTTP/1, which gets a connection for each.
	maxStreamsToHTTP1 = 100
)

// serveStreams serves the requests of a browser that speaks HTTP/2 until its
// connection ends.
func (c *client) serveStreams() {
	t := &c.p.Timeouts
	conn := h2.NewServer(c.conn, h2.Config{
		Stream: c.takeStream,
		Fault:  func(fault any) { c.p.fault("writing to a browser", fault) },

		StreamWindow: uploadWindow, Window: uploadsWindow,
		MaxHeaderList: headLimit,
		Buffers:       &c.p.buffers,
		Timeouts:      h2.Timeouts{Preface: t.ClientHead, Settings: t.ClientHead, Head: t.ClientHead, Idle: t.Idle, Write: t.TunnelIdle},
	})
	c.multiplex(conn)
	err := conn.Serve()
	c.broke(err)
	c.streams.Wait() // those that are all here go on
	c.trunks.end()
}

// multiplex makes conn the connection that requests come on.
func (c *client) multiplex(conn *h2.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.h2, c.named = conn, c.origin.authority()
	if c.offered != nil {
		conn.Offer(*c.offered)
	}
	if c.stopping {
		conn.Shutdown()
	}
}

// offer tells the browser what it may do, now or once it can be told.
func (c *client) offer(o h2.Offer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offered = &o
	if c.h2 != nil {
		c.h2.Offer(o)
	}
}

// offerWhat has the browser be told what the server has said of itself.
func (c *client) offerWhat(s h2.Settings) {
	c.offer(h2.Offer{
		MaxStreams:    min(s.MaxStreams, maxStreams),
		MaxHeaderList: s.MaxHeaderList,
		Connect:       s.Connect,
		NoPriorities:  s.NoPriorities,
	})
}

// offerAnyway is for a server that says nothing of HTTP/2, unless one has.
func (c *client) offerAnyway() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.offered == nil {
		c.offered = &h2.Offer{MaxStreams: maxStreamsToHTTP1}
		if c.h2 != nil {
			c.h2.Offer(*c.offered)
		}
	}
}

// broke tells of a connection that was ended for what the browser did. What was
// going on has it in its entries; before any request it has one of its own.
func (c *client) broke(err error) {
	var e *h2.Error
	switch {
	case !errors.As(err, &e) || e.Remote:
		c.silent(err)
		return
	case !c.served && !e.Late:
		ex := &exchange{from: c, ctx: c.ctx, cancel: c.cancel, malformed: true}
		c.opened(ex, c.origin, c.p.now(), &netlog.Request{URL: c.origin.scheme + "://" + c.origin.authority() + "/"})
		ex.begin()
		ex.finish(refusalClosed(netlog.RefusedBadRequest, e.Error()))
	}
	c.p.Logger.Warn("an HTTP/2 connection was ended, as its browser broke the protocol", "browser", c.addr, "error", e.Error())
}

// takeStream takes a request, which gets a goroutine of its own. What the log says
// of it at first is said here, in the order of the requests.
func (c *client) takeStream(s *h2.Stream) {
	st := &stream{Stream: s, c: c}
	st.ctx, st.end = context.WithCancelCause(c.ctx)
	c.served = true
	at := c.p.now()
	if !at.After(c.asked) {
		at = c.asked.Add(time.Microsecond)
	}
	c.asked = at
	st.begins(at)
	if s.Head().Refused != nil { // here, since there may be a flood of them
		st.refused()
		return
	}
	s.OnGone(st.gone)
	c.streams.Add(1)
	go st.run()
}

// A browserFault is what a browser does wrong, by which it ends what it asked for.
type browserFault struct{ fault *h2.Error }

func (e browserFault) Error() string { return e.fault.Error() }

func (e browserFault) failed(phase netlog.Phase) *failure {
	code := netlog.CodeBadRequest
	if e.fault.Late {
		code = netlog.CodeTimeout
	}
	return failed(phase, code, e.Error())
}

// A browserReset is how a browser ends a stream before its time, or, by what it takes
// for a fault, all of them.
type browserReset struct {
	code http2.ErrCode
	all  bool
}

func (e browserReset) Error() string {
	if e.all {
		return e.code.String() + ": the browser ended the connection"
	}
	return e.code.String() + ": the browser reset the stream"
}
