package proxy

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/agentenv/netlog/proxy/h2"
)

// prohibitedSuite is one that crypto/tls would speak HTTP/2 with.
const prohibitedSuite = tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA

// What HTTP/2 may not be spoken with is no reason to speak it (RFC 9113 §9.2.2).
func TestHTTP2NeedsAnAdequateCipherSuite(t *testing.T) {
	const gcm = tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
	for _, c := range []struct {
		name    string
		version uint16
		suites  []uint16
		offers  []string
		want    string
	}{
		{"TLS 1.3", tls.VersionTLS13, []uint16{prohibitedSuite}, []string{"h2", "http/1.1"}, "h2"},
		{"an AEAD", tls.VersionTLS12, []uint16{gcm}, []string{"h2", "http/1.1"}, "h2"},
		{"an AEAD last", tls.VersionTLS12, []uint16{prohibitedSuite, gcm}, []string{"h2", "http/1.1"}, "h2"},
		{"CBC", tls.VersionTLS12, []uint16{prohibitedSuite}, []string{"h2", "http/1.1"}, "http/1.1"},
		{"CBC and nothing else", tls.VersionTLS12, []uint16{prohibitedSuite}, []string{"h2"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			addr := w.httpServer("127.0.0.1", func(rw http.ResponseWriter, _ *http.Request) {}, "h2", "http/1.1")
			b := w.connect(addr)
			session := tls.Client(b.Conn, &tls.Config{ServerName: "127.0.0.1", RootCAs: w.ca.pool, NextProtos: c.offers, MaxVersion: c.version, CipherSuites: c.suites})
			if err := session.Handshake(); err != nil {
				t.Fatal(err)
			}
			s := session.ConnectionState()
			if s.NegotiatedProtocol != c.want {
				t.Errorf("%q is agreed on", s.NegotiatedProtocol)
			}
			if s.Version == tls.VersionTLS12 && c.want == "h2" && s.CipherSuite == prohibitedSuite {
				t.Errorf("with %s", tls.CipherSuiteName(s.CipherSuite))
			}
			if c.want == "h2" {
				b := newH2Browser(w, session, addr)
				if a := b.do(b.get("/")); a.String() != "200 " {
					t.Error(a)
				}
			} else {
				p := newParty(t, session)
				p.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
				if head := p.head(); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
					t.Error(head)
				}
			}
			p := w.waitFor(1)[0]
			if p.end.ClientTLS.ALPN != c.want || p.end.Server.TLS.ALPN != c.want {
				t.Errorf("%+v %+v", p.end.ClientTLS, p.end.Server.TLS)
			}
		})
	}
}

// A server that chooses them together is none that a browser would have talked to.
func TestAServerThatChoosesHTTP2AndAProhibitedCipherSuite(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(func(*h2.Stream) { t.Error("it was asked something") })
	s.mu.Lock()
	s.change = func(c *tls.Config) { c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{prohibitedSuite} }
	s.mu.Unlock()
	b := w.secureFor(s.addr, "127.0.0.1", "h2", "http/1.1")
	b.send("GET / HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n")
	if head := b.head(); !strings.HasPrefix(head, "HTTP/1.1 502 ") {
		t.Error(head)
	}
	p := w.want(s.addr, "exchange mitm GET https://ADDR/ failed server_tls bad_answer")[0]
	if got := p.end.Failed.Reason; got != "INADEQUATE_SECURITY: the server chose HTTP/2 with the cipher suite TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA" {
		t.Error(got)
	}
}
