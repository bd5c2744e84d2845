package proxy

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"
)

const secret = "open:sesame" // a password with a colon

// askFor makes a proxy ask for the user ali and the secret.
func askFor(c *Config) {
	c.Credentials = func(user, password string) bool { return user == "ali" && password == secret }
}

func basic(credentials string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(credentials)) + "\r\n"
}

// expectChallenge reads a 407 whose connection goes on, or does not.
func (p *party) expectChallenge(goesOn bool) {
	p.t.Helper()
	head := p.head()
	if !strings.HasPrefix(head, "HTTP/1.1 407 ") || !strings.Contains(head, "\r\nProxy-Authenticate: Basic realm=") {
		p.t.Fatalf("%q is no challenge", head)
	}
	if closes := strings.Contains(head, "\r\nConnection: close\r\n"); closes == goesOn {
		p.t.Fatalf("the connection goes on: %v, want %v: %q", !closes, goesOn, head)
	}
	if !goesOn {
		p.rest()
		return
	}
	p.readBody(head)
}

// readBody reads a body of the length that head says.
func (p *party) readBody(head string) string {
	p.t.Helper()
	_, after, ok := strings.Cut(head, "\r\nContent-Length: ")
	if !ok {
		p.t.Fatalf("no length in %q", head)
	}
	length, _, _ := strings.Cut(after, "\r\n")
	n := 0
	for _, digit := range length {
		n = 10*n + int(digit-'0')
	}
	b := make([]byte, n)
	for read := 0; read < n; {
		m, err := p.br.Read(b[read:])
		if err != nil {
			p.t.Fatal("in a body:", err)
		}
		read += m
	}
	return string(b)
}

// A CONNECT is asked for credentials, and takes them on the same connection; what
// comes inside it is not asked again.
func TestCredentialsOfAConnect(t *testing.T) {
	w := newWorld(t, askFor)
	addr := w.origin(answers(func(head string) string {
		if strings.Contains(strings.ToLower(head), "proxy-auth") {
			return "HTTP/1.1 500 Leaked\r\nContent-Length: 0\r\n\r\n"
		}
		return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	}))
	b := w.browser()
	for _, wrong := range []string{
		"", basic("ali:wrong"), basic("eve:" + secret), basic("ali"), basic(""), basic("ali:" + secret + " "),
		"Proxy-Authorization: Bearer " + secret + "\r\n", "Proxy-Authorization: Basic !!!\r\n", "Proxy-Authorization: Basic\r\n",
		basic("ali:"+secret) + basic("ali:wrong"), "Authorization" + strings.TrimPrefix(basic("ali:"+secret), "Proxy-Authorization"),
	} {
		b.send("CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n" + wrong + "\r\n")
		b.expectChallenge(true)
	}
	b.send("CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\nProxy-authorization: basic" + strings.TrimPrefix(basic("ali:"+secret), "Proxy-Authorization: Basic") + "\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Fatalf("CONNECT with the right credentials: %q", got)
	}
	for range 2 {
		b.send("GET /in HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
	b.Close()
	w.want(addr, "exchange plain GET http://ADDR/in 200", "exchange plain GET http://ADDR/in 200")
	nothingOf(t, w, secret)
}

// An http:// request is asked each time, and its body does not stand in the way of
// the next.
func TestCredentialsOfPlainRequests(t *testing.T) {
	w := newWorld(t, askFor)
	addr := w.origin(answers(func(head string) string {
		if strings.Contains(strings.ToLower(head), "proxy-auth") {
			return "HTTP/1.1 500 Leaked\r\nContent-Length: 0\r\n\r\n"
		}
		return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	}))
	url := "http://" + addr + "/x HTTP/1.1\r\nHost: " + addr + "\r\n"
	b := w.browser()
	b.send("POST " + url + "Content-Length: 5\r\n\r\nhello")
	b.expectChallenge(true)
	b.send("POST " + url + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	b.expectChallenge(true)
	b.send("HEAD " + url + "\r\n")
	if head := b.head(); !strings.HasPrefix(head, "HTTP/1.1 407 ") {
		t.Fatalf("HEAD: %q", head)
	}
	b.send("GET " + url + basic("ali:"+secret) + "\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	b.send("GET " + url + "\r\n")
	b.expectChallenge(true)
	b.send("GET https://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n") // not even refused
	b.expectChallenge(true)

	for _, ends := range []string{
		"POST " + url + "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n",
		"GET " + url + "Connection: close\r\n\r\n",
		"GET http://" + addr + "/x HTTP/1.0\r\n\r\n",
		"POST " + url + "Content-Length: 1000000\r\n\r\n" + strings.Repeat("x", 500_000),
		"POST " + url + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		b := w.browser()
		b.send(ends)
		b.expectChallenge(false)
	}
	w.want(addr, "exchange plain GET http://ADDR/x 200")
	nothingOf(t, w, secret)
}

// The proxy's own page is the page's to guard.
func TestThePageIsNotAskedForProxyCredentials(t *testing.T) {
	w := newWorld(t, askFor)
	b := w.browser()
	b.send("GET / HTTP/1.1\r\nHost: " + w.addr + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Fatalf("%q", got)
	}
	// Sent astray, the credentials for it are not logged, and a mistyped password
	// neither where it can only have been for it.
	addr := w.origin(answers(ok))
	right, wrong := basic("ali:"+secret), basic("ali:"+secret+"x")
	for _, c := range []struct{ head, credentials, status string }{
		{"GET / HTTP/1.1\r\nHost: elsewhere.test\r\n", right, "421"},
		{"GET / HTTP/1.1\r\nHost: elsewhere.test\r\n", wrong, "421"},
		{"GET / HTTP/1.1\r\nHost: else<where\r\n", right, "400"},
		{"GET / HTTP/1.1\r\nHost: else<where\r\n", wrong, "400"},
		{"GET / HTTP/1.1\r\nHost: " + w.addr + "\r\n", wrong + "Bad Field: x\r\n", "400"},
		{"GET http://" + w.addr + "/ HTTP/1.1\r\nHost: " + w.addr + "\r\n" + right, right, "403"},
		{"GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n" + right, right, "200"},
	} {
		stray := w.browser()
		stray.send(c.head + strings.TrimPrefix(c.credentials, "Proxy-") + "\r\n")
		if got := stray.head(); !strings.HasPrefix(got, "HTTP/1.1 "+c.status+" ") {
			t.Errorf("%q: %q", c.head, got)
		}
	}
	w.waitFor(7)
	nothingOf(t, w, secret)
}

// nothingOf looks for a secret in the log.
func nothingOf(t *testing.T, w *world, secret string) {
	t.Helper()
	w.end()
	raw, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte("ali:" + secret)), base64.StdEncoding.EncodeToString([]byte("ali:" + secret + "x"))} {
		if strings.Contains(string(raw), form) {
			t.Errorf("the log holds %q", form)
		}
	}
}

// A tunnel outlives the time limit for the challenge before it.
func TestTunnelBehindAChallenge(t *testing.T) {
	const limit = time.Second
	w := newWorld(t, func(c *Config) {
		standIn(c)
		askFor(c)
		c.Timeouts.ClientHead = limit
	})
	speak, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	addr := w.origin(func(p *party) {
		p.expect("hello")
		p.send("first")
		select {
		case <-speak:
		case <-ended:
		}
		p.send("second")
		p.rest()
	})
	b := w.browser()
	b.send("CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	b.expectChallenge(true)
	b.send("CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n" + basic("ali:"+secret) + "\r\n")
	if head := b.head(); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
		t.Fatal(head)
	}
	b.send("hello")
	b.expect("first")
	<-time.After(limit + limit/2)
	close(speak)
	b.expect("second")
}
