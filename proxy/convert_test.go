package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// routed has 127.0.0.1 be a site whose route is at *addr, without TLS.
func routed(addr *string) func(*Config) {
	return func(c *Config) {
		c.Policy = func(target Target) Decision {
			return Decision{Action: RouteTo, Route: &Route{Site: "site", Address: *addr}}
		}
	}
}

// A request of HTTP/2 goes to a server of HTTP/1, and its answer comes back, by
// RFC 9113 §8's rules.
func TestHTTP2ToHTTP1(t *testing.T) {
	for _, c := range []struct {
		name       string
		request    func(b *h2browser) *h2.Stream
		up         string // what the server gets, ADDR for the authority
		down       string // what it answers
		early      int
		want       string // status and body
		fields     string // of the answer, in order
		trailers   string
		incomplete bool
	}{
		{
			name: "a GET",
			request: func(b *h2browser) *h2.Stream {
				return b.ask(b.get("/a?b", "cookie", "a=1", "x", "", "cookie", "b=2", "te", "trailers"), true)
			},
			up:     "GET /a?b HTTP/1.1\r\nHost: ADDR\r\ncookie: a=1; b=2\r\nx: \r\nte: trailers\r\n\r\n",
			down:   "HTTP/1.1 200 Fine\r\nContent-Type: text/plain\r\nX-A:  1 \r\nContent-Length: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nok",
			want:   "200 ok",
			fields: "content-type: text/plain, x-a: 1, content-length: 2, set-cookie: a, set-cookie: b",
		},
		{
			name: "host in place of :authority",
			request: func(b *h2browser) *h2.Stream {
				return b.ask(fields(":method", "GET", ":scheme", "https", ":path", "/", "x", "1", "host", b.addr), true)
			},
			up:   "GET / HTTP/1.1\r\nHost: ADDR\r\nx: 1\r\n\r\n",
			down: "HTTP/1.1 204 No\r\n\r\n",
			want: "204 ",
		},
		{
			name: "a body of a length",
			request: func(b *h2browser) *h2.Stream {
				st := b.ask(b.post("/", "content-length", "5"), false)
				st.Write([]byte("hello"), true)
				return st
			},
			up:   "POST / HTTP/1.1\r\nHost: ADDR\r\ncontent-length: 5\r\n\r\nhello",
			down: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\nTrailer: X-End\r\nConnection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: 1\r\n\r\n2\r\nok\r\n1;x\r\n!\r\n0\r\nX-End: 1\r\nBad Name: 1\r\n\r\n",
			want: "200 ok!", fields: "trailer: X-End", trailers: "x-end: 1",
		},
		{
			name: "a body of no length, and trailers",
			request: func(b *h2browser) *h2.Stream {
				st := b.ask(b.post("/", "expect", "100-continue"), false)
				if h, err := st.ReadHead(); err != nil || h.Status() != 100 {
					b.t.Error(h, err)
				}
				st.Write([]byte("hello"), false)
				st.WriteHead(fields("x-sum", "1"), true)
				return st
			},
			up:   "POST / HTTP/1.1\r\nHost: ADDR\r\nexpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n",
			down: "HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end", early: 1,
			want: "200 to the end",
		},
		{
			name: "a body of nothing",
			request: func(b *h2browser) *h2.Stream {
				st := b.ask(b.post("/"), false)
				st.Write(nil, true)
				return st
			},
			up:   "POST / HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			down: "HTTP/1.1 304 Not\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n",
			want: "304 ", fields: "content-length: 5, etag: \"a\"",
		},
		{
			name:    "a HEAD",
			request: func(b *h2browser) *h2.Stream { fs := b.get("/"); fs[0].Value = "HEAD"; return b.ask(fs, true) },
			up:      "HEAD / HTTP/1.1\r\nHost: ADDR\r\n\r\n",
			down:    "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nodd name: 1\r\n\r\n",
			want:    "200 ", fields: "content-length: 500",
		},
		{
			name:    "OPTIONS of all",
			request: func(b *h2browser) *h2.Stream { fs := b.get("*"); fs[0].Value = "OPTIONS"; return b.ask(fs, true) },
			up:      "OPTIONS * HTTP/1.1\r\nHost: ADDR\r\n\r\n",
			down:    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
			want:    "200 ", fields: "content-length: 0",
		},
		{
			name:    "an answer that breaks off",
			request: func(b *h2browser) *h2.Stream { return b.ask(b.get("/"), true) },
			up:      "GET / HTTP/1.1\r\nHost: ADDR\r\n\r\n",
			down:    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
			want:    "200 half INTERNAL_ERROR", fields: "content-length: 10", incomplete: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var addr string
			w := newWorld(t, routed(&addr))
			got := make(chan string, 1)
			addr = w.origin(func(p *party) {
				head := p.head()
				if strings.Contains(head, "100-continue") {
					p.send("HTTP/1.1 100 Continue\r\n\r\n")
				}
				_, body, _ := strings.Cut(c.up, "\r\n\r\n")
				if body != "" {
					p.expect(body)
				}
				p.send(c.down)
				got <- head + body
			})
			b := w.h2browser(addr)
			st := c.request(b)
			a := answerTo(st)
			if a.String() != c.want {
				t.Errorf("the browser got %q, want %q", a, c.want)
			}
			select {
			case up := <-got:
				if up != strings.ReplaceAll(c.up, "ADDR", addr) {
					t.Errorf("the server got %q", up)
				}
			case <-time.After(patience):
				t.Fatal("the server got nothing")
			}
			if got := written(a.head.Regular()); got != c.fields {
				t.Errorf("fields: %s", got)
			}
			if len(a.early) != c.early {
				t.Errorf("%d early answers", len(a.early))
			}
			if c.trailers != "" && (a.trailers == nil || written(a.trailers.Fields) != c.trailers) {
				t.Errorf("trailers: %+v", a.trailers)
			}
			w.waitFor(1)
			p := w.pairs()[0]
			if r, q := p.open.Request, p.end.Response; r.Version != "HTTP/2" || q.Version != "HTTP/1.1" || q.Complete == c.incomplete || len(q.Pseudo) != 0 {
				t.Errorf("%+v %+v", r, q)
			}
			if p.open.Via != netlog.ViaSite || p.end.ClientTLS.ALPN != "h2" || p.end.Server.TLS != nil {
				t.Errorf("%+v", p.end)
			}
		})
	}
}

func written(fs []h2.Field) string {
	var words []string
	for _, f := range fs {
		words = append(words, f.Name+": "+f.Value)
	}
	return strings.Join(words, ", ")
}

// Each request gets a connection of its own, and those that have become idle are
// used again, but not for what could not be made again.
func TestHTTP2TakesConnectionsToHTTP1(t *testing.T) {
	var addr string
	w := newWorld(t, routed(&addr))
	var conns, open, most atomic.Int64
	together := make(chan bool)
	addr = w.origin(func(p *party) {
		conns.Add(1)
		answers(func(head string) string {
			if strings.HasPrefix(head, "GET /slow") {
				if most.Store(max(most.Load(), open.Add(1))); open.Load() == 20 {
					close(together)
				}
				<-together
			}
			if strings.HasPrefix(head, "POST") {
				p.expect("1\r\nx\r\n0\r\n\r\n")
			}
			return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
		})(p)
	})
	b := w.h2browser(addr)
	if s := <-b.settled; s.MaxStreams != maxStreamsToHTTP1 || s.Connect {
		t.Errorf("%+v", s)
	}
	for range 5 { // one after the other: one connection
		if a := b.do(b.get("/")); a.String() != "200 ok" {
			t.Fatal(a)
		}
	}
	if n := conns.Load(); n > 2 {
		t.Errorf("%d connections for requests one after the other", n)
	}
	var running sync.WaitGroup
	for range 20 {
		st := b.ask(b.get("/slow"), true)
		running.Go(func() {
			if a := answerTo(st); a.String() != "200 ok" {
				t.Error(a)
			}
		})
	}
	running.Wait()
	if most.Load() != 20 {
		t.Errorf("%d at once", most.Load())
	}
	before := conns.Load()
	for range 3 {
		st := b.ask(b.post("/"), false)
		st.Write([]byte("x"), true)
		if a := answerTo(st); a.String() != "200 ok" {
			t.Fatal(a)
		}
	}
	if n := conns.Load() - before; n != 3 {
		t.Errorf("%d connections for what can't be made again", n)
	}
}

// A browser that gives up ends the connection that its request was on, and no other.
func TestHTTP2GivesUpOnHTTP1(t *testing.T) {
	var addr string
	w := newWorld(t, routed(&addr))
	there, ended := make(chan bool, 1), make(chan error, 1)
	addr = w.origin(func(p *party) {
		if head := p.head(); strings.HasPrefix(head, "GET /gone") {
			there <- true
			_, err := p.rest()
			ended <- err
			return
		}
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		p.rest()
	})
	b := w.h2browser(addr)
	st := b.ask(b.get("/gone"), true)
	<-there
	st.Reset(http2.ErrCodeCancel)
	<-ended
	if a := b.do(b.get("/")); a.String() != "200 ok" {
		t.Error(a)
	}
	w.want(addr, "exchange site GET https://ADDR/gone failed wait client_gone", "exchange site GET https://ADDR/ 200")
}

// What is no HTTP does not reach a browser of HTTP/2; a gateway that can't be reached
// is told of by a page.
func TestHTTP2ToNoHTTP(t *testing.T) {
	var addr string
	w := newWorld(t, routed(&addr))
	addr = w.origin(func(p *party) {
		p.head()
		p.send("garbage\r\n\r\n")
	})
	b := w.h2browser(addr)
	a := b.do(b.get("/"))
	if mark, _ := a.head.Get("x-agentenv-site-proxy"); a.head.Status() != 502 || mark != "failed" {
		t.Errorf("%v", a)
	}
	w.want(addr, "exchange site GET https://ADDR/ failed wait bad_answer")
}

// A connection has one name, and what is malformed goes no further.
func TestRequestsOfHTTP2ThatAreTurnedDown(t *testing.T) {
	for _, c := range []struct {
		name   string
		fields []string // in place of a GET's, "ADDR" for the authority
		status int      // 0: the stream is reset
		entry  string
	}{
		{"another :authority", []string{":method", "GET", ":scheme", "https", ":path", "/", ":authority", "other.test"}, 421, "GET https://ADDR/ refused misdirected 421"},
		{"another port", []string{":method", "GET", ":scheme", "https", ":path", "/", ":authority", "127.0.0.1:1"}, 421, "GET https://ADDR/ refused misdirected 421"},
		{"another host", []string{":method", "GET", ":scheme", "https", ":path", "/", ":authority", "ADDR", "host", "other.test"}, 421, "GET https://ADDR/ refused misdirected 421"},
		{"another host alone", []string{":method", "GET", ":scheme", "https", ":path", "/", "host", "other.test"}, 421, "GET https://ADDR/ refused misdirected 421"},
		{"another scheme", []string{":method", "GET", ":scheme", "http", ":path", "/", ":authority", "ADDR"}, 421, "GET https://ADDR/ refused misdirected 421"},
		{"no host", []string{":method", "GET", ":scheme", "https", ":path", "/"}, 400, "GET https://ADDR/ refused bad_request 400"},
		{"a host that is none", []string{":method", "GET", ":scheme", "https", ":path", "/", ":authority", "a b"}, 400, "GET https://ADDR/ refused bad_request 400"},
		{"a CONNECT", []string{":method", "CONNECT", ":authority", "other.test:443"}, 400, "CONNECT https://ADDR/ refused bad_request 400"},
		{"a WebSocket that was not offered", []string{":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":path", "/", ":authority", "ADDR"}, 0, "CONNECT https://ADDR/ refused bad_request 0"},
		{"a connection's field", []string{":method", "GET", ":scheme", "https", ":path", "/x", ":authority", "ADDR", "connection", "x"}, 0, "GET https://ADDR/x refused bad_request 0"},
		{"no :path", []string{":method", "GET", ":scheme", "https", ":authority", "ADDR"}, 0, "GET https://ADDR/ refused bad_request 0"},
		{"a :path that is none", []string{":method", "GET", ":scheme", "https", ":authority", "ADDR", ":path", "http://x@y/"}, 0, "GET https://ADDR/ refused bad_request 0"},
		{"no :method", []string{":scheme", "https", ":authority", "ADDR", ":path", "/"}, 0, " https://ADDR/ refused bad_request 0"},
		{"a long head", []string{":method", "GET", ":scheme", "https", ":path", "/", ":authority", "ADDR", "x", strings.Repeat("\x01x", 400_000)}, 431, "GET https://ADDR/ refused head_too_long 431"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			s := w.h2server(func(st *h2.Stream) {
				if path, _ := st.Head().Get(":path"); path != "/last" {
					t.Errorf("the server got %v", st.Head().Fields)
				}
				answerOK(st)
			})
			b := w.h2browser(s.addr)
			fs := fields(c.fields...)
			for i := range fs {
				fs[i].Value = strings.ReplaceAll(fs[i].Value, "ADDR", s.addr)
				if c.status == 431 && fs[i].Name == "x" { // many, of which each is taken
					fs = append(fs[:i], fields(strings.Split(strings.Repeat("x,"+strings.Repeat("y", 60_000)+",", 20), ",")[:40]...)...)
					break
				}
			}
			a := b.do(fs)
			var e *h2.Error
			switch {
			case c.status != 0 && (a.head == nil || a.head.Status() != c.status || a.err != nil):
				t.Errorf("got %v", a)
			case c.status != 0:
				if mark, _ := a.head.Get("x-agentenv-proxy"); mark != "refused" || !strings.Contains(a.body, "turned down") {
					t.Errorf("got %v %q", a.head, a.body)
				}
			case !errors.As(a.err, &e) || e.Code != http2.ErrCodeProtocol:
				t.Errorf("got %v", a)
			}
			if a := b.do(b.get("/last")); a.String() != "200 ok" { // the connection goes on
				t.Error(a)
			}
			w.want(s.addr, "exchange mitm "+c.entry, "exchange mitm GET https://ADDR/last 200")
		})
	}
}

// The body of a request that is turned down is read for the log.
func TestTheBodyOfATurnedDownRequestOfHTTP2(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(answerOK)
	b := w.h2browser(s.addr)
	head := b.post("/")
	head[2].Value = "other.test"
	st := b.ask(head, false)
	st.Write([]byte("body"), true)
	if a := answerTo(st); a.head.Status() != 421 {
		t.Error(a)
	}
	if body := w.want(s.addr, "exchange mitm POST https://ADDR/ refused misdirected 421")[0].requestBody(); body == nil || body.Size != 4 {
		t.Errorf("%+v", body)
	}
}

// Where the server can't be reached a browser that speaks both gets HTTP/1, one that
// speaks only HTTP/2 a page over that, and then a new connection.
func TestHTTP2ToNobody(t *testing.T) {
	w := newWorld(t, nil)
	addr := deadAddress(t)
	b := w.h2browser(addr)
	a := b.do(b.get("/"))
	if mark, _ := a.head.Get("x-agentenv-proxy"); a.head.Status() != 502 || mark != "failed" || !strings.Contains(a.body, "refused") {
		t.Errorf("%v", a)
	}
	eventually(t, "the end of the connection", func() bool { return !b.Usable() })
	both := w.secureFor(addr, "127.0.0.1", "h2", "http/1.1")
	both.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	if got := both.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
		t.Error(got)
	}
	for _, p := range w.want(addr, "exchange mitm GET https://ADDR/ failed connect refused", "exchange mitm GET https://ADDR/ failed connect refused") {
		if p.end.Server == nil || p.end.Server.Address != addr {
			t.Errorf("%+v", p.end.Server)
		}
	}
}

// What is agreed with the server is agreed with the browser, as far as it offers it.
func TestWhatIsAgreedOn(t *testing.T) {
	for _, c := range []struct {
		server, browser []string
		http1           bool
		want            string
	}{
		{[]string{"h2", "http/1.1"}, []string{"h2", "http/1.1"}, false, "h2"},
		{[]string{"h2", "http/1.1"}, []string{"http/1.1", "h2"}, false, "h2"},
		{[]string{"h2", "http/1.1"}, []string{"http/1.1"}, false, "http/1.1"},
		{[]string{"http/1.1"}, []string{"h2", "http/1.1"}, false, "http/1.1"},
		{[]string{"h2", "http/1.1"}, []string{"h2", "http/1.1"}, true, "http/1.1"},
		{[]string{"h2"}, []string{"h2"}, false, "h2"},
		{[]string{"http/1.1"}, nil, false, ""},
		{[]string{"http/1.1"}, []string{"http/1.0"}, false, ""},
	} {
		t.Run(fmt.Sprint(c.server, c.browser, c.http1), func(t *testing.T) {
			w := newWorld(t, func(cfg *Config) { cfg.HTTP1 = c.http1 })
			addr := w.httpServer("127.0.0.1", nil, c.server...)
			b := w.secureFor(addr, "127.0.0.1", c.browser...)
			if got := b.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A browser that speaks something else, or too much, is cut off and told of.
func TestBrowsersThatBreakHTTP2(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(answerOK)
	b := w.secureFor(s.addr, "127.0.0.1", "h2")
	b.send("GET / HTTP/1.1\r\n\r\n")
	b.rest()
	b.Close()
	w.logHas(`"event":"end"`)
	flood := w.secureFor(s.addr, "127.0.0.1", "h2").Conn
	p := newH2Peer(t, flood)
	p.greet()
	p.head(1, false, fields(":method", "POST", ":scheme", "https", ":path", "/", ":authority", s.addr))
	eventually(t, "the request", func() bool { return w.proxy.Stats().Exchanges == 1 })
	go func() {
		for p.fr.WritePing(false, [8]byte{}) == nil {
		}
	}()
	for {
		f, err := p.fr.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if away, ok := f.(*http2.GoAwayFrame); ok {
			if away.ErrCode != http2.ErrCodeEnhanceYourCalm {
				t.Error(away)
			}
			break
		}
	}
	other := w.h2browser(s.addr)
	if a := other.do(other.get("/")); a.String() != "200 ok" { // others notice nothing
		t.Error(a)
	}
	ps := w.waitFor(3)
	if got := ps[0].String(); got != "exchange mitm  https://"+s.addr+"/ refused bad_request 0" || ps[0].end.Refused.Reason != "PROTOCOL_ERROR: no HTTP/2 preface" {
		t.Error(got, ps[0].end.Refused)
	}
	if got := ps[1].String(); got != "exchange mitm POST https://"+s.addr+"/ failed send bad_request" || !strings.HasPrefix(ps[1].end.Failed.Reason, "ENHANCE_YOUR_CALM: ") {
		t.Error(got, ps[1].end.Failed)
	}
}

// What an option changes, and what is secret, is so in HTTP/2 too.
func TestOptionsInHTTP2(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.StripConditionals, c.Redact = true, []string{"Cookie", "Set-Cookie", "X-End"} })
	got := make(chan string, 1)
	s := w.h2server(func(st *h2.Stream) {
		got <- written(st.Head().Regular())
		st.WriteHead(fields(":status", "200", "set-cookie", "secret"), false)
		st.Write([]byte("ok"), false)
		st.WriteHead(fields("x-end", "secret"), true)
	})
	b := w.h2browser(s.addr)
	if a := b.do(b.get("/", "if-none-match", "x", "cookie", "secret", "if-modified-since", "y", "a", "b")); a.String() != "200 ok" {
		t.Error(a)
	}
	if up := <-got; up != "cookie: secret, a: b" {
		t.Errorf("the server got %q", up)
	}
	p := w.want(s.addr, "exchange mitm GET https://ADDR/ 200")[0]
	if p.open.Request.Headers[1].Value != removed || p.end.Response.Headers[0].Value != removed || p.end.Response.Trailers[0].Value != removed {
		t.Errorf("%+v %+v", p.open.Request, p.end.Response)
	}
	if len(p.end.Changed) != 1 || len(p.open.Request.Headers) != 4 {
		t.Errorf("%+v %+v", p.end.Changed, p.open.Request)
	}
}
