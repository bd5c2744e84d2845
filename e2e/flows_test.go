package e2e

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
)

// A flow is a TCP or UDP flow of a capture, as show has it.
type flow struct {
	client, server netip.AddrPort
	requests       []string // the request lines of HTTP/1
}

func flowsOf(t *testing.T, capture string) (flows []flow) {
	t.Helper()
	stdout, stderr, code := run(t, t.TempDir(), "show", "--json", capture)
	if code != 0 {
		t.Fatalf("show ended with %d: %s", code, stderr)
	}
	for line := range strings.Lines(stdout) {
		var l struct {
			Kind, Protocol, Client, Server string
			Requests                       []string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.Kind != "flow" || l.Protocol != "tcp" && l.Protocol != "udp" {
			continue
		}
		f := flow{requests: l.Requests}
		for text, at := range map[string]*netip.AddrPort{l.Client: &f.client, l.Server: &f.server} {
			var err error
			if *at, err = netip.ParseAddrPort(text); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		}
		flows = append(flows, f)
	}
	return flows
}
