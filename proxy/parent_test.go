package proxy

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elazarl/goproxy"
	"github.com/google/martian/v3"
)

// home dials for a parent, which alone knows that site.test is on this machine.
func home(network, address string) (net.Conn, error) {
	host, port, _ := net.SplitHostPort(address)
	if host == "site.test" {
		host = "127.0.0.1"
	}
	return net.Dial(network, net.JoinHostPort(host, port))
}

// byParent makes a configuration whose every target is reached through the
// parent that url names once it is set.
func byParent(t *testing.T, url *string) func(*Config) {
	t.Helper()
	return func(c *Config) {
		parent := sync.OnceValue(func() *Parent {
			p, err := ParseParent(*url)
			if err != nil {
				t.Error(err)
			}
			return p
		})
		c.Parent = func(Target) *Parent { return parent() }
	}
}

// relayBoth relays between two connections until both have ended.
func relayBoth(a, b net.Conn) {
	done := make(chan struct{})
	go func() {
		io.Copy(a, b)
		closeWrite(a)
		close(done)
	}()
	io.Copy(b, a)
	closeWrite(b)
	<-done
}

// tunnels serves CONNECTs as an HTTP parent does that allows them alone.
func tunnels(heads chan<- string) func(*party) {
	return func(p *party) {
		if _, err := p.br.Peek(1); err != nil {
			return
		}
		head := p.head()
		heads <- head
		server, err := home("tcp", strings.Fields(head)[1])
		if err != nil {
			p.send("HTTP/1.1 502 Bad Gateway\r\n\r\n")
			return
		}
		defer server.Close()
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
		relayBoth(&peeked{Conn: p.Conn}, server)
	}
}

// goproxyParent is elazarl/goproxy, with TLS when there is a certificate for it.
func goproxyParent(t *testing.T, certificate *tls.Certificate) (url string) {
	p := goproxy.NewProxyHttpServer()
	p.Logger = log.New(io.Discard, "", 0)
	p.ConnectDial = home
	p.Tr = &http.Transport{
		DisableKeepAlives: true, // else the origin outlives its test
		DialContext:       func(_ context.Context, network, address string) (net.Conn, error) { return home(network, address) },
	}
	server := httptest.NewUnstartedServer(p)
	server.Config.ErrorLog = p.Logger.(*log.Logger)
	t.Cleanup(server.Close)
	if certificate == nil {
		server.Start()
		return server.URL
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
	server.StartTLS()
	return server.URL
}

func martianParent(t *testing.T) (url string) {
	p := martian.NewProxy()
	p.SetRoundTripper(&http.Transport{DisableKeepAlives: true})
	p.SetDial(home)
	l := listen(t)
	served := make(chan struct{})
	go func() {
		p.Serve(l)
		close(served)
	}()
	t.Cleanup(func() {
		l.Close()
		p.Close()
		<-served
	})
	return "http://" + l.Addr().String()
}

// socksParent is a SOCKS 5 server (RFC 1928) that tells what it was asked for, and
// by whom (RFC 1929).
func (w *world) socksParent(asked chan<- string, reply byte) (addr string) {
	return w.origin(func(p *party) {
		read := func(n int) []byte {
			b := make([]byte, n)
			io.ReadFull(p.br, b)
			return b
		}
		greeting := read(2)
		methods := string(read(int(greeting[1])))
		user := ""
		if strings.Contains(methods, "\x02") {
			p.send("\x05\x02")
			name := read(int(read(2)[1]))
			user = string(name) + ":" + string(read(int(read(1)[0]))) + "@"
			p.send("\x01\x00")
		} else {
			p.send("\x05\x00")
		}
		var host string
		switch request := read(4); request[3] {
		case 1:
			host = net.IP(read(4)).String()
		case 3:
			host = string(read(int(read(1)[0])))
		case 4:
			host = net.IP(read(16)).String()
		}
		to := hostPort(host, binary.BigEndian.Uint16(read(2)))
		asked <- user + to
		if reply != 0 {
			p.send("\x05" + string(rune(reply)) + "\x00\x01\x00\x00\x00\x00\x00\x00")
			return
		}
		server, err := home("tcp", to)
		if err != nil {
			p.send("\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00")
			return
		}
		defer server.Close()
		p.send("\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
		relayBoth(&peeked{Conn: p.Conn}, server)
	})
}

// What passes, and its record, is the same through every kind of parent.
func TestParents(t *testing.T) {
	ignored := make(chan string, 100)
	for name, start := range map[string]func(*testing.T, *world) string{
		"goproxy":           func(t *testing.T, _ *world) string { return goproxyParent(t, nil) },
		"goproxy over TLS":  func(t *testing.T, w *world) string { leaf, _ := w.ca.leaf("127.0.0.1"); return goproxyParent(t, leaf) },
		"martian":           func(t *testing.T, _ *world) string { return martianParent(t) },
		"SOCKS 5":           func(_ *testing.T, w *world) string { return "socks5h://" + w.socksParent(ignored, 0) },
		"SOCKS 5, resolved": func(_ *testing.T, w *world) string { return "socks5://" + w.socksParent(ignored, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			var url string
			w := newWorld(t, func(c *Config) {
				byParent(t, &url)(c)
				if name == "SOCKS 5, resolved" {
					atHome(c)
				}
			})
			url = start(t, w)
			echo := func(p *party) {
				for range 2 { // requests, then it leaves: martian does not pass on that the browser does
					if _, err := p.br.Peek(1); err != nil {
						return
					}
					head := p.head()
					if strings.Contains(head, markPrefix) {
						t.Errorf("the server got a parent's mark: %q", head)
					}
					if strings.Contains(head, "Content-Length: 2\r\n") {
						p.expect("hi")
					}
					p.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-Line: " + strings.Split(head, "\r\n")[0] + "\r\n\r\nyes")
				}
			}
			_, secure, _ := net.SplitHostPort(w.origin(echo, "site.test"))
			_, plain, _ := net.SplitHostPort(w.origin(echo))
			_, mail, _ := net.SplitHostPort(w.origin(func(p *party) {
				p.send("220 mail\r\n")
				p.expect("QUIT\r\n")
				p.send("bye")
			}))

			b := w.secure("site.test:"+secure, "site.test")
			for range 2 {
				b.send("GET /a?b HTTP/1.1\r\nHost: site.test:" + secure + "\r\n\r\n")
				if head := b.head(); !strings.Contains(head, "X-Line: GET /a?b HTTP/1.1\r\n") {
					t.Errorf("answer: %q", head)
				}
				b.expect("yes")
			}
			b.Close()

			b = w.browser()
			for range 2 {
				b.send("POST http://site.test:" + plain + "/a?b HTTP/1.1\r\nHost: site.test:" + plain + "\r\nContent-Length: 2\r\n\r\nhi")
				if head := b.head(); !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || !strings.Contains(head, "X-Line: POST /a?b HTTP/1.1\r\n") {
					t.Errorf("answer: %q", head)
				}
				b.expect("yes")
			}
			b.Close()

			b = w.connect("site.test:" + mail)
			b.expect("220 mail\r\n")
			b.send("QUIT\r\n")
			b.expect("bye")
			b.Close()

			w.waitFor(5)
			pairs := w.want("", "exchange mitm GET https://site.test:"+secure+"/a?b 200", "exchange mitm GET https://site.test:"+secure+"/a?b 200",
				"exchange plain POST http://site.test:"+plain+"/a?b 200", "exchange plain POST http://site.test:"+plain+"/a?b 200",
				"tunnel tunnel site.test:"+mail)
			at := url[strings.LastIndex(url, "/")+1:]
			for i, p := range pairs {
				if s := p.end.Server; s == nil || s.Address != at || s.Reused != (i%2 == 1) {
					t.Errorf("entry %d: server %+v, the parent is at %s", i, s, at)
				}
			}
		})
	}
}

// An HTTP parent is asked for http:// by the URL, with its credentials, and for
// anything else by CONNECT; neither the server nor the log learns them.
func TestParentIsAsked(t *testing.T) {
	var url string
	heads := make(chan string, 10)
	w := newWorld(t, byParent(t, &url))
	var requests []string
	parent := w.origin(func(p *party) {
		first, err := p.br.Peek(7)
		if err == nil && string(first) == "CONNECT" {
			tunnels(heads)(p)
			return
		}
		answers(func(head string) string {
			heads <- head
			return okEmpty
		})(p)
	})
	url = "http://us%20er:s%3Acret@" + parent
	served := make(chan string, 10)
	_, port, _ := net.SplitHostPort(w.origin(answers(func(head string) string {
		served <- head
		if strings.Contains(head, "Upgrade: odd") {
			return "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: odd\r\n\r\n"
		}
		return okEmpty
	})))
	credentials := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("us er:s:cret")) + "\r\n\r\n"
	authority := "site.test:" + port

	b := w.browser()
	for _, c := range []struct{ request, want string }{
		{"GET http://SITE.test:" + port + "/a/%7Eb?c HTTP/1.1\r\nhost: Site.Test:" + port + "\r\nX-A: 1\r\nProxy-Connection: keep-alive\r\n\r\n",
			"GET http://" + authority + "/a/%7Eb?c HTTP/1.1\r\nhost: Site.Test:" + port + "\r\nX-A: 1\r\n" + credentials},
		{"GET http://user:pass@site.test:" + port + " HTTP/1.1\r\nHost: site.test:" + port + "\r\nProxy-Authorization: Basic eDp5\r\n\r\n",
			"GET http://" + authority + "/ HTTP/1.1\r\nHost: site.test:" + port + "\r\n" + credentials},
		{"OPTIONS http://site.test:" + port + " HTTP/1.1\r\nHost: site.test:" + port + "\r\n\r\n",
			"OPTIONS http://" + authority + " HTTP/1.1\r\nHost: site.test:" + port + "\r\n" + credentials},
	} {
		b.send(c.request)
		b.expect(okEmpty)
		if got := <-heads; got != c.want {
			t.Errorf("the parent got\n%q, want\n%q", got, c.want)
		}
	}

	b = w.browser()
	b.send("GET http://" + authority + "/up HTTP/1.1\r\nHost: " + authority + "\r\nConnection: upgrade\r\nUpgrade: odd\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 101 ") {
		t.Errorf("answer: %q", got)
	}
	b.Close()
	if got, want := w.unmarked(<-heads), "CONNECT "+authority+" HTTP/1.1\r\nHost: "+authority+"\r\n"+credentials; got != want {
		t.Errorf("the parent got\n%q, want\n%q", got, want)
	}
	requests = append(requests, <-served)
	pairs := w.waitFor(4)
	for i, p := range pairs[:3] {
		if s := p.end.Server; s.Address != parent || s.Reused != (i > 0) {
			t.Errorf("entry %d: %+v", i, s)
		}
	}
	raw, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(requests, string(raw)) {
		for _, secret := range []string{w.proxy.mark, "s:cret", "us er", base64.StdEncoding.EncodeToString([]byte("us er:s:cret")), "Proxy-Auth"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %q", secret, text)
			}
		}
	}
}

// unmarked is a head that a parent got, without the mark that it must have.
func (w *world) unmarked(head string) string {
	w.t.Helper()
	before, after, ok := strings.Cut(head, "Connection: "+w.proxy.mark+"\r\n")
	if !ok {
		w.t.Errorf("the parent got no mark in %q", head)
	}
	return before + after
}

// What came with the parent's 200 is the server's, however much of it.
func TestBytesBehindTheParentsAnswer(t *testing.T) {
	for name, greeting := range map[string]string{"short": "220 mail\r\n", "long": strings.Repeat("220-mail\r\n", 3000) + "220 mail\r\n"} {
		t.Run(name, func(t *testing.T) {
			var url string
			w := newWorld(t, byParent(t, &url))
			url = w.origin(func(p *party) {
				p.head()
				p.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 Connection established\r\nVia: x\r\n\r\n" + greeting)
				p.expect("QUIT\r\n")
				p.send("bye")
			})
			b := w.connect("site.test:25")
			b.expect(greeting)
			b.send("QUIT\r\n")
			b.expect("bye")
			b.expectEnd()
			b.Close()
			w.waitFor(1)
			tn := w.want("", "tunnel tunnel site.test:25")[0].end.Tunnel
			if tn.Sent != 6 || tn.Received != int64(len(greeting)+3) {
				t.Errorf("tunnel: %+v", tn)
			}
		})
	}
}

func TestParentDeclines(t *testing.T) {
	for name, c := range map[string]struct {
		answer, want, reason string
	}{
		"credentials":    {"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 3\r\n\r\nno\n", "connect refused", `answered 407 "Proxy Authentication Required"`},
		"forbidden":      {"HTTP/1.1 403 No\r\n\r\n", "connect refused", `answered 403 "No"`},
		"no protocol":    {"HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 502 \r\n\r\n", "connect refused", `answered 502 ""`},
		"other":          {"SSH-2.0-x\r\n", "connect bad_answer", "answers no HTTP"},
		"endless":        {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", parentHead) + "\r\n\r\n", "connect bad_answer", "answers no HTTP"},
		"nothing":        {"", "connect reset", "closed the connection"},
		"half an answer": {"HTTP/1.1 200 OK\r\nX:", "connect reset", "closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			var url string
			w := newWorld(t, byParent(t, &url))
			url = w.origin(func(p *party) {
				p.head()
				p.send(c.answer)
			})
			if got := w.visit("1"); got != "HTTP/1.1 502 Bad Gateway" {
				t.Error(got)
			}
			b := w.browser() // a tunnel of ours, which is told at once
			b.send("CONNECT site.test:2 HTTP/1.1\r\nHost: site.test:2\r\n\r\n")
			b.send("SSH-2.0-x\r\n")
			b.rest()
			w.waitFor(2)
			pairs := w.want("", "exchange mitm GET https://site.test:1/ failed "+c.want, "tunnel tunnel site.test:2 failed "+c.want)
			for _, p := range pairs {
				if f := p.end.Failed; !strings.Contains(f.Reason, c.reason) || !strings.Contains(f.Reason, "http://"+url) {
					t.Errorf("reason: %q", f.Reason)
				}
				if s := p.end.Server; s == nil || s.Address != url {
					t.Errorf("server: %+v", s)
				}
			}
		})
	}
}

// A parent's demand for credentials is none of the server's: the browser could not meet it.
func TestParentDeclinesAURL(t *testing.T) {
	var url string
	w := newWorld(t, byParent(t, &url))
	url = w.origin(answers(func(string) string {
		return "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 3\r\n\r\nno\n"
	}))
	if got := w.get("http://site.test/"); got != "HTTP/1.1 502 Bad Gateway" {
		t.Error(got)
	}
	if f := w.want("", "exchange plain GET http://site.test/ failed connect refused")[0].end.Failed; !strings.Contains(f.Reason, "407") {
		t.Errorf("reason: %q", f.Reason)
	}
}

func TestSOCKSParentDeclines(t *testing.T) {
	for reply, want := range map[byte]string{1: "refused", 2: "refused", 3: "unreachable", 4: "unreachable", 5: "refused"} {
		var url string
		asked := make(chan string, 1)
		w := newWorld(t, byParent(t, &url))
		at := w.socksParent(asked, reply)
		url = "socks5h://user:secret@" + at
		if got := w.visit("7"); got != "HTTP/1.1 502 Bad Gateway" {
			t.Error(got)
		}
		if got := <-asked; got != "user:secret@site.test:7" {
			t.Errorf("it was asked for %q", got)
		}
		f := w.want("", "exchange mitm GET https://site.test:7/ failed connect "+want)[0].end.Failed
		if !strings.Contains(f.Reason, "socks5h://"+at+" says: ") || strings.Contains(f.Reason, "secret") {
			t.Errorf("reason: %q", f.Reason)
		}
	}
}

// Addresses that are looked up here are asked for in turn.
func TestSOCKSParentGetsAddresses(t *testing.T) {
	var url string
	asked := make(chan string, 2)
	w := newWorld(t, func(c *Config) {
		byParent(t, &url)(c)
		resolveTo("127.0.0.2", "127.0.0.1")(c)
	})
	url = "socks5://" + w.socksParent(asked, 0)
	_, port, _ := net.SplitHostPort(w.origin(answers(ok)))
	if got := w.get("http://site.test:" + port + "/"); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	if first, second := <-asked, <-asked; first != "127.0.0.2:"+port || second != "127.0.0.1:"+port {
		t.Errorf("it was asked for %s and %s", first, second)
	}
}

// A parent that takes the connection and says nothing is left when the time is
// over, or when the browser goes away.
func TestSilentParent(t *testing.T) {
	for _, scheme := range []string{"http", "https", "socks5h"} {
		for _, gone := range []bool{false, true} {
			t.Run(scheme, func(t *testing.T) {
				var url string
				w := newWorld(t, func(c *Config) {
					byParent(t, &url)(c)
					tunnelAll(c)
					if !gone {
						c.Timeouts.Dial = time.Second
					}
				})
				came, left := make(chan bool, 1), make(chan bool, 1)
				at := w.origin(func(p *party) {
					p.br.Peek(1)
					came <- true
					p.rest()
					left <- true
				})
				url = scheme + "://" + at
				b := w.browser()
				b.send("CONNECT site.test:443 HTTP/1.1\r\nHost: site.test:443\r\n\r\n")
				<-came
				want := "timeout"
				if gone {
					b.Close()
					want = "client_gone"
				} else if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 504 ") {
					t.Errorf("answer: %q", got)
				}
				<-left
				w.waitFor(1)
				w.want("", "tunnel tunnel site.test:443 failed connect "+want)
			})
		}
	}
}

func TestParentUnreachable(t *testing.T) {
	for name, c := range map[string]struct{ url, want string }{
		"nobody there": {"http://" + deadAddress(t), "failed connect refused"},
		"no such name": {"socks5h://parent.invalid", "failed dns "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, byParent(t, &c.url))
			w.get("http://site.test/")
			p := w.pairs()[0]
			if !strings.Contains(p.String(), c.want) || !strings.Contains(p.end.Failed.Reason, strings.TrimSuffix(c.url, ":1080")) {
				t.Errorf("%v: %+v", p, p.end.Failed)
			}
		})
	}
}

// A parent over TLS is verified for its own name.
func TestParentOfAnotherName(t *testing.T) {
	var url string
	w := newWorld(t, byParent(t, &url))
	leaf, err := w.ca.leaf("other.test")
	if err != nil {
		t.Fatal(err)
	}
	url = goproxyParent(t, leaf)
	if got := w.visit("1"); got != "HTTP/1.1 502 Bad Gateway" {
		t.Error(got)
	}
	f := w.want("", "exchange mitm GET https://site.test:1/ failed connect bad_certificate")[0].end.Failed
	if !strings.Contains(f.Reason, url) {
		t.Errorf("reason: %q", f.Reason)
	}
}

// Neither is the proxy its own parent, nor is it reached through one.
func TestParentAndOwnAddress(t *testing.T) {
	var url string
	w := newWorld(t, byParent(t, &url))
	url = w.addr
	if got := w.get("http://site.test/"); got != "HTTP/1.1 403 Forbidden" {
		t.Error(got)
	}
	refused := w.want("", "exchange plain GET http://site.test/ refused own_address 403")[0].end.Refused
	if want := "the upstream proxy http://" + w.addr + ": the address is the proxy's own"; refused.Reason != want {
		t.Errorf("reason: %q, want %q", refused.Reason, want)
	}

	w = newWorld(t, byParent(t, &url))
	url = w.origin(func(p *party) {
		if s, _ := p.rest(); s != "" {
			t.Errorf("the parent got %q", s)
		}
	})
	for _, host := range []string{w.addr, strings.Replace(w.addr, "127.0.0.1", "localhost", 1)} {
		if got := w.get("http://" + host + "/"); got != "HTTP/1.1 403 Forbidden" {
			t.Errorf("%s: %s", host, got)
		}
		b := w.browser()
		b.send("CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\nGET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		if got, _ := b.rest(); !strings.Contains(got, "HTTP/1.1 403 ") {
			t.Errorf("CONNECT %s: %q", host, got)
		}
	}
}

func TestParseParent(t *testing.T) {
	for s, want := range map[string]string{
		"http://proxy.example":                "http://proxy.example:80",
		"proxy.example:3128":                  "http://proxy.example:3128",
		"user:pass@proxy.example:3128":        "http://proxy.example:3128",
		"HTTPS://Proxy.Example./":             "https://proxy.example:443",
		"https://bücher.example:8443":         "https://xn--bcher-kva.example:8443",
		"socks5://u:p@[2001:db8::1]":          "socks5://[2001:db8::1]:1080",
		"socks5h://192.0.2.1:9":               "socks5h://192.0.2.1:9",
		"http://us%20er:p%40ss@proxy.example": "http://proxy.example:80",
	} {
		if p, err := ParseParent(s); err != nil || p.String() != want {
			t.Errorf("%s: %v, %v, want %s", s, p, err, want)
		}
	}
	for _, s := range []string{
		"", "http://", "://proxy.example", "socks4://proxy.example", "ftp://proxy.example", "http://proxy.example:0", "http://proxy.example:65536",
		"http://proxy.example/path", "http://proxy.example?query", "http://proxy.example#f", "http://pro xy.example", "http://:secret@proxy.example",
		"http://us%3Aer:secret@proxy.example", "socks5://" + strings.Repeat("u", 256) + ":secret@proxy.example", "http://user:secret%@proxy.example",
		"socks5://user:secret@", "http://user:secret@proxy.example:port",
	} {
		if p, err := ParseParent(s); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v", s, p, err)
		}
	}
}

func TestParentLeadsTo(t *testing.T) {
	for _, c := range []struct {
		parent, listens string
		want            bool
	}{
		{"http://127.0.0.1:8080", "127.0.0.1:8080", true},
		{"http://127.0.0.1:8081", "127.0.0.1:8080", false},
		{"http://localhost:8080", "127.0.0.1:8080", true},
		{"http://localhost:8080", "[::]:8080", true},
		{"http://LOCALHOST.:8080", "127.0.0.1:8080", true},
		{"http://[::1]:8080", "[::1]:8080", true},
		{"http://[0:0::1]:8080", "[::]:8080", true},
		{"http://[::ffff:127.0.0.1]:8080", "127.0.0.1:8080", true},
		{"http://[::ffff:7f00:1]:8080", "0.0.0.0:8080", true},
		{"http://[::]:8080", "127.0.0.1:8080", true},
		{"socks5://0.0.0.0:8080", "127.0.0.1:8080", true},
		{"http://127.0.0.2:8080", "127.0.0.1:8080", false},
		{"http://127.0.0.2:8080", "0.0.0.0:8080", true},
		{"http://192.0.2.1:8080", "0.0.0.0:8080", false},
		{"http://parent.invalid:8080", "0.0.0.0:8080", false},
	} {
		if got := leadsTo(t, c.parent, c.listens); got != c.want {
			t.Errorf("%s leads to %s: %v", c.parent, c.listens, got)
		}
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip := a.(*net.IPNet).IP
		parent := "http://" + hostPort(ip.String(), 8080)
		if !leadsTo(t, parent, "0.0.0.0:8080") || !leadsTo(t, parent, hostPort(ip.String(), 8080)) {
			t.Errorf("%s does not lead to this machine", parent)
		}
	}
}

func leadsTo(t *testing.T, parent, listens string) bool {
	t.Helper()
	p, err := ParseParent(parent)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := net.ResolveTCPAddr("tcp", listens)
	if err != nil {
		t.Fatal(err)
	}
	return p.LeadsTo(t.Context(), addr)
}

// The stand-in reaches servers through a parent too, be it over TLS, where the
// kernel can move no bytes.
func TestParentOfTheStandIn(t *testing.T) {
	var url string
	w := newWorld(t, func(c *Config) {
		byParent(t, &url)(c)
		c.StandIn, c.Leaf = true, nil
	})
	leaf, err := w.ca.leaf("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	url = goproxyParent(t, leaf)
	body := strings.Repeat("x", 1<<20)
	_, plain, _ := net.SplitHostPort(w.origin(answers(func(string) string {
		return "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\nConnection: close\r\n\r\n" + body
	})))
	_, secure, _ := net.SplitHostPort(w.origin(func(p *party) {
		p.head()
		p.send(body)
	}, "site.test"))
	b := w.browser()
	b.send("GET http://site.test:" + plain + "/ HTTP/1.1\r\nHost: site.test:" + plain + "\r\n\r\n")
	b.head()
	b.expect(body)
	b.Close()
	b = w.secure("site.test:"+secure, "site.test")
	b.send("GET / HTTP/1.1\r\n\r\n")
	b.expect(body)
	b.Close()
	w.waitFor(2)
	pairs := w.want("", "exchange stand-in GET http://site.test:"+plain+"/ 200", "tunnel stand-in site.test:"+secure)
	for _, p := range pairs {
		if tn := p.end.Tunnel; tn.Received <= int64(len(body)) || p.end.Server.Address != strings.TrimPrefix(url, "https://") {
			t.Errorf("%v: %+v, server %+v", p, tn, p.end.Server)
		}
	}
}
