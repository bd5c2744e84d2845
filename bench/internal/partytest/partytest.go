// Package partytest checks that a proxy of the benchmarks does the work that it
// is measured at: it decrypts, it tunnels, and what it relays is whole.
package partytest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/agentenv/netlog/bench/internal/load"
	"github.com/agentenv/netlog/bench/internal/origin"
	"github.com/agentenv/netlog/bench/internal/party"
	"github.com/agentenv/netlog/ca"
)

// A Serve is a party's function of that name.
type Serve func(net.Listener, party.Setup) error

// A use is one way to use a party.
type use struct {
	name   string
	tunnel bool
	load   load.Config
	bytes  int64 // of bodies on a connection, once
}

// Run has the party serve each way that the benchmarks use, by HTTP/1.
func Run(t *testing.T, serve Serve) {
	run(t, serve, []use{
		{"kept alive", false, load.Config{Target: origin.JSON}, origin.JSONBytes},
		{"a connection each", false, load.Config{Target: origin.Once, Fresh: true}, origin.JSONBytes},
		{"a large answer", false, load.Config{Target: origin.Bytes + "3000000"}, 3_000_000},
		{"an upload", false, load.Config{Target: origin.Sink, Upload: 1_000_000}, 1_000_000},
		{"a tunnel", true, load.Config{Target: origin.JSON}, origin.JSONBytes},
	})
}

// RunWebSockets does so by WebSockets.
func RunWebSockets(t *testing.T, serve Serve) {
	const size = 100
	run(t, serve, []use{{"messages", false, load.Config{Target: origin.Echo, Message: size}, 2 * size}})
}

// RunHTTP2 does so by HTTP/2.
func RunHTTP2(t *testing.T, serve Serve) {
	run(t, serve, []use{
		{"streams", false, load.Config{Target: origin.JSON, Streams: 100}, 100 * origin.JSONBytes},
		{"large answers on streams", false, load.Config{Target: origin.Bytes + "3000000", Streams: 10}, 10 * 3_000_000},
	})
}

func run(t *testing.T, serve Serve, uses []use) {
	s := party.Setup{AuthorityDir: t.TempDir()}
	_, err := ca.Create(s.AuthorityDir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Authority, err = party.LoadAuthority(s.AuthorityDir); err != nil {
		t.Fatal(err)
	}
	certificate, _, err := party.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	s.Roots = x509.NewCertPool()
	s.Roots.AddCert(certificate.Leaf)
	trust := x509.NewCertPool()
	trust.AddCert(s.Authority.Leaf)
	for _, test := range uses {
		t.Run(test.name, func(t *testing.T) {
			o, err := origin.Start(certificate)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s.Tunnel = test.tunnel
			s.Dir = t.TempDir()
			served := make(chan error, 1)
			go func() { served <- serve(l, s) }()
			c := test.load
			address := o.TLS
			c.TLS = &tls.Config{RootCAs: trust, ServerName: party.Host, NextProtos: []string{"http/1.1"}}
			if test.tunnel {
				c.TLS.RootCAs = s.Roots
			}
			if c.Streams > 0 {
				address, c.TLS.NextProtos = o.HTTP2, []string{"h2"}
			}
			_, port, _ := net.SplitHostPort(address)
			c.Proxy, c.Authority = l.Addr().String(), net.JoinHostPort(party.Host, port)
			c.Tunnel, c.Connections = true, 2
			exchanges(t, c, test.bytes)
			l.Close()
			o.Close() // martian does not end a tunnel whose browser has gone
			select {
			case err := <-served:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it does not end with its listener")
			}
		})
	}
}

// exchanges does some on each connection.
func exchanges(t *testing.T, c load.Config, bytes int64) {
	t.Helper()
	g, err := load.Dial(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for range 3 {
		r, err := g.Run(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		want, sum := int64(c.Connections*max(c.Streams, 1)), int64(c.Connections)*bytes
		if r.Requests != want || r.Bytes != sum {
			t.Errorf("%d exchanges of %d bytes in all, not %d of %d", r.Requests, r.Bytes, want, sum)
		}
	}
}
