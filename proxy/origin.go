package proxy

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// An origin is what requests are for: the name that they use and where they go.
type origin struct {
	scheme string // "http" or "https"
	host   string // as wire.CanonicalHost has it
	port   uint16
	named  bool // false: host is only where a CONNECT went; the first Host names it

	dialHost string
	dialPort uint16
	tls      bool   // speak TLS to the server
	verify   string // the name that its certificate must have

	via      netlog.Via
	route    *Route
	redirect string   // the origin that its requests are sent to; "": they are served
	redact   []string // the names of fields whose values stay out of the log
	asked    *Parent  // gets the requests, by their URLs
}

func defaultPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// newOrigin is the origin of target, reached at the given address.
func newOrigin(t Target, dialHost string, dialPort uint16, via netlog.Via, d Decision) (*origin, error) {
	o := &origin{
		scheme: t.Scheme, host: t.Host, port: t.Port, named: true,
		dialHost: dialHost, dialPort: dialPort,
		tls: t.Scheme == "https", verify: t.Host,
		via: via,
	}
	if err := o.decided(d); err != nil {
		return nil, err
	}
	return o, nil
}

// decided gives the origin what the policy said of its name.
func (o *origin) decided(d Decision) error {
	if d.Action == Redirect && o.scheme == "http" {
		o.redirect = d.To
	}
	o.redact = d.Redact
	if d.routes() {
		return o.routeTo(d.Route)
	}
	return nil
}

// routeTo makes the origin be served from r.
func (o *origin) routeTo(r *Route) error {
	host, port, err := wire.SplitHostPort(r.Address, routePort(r))
	if err != nil {
		return err
	}
	o.dialHost, o.dialPort, o.tls, o.verify = host, port, r.TLS, host
	o.via, o.route = netlog.ViaSite, r
	return nil
}

// hop is where connections for the origin go.
func (o *origin) hop() hop {
	return hop{Target: Target{Host: o.dialHost, Port: o.dialPort, Scheme: schemeOf(o.tls)}, routed: o.route != nil, asked: o.asked}
}

func schemeOf(tls bool) string {
	if tls {
		return "https"
	}
	return "http"
}

// authority is the origin's host and, unless it is the default, port, as a URL has them.
func (o *origin) authority() string { return authority(o.host, o.port, o.scheme) }

func authority(host string, port uint16, scheme string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != defaultPort(scheme) {
		host += ":" + strconv.Itoa(int(port))
	}
	return host
}

// visit is what a route's rewriting is told of a request for the origin.
func (c *client) visit(o *origin) Visit {
	addr, _, err := net.SplitHostPort(c.addr)
	if err != nil {
		addr = c.addr
	}
	return Visit{Scheme: o.scheme, Host: o.host, Authority: o.authority(), Client: addr}
}

func (o *origin) site() string {
	if o.route == nil {
		return ""
	}
	return o.route.Site
}

// sameServer tells whether a connection made for o serves requests for other.
func (o *origin) sameServer(other *origin) bool {
	return o.dialHost == other.dialHost && o.dialPort == other.dialPort && o.tls == other.tls && o.verify == other.verify && o.asked == other.asked
}

// canonical is wire.CanonicalHost with an internationalised name as DNS has it
// (RFC 5891).
func canonical(host string) (string, error) {
	if !utf8.ValidString(host) {
		return "", errors.New("the host is no UTF-8")
	}
	for i := range len(host) {
		if host[i] >= 0x80 {
			ascii, err := idna.Lookup.ToASCII(host)
			if err != nil {
				return "", err
			}
			return wire.CanonicalHost(ascii) // once more: a dot or a digit may have been written otherwise
		}
	}
	return host, nil
}

// canonicalName is a name, as a ClientHello or a rule has it, in the form of an
// origin's host.
func canonicalName(name string) (string, error) {
	host, err := wire.CanonicalHost(name)
	if err != nil {
		return "", err
	}
	return canonical(host)
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// misdirected is how a request that names another host than its connection's is
// turned down (RFC 9110 §15.5.20).
func misdirected(named, own string) *failure {
	return refusal(netlog.RefusedMisdirected, http.StatusMisdirectedRequest,
		"the request is for "+strconv.Quote(named)+" on a connection for "+strconv.Quote(own))
}

// admits holds a request on an intercepted connection, or on one that a CONNECT
// made, to the connection's one name.
func (c *client) admits(o *origin, r *wire.Request, t wire.Target) *failure {
	if t.Form == wire.AbsoluteForm {
		host, err := canonical(t.Host)
		if err != nil || t.Scheme != o.scheme || host != o.host || t.Port != o.port {
			return misdirected(authority(t.Host, t.Port, t.Scheme), o.authority())
		}
	}
	value, ok := r.Fields.Get("host")
	if !ok {
		return nil // HTTP/1.0
	}
	return c.admitsHost(o, string(value))
}

// admitsHost does so for what a Host field, or an :authority, says.
func (c *client) admitsHost(o *origin, value string) *failure {
	host, port, err := hostOf(value, o.scheme)
	if err != nil {
		return refusal(netlog.RefusedBadRequest, http.StatusBadRequest, err.Error())
	}
	switch {
	case o.named && host == o.host && port == o.port:
		return nil
	case o.named, port != o.port:
		return misdirected(value, o.authority())
	case host == o.host:
		o.named = true
		return nil
	}
	return c.rename(o, host)
}

// rename gives the connection of a browser that resolved the name itself the
// name in its first Host field, when the policy allows that name too.
func (c *client) rename(o *origin, host string) *failure {
	d := c.p.decide(Target{Host: host, Port: o.port, Scheme: o.scheme})
	o.host, o.verify, o.named = host, host, true // also of a refusal: its entry says what was asked for
	if d.Action == Refuse {
		return forbidden(d)
	}
	if err := o.decided(d); err != nil {
		return failed(netlog.PhaseProxy, netlog.CodeInternal, err.Error())
	}
	return nil
}

// forbidden is how the policy's Refuse turns a request down.
func forbidden(d Decision) *failure {
	reason := d.Reason
	if reason == "" {
		reason = "the policy forbids this host"
	}
	return refusal(netlog.RefusedPolicy, http.StatusForbidden, reason)
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
