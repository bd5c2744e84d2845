package proxy

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// A dialled is a new connection and what making it took.
type dialled struct {
	conn      *peeked
	address   string // ip:port
	began     time.Time
	lookup    bool      // a name had to be resolved
	resolved  time.Time // when it was; zero when it was not
	connected time.Time
	securing  bool      // a TLS handshake was begun
	secured   time.Time // when the TLS handshake was over; zero without
}

// figures is what the log says of a connection in its first exchange.
func (d *dialled) figures() *netlog.Dialled {
	f := &netlog.Dialled{Time: d.began, DNS: netlog.Absent, Connect: netlog.Absent, TLS: netlog.Absent}
	tcp := d.began
	if !d.resolved.IsZero() {
		f.DNS = micros(d.began, d.resolved)
		tcp = d.resolved
	}
	last := d.connected
	if !d.secured.IsZero() {
		f.TLS = micros(d.connected, d.secured)
		last = d.secured
	}
	f.Connect = micros(tcp, last)
	return f
}

func micros(from, to time.Time) int64 { return to.Sub(from).Microseconds() }

// dial connects to a hop for what the browser asked for.
func (c *client) dial(ctx context.Context, to hop) (*dialled, error) {
	to.trail = c.trail
	return c.p.dial(ctx, to)
}

// dial connects to a hop within the time limit. It never connects to the proxy
// itself, nor to an address that the policy refuses.
func (p *Proxy) dial(ctx context.Context, to hop) (*dialled, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeouts.Dial)
	defer cancel()
	d := &dialled{began: p.now()}
	conn, ahead, err := p.reach(ctx, d, to)
	if err != nil {
		return d, err
	}
	d.connected = p.now()
	d.conn = &peeked{Conn: conn, ahead: ahead}
	return d, nil
}

// reach connects to a hop, through a parent where one is to be. ahead is what was
// read of the connection already.
func (p *Proxy) reach(ctx context.Context, d *dialled, to hop) (conn net.Conn, ahead []byte, err error) {
	parent := to.asked
	if parent == nil && p.Parent != nil {
		parent = p.Parent(to.Target)
	}
	switch {
	case parent == nil:
		conn, err = p.connectTo(ctx, d, to)
		return conn, nil, err
	case p.isHome(to.Target):
		return nil, nil, errOwnAddress
	case to.asked != nil:
		conn, err = p.toParent(ctx, d, parent)
		return conn, nil, err
	}
	return p.through(ctx, d, parent, to)
}

// connectTo connects to a hop and notes in d the address that it was or, when
// dialling fails, that the error is of.
func (p *Proxy) connectTo(ctx context.Context, d *dialled, to hop) (net.Conn, error) {
	ips := p.givenFor(to.Host, to.Port)
	if len(ips) == 0 {
		if p.Dial != nil {
			return p.dialNamed(ctx, d, to)
		}
		var err error
		if ips, err = p.resolve(ctx, d, to.Host); err != nil {
			return nil, err
		}
	}
	conn, at, err := race(ctx, interleaved(ips, to.Port), func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		return p.dialAddress(ctx, to, addr)
	})
	if !isRefusal(err) {
		d.address = at.String()
	}
	return conn, err
}

// givenFor is what Config.Resolve says of a name.
func (p *Proxy) givenFor(host string, port uint16) []netip.Addr {
	if p.Resolve == nil || isAddress(host) {
		return nil
	}
	return p.Resolve(host, port)
}

// dialNamed leaves resolving to Config.Dial too, so that the address can be looked
// at only when it is connected to.
func (p *Proxy) dialNamed(ctx context.Context, d *dialled, to hop) (net.Conn, error) {
	conn, err := p.Dial(ctx, "tcp", hostPort(to.Host, to.Port))
	if err != nil {
		return nil, err
	}
	if addr, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		if err := p.mayDial(to, addr); err != nil {
			conn.Close()
			return nil, err
		}
	}
	d.address = conn.RemoteAddr().String()
	return conn, nil
}

// dialAddress connects to one address, which it looks at first.
func (p *Proxy) dialAddress(ctx context.Context, to hop, addr netip.AddrPort) (net.Conn, error) {
	if err := p.mayDial(to, addr); err != nil {
		return nil, err
	}
	if p.Dial != nil {
		return p.Dial(ctx, "tcp", addr.String())
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", addr.String())
}

// mayDial tells why a hop's address must not be dialled, if it must not.
func (p *Proxy) mayDial(to hop, addr netip.AddrPort) error {
	if p.isOwn(addr) {
		return errOwnAddress
	}
	return p.permits(to, addr.Addr().Unmap())
}

// resolve gives the addresses of host, and notes in d that they had to be looked up.
func (p *Proxy) resolve(ctx context.Context, d *dialled, host string) ([]netip.Addr, error) {
	if ips := known(host); ips != nil {
		return ips, nil
	}
	d.lookup = true
	ips, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	d.resolved = p.now()
	return ips, nil
}

// known are the addresses of a host that nobody is asked for: an address, and
// names under localhost, which are loopback, as browsers have it (RFC 6761 §6.3).
func known(host string) []netip.Addr {
	if ip := addressOf(host); ip.IsValid() {
		return []netip.Addr{ip.Unmap()}
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	return nil
}

// lookup asks the system's resolver.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips, err
}

// isHome tells whether a target is this proxy, as far as it can be told without
// asking anybody.
func (p *Proxy) isHome(to Target) bool {
	for _, ip := range known(to.Host) {
		if p.isOwn(netip.AddrPortFrom(ip, to.Port)) {
			return true
		}
	}
	return false
}

// isOwn tells whether addr is where this proxy listens.
func (p *Proxy) isOwn(addr netip.AddrPort) bool {
	p.mu.Lock()
	own := p.own
	p.mu.Unlock()
	return slices.ContainsFunc(own, func(listening netip.AddrPort) bool { return listensAt(listening, addr) })
}

// listensAt tells whether what listens on an address is reached at addr.
func listensAt(listening, addr netip.AddrPort) bool {
	at, ip := listening.Addr().Unmap(), addr.Addr().Unmap().WithZone("")
	return listening.Port() == addr.Port() && (at == ip || at.IsUnspecified() && isLocal(ip) || ip.IsUnspecified())
}

// isLocal tells whether ip is an address of this machine.
func isLocal(ip netip.Addr) bool {
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Unmap() == ip {
			return true
		}
	}
	return false
}
