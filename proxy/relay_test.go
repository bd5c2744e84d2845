package proxy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// Requests and answers pass byte for byte, but for what belongs to one hop.
func TestPlainRequestAndAnswerPassAsTheyCame(t *testing.T) {
	w := newWorld(t, nil)
	got := make(chan string, 1)
	addr := w.origin(answers(func(head string) string {
		got <- head
		return "HTTP/1.1 203 very  fine\r\nx-B: 1\r\nX-a:  2 \r\nx-b:3\r\nKeep-Alive: timeout=5\r\nCONTENT-LENGTH: 5\r\n\r\nhello"
	}))
	b := w.browser()
	b.send("get http://" + addr + "/a/%7e/../?q=%zz&&r HTTP/1.1\r\nhOST: " + addr + "\r\nzz: 1\r\nAccept:*/*\r\nZZ: \xe9\r\nProxy-Connection: keep-alive\r\nConnection: x-hop\r\nX-Hop: 1\r\nProxy-Authorization: Basic c2VjcmV0\r\n\r\n")
	b.expect("HTTP/1.1 203 very  fine\r\nx-B: 1\r\nX-a:  2 \r\nx-b:3\r\nCONTENT-LENGTH: 5\r\n\r\nhello")
	if want := "get /a/%7e/../?q=%zz&&r HTTP/1.1\r\nhOST: " + addr + "\r\nzz: 1\r\nAccept:*/*\r\nZZ: \xe9\r\n\r\n"; <-got != want {
		t.Errorf("the server did not get %q", want)
	}
	p := w.want(addr, "exchange plain get http://ADDR/a/%7e/../?q=%zz&&r 203")[0]
	if r := p.open.Request; r.Target != "" || r.Headers[3].Value != "\xe9" || r.Body == nil || r.Body.Size != 0 {
		t.Errorf("request: %+v", r)
	}
	for _, h := range p.open.Request.Headers {
		if strings.EqualFold(h.Name, "Proxy-Authorization") {
			t.Error("the log has the credentials for the proxy")
		}
	}
	r := p.end.Response
	if r.Reason != "very  fine" || len(r.Headers) != 5 || r.Headers[0].Name != "x-B" || !r.Complete {
		t.Errorf("response: %+v", r)
	}
	if r.Body.Size != 5 || r.Body.SHA256 != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("body: %+v", r.Body)
	}
	if string(r.Body.Kept.(netlog.Bytes)) != "hello" { // without a type, but it looks like text
		t.Errorf("kept: %q", r.Body.Kept)
	}
	s := p.end.Server
	if s == nil || s.Address != addr || s.Reused || s.Dialled == nil || s.Dialled.DNS != netlog.Absent {
		t.Errorf("server: %+v", s)
	}
}

func TestInterceptedRequestPasses(t *testing.T) {
	w := newWorld(t, nil)
	got := make(chan string, 2)
	addr := w.origin(answers(func(head string) string {
		got <- head
		return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}"
	}), "127.0.0.1")
	b := w.secure(addr, "127.0.0.1")
	for range 2 {
		b.send("GET /x HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		b.expect("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}")
		if head := <-got; head != "GET /x HTTP/1.1\r\nHost: "+addr+"\r\n\r\n" {
			t.Errorf("the server got %q", head)
		}
	}
	ps := w.want(addr, "exchange mitm GET https://ADDR/x 200", "exchange mitm GET https://ADDR/x 200")
	first, second := ps[0].end, ps[1].end
	if first.Server.Reused || first.Server.Dialled == nil || first.Server.Dialled.TLS == netlog.Absent {
		t.Errorf("first: %+v", first.Server)
	}
	if !second.Server.Reused || second.Server.Dialled != nil || second.Server.Connection != first.Server.Connection {
		t.Errorf("second: %+v", second.Server)
	}
	if s := first.Server.TLS; s.Version != "TLS 1.3" || s.SHA256 == "" || !*s.Verified || len(s.SANs) != 1 {
		t.Errorf("server's TLS: %+v", s)
	}
	if c := first.ClientTLS; c == nil || c.ALPN != "http/1.1" || c.Version != "TLS 1.3" {
		t.Errorf("browser's TLS: %+v", c)
	}
	if tm := first.Timings; tm.DNS != netlog.Absent || tm.Connect != netlog.Absent || tm.Wait == netlog.Absent {
		t.Errorf("timings of a connection that was made before: %+v", tm)
	}
}

// What is malformed or ambiguous is refused and recorded, and nothing goes up.
func TestRefusedRequests(t *testing.T) {
	const h = "Host: example.test\r\n"
	for name, c := range map[string]struct {
		request string
		status  string
	}{
		"space before a colon":      {"GET http://example.test/ HTTP/1.1\r\nHost : example.test\r\n\r\n", "400"},
		"folded line":               {"GET http://example.test/ HTTP/1.1\r\n" + h + "A: b\r\n c\r\n\r\n", "400"},
		"bare LF":                   {"GET http://example.test/ HTTP/1.1\n" + h + "\r\n", "400"},
		"bare CR":                   {"GET http://example.test/ HTTP/1.1\r\n" + h + "A: b\rc\r\n\r\n", "400"},
		"NUL":                       {"GET http://example.test/ HTTP/1.1\r\n" + h + "A: b\x00\r\n\r\n", "400"},
		"length and coding":         {"POST http://example.test/ HTTP/1.1\r\n" + h + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"two lengths":               {"POST http://example.test/ HTTP/1.1\r\n" + h + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"},
		"signed length":             {"POST http://example.test/ HTTP/1.1\r\n" + h + "Content-Length: +1\r\n\r\na", "400"},
		"coding not chunked last":   {"POST http://example.test/ HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked, gzip\r\n\r\n", "400"},
		"unknown coding":            {"POST http://example.test/ HTTP/1.1\r\n" + h + "Transfer-Encoding: br, chunked\r\n\r\n", "501"},
		"two Hosts":                 {"GET http://example.test/ HTTP/1.1\r\n" + h + h + "\r\n", "400"},
		"no Host":                   {"GET http://example.test/ HTTP/1.1\r\n\r\n", "400"},
		"another Host":              {"GET http://example.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n", "421"},
		"no version":                {"GET http://example.test/\r\n\r\n", "400"},
		"another protocol":          {"\x05\x01\x00", "400"},
		"https target":              {"GET https://example.test/ HTTP/1.1\r\n" + h + "\r\n", "400"},
		"other scheme":              {"GET ftp://example.test/ HTTP/1.1\r\n" + h + "\r\n", "400"},
		"port 0":                    {"GET http://example.test:0/ HTTP/1.1\r\n" + h + "\r\n", "400"},
		"port 65536":                {"CONNECT example.test:65536 HTTP/1.1\r\n" + h + "\r\n", "400"},
		"CONNECT without a port":    {"CONNECT example.test HTTP/1.1\r\n" + h + "\r\n", "400"},
		"origin form, not our Host": {"GET / HTTP/1.1\r\n" + h + "\r\n", "421"},
		"head too long":             {"GET http://example.test/ HTTP/1.1\r\n" + h + "A: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", "431"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(c *Config) { c.Dial = noDial })
			b := w.browser()
			go b.send(c.request)
			if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 "+c.status+" ") || !strings.Contains(got, "\r\nX-Agentenv-Proxy: refused\r\n") {
				t.Errorf("answer: %q", got)
			}
			b.rest()
			p := w.pairs()
			if len(p) != 1 || p[0].end.Refused == nil || p[0].end.Response != nil || p[0].end.Server != nil {
				t.Fatalf("entries: %v", p)
			}
			if r := p[0].open.Request; r.URL == "" || !strings.HasPrefix(r.URL, "http") {
				t.Errorf("url: %q", r.URL)
			}
		})
	}
}

var noDial = failingDial(errors.New("nothing was to go up"))

func TestChunksPassAsFramedWithTrailers(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.expect("3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n")
		p.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n")
		p.send("003;e\r\nllo\r\n0\r\nEnd: yes\r\n\r\n")
		p.br.Peek(1)
	})
	b := w.browser()
	b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nab")
	b.send("c\r\n0\r\nT: 1\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n003;e\r\nllo\r\n0\r\nEnd: yes\r\n\r\n")
	p := w.want(addr, "exchange plain POST http://ADDR/ 200")[0]
	if got := p.requestBody(); got.Size != 3 || string(got.Kept.(netlog.Bytes)) != "abc" {
		t.Errorf("request's body: %+v", got)
	}
	r := p.end.Response
	if string(r.Body.Kept.(netlog.Bytes)) != "hello" || len(r.Trailers) != 1 || r.Trailers[0] != (netlog.Header{Name: "End", Value: "yes"}) {
		t.Errorf("response: %+v", r)
	}
}

func TestAnswersWithoutABody(t *testing.T) {
	for name, c := range map[string]struct{ method, answer string }{
		"HEAD": {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"},
		"204":  {"GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"},
		"304":  {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n"},
		"zero": {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			addr := w.origin(answers(func(string) string { return c.answer }))
			b := w.browser()
			for range 2 { // the connection goes on
				b.send(c.method + " http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
				b.expect(c.answer)
			}
			for _, p := range w.pairs() {
				if p.end.Response == nil || p.end.Response.Body.Size != 0 || p.end.Failed != nil {
					t.Errorf("entry: %v", p)
				}
			}
		})
	}
}

// A Content-Length beside a 101-less informational answer: 1xx are relayed and
// recorded, for HTTP/1.1 browsers.
func TestInformationalAnswers(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(answers(func(string) string {
		return "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	}))
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	b.expect("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	old := w.browser()
	old.send("GET http://" + addr + "/old HTTP/1.0\r\n\r\n")
	old.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	old.expectEnd()
	ps := w.pairs()
	for _, p := range ps {
		in := p.end.Response.Informational
		if len(in) != 2 || in[0].Status != 103 || len(in[0].Headers) != 1 || in[1].Status != 102 {
			t.Errorf("informational: %+v", in)
		}
	}
}

func TestExpectIsTheServersToAnswer(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 100 Continue\r\n\r\n")
		p.expect("body")
		p.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
		p.br.Peek(1)
	})
	b := w.browser()
	b.send("PUT http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
	b.expect("HTTP/1.1 100 Continue\r\n\r\n")
	b.send("body")
	b.expect("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
	p := w.want(addr, "exchange plain PUT http://ADDR/ 201")[0]
	if string(p.requestBody().Kept.(netlog.Bytes)) != "body" {
		t.Errorf("body: %+v", p.requestBody())
	}
}

// An answer reaches the browser while its upload is still going.
func TestEarlyAnswer(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
		p.expect(strings.Repeat("x", 1000))
		p.br.Peek(1)
	})
	b := w.browser()
	b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 500))
	b.expect("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
	b.send(strings.Repeat("x", 500))
	p := w.waitFor(1)[0]
	if p.end.Response.Status != 413 || p.requestBody().Size != 1000 || p.end.Timings.Wait != 0 {
		t.Errorf("%v %+v %+v", p, p.requestBody(), p.end.Timings)
	}
}

func TestHTTP10BrowserGetsNoChunks(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(answers(func(head string) string {
		if !strings.Contains(head, "Host: ") {
			return "" // the target's name has to become one
		}
		return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nT: 1\r\n\r\n"
	}))
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.0\r\n\r\n")
	if got, err := b.rest(); got != "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if p := w.want(addr, "exchange plain GET http://ADDR/ 200")[0]; p.end.Response.Body.Size != 5 || !p.end.Response.Complete {
		t.Errorf("response: %+v", p.end.Response)
	}
}

func TestAnswerUntilClose(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.0 200 OK\r\n\r\nall of it")
	}, "127.0.0.1")
	b := w.secure(addr, "127.0.0.1")
	b.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	if got, err := b.rest(); got != "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nall of it" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if records := b.records(); records[len(records)-1] != closeNotify {
		t.Error("no close_notify at the answer's end")
	}
	if r := w.want(addr, "exchange mitm GET https://ADDR/ 200")[0].end.Response; r.Body.Size != 9 || !r.Complete {
		t.Errorf("response: %+v", r)
	}
}

// A body that breaks off never ends cleanly at the browser.
func TestBrokenOffAnswer(t *testing.T) {
	for name, answer := range map[string]string{
		"length": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
		"chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			addr := w.origin(func(p *party) {
				p.head()
				p.send(answer)
			}, "127.0.0.1")
			b := w.secure(addr, "127.0.0.1")
			b.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
			if got, _ := b.rest(); got != answer {
				t.Errorf("got %q", got)
			}
			if records := b.records(); records[len(records)-1] == closeNotify {
				t.Error("the broken answer ended with a close_notify")
			}
			p := w.want(addr, "exchange mitm GET https://ADDR/ 200 failed receive reset")[0]
			if r := p.end.Response; r.Complete || r.Body.Size != 5 {
				t.Errorf("response: %+v", r)
			}
		})
	}
}

func TestUnreadableAnswerPassesAsItCame(t *testing.T) {
	w := newWorld(t, nil)
	const answer = "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi and more"
	addr := w.origin(func(p *party) {
		p.head()
		p.send(answer)
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	if got, err := b.rest(); got != answer || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	p := w.pairs()[0]
	if !p.end.Unparsed || p.end.Failed != nil {
		t.Errorf("entry: %+v", p.end)
	}
	if r := p.end.Response; r.Status != 0 || string(r.Body.Kept.(netlog.Bytes)) != answer || !r.Complete {
		t.Errorf("response: %+v", r)
	}
}

func TestPipelinedRequestsAreServedInOrder(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(answers(func(head string) string {
		path := strings.Fields(head)[1]
		return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + path
	}))
	b := w.browser()
	var all string
	for _, path := range []string{"/a", "/b", "/c"} {
		all += "GET http://" + addr + path + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"
	}
	b.send(all)
	for _, path := range []string{"/a", "/b", "/c"} {
		b.expect("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + path)
	}
	w.want(addr, "exchange plain GET http://ADDR/a 200", "exchange plain GET http://ADDR/b 200", "exchange plain GET http://ADDR/c 200")
}

// The server's connections outlive one host: each authority has its own.
func TestOneBrowserConnectionForManyHosts(t *testing.T) {
	w := newWorld(t, nil)
	hello := answers(func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" })
	first, second := w.origin(hello), w.origin(hello)
	b := w.browser()
	for range 2 {
		for _, addr := range []string{first, second} {
			b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
			b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}
	for i, p := range w.pairs() {
		if p.end.Server.Reused != (i >= 2) {
			t.Errorf("entry %d: %+v", i, p.end.Server)
		}
	}
}

// A stream's parts reach the browser as they come, and their times the log.
func TestEventStreamIsNotHeldBack(t *testing.T) {
	w := newWorld(t, nil)
	next := make(chan bool)
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 20\r\n\r\n")
		for range 2 {
			<-next
			p.send("data: abc\n")
		}
		p.br.Peek(1)
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 20\r\n\r\n")
	for range 2 {
		next <- true
		b.expect("data: abc\n")
	}
	p := w.want(addr, "exchange plain GET http://ADDR/ 200")[0]
	if p.answer == nil || p.answer.Response.Status != 200 || p.answer.Response.Body != nil {
		t.Errorf("answer line: %+v", p.answer)
	}
	chunks := p.end.Response.Body.Chunks
	if len(chunks) != 2 || chunks[0].Offset != 0 || chunks[1].Offset != 10 || chunks[1].Micros < chunks[0].Micros || chunks[0].Micros <= 0 {
		t.Errorf("chunks: %+v", chunks)
	}
}

// A long answer has an answer line before its end.
func TestAnswerLineOfALongAnswer(t *testing.T) {
	w := newWorld(t, nil)
	release := make(chan bool)
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\n\r\n1")
		<-release
		p.send("2")
		p.br.Peek(1)
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\n\r\n1")
	w.logHas(`"event":"answer"`)
	release <- true
	b.expect("2")
	if a := w.want(addr, "exchange plain GET http://ADDR/ 200")[0].answer; a == nil || len(a.Response.Headers) != 2 {
		t.Errorf("answer line: %+v", a)
	}
}

// The open line does not wait for a dial, nor for an upload.
func TestOpenLineIsWrittenInTime(t *testing.T) {
	release := make(chan bool)
	w := newWorld(t, func(c *Config) { c.Dial = blockedDial(release) })
	b := w.browser()
	b.send("POST http://example.test/slow HTTP/1.1\r\nHost: example.test\r\nContent-Length: 5\r\n\r\n12345")
	w.logHas("http://example.test/slow")
	close(release)
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
		t.Errorf("answer: %q", got)
	}
	p := w.want("", "exchange plain POST http://example.test/slow failed connect unreachable")[0]
	if p.open.Request.Body != nil || p.end.Request == nil || p.end.Request.Body.Size != 5 {
		t.Errorf("the body is the end line's: %+v, %+v", p.open.Request, p.end.Request)
	}
}

func TestBigBodiesAreKeptToTheLimit(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Keep = netlog.Limits{RequestBody: 1000, ResponseBody: 100, Types: "text"}
	})
	big := strings.Repeat("0123456789", 100_000)
	addr := w.origin(func(p *party) {
		p.head()
		p.expect(big)
		p.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n" + big)
		p.head()
		p.send("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\npng")
		p.br.Peek(1)
	})
	b := w.browser()
	go b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 1000000\r\n\r\n" + big)
	b.expect("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n" + big)
	b.send("GET http://" + addr + "/png HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\npng")
	ps := w.pairs()
	up, down := ps[0].requestBody(), ps[0].end.Response.Body
	if up.Size != 1_000_000 || up.Kept.Len() != 1000 || !up.Truncated {
		t.Errorf("request's body: %d, %d", up.Size, up.Kept.Len())
	}
	if down.Size != 1_000_000 || down.Kept.Len() != 100 || !down.Truncated || down.SHA256 != up.SHA256 {
		t.Errorf("answer's body: %d, %d", down.Size, down.Kept.Len())
	}
	if png := ps[1].end.Response.Body; png.Size != 3 || png.Kept != nil || png.Truncated || png.SHA256 == "" {
		t.Errorf("a type that is not kept: %+v", png)
	}
}

func TestSlowHeadIsTimedOut(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Timeouts.ClientHead = time.Second })
	b := w.browser()
	b.send("GET http://exam")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 408 ") {
		t.Errorf("answer: %q", got)
	}
	p := w.pairs()
	if len(p) != 1 || p[0].end.Refused == nil || p[0].end.Refused.Code != netlog.RefusedTimeout {
		t.Errorf("entries: %v", p)
	}
}

// A browser that has its answer may stop sending: nothing broke.
func TestBrowserThatStopsSendingOnItsAnswer(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		p.rest()
	})
	b := w.browser()
	b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 1000\r\n\r\nhalf")
	b.expect("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
	b.Close()
	p := w.waitFor(1)[0]
	if p.String() != "exchange plain POST http://"+addr+"/ 413" || !p.end.Response.Complete || p.requestBody().Size != 4 {
		t.Errorf("%v: %+v", p, p.end.Response)
	}
}
