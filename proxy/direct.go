package proxy

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// ServeDirect takes browsers from l that were led here by a name (DNS, a hosts
// file) and talk as to the server itself: over TLS when scheme is "https", whose
// server name chooses the certificate, else in plain HTTP. What the policy routes
// or redirects is served; any other host gets a 421 (RFC 9110 §15.5.20), marked as
// a site's failure. Otherwise it is as Serve.
func (p *Proxy) ServeDirect(l net.Listener, scheme string) error {
	if scheme != "https" && scheme != "http" {
		return errors.New("scheme " + strconv.Quote(scheme) + " is neither https nor http")
	}
	if scheme == "https" && p.Leaf == nil {
		return errors.New("no certificates to serve https with")
	}
	return p.accept(l, scheme)
}

// directTLS serves a connection that is for the server that its ClientHello names.
func (c *client) directTLS() {
	c.tcp.SetReadDeadline(time.Now().Add(c.p.Timeouts.ClientHead))
	if err := c.tcp.look(); err != nil || !c.work() { // it was only held in store
		return
	}
	at := c.p.now()
	target := c.localTarget()
	if offered, err := c.clientHello(); err == nil && offered.ServerName != "" {
		if name, err := canonicalName(offered.ServerName); err == nil {
			target.Host = name
		}
	}
	d := c.p.decide(target)
	if d.Action != RouteTo || d.Route == nil {
		c.forbid = unserved(target.Host)
		c.intercept(target, Decision{}, nil, at)
		return
	}
	c.intercept(target, d, c.dialEarly(target, d), at)
}

// localTarget is what a direct connection is for until it says so.
func (c *client) localTarget() Target {
	t := Target{Host: "localhost", Port: defaultPort(c.direct), Scheme: c.direct}
	if addr, err := netip.ParseAddrPort(c.tcp.LocalAddr().String()); err == nil {
		t.Host, t.Port = addr.Addr().Unmap().String(), addr.Port()
	}
	return t
}

// handleDirect serves a request of a plain direct connection, whose Host names
// what it is for.
func (c *client) handleDirect(t wire.Target, at time.Time) bool {
	target := c.localTarget()
	host, port, err := c.namedHost(t, "http")
	if err == nil {
		target.Host, target.Port = host, port
	} else if err != errUnnamed {
		return c.turnDown(c.newExchange(c.blame(), at), refusal(netlog.RefusedBadRequest, http.StatusBadRequest, err.Error()))
	}
	d := c.p.decide(target)
	o, err := newOrigin(target, target.Host, target.Port, netlog.ViaPlain, d)
	if err != nil || o.route == nil && o.redirect == "" {
		o, _ = newOrigin(target, target.Host, target.Port, netlog.ViaPlain, Decision{})
		return c.turnDown(c.newExchange(o, at), unserved(target.Host))
	}
	return c.exchange(c.newExchange(o, at), wire.ForwardOptions{})
}

// errUnnamed is what a request has that does not say whom it is for (HTTP/1.0).
var errUnnamed = errors.New("the request names no host")

// namedHost is the host that the request in c.req is for: its absolute target's
// or else (RFC 9112 §3.2.2) its Host field's.
func (c *client) namedHost(t wire.Target, scheme string) (host string, port uint16, err error) {
	if t.Form == wire.AbsoluteForm {
		if t.Scheme != scheme {
			return "", 0, errors.New("the request-target's scheme is not the connection's")
		}
		host, err = canonical(t.Host)
		return host, t.Port, err
	}
	value, ok := c.req.Fields.Get("host")
	if !ok || len(value) == 0 {
		return "", 0, errUnnamed
	}
	return hostOf(string(value), scheme)
}

// hostOf is the host of a Host field or an :authority.
func hostOf(value, scheme string) (host string, port uint16, err error) {
	if host, port, err = wire.SplitHostPort(value, defaultPort(scheme)); err == nil {
		host, err = canonical(host)
	}
	if err != nil {
		err = errors.New("the Host field is no host: " + err.Error())
	}
	return host, port, err
}

// sibling is the origin of the request in c.req on a connection for a site's
// name: the connection's own, or the same under another of the site's names,
// which its certificate has too (browsers join such connections: RFC 9113 §9.1.1).
// A direct connection's port is the browser's word, since where it arrives may
// not be where the browser went.
func (c *client) sibling(o *origin, t wire.Target) *origin {
	if o.route == nil && c.direct == "" {
		return o
	}
	host, port, err := c.namedHost(t, o.scheme)
	if err != nil {
		return o
	}
	return c.siblingFor(o, host, port)
}

// siblingFor is sibling for a host.
func (c *client) siblingFor(o *origin, host string, port uint16) *origin {
	if o.route == nil && c.direct == "" || host == o.host && port == o.port {
		return o
	}
	other := *o
	if port != o.port && c.direct != "" {
		other.port = port
	}
	if host != o.host && o.route != nil {
		if d := c.p.decide(Target{Host: host, Port: port, Scheme: o.scheme}); d.Action == RouteTo && d.Route == o.route {
			other.host = host
		}
	}
	return &other
}

// unserved is how a direct request for a host that is no site's is turned down.
func unserved(host string) *failure {
	return refusal(netlog.RefusedMisdirected, http.StatusMisdirectedRequest, "no site is called "+strconv.Quote(host))
}

// isSites tells whether a page of ours for an exchange is marked as a site's.
func (ex *exchange) isSites() bool { return ex.origin.route != nil || ex.c.direct != "" }
