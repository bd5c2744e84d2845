package proxy

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A HostRule names hosts: one name, all names below one, or addresses. The zero
// value names none.
type HostRule struct {
	Name  string       // as Target.Host has it
	Below bool         // every name below Name, at any depth, and not Name itself
	Range netip.Prefix // the addresses, when Name is ""; without a zone, IPv4 never mapped into IPv6
	Port  uint16       // 0: any
}

// Matches tells whether r names the host that t gives: a range matches what was
// given as an address, and no name, whatever it resolves to.
func (r HostRule) Matches(t Target) bool {
	if r.Port != 0 && r.Port != t.Port {
		return false
	}
	switch {
	case r.Name == "":
		return r.contains(addressOf(t.Host))
	case r.Below:
		return strings.HasSuffix(t.Host, "."+r.Name)
	}
	return t.Host == r.Name
}

// reaches tells whether r names t's host or the address that it resolved to.
func (r HostRule) reaches(t Target) bool {
	return r.Matches(t) || r.Name == "" && (r.Port == 0 || r.Port == t.Port) && r.contains(t.Addr)
}

func (r HostRule) contains(ip netip.Addr) bool { return r.Range.Contains(ip.Unmap().WithZone("")) }

// String is r as ParseHostRule reads it.
func (r HostRule) String() string {
	host := r.Name
	switch {
	case r.Name == "" && r.Range.IsSingleIP():
		host = r.Range.Addr().String()
	case r.Name == "":
		host = r.Range.String()
	case r.Below:
		host = "*." + r.Name
	}
	if r.Port == 0 {
		return host
	}
	if r.Name == "" && r.Range.Addr().Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(r.Port))
}

// ParseHostRule reads NAME, *.NAME (every name below, at any depth), an address,
// or a range of addresses (10.0.0.0/8); each with :PORT if one is meant, an IPv6
// address or range then in brackets. Names may be in Unicode.
func ParseHostRule(s string) (HostRule, error) {
	host, port, err := cutPort(s)
	if err != nil {
		return HostRule{}, err
	}
	r := HostRule{Port: port}
	inner, opened := strings.CutPrefix(host, "[")
	if opened {
		var closed bool
		if inner, closed = strings.CutSuffix(inner, "]"); !closed {
			return r, fmt.Errorf("%q is no IPv6 address", host)
		}
	}
	switch {
	case strings.Contains(inner, "/"):
		r.Range, err = parseRange(inner)
	case opened || isAddress(inner):
		r.Range, err = parseSingle(inner)
	default:
		r.Name, r.Below, err = parseNames(inner)
	}
	if err == nil && opened && !r.Range.Addr().Is6() {
		err = fmt.Errorf("%q is no IPv6 address", host)
	}
	return r, err
}

// cutPort takes the port off s, which may be an IPv6 address without one.
func cutPort(s string) (host string, port uint16, err error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.HasSuffix(s, "]") {
		return s, 0, nil
	}
	if address, _, _ := strings.Cut(s, "/"); isAddress(address) && strings.Contains(address, ":") {
		return s, 0, nil
	}
	n, err := strconv.ParseUint(s[i+1:], 10, 16)
	if err != nil || n == 0 {
		return s, 0, fmt.Errorf("%q is no port", s[i+1:])
	}
	return s[:i], uint16(n), nil
}

func parseSingle(s string) (netip.Prefix, error) {
	ip, err := netip.ParseAddr(s)
	if err != nil || ip.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is no address", s)
	}
	ip = ip.Unmap()
	return netip.PrefixFrom(ip, ip.BitLen()), nil
}

func parseRange(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil, p.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%q is no range of addresses", s)
	case p != p.Masked():
		return netip.Prefix{}, fmt.Errorf("%q has bits behind its first %d: is %v meant?", s, p.Bits(), p.Masked())
	}
	return p, nil
}

func parseNames(s string) (name string, below bool, err error) {
	host, below := strings.CutPrefix(s, "*.")
	name, err = canonicalName(host)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("%q is no host's name: %w", s, err)
	case isAddress(name) || strings.ContainsFunc(name, notInName):
		return "", false, fmt.Errorf("%q is no host's name", s)
	}
	return name, below, nil
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}
