package proxy

import (
	"context"
	"errors"
	"net"

	"github.com/agentenv/netlog/netlog"
)

// A link is a connection to a server on behalf of one browser connection, with
// which it ends.
type link struct {
	c      *client
	origin origin // that it was made for

	conn    net.Conn // TCP, or the TLS session over it
	dialled *dialled
	number  int64
	tls     *netlog.TLS
	used    bool // it has had an exchange before the one that is told of it
	unwatch func() bool
}

// httpOnly is what is offered to servers where no browser offered anything.
var httpOnly = []string{"http/1.1"}

// establish makes a connection for o, on tcp when that is not nil, and speaks
// TLS over it, offering alpn. Its error is a *failure of the work that ctx is of;
// what is returned with it has only what was dialled.
func (c *client) establish(ctx context.Context, o *origin, tcp *dialled, alpn []string) (*link, error) {
	if tcp == nil {
		var err error
		if tcp, err = c.dial(ctx, o.hop()); err != nil {
			return &link{dialled: tcp}, c.p.failure(ctx, netlog.PhaseConnect, err)
		}
	}
	l := &link{c: c, origin: *o, dialled: tcp, conn: tcp.conn, number: c.p.servers.Add(1)}
	l.unwatch = c.closeAtEnd(tcp.conn)
	if o.tls {
		if err := l.secure(ctx, alpn); err != nil {
			l.unwatch()
			tcp.conn.Close()
			return l, c.p.failure(ctx, netlog.PhaseServerTLS, err)
		}
	}
	return l, nil
}

// secure does the TLS handshake with the server.
func (l *link) secure(ctx context.Context, alpn []string) error {
	o := &l.origin
	l.dialled.securing = true
	session, unverified, err := l.c.p.speakTLS(ctx, l.conn, Target{Host: o.verify, Port: o.dialPort, Scheme: "https"}, alpn)
	if err != nil {
		return err
	}
	if err := inadequate(session.ConnectionState()); err != nil {
		return err
	}
	l.dialled.secured = l.c.p.now()
	l.conn = session
	sni := o.verify
	if isAddress(sni) {
		sni = "" // an address is never sent as one (RFC 6066 §3)
	}
	l.tls = serverLeg(session.ConnectionState(), sni, unverified)
	return nil
}

// speaksHTTP2 tells what was agreed with the server.
func (l *link) speaksHTTP2() bool { return l.tls != nil && l.tls.ALPN == "h2" }

// server is what the log says of the connection in an exchange on it.
func (l *link) server() netlog.Server {
	return netlog.Server{Address: l.dialled.address, Connection: l.number, Reused: l.used, TLS: l.tls}
}

// dialFor makes a new connection for ex, while a browser that goes away is
// noticed: none of its bytes is waited for otherwise.
func (c *client) dialFor(ex *exchange, alpn []string) (*link, *failure) {
	ex.marks.dialling = c.p.now()
	if c.conn == net.Conn(c.tcp) { // else the look would take bytes from the session
		watch := c.watch()
		defer watch.stop()
	}
	var tcp *dialled
	if e := c.first; e != nil {
		c.first = nil
		var err error
		if tcp, err = e.settleFor(ex.origin); err != nil {
			ex.dialledBy(tcp)
			ex.server.Address = tcp.address
			return nil, ex.fail(netlog.PhaseConnect, err)
		}
	}
	l, err := c.establish(ex.ctx, ex.origin, tcp, alpn)
	ex.dialledBy(l.dialled)
	if err != nil {
		var f *failure
		errors.As(err, &f)
		ex.server = netlog.Server{Address: l.dialled.address}
		return nil, f
	}
	return l, nil
}

// dialledBy notes when the steps of making a connection were over.
func (ex *exchange) dialledBy(d *dialled) {
	ex.marks.lookup, ex.marks.resolved, ex.marks.connected, ex.marks.securing = d.lookup, d.resolved, d.connected, d.securing
}
