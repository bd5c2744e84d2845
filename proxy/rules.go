package proxy

import (
	"fmt"
	"net/netip"
)

// Rules are a policy by host: what is let through, and what of it is tunnelled
// rather than intercepted. The zero value intercepts everything. Denying goes
// before allowing, and both before tunnelling.
type Rules struct {
	// Allow: any other host is refused; empty: none is for that. A name is
	// allowed by its name and not by what it resolves to, so that nothing of a
	// name that is not allowed is asked of anybody.
	Allow []HostRule
	// Deny is refused. A range also refuses the names that resolve into it, at
	// the address that would be dialled.
	Deny []HostRule
	// DenyPrivate refuses every address that is not one of the public internet,
	// also when a name resolves to it: loopback, private and link-local networks,
	// multicast, what IANA's special-purpose registries (RFC 6890) do not have as
	// globally reachable, and the addresses at which clouds serve credentials.
	DenyPrivate bool
	// Tunnel is relayed undecrypted.
	Tunnel []HostRule
}

// Decide is the policy: Config.Policy.
func (r *Rules) Decide(t Target) Decision {
	for _, rule := range r.Deny {
		if rule.reaches(t) {
			return Decision{Action: Refuse, Reason: "the host is denied by " + rule.String()}
		}
	}
	if _, ok := match(r.Allow, t); !ok && len(r.Allow) > 0 {
		return Decision{Action: Refuse, Reason: "the host is not one of those that are allowed"}
	}
	if r.DenyPrivate && t.Addr.IsValid() && isPrivate(t.Addr) {
		return Decision{Action: Refuse, Reason: fmt.Sprintf("%v is not an address of the public internet, and such are denied", t.Addr)}
	}
	if rule, ok := match(r.Tunnel, t); ok {
		return Decision{Action: TunnelThrough, Reason: "the host is to be tunnelled by " + rule.String()}
	}
	return Decision{}
}

func match(rules []HostRule, t Target) (HostRule, bool) {
	for _, r := range rules {
		if r.Matches(t) {
			return r, true
		}
	}
	return HostRule{}, false
}

// addressOf is the address that a host is; invalid for a name.
func addressOf(host string) netip.Addr {
	ip, _ := netip.ParseAddr(host)
	return ip.Unmap()
}

// notPublic are the ranges that IANA's special-purpose registries (RFC 6890) do
// not have as globally reachable, those that the methods of netip.Addr tell
// aside, and what clouds serve their machines' credentials at.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network; Linux takes it as this machine
	netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT (RFC 6598), and Alibaba's metadata
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's metadata, of all its regions
	netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments, and Oracle's metadata
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks (RFC 2544)
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, and broadcast
	netip.MustParsePrefix("::/96"),            // IPv4-compatible, deprecated
	netip.MustParsePrefix("64:ff9b:1::/48"),   // a network's own NAT64 (RFC 8215)
	netip.MustParsePrefix("100::/64"),         // discard
	netip.MustParsePrefix("2001::/23"),        // protocol assignments, Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),    // documentation
	netip.MustParsePrefix("3fff::/20"),        // documentation
	netip.MustParsePrefix("5f00::/16"),        // segment routing
	netip.MustParsePrefix("fec0::/10"),        // site-local, deprecated
}

// embeds are the ranges of IPv6 addresses that stand for an IPv4 address, and
// where in them it begins.
var embeds = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64 (RFC 6052)
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4 (RFC 3056)
}

// isPrivate tells whether ip is anything but an address of the public internet.
func isPrivate(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() {
		return true
	}
	for _, p := range notPublic {
		if p.Contains(ip) {
			return true
		}
	}
	for _, e := range embeds {
		if e.prefix.Contains(ip) {
			b := ip.As16()
			return isPrivate(netip.AddrFrom4([4]byte(b[e.at : e.at+4])))
		}
	}
	return false
}
