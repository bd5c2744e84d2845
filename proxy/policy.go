package proxy

import (
	"net/netip"

	"github.com/agentenv/netlog/proxy/wire"
)

// A Target is a host that a browser wants to reach.
type Target struct {
	Host   string // lower case, no brackets, no final dot; a name or an address
	Port   uint16
	Scheme string // "https" for a CONNECT, "http" for an http:// request, also one inside a CONNECT

	// Addr is the address that would be dialled; invalid while a name is not
	// resolved. A policy is asked about a name first and then about each of its
	// addresses, where only Refuse counts: such an address is not dialled. A
	// route's addresses, and those that a parent proxy dials, are not asked about.
	Addr netip.Addr
}

// A hop is where a connection goes.
type hop struct {
	Target
	routed bool    // by the policy itself, or to a parent: the policy is not asked about the addresses
	asked  *Parent // that is connected to instead, as it is asked for the target's URLs
	trail  trail   // that a parent is told
}

// decide asks the policy about a host, of which what was learnt of its browser's
// trust is a part.
func (p *Proxy) decide(t Target) Decision {
	t.Addr = addressOf(t.Host)
	d := p.Policy(t)
	if d.Action == Intercept && t.Scheme == "https" && p.pins.has(t.Host) {
		return Decision{Action: TunnelThrough, Reason: "a browser had refused the proxy's certificate for this host"}
	}
	return d
}

// permits tells why a hop's address must not be dialled, if the policy refuses it.
func (p *Proxy) permits(to hop, ip netip.Addr) error {
	if to.routed || ip == addressOf(to.Host) { // else decide has asked
		return nil
	}
	to.Addr = ip
	if d := p.Policy(to.Target); d.Action == Refuse {
		return forbidden(d)
	}
	return nil
}

// An Action is what the proxy does with a target.
type Action int

// The actions. An http:// request has nothing to decrypt: Intercept and
// TunnelThrough both relay and record it.
const (
	Intercept     Action = iota // decrypt, relay and record each exchange
	RouteTo                     // decrypt, and serve from Decision.Route
	TunnelThrough               // relay undecrypted, record the connection
	Refuse                      // answer 403, record the refusal
	Redirect                    // send an http:// request to Decision.To; of a CONNECT it is RouteTo
)

// A Decision is what the policy says of a target. The zero value intercepts.
type Decision struct {
	Action Action
	Reason string // why, for the log and the browser; used by Refuse and, in the log, TunnelThrough
	Route  *Route // where to, for RouteTo; for Redirect whose name it is
	To     string // for Redirect: the origin, such as "https://notes.test", to ask instead

	// Redact names header fields as Config.Redact does, for the target's exchanges.
	Redact []string
}

// routes tells whether the target is a site's name, served from Route.
func (d Decision) routes() bool {
	return (d.Action == RouteTo || d.Action == Redirect) && d.Route != nil
}

// A Route serves a name from another server: requests to the name go to
// Address with their heads rewritten, and the log has what the browser sent and
// got. An answer that can't be read as HTTP is a 502 on a route, since it could
// hold what must be rewritten.
type Route struct {
	Site    string // the site's name in the log
	Address string // host:port that is dialled
	TLS     bool   // speak TLS to it, verified for Address's host

	// Request rewrites the head that goes up; nil: as it came. It may set Target,
	// which has the path's form, and Fields of r, which is a copy that the log does
	// not see. Hop-by-hop fields are dropped behind it. Its error turns the request
	// down (400).
	Request func(r *wire.Request, v Visit) error
	// Answer rewrites each head that comes down, also a 1xx's, before it is logged
	// and relayed; nil: as it came. It may set Fields of a.
	Answer func(a *wire.Answer, v Visit)
}

// A Visit is what a route's rewriting may need to know of the request.
type Visit struct {
	Scheme    string // "https" or "http": what the browser used
	Host      string // as Target.Host has it
	Authority string // Host and, unless it is the scheme's own, the port, as in a URL
	Client    string // the browser's address, without its port
}
