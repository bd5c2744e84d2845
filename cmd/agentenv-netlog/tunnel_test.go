package main

import (
	"testing"

	"github.com/agentenv/netlog/proxy"
)

func TestHostRules(t *testing.T) {
	for _, c := range []struct {
		rule string
		host string
		port uint16
		want bool
	}{
		{"example.com", "example.com", 443, true},
		{"example.com", "example.com", 80, true},
		{"example.com", "www.example.com", 443, false},
		{"example.com", "notexample.com", 443, false},
		{"Example.COM.", "example.com", 443, true},
		{"example.com:8443", "example.com", 8443, true},
		{"example.com:8443", "example.com", 443, false},
		{"*.example.com", "www.example.com", 443, true},
		{"*.example.com", "a.b.example.com", 443, true},
		{"*.example.com", "example.com", 443, false},
		{"*.example.com", "notexample.com", 443, false},
		{"*.example.com:443", "www.example.com", 443, true},
		{"*.example.com:443", "www.example.com", 444, false},
		{"localhost", "localhost", 443, true},
		{"a_b.example", "a_b.example", 443, true},
		{"bücher.example", "xn--bcher-kva.example", 443, true},
		{"*.BÜCHER.example:443", "www.xn--bcher-kva.example", 443, true},
		{"192.0.2.1", "192.0.2.1", 443, true},
		{"192.0.2.1:443", "192.0.2.1", 443, true},
		{"192.0.2.1:443", "192.0.2.1", 80, false},
		{"::1", "::1", 443, true},
		{"[::1]", "::1", 443, true},
		{"[::1]:443", "::1", 443, true},
		{"[::1]:443", "::1", 80, false},
		{"2001:DB8:0::1", "2001:db8::1", 443, true},
		{"::ffff:192.0.2.1", "192.0.2.1", 443, true},
	} {
		rules, err := parseHostRules("tunnel", []string{"other.example", c.rule})
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		decision := tunnelPolicy(rules)(proxy.Target{Host: c.host, Port: c.port, Scheme: "https"})
		if got := decision.Action == proxy.TunnelThrough; got != c.want {
			t.Errorf("--tunnel %s: %s:%d is tunnelled: %v, want %v", c.rule, c.host, c.port, got, c.want)
		}
	}
}

func TestHostRulesRefuse(t *testing.T) {
	for _, rule := range []string{
		"", ":443", "*", "*.", "*.*.example", "a.*.example", "exam*ple", "a..b", ".a", "a b",
		"https://example.com", "example.com/", "example.com:", "example.com:0", "example.com:65536", "example.com:http", "example.com:-1",
		"[::1", "[::1]x", "[example.com]", "[192.0.2.1]", "[::1]:", "fe80::1%eth0",
	} {
		if rules, err := parseHostRules("tunnel", []string{rule}); err == nil {
			t.Errorf("--tunnel %q means %+v", rule, rules)
		}
	}
}
