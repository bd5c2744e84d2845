package proxy

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// sitesWorld has a site of two names, notes.test and www.notes.test, and one that
// is served in the clear, plain.localhost, both routed to addr.
func sitesWorld(t *testing.T, addr *string) *world {
	routes := map[string]*Route{}
	for _, name := range []string{"notes", "plain"} {
		routes[name] = &Route{
			Site: name,
			Request: func(r *wire.Request, v Visit) error {
				if strings.Contains(string(r.Target), "..") {
					return errors.New("the path climbs")
				}
				r.Target = append([]byte("/"+v.Scheme+"/"+v.Authority), r.Target...)
				return nil
			},
			Answer: func(a *wire.Answer, v Visit) {
				for i := range a.Fields {
					if f := &a.Fields[i]; string(f.Name) == "Location" {
						f.Value = []byte(v.Scheme + "://" + v.Authority + "/")
						f.Line = []byte("Location: " + string(f.Value) + "\r\n")
					}
				}
			},
		}
	}
	var once sync.Once // addr is known only later
	return newWorld(t, func(c *Config) {
		c.Policy = func(target Target) Decision {
			once.Do(func() { routes["notes"].Address, routes["plain"].Address = *addr, *addr })
			switch {
			case target.Host == "plain.localhost":
				return Decision{Action: RouteTo, Route: routes["plain"], Redact: []string{"x-token"}}
			case target.Host != "notes.test" && target.Host != "www.notes.test":
				return Decision{Action: TunnelThrough}
			case target.Scheme == "http":
				return Decision{Action: Redirect, Route: routes["notes"], To: "https://" + target.Host + ":8443"}
			}
			return Decision{Action: RouteTo, Route: routes["notes"]}
		}
	})
}

// direct has the proxy listen for direct connections, until the test ends.
func (w *world) direct(scheme string) string {
	w.t.Helper()
	l := listen(w.t)
	served := make(chan error, 1)
	go func() { served <- w.proxy.ServeDirect(l, scheme) }()
	w.t.Cleanup(func() {
		w.end()
		if err := <-served; err != nil {
			w.t.Error("ServeDirect:", err)
		}
	})
	return l.Addr().String()
}

// at connects to an address, with TLS for name unless that is "".
func (w *world) at(addr, name string) *party {
	w.t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	p := newParty(w.t, conn)
	if name == "" {
		return p
	}
	session := tls.Client(conn, &tls.Config{ServerName: name, RootCAs: w.ca.pool, NextProtos: []string{"http/1.1"}})
	if err := session.Handshake(); err != nil {
		w.t.Fatal("handshake:", err)
	}
	return newParty(w.t, session)
}

func echoLine(head string) string {
	line, _, _ := strings.Cut(head, "\r\n")
	return "HTTP/1.1 200 OK\r\nX-Got: " + line + "\r\nContent-Length: 0\r\n\r\n"
}

// got is what the gateway said that it was asked for.
func got(t *testing.T, head string) string {
	t.Helper()
	_, line, ok := strings.Cut(head, "X-Got: ")
	if !ok {
		t.Fatalf("no answer of the gateway's: %q", head)
	}
	line, _, _ = strings.Cut(line, "\r\n")
	return line
}

// A browser that took us for the site itself, over TLS: the name in its hello
// chooses, and its connection takes every name of the site, at any port.
func TestDirectTLS(t *testing.T) {
	var addr string
	w := sitesWorld(t, &addr)
	addr = w.origin(answers(echoLine))
	https := w.direct("https")
	b := w.at(https, "notes.test")
	for _, c := range []struct{ ask, want string }{
		{"GET /a?b=%2F HTTP/1.1\r\nHost: notes.test\r\n\r\n", "GET /https/notes.test/a?b=%2F HTTP/1.1"},
		{"GET /a HTTP/1.1\r\nHost: NOTES.test.:8443\r\n\r\n", "GET /https/notes.test:8443/a HTTP/1.1"},
		{"GET /a HTTP/1.1\r\nHost: www.notes.test\r\n\r\n", "GET /https/www.notes.test/a HTTP/1.1"},
		{"GET https://notes.test/a HTTP/1.1\r\nHost: notes.test\r\n\r\n", "GET /https/notes.test/a HTTP/1.1"},
	} {
		b.send(c.ask)
		if got := got(t, b.head()); got != c.want {
			t.Errorf("%q: the gateway got %q, want %q", c.ask, got, c.want)
		}
	}
	b.send("GET / HTTP/1.1\r\nHost: plain.localhost\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 421 ") || !strings.Contains(got, "X-Agentenv-Site-Proxy: failed\r\n") {
		t.Errorf("another site's name: %q", got)
	}
	p := w.want("",
		"exchange site GET https://notes.test/a?b=%2F 200",
		"exchange site GET https://notes.test:8443/a 200",
		"exchange site GET https://www.notes.test/a 200",
		"exchange site GET https://notes.test/a 200",
		"exchange site GET https://notes.test/ refused misdirected 421")
	if p[0].open.Site != "notes" || p[0].end.ClientTLS == nil || p[0].end.ClientTLS.SNI != "notes.test" {
		t.Errorf("%+v %+v", p[0].open, p[0].end.ClientTLS)
	}
}

// A name that is no site's gets the certificate that there is, and a 421.
func TestDirectTLSOfNoSite(t *testing.T) {
	var addr string
	w := sitesWorld(t, &addr)
	https := w.direct("https")
	b := w.at(https, "other.test")
	b.send("GET /x HTTP/1.1\r\nHost: other.test\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 421 ") || !strings.Contains(got, "X-Agentenv-Site-Proxy: failed\r\n") {
		t.Errorf("%q", got)
	}
	b = w.at(https, "127.0.0.1") // which is no server name
	b.send("GET /x HTTP/1.0\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 421 ") {
		t.Errorf("%q", got)
	}
	w.at(https, "").Close() // and a connection that comes to nothing leaves no entry
	w.want(https, "exchange mitm GET https://other.test/x refused misdirected 421",
		"exchange mitm GET https://ADDR/x refused misdirected 421")
}

func TestDirectPlain(t *testing.T) {
	var addr string
	w := sitesWorld(t, &addr)
	addr = w.origin(answers(func(head string) string {
		if strings.Contains(head, "/away") {
			return "HTTP/1.1 302 Found\r\nLocation: x\r\nX-Token: secret\r\nContent-Length: 0\r\n\r\n"
		}
		return echoLine(head)
	}))
	plain := w.direct("http")
	b := w.at(plain, "")
	b.send("GET /a HTTP/1.1\r\nHost: plain.localhost:8080\r\nX-TOKEN: secret\r\n\r\n")
	if got := got(t, b.head()); got != "GET /http/plain.localhost:8080/a HTTP/1.1" {
		t.Errorf("the gateway got %q", got)
	}
	b.send("GET http://plain.localhost/away HTTP/1.1\r\nHost: other.test\r\n\r\n")
	b.expect("HTTP/1.1 302 Found\r\nLocation: http://plain.localhost/\r\nX-Token: secret\r\nContent-Length: 0\r\n\r\n")
	b.send("GET /../b HTTP/1.1\r\nHost: plain.localhost\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("a path that the route refuses: %q", got)
	}
	for _, c := range []struct{ ask, status string }{
		{"GET /x HTTP/1.1\r\nHost: other.test\r\n\r\n", "421"},
		{"GET /x HTTP/1.0\r\n\r\n", "421"},
		{"CONNECT notes.test:443 HTTP/1.1\r\nHost: notes.test:443\r\n\r\n", "400"},
		{"GET https://plain.localhost/ HTTP/1.1\r\nHost: plain.localhost\r\n\r\n", "400"},
	} {
		b := w.at(plain, "")
		b.send(c.ask)
		if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 "+c.status) || !strings.Contains(got, "X-Agentenv-Site-Proxy: failed\r\n") {
			t.Errorf("%q: %q", c.ask, got)
		}
	}
	p := w.pairs()
	if p[0].open.Site != "plain" || p[0].open.Via != netlog.ViaSite {
		t.Errorf("%+v", p[0].open)
	}
	for _, h := range append(p[0].open.Request.Headers, p[1].end.Response.Headers...) {
		if strings.EqualFold(h.Name, "x-token") && h.Value != removed {
			t.Errorf("the log has %v", h)
		}
	}
	if got, want := p[1].end.Response.HeaderBytes, int64(len("HTTP/1.1 302 Found\r\nLocation: http://plain.localhost/\r\nX-Token: secret\r\nContent-Length: 0\r\n\r\n")); got != want {
		t.Errorf("header_bytes %d, want %d", got, want)
	}
}

// An http:// request for a name that has TLS is sent there, on every way to us.
func TestRedirect(t *testing.T) {
	var addr string
	w := sitesWorld(t, &addr)
	addr = w.origin(answers(echoLine))
	plain := w.direct("http")
	const answer = "HTTP/1.1 308 Permanent Redirect\r\nLocation: https://notes.test:8443/a?b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	b := w.at(plain, "")
	b.send("POST /a?b HTTP/1.1\r\nHost: notes.test\r\nContent-Length: 3\r\n\r\nabc")
	b.expect(answer)
	b.expectEnd()
	b = w.browser()
	b.send("GET http://notes.test/a?b HTTP/1.1\r\nHost: notes.test\r\n\r\n")
	b.expect(answer)
	b = w.connect("notes.test:80")
	b.send("GET /a?b HTTP/1.1\r\nHost: notes.test:80\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	b.expect(answer)
	p := w.want("", "exchange site POST http://notes.test/a?b 308",
		"exchange site GET http://notes.test/a?b 308",
		"exchange site GET http://notes.test/a?b 308")
	end := p[0].end
	if body := p[0].requestBody(); body == nil || body.Size != 3 || end.Server != nil || !end.Response.Complete ||
		end.Response.Headers[0] != (netlog.Header{Name: "Location", Value: "https://notes.test:8443/a?b"}) ||
		end.Response.HeaderBytes != int64(len(answer)) {
		t.Errorf("%+v %+v", end, end.Response)
	}
}

// A gateway that can't be reached is a 502 that is told from the site's own.
func TestDirectGatewayGone(t *testing.T) {
	addr := deadAddress(t)
	w := sitesWorld(t, &addr)
	b := w.at(w.direct("https"), "notes.test")
	b.send("GET / HTTP/1.1\r\nHost: notes.test\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, "X-Agentenv-Site-Proxy: failed\r\n") {
		t.Errorf("%q", got)
	}
	w.want("", "exchange site GET https://notes.test/ failed connect refused")
}

func TestServeDirectRefuses(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	defer l.Close()
	for _, scheme := range []string{"https", "ftp"} {
		if err := p.ServeDirect(l, scheme); err == nil {
			t.Errorf("%s: no error", scheme)
		}
	}
}
