package gateway

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What a site answers comes down as it is, with nothing made up and nothing of its
// own connection.
func TestWhatComesDown(t *testing.T) {
	for _, c := range []struct{ site, client string }{
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<html", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n<html"},
		{"HTTP/1.1 200 Fine\r\nDate: yesterday\r\nServer: theirs\r\nContent-Type: x/y\r\nContent-Length: 0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Type: x/y\r\nDate: yesterday\r\nServer: theirs\r\nConnection: close\r\n\r\n"},
		{"HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nX-Bytes: caf\xe9\r\nset-cookie: b=2\r\nSet-Cookie: a=1; Path=/\r\nContent-Length: 0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nSet-Cookie: a=1; Path=/\r\nX-Bytes: caf\xe9\r\nConnection: close\r\n\r\n"},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\nETag: \"x\"\r\n\r\nno!", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\nEtag: \"x\"\r\nConnection: close\r\n\r\nno!"},
		{"HTTP/1.1 200 OK\r\nConnection: X-Mine, keep-alive\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: x\r\nUpgrade: h2c\r\nTE: x\r\nContent-Length: 0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		{"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"},
		{"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nEtag: \"x\"\r\nConnection: close\r\n\r\n"},
		{"HTTP/1.1 302 Found\r\nLocation: /website/notes/a?b\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /website/notes/a?b\r\nConnection: close\r\n\r\n"},
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"},
		{"HTTP/1.0 200 OK\r\n\r\nto the end", "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\na\r\nto the end\r\n0\r\n\r\n"},
		{"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
	} {
		w := withSite(t, newRawSite(t, c.site).url)
		for _, path := range []string{"/website/notes/", "/svc/notes/"} {
			if got := w.raw(request(path)); got != c.client {
				t.Errorf("%q\ncomes down as %q\nwant         %q", c.site, got, c.client)
			}
		}
	}
	head := withSite(t, newRawSite(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").url)
	if got := head.raw(strings.Replace(request("/website/notes/"), "GET", "HEAD", 1)); got != "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n" {
		t.Errorf("HEAD: %q", got)
	}
}

// A site that names itself by its own address in a redirect is found by its route.
func TestARedirectToTheSitesOwnAddress(t *testing.T) {
	var location string
	site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{strings.ReplaceAll(location, "SITE", r.Host)}
		w.WriteHeader(http.StatusFound)
	})
	w := withSite(t, site)
	for _, c := range []struct{ sent, route, root string }{
		{"http://SITE/a?b#c", "/website/notes/a?b#c", "/a?b#c"}, {"HTTP://SITE", "/website/notes/", "/"}, {"http://SITE?a", "/website/notes/?a", "/?a"}, {"http://SITE//a%2f", "/website/notes//a%2f", "/.//a%2f"}, {"//SITE/a", "/website/notes/a", "/a"},
		// Above the site's root is its root, and not another site.
		{"http://SITE/../x/../y?../#../", "/website/notes/y?../#../", "/y?../#../"}, {"http://SITE/a/%2E%2e/%2e./b", "/website/notes/b", "/b"}, {"http://SITE/..\\..", "/website/notes/", "/"}, {"http://SITE/a.b/..c", "/website/notes/a.b/..c", "/a.b/..c"}, {"http://SITE/..//x", "/website/notes//x", "/.//x"},
		{"https://SITE/a", "", ""}, {"http://SITE.test/a", "", ""}, {"http://SITE0/a", "", ""}, {"http://u@SITE/a", "", ""}, {"http://%53ITE/a", "", ""}, {"/a", "", ""}, {"a", "", ""}, {"?a", "", ""}, {"", "", ""}, {"http://other.test/SITE", "", ""}, {"mailto:SITE", "", ""}, {"http://SITE/%zz", "", ""}, {":", "", ""},
	} {
		location = c.sent
		untouched := strings.ReplaceAll(c.sent, "SITE", strings.TrimPrefix(site, "http://"))
		if c.route == "" {
			c.route, c.root = untouched, untouched
		}
		if answer, _ := w.get("/website/notes/"); answer.Header.Get("Location") != c.route {
			t.Errorf("%s becomes %s", c.sent, answer.Header.Get("Location"))
		}
		if answer, _ := w.get("/website/notes/", "AgentEnv-Site-Root", "1"); answer.Header.Get("Location") != c.root {
			t.Errorf("%s becomes %s at a root", c.sent, answer.Header.Get("Location"))
		}
	}
	for a, b := range map[string]string{"http://h": "http://H:80", "https://h": "https://h:443", "http://[::1]:80": "http://[::1]"} {
		if origin(mustParse(t, a)) != origin(mustParse(t, b)) {
			t.Errorf("%s is not %s", a, b)
		}
	}
}

func TestASiteThatDoesNotAnswer(t *testing.T) {
	for name, c := range map[string]struct{ at, says string }{
		"gone":     {goneSite, "connection refused"},
		"unknown":  {"http://nowhere.invalid", ""},
		"silent":   {newRawSite(t, "").url, "EOF"},
		"no HTTP":  {newRawSite(t, "SSH-2.0-x\r\n\r\n").url, "malformed HTTP response"},
		"switches": {newRawSite(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n").url, "the site switches protocols unasked"},
		"bad head": {newRawSite(t, "HTTP/1.1 200 OK\r\nno colon\r\n\r\n").url, "malformed"},
	} {
		w := newWorld(t, Config{}, usual, map[string]string{"notes": c.at})
		for _, method := range []string{"GET", "POST"} {
			answer, body := w.do(method, "/svc/notes/a", nil)
			host := strings.TrimPrefix(c.at, "http://")
			if answer.StatusCode != 502 || !strings.HasPrefix(body, `{"error":"Proxy request failed: `) || !strings.Contains(body, c.says) || strings.Contains(body, host) {
				t.Errorf("%s, %s: %d %s", name, method, answer.StatusCode, body)
			}
		}
		if !strings.Contains(w.said.String(), `msg="a site did not answer" site=notes method=GET path=/a`) {
			t.Errorf("%s: %s", name, w.said)
		}
	}
}

func TestNothingIsWaitedForForever(t *testing.T) {
	silent := newTalkingSite(t, func(conn net.Conn, in *bufio.Reader) { io.Copy(io.Discard, in) })
	w := newWorld(t, Config{}, brief, map[string]string{"notes": silent.url})
	if answer, body := w.get("/svc/notes/"); answer.StatusCode != 502 || !strings.Contains(body, "timeout") {
		t.Errorf("no head: %d %s", answer.StatusCode, body)
	}
	if answer := w.raw(handshake("/svc/notes/", "Connection: close")); !strings.HasPrefix(answer, "HTTP/1.1 502 ") {
		t.Errorf("no WebSocket: %s", answer)
	}
	stuck := newTalkingSite(t, func(conn net.Conn, in *bufio.Reader) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
		io.Copy(io.Discard, in)
	})
	w = newWorld(t, Config{}, brief, map[string]string{"notes": stuck.url})
	if answer := w.raw(request("/svc/notes/")); !strings.HasSuffix(answer, "\r\n\r\n12345") {
		t.Errorf("a body that stops: %q", answer)
	}
}

// An answer that breaks off does not look whole, and the log says how far it got.
func TestAnAnswerThatBreaksOff(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
	} {
		w := withSite(t, newRawSite(t, answer).url)
		r, err := plainTransport.RoundTrip(httpGet(t, w, "/svc/notes/long"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err == nil || string(b) != "12345" {
			t.Errorf("%q ends as if it were whole: %q", answer, b)
		}
		await(t, "the log", func() bool {
			return strings.Contains(w.said.String(), `msg="a site's answer broke off" site=notes path=/long bytes=5 error="unexpected EOF"`)
		})
	}
}

func httpGet(t *testing.T, w *world, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+w.address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each event of a stream comes at once, also when the site says how long it gets.
func TestAStreamIsNotHeldUp(t *testing.T) {
	for _, head := range []string{"Content-Type: text/event-stream\r\nConnection: close\r\n\r\n", "Content-Type: text/plain\r\nContent-Length: 6\r\n\r\n"} {
		next := make(chan struct{})
		site := newTalkingSite(t, func(conn net.Conn, _ *bufio.Reader) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+head)
			for i := range 3 {
				<-next
				fmt.Fprintf(conn, "%d\n", i)
			}
		})
		w := withSite(t, site.url)
		answer, err := plainTransport.RoundTrip(httpGet(t, w, "/website/notes/events")) // the head comes before any body
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			next <- struct{}{}
			b := make([]byte, 2)
			if _, err := io.ReadFull(answer.Body, b); err != nil || string(b) != fmt.Sprintf("%d\n", i) {
				t.Errorf("event %d: %q, %v", i, b, err)
			}
		}
		answer.Body.Close()
	}
}

func TestLargeBodiesBothWays(t *testing.T) {
	const size = 64 << 20
	up := make(chan [32]byte, 1)
	site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		io.Copy(h, r.Body)
		up <- [32]byte(h.Sum(nil))
		io.Copy(w, pattern(size))
	})
	w := withSite(t, site)
	want := sha256.New()
	io.Copy(want, pattern(size))
	for _, length := range []int64{size, -1} {
		r := httpGet(t, w, "/website/notes/upload")
		r.Method, r.Body, r.ContentLength = "POST", io.NopCloser(pattern(size)), length
		answer, err := plainTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		down := sha256.New()
		n, err := io.Copy(down, answer.Body)
		answer.Body.Close()
		if err != nil || n != size || [32]byte(down.Sum(nil)) != [32]byte(want.Sum(nil)) || <-up != [32]byte(want.Sum(nil)) {
			t.Errorf("%d bytes came down, %v", n, err)
		}
	}
}

// pattern is so many bytes that differ by where they stand.
func pattern(size int64) io.Reader { return io.LimitReader(new(counter), size) }

type counter uint64

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		*c++
		b[i] = byte(*c ^ *c>>8 ^ *c>>16)
	}
	return len(b), nil
}

// A site may answer while it is still being told things, and gets all of them.
func TestASiteAnswersWhileItReads(t *testing.T) {
	site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprintf(w, "got %s", line)
			http.NewResponseController(w).Flush()
		}
	})
	w := withSite(t, site)
	body, write := io.Pipe()
	r := httpGet(t, w, "/website/notes/talk")
	r.Method, r.Body, r.ContentLength = "POST", body, -1
	go io.WriteString(write, "0\n")
	answer, err := plainTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	in := bufio.NewReader(answer.Body)
	for i := range 1000 {
		if line, err := in.ReadString('\n'); err != nil || line != fmt.Sprintf("got %d\n", i) {
			t.Fatalf("line %d: %q, %v", i, line, err)
		}
		fmt.Fprintf(write, "%d\n", i+1)
	}
	write.Close()
}

// A site that refuses an upload at once is heard at once, and what follows on the
// connection is not mistaken.
func TestAnUploadThatIsRefused(t *testing.T) {
	site := newTalkingSite(t, func(conn net.Conn, in *bufio.Reader) {
		io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
		io.Copy(io.Discard, in)
	})
	w := withSite(t, site.url)
	for _, head := range []string{"Content-Length: 1000000\r\n\r\n12345", "Content-Length: 10\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"} {
		conn := w.dial()
		io.WriteString(conn, "POST /website/notes/ HTTP/1.1\r\nHost: gateway.test\r\n"+head)
		in := bufio.NewReader(conn)
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%q: %v", head, err)
		}
		b, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 413 || string(b) != "no" || !answer.Close {
			t.Errorf("%q: %v, %s, %v", head, answer, b, err)
		}
		conn.Close()
	}
	// The same where nobody is there to read it.
	w = newWorld(t, Config{}, usual, map[string]string{"notes": goneSite})
	for range 20 {
		conn := w.dial()
		io.WriteString(conn, "POST /svc/notes/ HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 5\r\n\r\n12345GET /svc/notes/ HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n\r\n")
		b, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 502 Bad Gateway\r\n") {
			t.Errorf("%s, %v", b, err)
		}
		conn.Close()
	}
	if strings.Contains(w.said.String(), "panic") {
		t.Errorf("%s", w.said)
	}
}

// A body that is none is the client's fault.
func TestAnUploadThatIsBroken(t *testing.T) {
	site := newSite(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	w := withSite(t, site)
	answer := w.raw("POST /website/notes/ HTTP/1.1\r\nHost: gateway.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\nnonsense\r\n")
	if !errorOf("400 Bad Request", "the request's body can't be read to its end")(answer) {
		t.Errorf("%s", answer)
	}
	if strings.Contains(w.said.String(), "level=WARN") {
		t.Errorf("the site is blamed: %s", w.said)
	}
}

// 100 Continue is the site's to say.
func TestExpectContinue(t *testing.T) {
	site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		io.Copy(w, r.Body)
	})
	w := withSite(t, site)
	for path, want := range map[string]int{"/svc/notes/take": 200, "/svc/notes/refuse": 417} {
		var continued, sent atomic.Bool
		r := httpGet(t, w, path)
		r.Method, r.ContentLength = "POST", 4
		body := strings.NewReader("body")
		r.Body = readerFunc(func(b []byte) (int, error) {
			sent.Store(true)
			return body.Read(b)
		})
		r.Header.Set("Expect", "100-continue")
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			Got100Continue: func() { continued.Store(true) },
			Got1xxResponse: func(int, textproto.MIMEHeader) error { return nil },
		}))
		patient := &http.Transport{ExpectContinueTimeout: time.Hour, DisableKeepAlives: true}
		answer, err := patient.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if ok := want == 200; err != nil || answer.StatusCode != want || continued.Load() != ok || sent.Load() != ok || ok && string(b) != "body" {
			t.Errorf("%s: %s %q, %v; continued %v, sent %v", path, answer.Status, b, err, continued.Load(), sent.Load())
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
func (f readerFunc) Close() error               { return nil }

// A client that leaves, before the answer or in the midst of it, takes the request
// to the site with it.
func TestAClientThatLeaves(t *testing.T) {
	for _, begun := range []bool{false, true} {
		arrived, left := make(chan struct{}), make(chan struct{})
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if begun {
				io.WriteString(w, "begun")
				http.NewResponseController(w).Flush()
			}
			close(arrived)
			<-r.Context().Done()
			close(left)
		})
		w := withSite(t, site)
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			answer, err := plainTransport.RoundTrip(httpGet(t, w, "/website/notes/").WithContext(ctx))
			if err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}()
		<-arrived
		leave()
		<-left
		<-ended
		if strings.Contains(w.said.String(), "level=WARN") {
			t.Errorf("begun %v: that is nobody's fault: %s", begun, w.said)
		}
	}
}

// A POST is never on a connection that the site may be closing.
func TestWhatHasEffectsGoesUpOnAFreshConnection(t *testing.T) {
	var connections atomic.Int64
	site := newTalkingSite(t, func(conn net.Conn, in *bufio.Reader) {
		connections.Add(1)
		for {
			io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			if readHead(in) == "" {
				return
			}
		}
	})
	w := withSite(t, site.url)
	for i, c := range []struct {
		method string
		total  int64
	}{{"GET", 1}, {"GET", 1}, {"POST", 2}, {"PUT", 3}, {"OPTIONS", 3}, {"DELETE", 4}, {"HEAD", 4}, {"PATCH", 5}, {"GET", 5}} {
		if answer, _ := w.do(c.method, "/svc/notes/", nil); answer.StatusCode != 204 || connections.Load() != c.total {
			t.Errorf("request %d, %s: %d; %d connections, want %d", i, c.method, answer.StatusCode, connections.Load(), c.total)
		}
	}
}
