package e2e

import (
	"os"
	"testing"
)

func nodes() []client {
	by := func(file string) func(s *session) {
		return func(s *session) {
			// A Node that knows it takes the proxy from the environment then.
			got := s.doWith([]string{"NODE_USE_ENV_PROXY=1"}, nodeWithPackages(s.t), script(s.t, file), "{tls}", "{plain}", "{proxy}")
			s.said(got, "done\n")
		}
	}
	return []client{
		{
			name: "fetch",
			run:  by("fetch.js"),
			asks: []string{"GET https://{tls}/coded/br 200", "POST https://{tls}/echo?stream 200", "GET https://{tls}/events 200", "GET http://{plain}/moved 302", "GET https://{tls}/echo?n=29 200"},
		},
		{
			name: "ws",
			run:  by("ws.js"),
			asks: []string{"GET wss://{tls}/socket 101", "GET ws://{plain}/socket 101"},
		},
	}
}

// nodeWithPackages is Node, beside what package-lock.json names.
func nodeWithPackages(t *testing.T) string {
	t.Helper()
	node := need(t, "node")
	if _, err := os.Stat("node_modules/.installed"); err != nil {
		lacking(t, "the packages of package-lock.json are not installed (make e2e-setup)")
	}
	return node
}
