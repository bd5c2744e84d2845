package main

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/agentenv/netlog/proxy"
)

// A hostRule is one HOST of a flag: the hosts that it means.
type hostRule struct {
	host  string // as in proxy.Target; without the leading "*." when below
	below bool   // every name below host, and not host itself
	port  uint16 // 0: any
}

func (r hostRule) matches(t proxy.Target) bool {
	if r.port != 0 && r.port != t.Port {
		return false
	}
	if r.below {
		return strings.HasSuffix(t.Host, "."+r.host)
	}
	return t.Host == r.host
}

// tunnelPolicy tunnels what a rule means and intercepts the rest.
func tunnelPolicy(rules []hostRule) func(proxy.Target) proxy.Decision {
	return func(t proxy.Target) proxy.Decision {
		for _, r := range rules {
			if r.matches(t) {
				return proxy.Decision{Action: proxy.TunnelThrough, Reason: "--tunnel"}
			}
		}
		return proxy.Decision{}
	}
}

func parseHostRules(flag string, list []string) ([]hostRule, error) {
	var rules []hostRule
	for _, s := range list {
		r, err := parseHostRule(s)
		if err != nil {
			return nil, misused(fmt.Errorf("--%s %q: %w", flag, s, err),
				"write a name, *.name or an address, each with :port if only one is meant: example.com, *.example.com:443, [::1]:8443")
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseHostRule(s string) (hostRule, error) {
	var r hostRule
	host := s
	if _, err := netip.ParseAddr(s); err != nil { // a bare IPv6 address has colons too
		if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
			port, err := strconv.ParseUint(s[i+1:], 10, 16)
			if err != nil || port == 0 {
				return r, fmt.Errorf("%q is no port", s[i+1:])
			}
			host, r.port = s[:i], uint16(port)
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		address, err := netip.ParseAddr(inner)
		if !closed || err != nil || !address.Is6() {
			return r, fmt.Errorf("%q is no IPv6 address", host)
		}
		host = inner
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Zone() == "" {
		r.host = address.Unmap().String()
		return r, nil
	}
	host, r.below = strings.CutPrefix(host, "*.")
	name, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil { // it refuses underscores, which hosts do have
		name = strings.ToLower(strings.TrimSuffix(host, "."))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.ContainsFunc(label, notInName) {
			return r, fmt.Errorf("%q is no host's name", host)
		}
	}
	r.host = name
	return r, nil
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}
