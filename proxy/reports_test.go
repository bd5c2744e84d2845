package proxy

import (
	"crypto/tls"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// What other proxies had reported against them, and what no other test here
// holds. Each names the report.

// An IPv6 address goes to a parent in brackets, in a CONNECT, in its Host and in a
// URL (mitmproxy/mitmproxy#8326).
func TestParentIsAskedForAnIPv6Address(t *testing.T) {
	var url string
	w := newWorld(t, byParent(t, &url))
	heads := make(chan string, 2)
	url = w.origin(func(p *party) {
		head := p.head()
		heads <- head
		if strings.HasPrefix(head, "CONNECT ") {
			p.send("HTTP/1.1 403 No\r\n\r\n")
			return
		}
		p.send(okEmpty)
	})
	b := w.connect("[2001:DB8:0::1]:25")
	b.send("SSH-2.0-x\r\n")
	b.rest()
	if got, want := w.unmarked(<-heads), "CONNECT [2001:db8::1]:25 HTTP/1.1\r\nHost: [2001:db8::1]:25\r\n\r\n"; got != want {
		t.Errorf("the parent got\n%q, want\n%q", got, want)
	}
	if got := w.get("http://[2001:db8::1]:81/a"); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	if got, want := <-heads, "GET http://[2001:db8::1]:81/a HTTP/1.1\r\nHost: [2001:db8::1]:81\r\n"; !strings.HasPrefix(got, want) {
		t.Errorf("the parent got\n%q, want\n%q first", got, want)
	}
	w.want("", "tunnel tunnel [2001:db8::1]:25 failed connect refused", "exchange plain GET http://[2001:db8::1]:81/a 200")
}

// Each hop's ClientHello names that hop: a parent of https:// the parent, the server
// behind it the server (mitmproxy/mitmproxy#5109).
func TestEachHopIsGreetedByItsName(t *testing.T) {
	var url string
	greeted := make(chan string, 8)
	w := newWorld(t, func(c *Config) {
		byParent(t, &url)(c)
		c.Resolve = func(host string, _ uint16) []netip.Addr {
			if host == "parent.test" {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
			}
			return nil // the parent alone knows
		}
	})
	as := func(name string) *tls.Config {
		leaf, err := w.ca.leaf(name)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{
			Certificates: []tls.Certificate{*leaf},
			GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				greeted <- h.ServerName
				return nil, nil
			},
		}
	}
	heads := make(chan string, 8)
	_, at := w.secureOrigin(as("parent.test"), func(p *party) {
		if first, err := p.br.Peek(8); err == nil && string(first) == "CONNECT " {
			tunnels(heads)(p)
			return
		}
		answers(ok)(p)
	})
	url = "https://Parent.test:" + at
	_, port := w.secureOrigin(as("site.test"), answers(ok))
	if got := w.visit(port); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	if got := w.get("http://site.test/"); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	pairs := w.want(port, "exchange mitm GET https://site.test:ADDR/ 200", "exchange plain GET http://site.test/ 200")
	close(greeted)
	var names []string
	for name := range greeted {
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != "parent.test site.test parent.test" {
		t.Errorf("greeted as %s", got)
	}
	if s := pairs[0].end.Server; s.TLS == nil || s.TLS.SNI != "site.test" {
		t.Errorf("server: %+v", s)
	}
}

// A parent's 2xx to a CONNECT has no body, whatever its fields say: what follows is
// the server's (saucelabs/forwarder, commits 5e109d50 and 871015ae; RFC 9110 §9.3.6).
func TestParentsGrantHasNoBody(t *testing.T) {
	for _, fields := range []string{"Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"} {
		t.Run(fields, func(t *testing.T) {
			var url string
			w := newWorld(t, byParent(t, &url))
			url = w.origin(func(p *party) {
				p.head()
				p.send("HTTP/1.1 200 OK\r\n" + fields + "\r\n220 mail\r\n")
				p.expect("QUIT\r\n")
			})
			b := w.connect("site.test:25")
			b.expect("220 mail\r\n")
			b.send("QUIT\r\n")
			b.expectEnd()
			b.Close()
			w.waitFor(1)
			if tn := w.want("", "tunnel tunnel site.test:25")[0].end.Tunnel; tn.Sent != 6 || tn.Received != 10 {
				t.Errorf("tunnel: %+v", tn)
			}
		})
	}
}

// A browser that names nobody in its ClientHello gets a certificate for the
// CONNECT's name (elazarl/goproxy#231, #384, #459).
func TestClientHelloWithoutAName(t *testing.T) {
	w := newWorld(t, atHome)
	_, port, _ := net.SplitHostPort(w.origin(answers(ok), "site.test"))
	b := w.connect("site.test:" + port)
	session := tls.Client(b.Conn, &tls.Config{InsecureSkipVerify: true}) // no ServerName: no SNI
	if err := session.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := verify(session.ConnectionState().PeerCertificates, "site.test", w.ca.pool); err != nil {
		t.Error(err)
	}
	p := newParty(t, session)
	p.send("GET / HTTP/1.1\r\nHost: site.test:" + port + "\r\n\r\n")
	p.expect(okEmpty)
	w.want(port, "exchange mitm GET https://site.test:ADDR/ 200")
}

// The policy is asked when the head is whole, as a Host that comes last can be
// what it denies (mitmproxy/mitmproxy#6513).
func TestPolicyIsAskedForTheHostOfAWholeHead(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Policy = (&Rules{Deny: rules(t, "denied.test")}).Decide })
	addr := w.origin(func(p *party) {
		if s, _ := p.rest(); s != "" {
			t.Errorf("the server got %q", s)
		}
	})
	_, port, _ := net.SplitHostPort(addr)
	b := w.connect(addr)
	for _, piece := range []string{"GET / HTTP/1.1\r\n", "A: b\r\nHo", "st: denied", ".test:" + port, "\r\n", "\r\n"} {
		b.send(piece)
	}
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("answer: %q", got)
	}
	if ps := w.pairs(); len(ps) != 1 || ps[0].end.Refused == nil || ps[0].end.Refused.Code != netlog.RefusedPolicy {
		t.Errorf("entries: %v", ps)
	}
}

// Browsers never share a connection to a server: who is who may be the
// connection's (NTLM), and nobody's answer may be another's
// (mitmproxy/mitmproxy#7575).
func TestBrowsersShareNoConnection(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(answers(ok))
	first, second := w.browser(), w.browser()
	for range 2 {
		for _, b := range []*party{first, second} {
			b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
			b.expect(okEmpty)
		}
	}
	ps := w.pairs()
	for i, p := range ps {
		if s := p.end.Server; s.Reused != (i >= 2) || s.Connection != ps[i%2].end.Server.Connection {
			t.Errorf("entry %d: %+v", i, s)
		}
	}
	if ps[0].end.Server.Connection == ps[1].end.Server.Connection {
		t.Error("two browsers, one connection")
	}
}

// A side that has ended does not hold the other for ever, in a tunnel or behind a
// 101 (golang/go#35892, #75807, elazarl/goproxy#209).
func TestHalfClosedAndSilent(t *testing.T) {
	for name, c := range map[string]struct{ ask, grant string }{
		"tunnel":  {"CONNECT ADDR HTTP/1.1\r\nHost: ADDR\r\n\r\n", established},
		"upgrade": {"GET http://ADDR/ HTTP/1.1\r\nHost: ADDR\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n", switching},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(c *Config) {
				c.Policy = func(to Target) Decision {
					if to.Scheme == "https" {
						return Decision{Action: TunnelThrough}
					}
					return Decision{}
				}
				c.Timeouts.TunnelIdle = 50 * time.Millisecond
			})
			release := make(chan bool)
			addr := w.origin(func(p *party) {
				if name == "upgrade" {
					p.head()
					p.send(switching)
				}
				p.rest()
				<-release // neither a word nor an end
			})
			b := w.browser()
			b.send(strings.ReplaceAll(c.ask, "ADDR", addr))
			b.expect(c.grant)
			b.Conn.(*net.TCPConn).CloseWrite()
			b.rest()
			eventually(t, "no connection", func() bool { return w.proxy.Stats().Connections == 0 })
			close(release)
		})
	}
}

// A server of a version of TLS that is no longer spoken is an entry that failed
// (mitmproxy/mitmproxy#8294).
func TestServerOfOldTLS(t *testing.T) {
	w := newWorld(t, atHome)
	leaf, err := w.ca.leaf("site.test")
	if err != nil {
		t.Fatal(err)
	}
	_, port := w.secureOrigin(&tls.Config{Certificates: []tls.Certificate{*leaf}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, answers(ok))
	if got := w.visit(port); got != "HTTP/1.1 502 Bad Gateway" {
		t.Error(got)
	}
	w.want(port, "exchange mitm GET https://site.test:ADDR/ failed server_tls bad_answer")
}

// A browser resumes its session on its next connection, and what is done with that
// is the connection's own: the certificate is not asked for again, but the policy is
// (mitmproxy/mitmproxy#5339, golang/go#60506).
func TestBrowserResumesItsSession(t *testing.T) {
	var denied atomic.Bool
	w := newWorld(t, func(c *Config) {
		atHome(c)
		c.Policy = func(Target) Decision {
			if denied.Load() {
				return Decision{Action: Refuse}
			}
			return Decision{}
		}
	})
	_, port, _ := net.SplitHostPort(w.origin(answers(ok), "site.test"))
	config := &tls.Config{ServerName: "site.test", RootCAs: w.ca.pool, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for range 2 {
		b := w.connect("site.test:" + port)
		session := tls.Client(b.Conn, config)
		if err := session.Handshake(); err != nil {
			t.Fatal(err)
		}
		p := newParty(t, session)
		p.send("GET / HTTP/1.1\r\nHost: site.test:" + port + "\r\n\r\n")
		p.expect(okEmpty)
		b.Close()
	}
	denied.Store(true)
	b := w.browser()
	b.send("CONNECT site.test:" + port + " HTTP/1.1\r\nHost: site.test\r\n\r\n")
	if got, _ := b.rest(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("answer: %q", got)
	}
	w.waitFor(3)
	pairs := w.want(port, "exchange mitm GET https://site.test:ADDR/ 200", "exchange mitm GET https://site.test:ADDR/ 200", "tunnel tunnel site.test:ADDR refused policy 403")
	for i, p := range pairs[:2] {
		if leg := p.end.ClientTLS; leg.Resumed != (i == 1) {
			t.Errorf("connection %d: %+v", i, leg)
		}
	}
}

// A browser that sends a body slowly costs two goroutines, one for each direction,
// and their buffers (caddyserver/caddy#7913). How fast a body has to be is the
// server's affair: what that puts up with, a proxy must not cut short.
func TestSlowUploadsCostLittle(t *testing.T) {
	const uploads, each = 200, 128 << 10
	w := newWorld(t, nil)
	l := listen(t) // the kernel takes the connections, and a little of what comes
	defer l.Close()
	slow := func() *party {
		b := w.browser()
		b.send("POST http://" + l.Addr().String() + "/ HTTP/1.1\r\nHost: " + l.Addr().String() + "\r\nContent-Length: 20000000\r\n\r\nx")
		return b
	}
	slow() // what the first one makes is for all
	w.logHas(`"event":"open"`)
	held := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	goroutines, bytes := runtime.NumGoroutine(), held()
	var browsers []*party
	for range uploads {
		browsers = append(browsers, slow())
	}
	eventually(t, "all open lines", func() bool {
		raw, err := os.ReadFile(w.path)
		return err == nil && strings.Count(string(raw), `"event":"open"`) == uploads+1
	})
	for _, b := range browsers {
		b.send("y")
	}
	eventually(t, "no more than two goroutines for each", func() bool { return runtime.NumGoroutine()-goroutines <= 2*uploads })
	if n := (held() - bytes) / uploads; n > each {
		t.Errorf("each upload holds %d bytes", n)
	}
	if n := w.proxy.Stats().Exchanges; n != uploads+1 {
		t.Errorf("%d uploads are going on", n)
	}
}

// One of which nothing comes for Timeouts.Idle is ended.
func TestStalledUploadIsEnded(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Timeouts.Idle = time.Second })
	l := listen(t)
	defer l.Close()
	addr := l.Addr().String()
	b := w.browser()
	b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 20000000\r\n\r\nxy")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 504 ") {
		t.Errorf("answer: %q", got)
	}
	w.waitFor(1)
	p := w.want(addr, "exchange plain POST http://ADDR/ failed send timeout")[0]
	if n := p.requestBody().Size; n != 2 {
		t.Errorf("%d bytes of the body", n)
	}
}
