package proxy

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// secureOrigin is an origin with TLS of its own making.
func (w *world) secureOrigin(config *tls.Config, serve func(*party)) (addr, port string) {
	w.t.Helper()
	addr = w.origin(func(p *party) {
		session := tls.Server(p.Conn, config)
		if session.Handshake() != nil {
			return
		}
		defer session.CloseWrite()
		serve(newParty(w.t, session))
	})
	_, port, _ = net.SplitHostPort(addr)
	return addr, port
}

// visit asks for / of https://site.test:port through an intercepted connection of
// its own, and gives the status line.
func (w *world) visit(port string) string {
	w.t.Helper()
	b := w.secure("site.test:"+port, "site.test")
	defer b.Close()
	b.send("GET / HTTP/1.1\r\nHost: site.test:" + port + "\r\n\r\n")
	line, _, _ := strings.Cut(b.head(), "\r\n")
	return line
}

// atHome makes site.test be on this machine.
var atHome = resolveTo("127.0.0.1")

// stranger is a server's configuration with a certificate of an authority that
// nobody trusts.
func stranger(t *testing.T) *tls.Config {
	leaf, err := newTestCA(t).leaf("site.test")
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{*leaf}}
}

// What is taken unverified on one port is verified on another, though the server
// would resume the session there.
func TestTrustAny(t *testing.T) {
	var insecure uint16 // set before the first visit
	w := newWorld(t, func(c *Config) {
		atHome(c)
		c.Trust = func(to Target) Trust {
			if to.Host != "site.test" || to.Scheme != "https" {
				t.Errorf("asked for %+v", to)
			}
			return Trust{Any: to.Port == insecure}
		}
	})
	config := stranger(t)
	first, one := w.secureOrigin(config, answers(ok))
	_, two := w.secureOrigin(config, answers(ok))
	insecure = netip.MustParseAddrPort(first).Port()
	for range 2 {
		if got := w.visit(one); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
	}
	if got := w.visit(two); got != "HTTP/1.1 502 Bad Gateway" {
		t.Error(got)
	}
	pairs := w.want("", "exchange mitm GET https://site.test:"+one+"/ 200", "exchange mitm GET https://site.test:"+one+"/ 200",
		"exchange mitm GET https://site.test:"+two+"/ failed server_tls bad_certificate")
	for i, p := range pairs[:2] {
		s := p.end.Server.TLS
		if *s.Verified || !strings.Contains(s.Unverified, "unknown authority") || s.Resumed != (i == 1) {
			t.Errorf("visit %d: %+v", i, s)
		}
	}
}

// Where any certificate does, one that is good is called verified.
func TestTrustAnyOfAGoodOne(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		atHome(c)
		c.Trust = func(Target) Trust { return Trust{Any: true} }
	})
	_, port, _ := net.SplitHostPort(w.origin(answers(ok), "site.test"))
	if got := w.visit(port); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	if s := w.pairs()[0].end.Server.TLS; !*s.Verified || s.Unverified != "" {
		t.Errorf("%+v", s)
	}
}

func TestClientCertificate(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			shown := make(chan int, 2)
			var w *world
			w = newWorld(t, func(c *Config) {
				atHome(c)
				c.Trust = func(Target) Trust {
					certificate, err := w.ca.leaf("client.test")
					if err != nil {
						t.Error(err)
					}
					return Trust{Certificate: certificate}
				}
			})
			leaf, err := w.ca.leaf("site.test")
			if err != nil {
				t.Fatal(err)
			}
			_, port := w.secureOrigin(&tls.Config{
				Certificates: []tls.Certificate{*leaf}, ClientAuth: tls.RequireAnyClientCert, ClientCAs: w.ca.pool, MaxVersion: version,
			}, func(p *party) {
				shown <- len(p.Conn.(*tls.Conn).ConnectionState().PeerCertificates)
				answers(ok)(p)
			})
			if got := w.visit(port); got != "HTTP/1.1 200 OK" {
				t.Error(got)
			}
			if n := <-shown; n != 1 {
				t.Errorf("the server saw %d certificates", n)
			}
		})
	}
}

// A server that wants a certificate that we don't have leaves an entry that says
// so, also where it says so only behind the handshake (TLS 1.3). In TLS 1.2 its alert
// is the same as for anything else that it does not agree to.
func TestClientCertificateLacking(t *testing.T) {
	for version, code := range map[uint16]netlog.Code{tls.VersionTLS12: netlog.CodeBadAnswer, tls.VersionTLS13: netlog.CodeRefused} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			w := newWorld(t, atHome)
			leaf, err := w.ca.leaf("site.test")
			if err != nil {
				t.Fatal(err)
			}
			config := &tls.Config{Certificates: []tls.Certificate{*leaf}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: w.ca.pool, MaxVersion: version}
			refused := make(chan error, 2)
			_, port, _ := net.SplitHostPort(w.origin(func(p *party) { refused <- tls.Server(p.Conn, config).Handshake() }))
			b := w.secure("site.test:"+port, "site.test")
			if err := <-refused; err == nil {
				t.Error("the handshake went well")
			}
			b.send("GET / HTTP/1.1\r\nHost: site.test:" + port + "\r\n\r\n")
			if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
				t.Errorf("answer: %q", got)
			}
			w.want(port, "exchange mitm GET https://site.test:ADDR/ failed server_tls "+string(code))
		})
	}
}
