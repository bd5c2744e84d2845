package main

import (
	"fmt"
	"testing"
)

func TestResolve(t *testing.T) {
	resolve, err := parseResolve([]string{
		"Example.COM.:443:192.0.2.1",
		"bücher.example:80:[2001:db8::1],192.0.2.2,2001:db8::2",
		"a_b.example:80:::1",
		"*:8443:127.0.0.1",
		"mapped.example:80:::ffff:192.0.2.3",
		"twice.example:80:192.0.2.4", "twice.example:80:192.0.2.5",
		"one.example:1:192.0.2.6 two.example:2:192.0.2.7\n*:3:192.0.2.8",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host string
		port uint16
		want string
	}{
		{"example.com", 443, "[192.0.2.1]"},
		{"example.com", 80, "[]"},
		{"www.example.com", 443, "[]"},
		{"xn--bcher-kva.example", 80, "[2001:db8::1 192.0.2.2 2001:db8::2]"},
		{"a_b.example", 80, "[::1]"},
		{"example.com", 8443, "[127.0.0.1]"},
		{"mapped.example", 80, "[192.0.2.3]"},
		{"twice.example", 80, "[192.0.2.5]"},
		{"one.example", 1, "[192.0.2.6]"},
		{"two.example", 2, "[192.0.2.7]"},
		{"any.example", 3, "[192.0.2.8]"},
	} {
		if got := fmt.Sprint(resolve(c.host, c.port)); got != c.want {
			t.Errorf("%s:%d is at %s, want %s", c.host, c.port, got, c.want)
		}
	}
	if resolve, err := parseResolve(nil); resolve != nil || err != nil {
		t.Errorf("none: %v", err)
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, s := range []string{
		"example.com", "example.com:443", "example.com:443:", "example.com:0:192.0.2.1", "example.com:65536:192.0.2.1", "example.com:http:192.0.2.1",
		":443:192.0.2.1", "example.com:443:192.0.2.1,", "example.com:443:other.example", "example.com:443:[192.0.2.1]", "example.com:443:[::1",
		"example.com:443:fe80::1%eth0", "*.example.com:443:192.0.2.1", "192.0.2.1:443:192.0.2.2", "[::1]:443:192.0.2.2", "-example.com:443", "a b:1:192.0.2.1",
		"example.com:443:192.0.2.1:80",
	} {
		if _, err := parseResolve([]string{s}); err == nil {
			t.Errorf("--resolve %q is taken", s)
		}
	}
}
