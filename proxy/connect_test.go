package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

func tunnelAll(c *Config) {
	c.Policy = func(Target) Decision { return Decision{Action: TunnelThrough} }
}

// A tunnel passes on each side's end of stream and counts the bytes.
func TestTunnelRelaysAndHalfCloses(t *testing.T) {
	w := newWorld(t, tunnelAll)
	addr := w.origin(func(p *party) {
		got, _ := p.rest()
		p.send("you said " + got)
	})
	b := w.connect(addr)
	b.send("anything")
	b.Conn.(*net.TCPConn).CloseWrite()
	if got, err := b.rest(); got != "you said anything" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	p := w.want(addr, "tunnel tunnel ADDR")[0]
	if tn := p.end.Tunnel; tn.Sent != 8 || tn.Received != 17 || tn.SNI != "" {
		t.Errorf("tunnel: %+v", tn)
	}
	if s := p.end.Server; s.Address != addr || s.Dialled == nil {
		t.Errorf("server: %+v", s)
	}
}

func TestTunnelReadsTheHellos(t *testing.T) {
	w := newWorld(t, tunnelAll)
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }), "site.test")
	b := w.secureFor(addr, "site.test", "h2", "http/1.1")
	b.send("GET / HTTP/1.1\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	b.Close()
	w.waitFor(1)
	tn := w.want(addr, "tunnel tunnel ADDR")[0].end.Tunnel
	if tn.SNI != "site.test" || strings.Join(tn.ALPN, " ") != "h2 http/1.1" || tn.TLSVersion != "TLS 1.3" || len(tn.TLSVersions) == 0 {
		t.Errorf("tunnel: %+v", tn)
	}
}

func TestTunnelToNobody(t *testing.T) {
	w := newWorld(t, tunnelAll)
	addr := deadAddress(t)
	b := w.browser()
	b.send("CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, "X-Agentenv-Proxy: failed") {
		t.Errorf("answer: %q", got)
	}
	p := w.want(addr, "tunnel tunnel ADDR failed connect refused")[0]
	if p.end.Server == nil || p.end.Server.Address != addr {
		t.Errorf("server: %+v", p.end.Server)
	}
}

func TestRefusedByPolicy(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Policy = func(target Target) Decision {
			return Decision{Action: Refuse, Reason: "not " + target.Scheme + " " + hostPort(target.Host, target.Port)}
		}
	})
	b := w.browser()
	b.send("CONNECT A.Test.:443 HTTP/1.1\r\nHost: A.Test.:443\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("answer: %q", got)
	}
	if body, _ := b.rest(); !strings.Contains(body, "not https a.test:443") {
		t.Errorf("page: %q", body)
	}
	b = w.browser()
	b.send("POST http://b.test/x HTTP/1.1\r\nHost: b.test\r\nContent-Length: 2\r\n\r\nhi")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("answer: %q", got)
	}
	ps := w.want("", "tunnel tunnel a.test:443 refused policy 403", "exchange plain POST http://b.test/x refused policy 403")
	if body := ps[1].requestBody(); body == nil || body.Size != 2 {
		t.Errorf("the refused request's body: %+v", body)
	}
}

// A connection has one name: what names another is turned down, before a byte goes up.
func TestOneNameAConnection(t *testing.T) {
	for name, c := range map[string]struct{ request, want string }{
		"Host":            {"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", "421"},
		"Host's port":     {"GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", "421"},
		"absolute target": {"GET https://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n", "421"},
		"target's scheme": {"GET http://ADDR/ HTTP/1.1\r\nHost: ADDR\r\n\r\n", "421"},
		"inner CONNECT":   {"CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n", "400"},
		"a user name":     {"GET https://user:pass@ADDR/ HTTP/1.1\r\nHost: ADDR\r\n\r\n", "400"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			addr := w.origin(func(p *party) {
				if s, _ := p.rest(); s != "" {
					t.Errorf("the server got %q", s)
				}
			}, "127.0.0.1")
			b := w.secure(addr, "127.0.0.1")
			b.send(strings.ReplaceAll(c.request, "ADDR", addr))
			if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 "+c.want+" ") {
				t.Errorf("answer: %q", got)
			}
			p := w.pairs()
			if len(p) != 1 || p[0].end.Refused == nil || strings.Contains(p[0].open.Request.Target, "pass") {
				t.Errorf("entries: %v", p)
			}
		})
	}
}

func TestSNIOtherThanTheConnectsName(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Dial = noDial })
	b := w.connect("one.test:443")
	session := tls.Client(b.Conn, &tls.Config{ServerName: "two.test", RootCAs: w.ca.pool})
	if err := session.Handshake(); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("handshake: %v", err)
	}
	p := w.want("", "tunnel mitm one.test:443 refused misdirected 0")[0]
	if sni := p.end.Tunnel.SNI; sni != "two.test" {
		t.Errorf("the entry names %q", sni)
	}
}

// Where the CONNECT's host is an address the ClientHello's name is the connection's.
func TestSNINamesAnAddress(t *testing.T) {
	asked := make(chan string, 8)
	w := newWorld(t, func(c *Config) {
		c.Policy = func(target Target) Decision {
			asked <- target.Host
			return Decision{}
		}
	})
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }), "site.test")
	_, port, _ := net.SplitHostPort(addr)
	b := w.secure(addr, "site.test")
	b.send("GET / HTTP/1.1\r\nHost: Site.Test.:" + port + "\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	w.want(port, "exchange mitm GET https://site.test:ADDR/ 200")
	if first, second := <-asked, <-asked; first != "127.0.0.1" || second != "site.test" {
		t.Errorf("the policy was asked for %q and %q", first, second)
	}
}

// A name that is denied only when a ClientHello tells it stands in its entry, and so
// does one whose certificate the browser does not take.
func TestEntryOfASessionHasTheNameAskedFor(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Policy = (&Rules{Deny: rules(t, "denied.test")}).Decide })
	addr := w.origin(answers(ok), "site.test")
	for name, roots := range map[string]*x509.CertPool{"denied.test": w.ca.pool, "site.test": x509.NewCertPool()} {
		b := w.connect(addr)
		session := tls.Client(b.Conn, &tls.Config{ServerName: name, RootCAs: roots, NextProtos: []string{"http/1.1"}})
		if session.Handshake() == nil {
			t.Errorf("a session for %s", name)
		}
		b.Close()
	}
	w.waitFor(2)
	told := map[string]string{}
	for _, p := range w.pairs() {
		tn := p.end.Tunnel
		told[strings.ReplaceAll(p.String(), addr, "ADDR")] = fmt.Sprint(tn.SNI, tn.ALPN, len(tn.TLSVersions) > 0)
	}
	want := map[string]string{
		"tunnel mitm ADDR refused policy 0":                             "denied.test[http/1.1] true",
		"tunnel mitm ADDR failed client_tls client_refused_certificate": "site.test[http/1.1] true",
	}
	if !maps.Equal(told, want) {
		t.Errorf("entries: %v, want %v", told, want)
	}
}

// The first bytes decide: http:// and ws:// come through a CONNECT too.
func TestPlainHTTPInsideAConnect(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(answers(func(head string) string {
		return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	}))
	_, port, _ := net.SplitHostPort(addr)
	b := w.connect(addr)
	b.send("GET /a HTTP/1.1\r\nHost: named.test:" + port + "\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	b.send("GET /b HTTP/1.1\r\nHost: other.test:" + port + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 421 ") {
		t.Errorf("a second name: %q", got)
	}
	w.want(port, "exchange plain GET http://named.test:ADDR/a 200", "exchange plain GET http://named.test:ADDR/b refused misdirected 421")
}

func TestOtherProtocolsInsideAConnect(t *testing.T) {
	t.Run("the server speaks first", func(t *testing.T) {
		w := newWorld(t, nil)
		addr := w.origin(func(p *party) {
			p.send("220 mail\r\n")
			p.expect("QUIT\r\n")
			p.send("bye")
		})
		b := w.connect(addr)
		b.expect("220 mail\r\n")
		b.send("QUIT\r\n")
		b.expect("bye")
		b.Close()
		w.waitFor(1)
		if tn := w.want(addr, "tunnel tunnel ADDR")[0].end.Tunnel; tn.Sent != 6 || tn.Received != 13 {
			t.Errorf("tunnel: %+v", tn)
		}
	})
	for name, first := range map[string]string{"ssh": "SSH-2.0-x\r\n", "binary": "\x00\x01", "h2c": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			addr := w.origin(func(p *party) {
				p.expect(first)
				p.send("ok")
			})
			b := w.connect(addr)
			b.send(first)
			b.expect("ok")
			b.Close()
			w.waitFor(1)
			w.want(addr, "tunnel tunnel ADDR")
		})
	}
}

// Bytes that come with the CONNECT are not lost, in any cut.
func TestClientHelloWithTheConnect(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }), "127.0.0.1")
	b := w.browser()
	eager := &eagerConn{Conn: b.Conn, connect: "CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"}
	session := tls.Client(eager, &tls.Config{ServerName: "127.0.0.1", RootCAs: w.ca.pool})
	if err := session.Handshake(); err != nil {
		t.Fatal(err)
	}
	p := newParty(t, session)
	p.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	p.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	w.want(addr, "exchange mitm GET https://ADDR/ 200")
}

// An eagerConn sends its first write together with a CONNECT, and the rest of
// that write byte by byte, and passes over the CONNECT's answer.
type eagerConn struct {
	net.Conn
	connect string
	granted bool
}

func (c *eagerConn) Write(p []byte) (int, error) {
	if c.connect == "" {
		return c.Conn.Write(p)
	}
	first := append([]byte(c.connect), p[:len(p)/2]...)
	c.connect = ""
	if _, err := c.Conn.Write(first); err != nil {
		return 0, err
	}
	for i := len(p) / 2; i < len(p); i++ {
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (c *eagerConn) Read(p []byte) (int, error) {
	if !c.granted {
		c.granted = true
		if _, err := io.CopyN(io.Discard, c.Conn, int64(len(established))); err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(p)
}

func TestBrowserThatRefusesTheCertificate(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) { p.rest() }, "127.0.0.1")
	b := w.connect(addr)
	session := tls.Client(b.Conn, &tls.Config{ServerName: "127.0.0.1"})
	if err := session.Handshake(); err == nil {
		t.Error("the handshake went well without trust")
	}
	b.Close()
	w.waitFor(1)
	w.want(addr, "tunnel mitm ADDR failed client_tls client_refused_certificate")
}

func TestBrowserThatLeavesInTheHandshake(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) { p.rest() }, "127.0.0.1")
	b := w.connect(addr)
	b.send("\x16\x03\x01\x02\x00\x01")
	b.Close()
	w.waitFor(1)
	w.want(addr, "tunnel mitm ADDR failed client_tls client_gone")
}

// A browser that leaves while its server's handshake is waited for has sent nothing
// bad.
func TestBrowserThatLeavesInTheServersHandshake(t *testing.T) {
	w := newWorld(t, nil)
	greeted := make(chan struct{})
	addr := w.origin(func(p *party) {
		p.br.Peek(1)
		close(greeted)
		p.rest()
	})
	b := w.connect(addr)
	shaken := make(chan error, 1)
	go func() {
		shaken <- tls.Client(b.Conn, &tls.Config{ServerName: "127.0.0.1", RootCAs: w.ca.pool}).Handshake()
	}()
	<-greeted
	b.Close()
	<-shaken
	w.waitFor(1)
	w.want(addr, "tunnel mitm ADDR failed client_tls client_gone")
}

// A connection that the browser only had in store leaves no line.
func TestUnusedConnectLeavesNoLine(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) { p.rest() })
	w.connect(addr).Close()
	b := w.connect(addr)
	b.send("x y\r\n")
	b.Close()
	w.waitFor(1)
	w.want(addr, "tunnel tunnel ADDR")
}

func TestSilenceAfterConnect(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Timeouts.ClientHead = time.Second })
	addr := w.origin(func(p *party) { p.rest() })
	b := w.connect(addr)
	b.expectEnd()
	w.want(addr, "tunnel mitm ADDR failed client_tls timeout")
}

// The server's certificate is verified; the failed request has its URL and body.
func TestBadServerCertificate(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {}, "wrong.test")
	b := w.secure(addr, "127.0.0.1")
	b.send("POST /form HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 3\r\n\r\na=b")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
		t.Errorf("answer: %q", got)
	}
	if page, _ := b.rest(); !strings.Contains(page, "certificate") {
		t.Errorf("page: %q", page)
	}
	p := w.want(addr, "exchange mitm POST https://ADDR/form failed server_tls bad_certificate")[0]
	if string(p.requestBody().Kept.(netlog.Bytes)) != "a=b" {
		t.Errorf("body: %+v", p.requestBody())
	}
}

func TestNobodyListens(t *testing.T) {
	w := newWorld(t, nil)
	addr := deadAddress(t)
	b := w.secure(addr, "127.0.0.1")
	b.send("GET /x HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
		t.Errorf("answer: %q", got)
	}
	w.want(addr, "exchange mitm GET https://ADDR/x failed connect refused")
}

func TestNameThatDoesNotResolve(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Dial = failingDial(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "no.test", IsNotFound: true}})
	})
	b := w.browser()
	b.send("GET http://no.test/ HTTP/1.1\r\nHost: no.test\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
		t.Errorf("answer: %q", got)
	}
	w.want("", "exchange plain GET http://no.test/ failed dns not_found")
}

func TestSilentServerIs504(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Timeouts.Answer = 50 * time.Millisecond })
	addr := w.origin(func(p *party) { p.rest() })
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 504 ") {
		t.Errorf("answer: %q", got)
	}
	w.want(addr, "exchange plain GET http://ADDR/ failed wait timeout")
}

func TestServerThatClosesWithoutAnAnswer(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) { p.head() })
	b := w.browser()
	b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 1\r\n\r\nx")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
		t.Errorf("answer: %q", got)
	}
	p := w.want(addr, "exchange plain POST http://ADDR/ failed wait reset")[0]
	if p.requestBody().Size != 1 {
		t.Errorf("body: %+v", p.requestBody())
	}
}

// A reused connection that dies before a byte of the answer.
func TestReusedConnectionDies(t *testing.T) {
	serve := func(p *party) { // answers once, takes the next request, and closes
		p.head()
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		p.br.ReadString('\n')
	}
	t.Run("GET goes once more", func(t *testing.T) {
		w := newWorld(t, nil)
		addr := w.origin(serve)
		b := w.browser()
		for range 2 {
			b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
			b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
		p := w.want(addr, "exchange plain GET http://ADDR/ 200", "exchange plain GET http://ADDR/ 200")[1]
		if s := p.end.Server; s.Reused || s.Dialled == nil || s.Connection != 2 {
			t.Errorf("server: %+v", s)
		}
	})
	t.Run("POST is the browser's to repeat", func(t *testing.T) {
		w := newWorld(t, nil)
		addr := w.origin(serve, "127.0.0.1")
		b := w.secure(addr, "127.0.0.1")
		b.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		b.send("POST / HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 1\r\n\r\nx")
		if got, _ := b.rest(); got != "" {
			t.Errorf("got %q, want the end", got)
		}
		p := w.want(addr, "exchange mitm GET https://ADDR/ 200", "exchange mitm POST https://ADDR/ failed wait reset")[1]
		if p.requestBody().Size != 1 {
			t.Errorf("body: %+v", p.requestBody())
		}
	})
}

// A lateConn is done with what it sends inside TLS only when it is told so.
type lateConn struct {
	net.Conn
	done chan struct{}
}

func (c lateConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	const applicationData = 23 // RFC 8446 §5.1
	if b[0] == applicationData {
		<-c.done
	}
	return n, err
}

// Nor does the browser's connection outlive a server's that ends right behind its
// answer, before the request is known to have gone up.
func TestServerClosesBehindItsAnswer(t *testing.T) {
	for range 20 { // either may be seen first
		done := make(chan struct{})
		w := newWorld(t, func(c *Config) {
			c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return lateConn{conn, done}, err
			}
		})
		addr := w.origin(func(p *party) {
			p.head()
			p.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}, "127.0.0.1")
		b := w.secure(addr, "127.0.0.1")
		b.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		close(done)
		b.expectEnd()
		w.waitFor(1)
		w.want(addr, "exchange mitm GET https://ADDR/ 200")
	}
}

// When the server closes an idle connection, the browser's ends too.
func TestIdleServerCloses(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}, "127.0.0.1")
	b := w.secure(addr, "127.0.0.1")
	b.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	b.expectEnd()
	w.want(addr, "exchange mitm GET https://ADDR/ 200")
}

// A browser that goes away ends the work upstream, in every phase.
func TestBrowserGoesAway(t *testing.T) {
	t.Run("in the dial", func(t *testing.T) {
		cancelled := make(chan error, 1)
		w := newWorld(t, func(c *Config) {
			c.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				cancelled <- ctx.Err()
				return nil, ctx.Err()
			}
		})
		b := w.browser()
		b.send("GET http://slow.test/ HTTP/1.1\r\nHost: slow.test\r\n\r\n")
		w.logHas("slow.test")
		b.Close()
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("dialling ended with %v", err)
		}
		w.waitFor(1)
		w.want("", "exchange plain GET http://slow.test/ failed connect client_gone")
	})
	t.Run("waiting", func(t *testing.T) {
		w := newWorld(t, nil)
		came, gone := make(chan bool, 1), make(chan bool, 1)
		addr := w.origin(func(p *party) {
			p.head()
			came <- true
			p.rest()
			gone <- true
		})
		b := w.browser()
		b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		<-came
		b.Close()
		<-gone
		w.waitFor(1)
		w.want(addr, "exchange plain GET http://ADDR/ failed wait client_gone")
	})
	t.Run("sending", func(t *testing.T) {
		w := newWorld(t, nil)
		came, gone := make(chan bool, 1), make(chan string, 1)
		addr := w.origin(func(p *party) {
			p.head()
			p.expect("half")
			came <- true
			s, _ := p.rest()
			gone <- s
		})
		b := w.browser()
		b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 10\r\n\r\nhalf")
		<-came
		b.Close()
		if got := <-gone; got != "" {
			t.Errorf("the server got %q more", got)
		}
		w.waitFor(1)
		p := w.want(addr, "exchange plain POST http://ADDR/ failed send client_gone")[0]
		if p.requestBody().Size != 4 {
			t.Errorf("body: %+v", p.requestBody())
		}
	})
	t.Run("receiving", func(t *testing.T) {
		w := newWorld(t, nil)
		addr := w.origin(func(p *party) {
			p.head()
			p.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
			for {
				if _, err := p.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return
				}
			}
		})
		b := w.browser()
		b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		b.head()
		b.Close()
		w.waitFor(1)
		w.want(addr, "exchange plain GET http://ADDR/ 200 failed receive client_gone")
	})
}

// Shutting down ends every open entry as stopped.
func TestShutdownEndsWhatIsOpen(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Policy = func(target Target) Decision {
			if target.Scheme == "https" {
				return Decision{Action: TunnelThrough}
			}
			return Decision{}
		}
	})
	came := make(chan bool, 2)
	addr := w.origin(func(p *party) {
		p.br.Peek(1)
		came <- true
		p.rest()
	})
	b := w.browser()
	b.send("GET http://" + addr + "/open HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	<-came
	tunnel := w.connect(addr)
	tunnel.send("x")
	<-came
	eventually(t, "the open lines", func() bool { return w.log.Stats().Open == 2 })
	w.want(addr, "exchange plain GET http://ADDR/open failed wait stopped", "tunnel tunnel ADDR failed receive stopped")
}

// A route's heads are rewritten both ways; the log has what the browser saw.
func TestRoute(t *testing.T) {
	var addr string
	w := newWorld(t, func(c *Config) {
		c.Policy = func(target Target) Decision {
			if target.Host != "notes.test" {
				return Decision{Action: Refuse}
			}
			return Decision{Action: RouteTo, Route: &Route{
				Site: "notes", Address: addr,
				Request: func(r *wire.Request, _ Visit) error {
					r.Target = append([]byte("/website/notes"), r.Target...)
					for i := range r.Fields {
						if strings.EqualFold(string(r.Fields[i].Name), "host") {
							r.Fields[i].Line = []byte("Host: gateway\r\n")
						}
					}
					return nil
				},
				Answer: func(a *wire.Answer, _ Visit) {
					for i := range a.Fields {
						if string(a.Fields[i].Name) == "Location" {
							a.Fields[i].Value, a.Fields[i].Line = []byte("/a"), []byte("Location: /a\r\n")
						}
					}
				},
			}}
		}
	})
	got := make(chan string, 1)
	addr = w.origin(func(p *party) {
		got <- p.head()
		p.send("HTTP/1.1 302 Found\r\nLocation: /website/notes/a\r\nContent-Length: 0\r\n\r\n")
		p.head()
		p.send("garbage\r\n\r\n")
	})
	b := w.secure("notes.test:443", "notes.test")
	b.send("GET /x HTTP/1.1\r\nHost: notes.test\r\n\r\n")
	b.expect("HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n")
	if head := <-got; head != "GET /website/notes/x HTTP/1.1\r\nHost: gateway\r\n\r\n" {
		t.Errorf("the server got %q", head)
	}
	b.send("GET /y HTTP/1.1\r\nHost: notes.test\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, "X-Agentenv-Site-Proxy: failed") {
		t.Errorf("an unreadable answer on a route: %q", got)
	}
	p := w.want("", "exchange site GET https://notes.test/x 302", "exchange site GET https://notes.test/y failed wait bad_answer")
	if p[0].open.Site != "notes" || p[0].end.Response.Headers[0].Value != "/a" || !p[1].end.Unparsed {
		t.Errorf("%+v %+v", p[0].end.Response, p[1].end)
	}
}

// The proxy is never reached through itself, and answers at its own address.
func TestOwnAddress(t *testing.T) {
	w := newWorld(t, nil)
	b := w.browser()
	b.send("GET / HTTP/1.1\r\nHost: " + w.addr + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("own page: %q", got)
	}
	_, port, _ := net.SplitHostPort(w.addr)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		b := w.browser()
		b.send("GET http://" + host + ":" + port + "/ HTTP/1.1\r\nHost: " + host + ":" + port + "\r\n\r\n")
		if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
			t.Errorf("%s: %q", host, got)
		}
	}
	for _, p := range w.pairs() {
		if p.end.Refused == nil || p.end.Refused.Code != netlog.RefusedOwnAddress {
			t.Errorf("entry: %v", p)
		}
	}
}

// Aborted requests leave no goroutine (TestMain looks) and no socket.
func TestManyAbortedRequests(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.rest()
	}, "127.0.0.1")
	const n = 100
	for range n {
		b := w.secure(addr, "127.0.0.1")
		b.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		b.Close()
	}
	eventually(t, "all connections closed", func() bool {
		w.proxy.mu.Lock()
		defer w.proxy.mu.Unlock()
		return len(w.proxy.live) == 0
	})
	for _, p := range w.pairs() {
		if p.end.Failed == nil || p.end.Failed.Code != netlog.CodeClientGone {
			t.Errorf("entry: %v", p)
		}
	}
}

// A server that leaves before the first request, or speaks out of turn, ends the
// browser's connection too.
func TestServerThatLeavesBeforeTheFirstRequest(t *testing.T) {
	for name, parting := range map[string]string{"leaves": "", "speaks": "HTTP/1.1 408 Request Timeout\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			addr := w.origin(func(p *party) { p.send(parting) }, "127.0.0.1")
			b := w.secure(addr, "127.0.0.1")
			b.expectEnd()
			w.want(addr)
		})
	}
}

// A server that gives up waiting on the connection that was made with the CONNECT
// is connected to anew for the first request.
func TestServerThatDoesNotWaitForTheFirstRequest(t *testing.T) {
	closes := func(p *party) {}
	resets := func(p *party) { resetOnClose(p.Conn) }
	alerts := func(p *party) { p.send("\x15\x03\x03\x00\x02\x01\x00") }
	for name, c := range map[string]struct {
		leave  func(*party)
		secure bool
	}{
		"closes, http": {closes, false}, "resets, http": {resets, false},
		"closes, https": {closes, true}, "resets, https": {resets, true}, "alerts, https": {alerts, true},
	} {
		t.Run(name, func(t *testing.T) {
			made, left := make(chan bool, 2), make(chan bool, 1)
			w := newWorld(t, func(c *Config) {
				atHome(c)
				c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					made <- err == nil
					return &looked{conn, left}, err
				}
			})
			leaf, err := w.ca.leaf("site.test")
			if err != nil {
				t.Fatal(err)
			}
			var conns atomic.Int64
			_, port, _ := net.SplitHostPort(w.origin(func(p *party) {
				if conns.Add(1) == 1 {
					<-made // else connecting is what fails
					c.leave(p)
					return
				}
				if c.secure {
					session := tls.Server(p.Conn, &tls.Config{Certificates: []tls.Certificate{*leaf}})
					if session.Handshake() != nil {
						return
					}
					p = newParty(t, session)
				}
				for range 2 {
					p.head()
					p.expect("hi")
					p.send(okEmpty)
				}
			}))
			b := w.connect("site.test:" + port)
			<-left
			scheme, via := "http", "plain"
			if c.secure {
				scheme, via = "https", "mitm"
				session := tls.Client(b.Conn, &tls.Config{ServerName: "site.test", RootCAs: w.ca.pool})
				if err := session.Handshake(); err != nil {
					t.Fatal(err)
				}
				b = newParty(t, session)
			}
			for range 2 {
				b.send("POST / HTTP/1.1\r\nHost: site.test:" + port + "\r\nContent-Length: 2\r\n\r\nhi")
				if got := b.head(); got != okEmpty {
					t.Errorf("answer: %q", got)
				}
			}
			entry := "exchange " + via + " POST " + scheme + "://site.test:ADDR/ 200"
			if n := conns.Load(); n != 2 {
				t.Errorf("%d connections", n)
			}
			w.want(port, entry, entry)
		})
	}
}

// A looked is a connection that tells of the first read that gives something.
type looked struct {
	net.Conn
	told chan<- bool
}

func (c *looked) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !isTimeout(err) {
		select {
		case c.told <- true:
		default:
		}
	}
	return n, err
}

// A stream that ends without a close_notify ends so at the browser.
func TestTLSCutIsPassedOn(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 200 OK\r\n\r\nsome")
		p.Conn.(*tls.Conn).NetConn().Close()
	}, "127.0.0.1")
	b := w.secure(addr, "127.0.0.1")
	b.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	if got, _ := b.rest(); got != "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsome" {
		t.Errorf("got %q", got)
	}
	if records := b.records(); records[len(records)-1] == closeNotify {
		t.Error("a close_notify that the server did not send")
	}
	if p := w.want(addr, "exchange mitm GET https://ADDR/ 200")[0]; p.end.Response.Complete {
		t.Error("complete, though nobody can tell")
	}
}

// An http:// exchange has no TLS phase, an https:// one that dials has.
func TestTLSPhase(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }))
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	tm := w.want(addr, "exchange plain GET http://ADDR/ 200")[0].end.Timings
	if tm.TLS != netlog.Absent || tm.Connect == netlog.Absent {
		t.Errorf("timings: %+v", tm)
	}
	open := time.Now()
	m := marks{dialling: open, connected: open.Add(2 * time.Millisecond), securing: true, ready: open.Add(5 * time.Millisecond)}
	if tm := m.timings(open, open.Add(6*time.Millisecond)); tm.TLS != 3000 || tm.Connect != 5000 {
		t.Errorf("timings: %+v", tm)
	}
}

// What a browser sends with its CONNECT goes through a tunnel whole, also when
// much of it had to be looked at: it could have been a request line.
func TestTunnelPassesOnAllThatCameEarly(t *testing.T) {
	w := newWorld(t, nil)
	const size = 60 << 10
	addr := w.origin(func(p *party) {
		got, err := io.ReadAll(io.LimitReader(p.br, size))
		if err != nil || len(got) != size || strings.Trim(string(got), "x") != "A " {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		p.send("done")
	})
	b := w.browser()
	b.send("CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\nA " + strings.Repeat("x", size-2))
	b.head()
	b.expect("done")
	b.Close()
	w.waitFor(1)
	if tn := w.want(addr, "tunnel tunnel ADDR")[0].end.Tunnel; tn.Sent != size || tn.Received != 4 {
		t.Errorf("tunnel: %+v", tn)
	}
}

// A reset by the server breaks a tunnel, but not one whose browser has said all.
func TestTunnelThatTheServerResets(t *testing.T) {
	for name, c := range map[string]struct {
		ended bool
		want  string
	}{
		"in the middle": {false, "tunnel tunnel ADDR failed receive reset"},
		"at the end":    {true, "tunnel tunnel ADDR"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tunnelAll)
			read := make(chan bool)
			addr := w.origin(func(p *party) {
				p.expect("hi")
				p.send("answer")
				if c.ended {
					p.rest()
				}
				<-read
				p.Conn.(*net.TCPConn).SetLinger(0)
			})
			b := w.connect(addr)
			b.send("hi")
			b.expect("answer")
			if c.ended {
				b.Conn.(*net.TCPConn).CloseWrite()
			}
			read <- true
			b.rest()
			w.waitFor(1)
			w.want(addr, c.want)
		})
	}
}

// A name that is denied only when an address's first Host tells it stands in its entry.
func TestDeniedNameOfAnAddress(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Policy = func(target Target) Decision {
			if target.Host == "denied.test" {
				return Decision{Action: Refuse}
			}
			return Decision{}
		}
	})
	addr := w.origin(func(p *party) {
		if got, _ := p.rest(); got != "" {
			t.Errorf("the server got %q", got)
		}
	})
	_, port, _ := net.SplitHostPort(addr)
	b := w.connect(addr)
	b.send("GET /x HTTP/1.1\r\nHost: denied.test:" + port + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("answer: %q", got)
	}
	w.want(port, "exchange plain GET http://denied.test:ADDR/x refused policy 403")
}
