package main

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/agentenv/netlog/proxy"
)

// proxyVariables are those that a test starts without.
var proxyVariables = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "REQUEST_METHOD"}

func TestParents(t *testing.T) {
	for name, c := range map[string]struct {
		flags       upstreamFlags
		environment string
		target      string // scheme://host:port
		want        string // the parent; "": none
	}{
		"none":                {upstreamFlags{}, "", "https://a.example:443", ""},
		"a flag":              {upstreamFlags{parent: "u:p@p.example:1"}, "", "https://a.example:443", "http://p.example:1"},
		"a flag for http":     {upstreamFlags{parent: "socks5h://p.example"}, "", "http://a.example:80", "socks5h://p.example:1080"},
		"a flag wins":         {upstreamFlags{parent: "p.example:1"}, "HTTPS_PROXY=q.example:2", "https://a.example:443", "http://p.example:1"},
		"https":               {upstreamFlags{}, "HTTPS_PROXY=http://q.example:2", "https://a.example:443", "http://q.example:2"},
		"https only":          {upstreamFlags{}, "HTTPS_PROXY=http://q.example:2", "http://a.example:80", ""},
		"http":                {upstreamFlags{}, "HTTP_PROXY=http://q.example:2 https_proxy=r.example:3", "http://a.example:80", "http://q.example:2"},
		"lower case wins":     {upstreamFlags{}, "HTTPS_PROXY=q.example:2 https_proxy=r.example:3", "https://a.example:443", "http://r.example:3"},
		"all":                 {upstreamFlags{}, "ALL_PROXY=socks5://q.example:2", "http://a.example:80", "socks5://q.example:2"},
		"all but https":       {upstreamFlags{}, "all_proxy=q.example:2 HTTPS_PROXY=r.example:3", "https://a.example:443", "http://r.example:3"},
		"CGI":                 {upstreamFlags{}, "HTTP_PROXY=q.example:2 REQUEST_METHOD=GET", "http://a.example:80", ""},
		"turned off":          {upstreamFlags{noParent: true}, "HTTPS_PROXY=q.example:2", "https://a.example:443", ""},
		"exempt":              {upstreamFlags{parent: "p.example:1"}, "NO_PROXY=b.example,a.example", "https://a.example:443", ""},
		"exempt below":        {upstreamFlags{parent: "p.example:1"}, "NO_PROXY=.example", "https://a.example:443", ""},
		"exempt by port":      {upstreamFlags{parent: "p.example:1"}, "NO_PROXY=a.example:80", "https://a.example:443", "http://p.example:1"},
		"exempt by a network": {upstreamFlags{parent: "p.example:1"}, "no_proxy=192.0.2.0/24", "https://192.0.2.7:443", ""},
		"all exempt":          {upstreamFlags{parent: "p.example:1"}, "NO_PROXY=*", "https://a.example:443", ""},
		"loopback":            {upstreamFlags{parent: "p.example:1"}, "", "https://127.0.0.2:443", ""},
		"loopback, IPv6":      {upstreamFlags{parent: "p.example:1"}, "", "http://[::1]:80", ""},
		"localhost":           {upstreamFlags{parent: "p.example:1"}, "", "http://localhost:80", ""},
		"below localhost":     {upstreamFlags{parent: "p.example:1"}, "", "http://a.localhost:80", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range proxyVariables {
				t.Setenv(v, "")
			}
			for v := range strings.FieldsSeq(c.environment) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			ps, err := c.flags.parents()
			if err != nil {
				t.Fatal(err)
			}
			scheme, address, _ := strings.Cut(c.target, "://")
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			port := uint16(443)
			if scheme == "http" {
				port = 80
			}
			got := ""
			if p := ps.of(proxy.Target{Host: host, Port: port, Scheme: scheme}); p != nil {
				got = p.String()
			}
			if got != c.want {
				t.Errorf("%s goes through %q, want %q", c.target, got, c.want)
			}
		})
	}
}

// A proxy that is named as its own parent is a mistake in a flag, and in the
// environment what it itself has said that others should use.
func TestParentItself(t *testing.T) {
	for _, v := range proxyVariables {
		t.Setenv(v, "")
	}
	l, err := listenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ps, err := (&upstreamFlags{parent: "http://user:secret@" + l.Addr().String()}).parents()
	if err != nil {
		t.Fatal(err)
	}
	var f *failure
	if err := ps.leaveOut(l.Addr(), nil); !errors.As(err, &f) || f.code != exitUsage || strings.Contains(err.Error(), "secret") {
		t.Errorf("leaveOut: %v", err)
	}

	t.Setenv("HTTPS_PROXY", "http://"+l.Addr().String())
	t.Setenv("HTTP_PROXY", "http://p.example:1")
	if ps, err = (&upstreamFlags{}).parents(); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if err := ps.leaveOut(l.Addr(), &stderr); err != nil || stderr.String() != "agentenv-netlog: warning: HTTPS_PROXY names this proxy itself, and is left out\n" {
		t.Errorf("leaveOut: %v, %q", err, stderr.String())
	}
	stderr.Reset()
	if ps.tell(&stderr); stderr.String() != "  upstream  http://p.example:1, by HTTP_PROXY\n" {
		t.Errorf("tell: %q", stderr.String())
	}
	if p := ps.of(proxy.Target{Host: "a.example", Port: 443, Scheme: "https"}); p != nil {
		t.Errorf("https:// goes through %v", p)
	}
}
