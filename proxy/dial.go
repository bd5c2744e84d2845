package proxy

import (
	"context"
	"net"
	"net/netip"
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

// dial connects to a hop within the time limit. It never connects to the proxy
// itself, nor to an address that the policy refuses.
func (p *Proxy) dial(ctx context.Context, to hop) (*dialled, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeouts.Dial)
	defer cancel()
	d := &dialled{began: p.now()}
	conn, err := p.connectTo(ctx, d, to)
	if err != nil {
		return d, err
	}
	d.connected = p.now()
	d.conn = &peeked{Conn: conn}
	return d, nil
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

// resolve gives the addresses of host. Names under localhost are loopback
// without asking anybody, as browsers have it (RFC 6761 §6.3).
func (p *Proxy) resolve(ctx context.Context, d *dialled, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}, nil
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	d.lookup = true
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	d.resolved = p.now()
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

// isOwn tells whether addr is where this proxy listens.
func (p *Proxy) isOwn(addr netip.AddrPort) bool {
	ip := addr.Addr().Unmap().WithZone("")
	p.mu.Lock()
	own := p.own
	p.mu.Unlock()
	for _, listening := range own {
		if listening.Port() != addr.Port() {
			continue
		}
		at := listening.Addr().Unmap()
		if at == ip || at.IsUnspecified() && isLocal(ip) || ip.IsUnspecified() {
			return true
		}
	}
	return false
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
