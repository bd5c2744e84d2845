package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// The values of fields that are named stay out of the log, wherever they stand,
// and go over the wire.
func TestRedactedFields(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Redact = []string{"X-Secret", "set-cookie"} })
	const answer = "HTTP/1.1 103 Early\r\nX-Secret: one\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nx-sEcret: two\r\nX-Open: yes\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Secret: three\r\n\r\n"
	addr := w.origin(func(p *party) {
		if head := p.head(); !strings.Contains(head, "X-SECRET: four\r\n") {
			t.Errorf("the server got %q", head)
		}
		p.expect("0\r\nX-Secret: five\r\n\r\n")
		p.send(answer)
		p.rest()
	})
	b := w.browser()
	b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nX-SECRET: four\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Secret: five\r\n\r\n")
	b.expect(answer)
	b.Close()
	w.waitFor(1)
	p := w.want(addr, "exchange plain POST http://ADDR/ 200")[0]
	trailers := p.open.Request.Trailers
	if r := p.end.Request; r != nil {
		trailers = r.Trailers
	}
	got := [][]netlog.Header{p.open.Request.Headers[1:2], trailers, p.end.Response.Informational[0].Headers, p.end.Response.Headers[:3], p.end.Response.Trailers}
	want := [][]netlog.Header{
		{{Name: "X-SECRET", Value: "<removed>"}},
		{{Name: "X-Secret", Value: "<removed>"}},
		{{Name: "X-Secret", Value: "<removed>"}},
		{{Name: "Set-Cookie", Value: "<removed>"}, {Name: "x-sEcret", Value: "<removed>"}, {Name: "X-Open", Value: "yes"}},
		{{Name: "X-Secret", Value: "<removed>"}},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("logged %v, want %v", got, want)
	}
}

// Fields that are withheld are not in the log, and go over the wire.
func TestWithheldFields(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Withhold = func(name, value string) bool {
			return strings.EqualFold(name, "Authorization") && value == "Bearer secret" || name == "X-Key"
		}
	})
	const fields = "authorization: Bearer secret\r\nAuthorization: Bearer mine\r\nX-Key: secret\r\nAccept: */*\r\n"
	addr := w.origin(func(p *party) {
		if head := p.head(); !strings.Contains(head, fields) {
			t.Errorf("the server got %q", head)
		}
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Key: open\r\n\r\n")
		p.rest()
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n" + fields + "\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Key: open\r\n\r\n")
	b.Close()
	w.waitFor(1)
	p := w.want(addr, "exchange plain GET http://ADDR/ 200")[0]
	got := fmt.Sprint(p.open.Request.Headers[1:], p.end.Response.Headers[1:])
	if want := fmt.Sprint([]netlog.Header{{Name: "Authorization", Value: "Bearer mine"}, {Name: "Accept", Value: "*/*"}}, []netlog.Header{{Name: "X-Key", Value: "open"}}); got != want {
		t.Errorf("logged %v, want %v", got, want)
	}
}

func TestStripConditionals(t *testing.T) {
	for _, test := range []struct {
		name, method, fields, up string
		changed                  bool
	}{
		{"a cache's question", "GET", "If-None-Match: \"a\"\r\nAccept: */*\r\nif-modified-since: x\r\n", "Accept: */*\r\n", true},
		{"of a HEAD", "HEAD", "If-Modified-Since: x\r\n", "", true},
		{"repeated", "GET", "If-None-Match: \"a\"\r\nIf-None-Match: \"b\"\r\n", "", true},
		{"a guard", "GET", "If-Match: \"a\"\r\nIf-Unmodified-Since: x\r\n", "If-Match: \"a\"\r\nIf-Unmodified-Since: x\r\n", false},
		{"of a change", "PUT", "If-None-Match: *\r\nContent-Length: 0\r\n", "If-None-Match: *\r\nContent-Length: 0\r\n", false},
		{"of a range", "GET", "Range: bytes=0-1\r\nIf-Range: \"a\"\r\nIf-None-Match: \"a\"\r\n", "Range: bytes=0-1\r\nIf-Range: \"a\"\r\nIf-None-Match: \"a\"\r\n", false},
		{"nothing", "GET", "Accept: */*\r\n", "Accept: */*\r\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, func(c *Config) { c.StripConditionals = true })
			var addr string
			addr = w.origin(answers(func(head string) string {
				if want := test.method + " / HTTP/1.1\r\nHost: " + addr + "\r\n" + test.up + "\r\n"; head != want {
					t.Errorf("the server got %q, want %q", head, want)
				}
				return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
			}))
			b := w.browser()
			b.send(test.method + " http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n" + test.fields + "\r\n")
			b.head()
			b.Close()
			w.waitFor(1)
			p := w.want(addr, "exchange plain "+test.method+" http://ADDR/ 200")[0]
			var logged strings.Builder
			for _, h := range p.open.Request.Headers[1:] {
				fmt.Fprintf(&logged, "%s: %s\r\n", h.Name, h.Value)
			}
			if logged.String() != test.fields {
				t.Errorf("logged %q, want %q", logged.String(), test.fields)
			}
			if changed := slices.Contains(p.end.Changed, "strip_conditionals"); changed != test.changed {
				t.Errorf("changed: %v", p.end.Changed)
			}
		})
	}
}

func TestBodiesWithoutAHash(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.NoHash = true })
	addr := w.origin(echoes(t))
	w.exchangeBody(addr, "hello", 5)
	w.waitFor(1)
	p := w.want(addr, "exchange plain POST http://ADDR/ 200")[0]
	for _, b := range []*netlog.Body{p.requestBody(), p.end.Response.Body} {
		if b.SHA256 != "" || b.Size != 5 || string(b.Kept.(netlog.Bytes)) != "hello" {
			t.Errorf("%+v", b)
		}
	}
}

func TestLimitsOfWhatIsKept(t *testing.T) {
	for types, want := range map[string]string{"text": "hel true, hel true", "none": "hel true,  false", "all": "hel true, hel true"} {
		w := newWorld(t, func(c *Config) { c.Keep = netlog.Limits{RequestBody: 3, ResponseBody: 3, Types: types} })
		addr := w.origin(echoes(t))
		w.exchangeBody(addr, "hello", 5)
		w.waitFor(1)
		p := w.want(addr, "exchange plain POST http://ADDR/ 200")[0]
		var got []string
		for _, b := range []*netlog.Body{p.requestBody(), p.end.Response.Body} {
			kept, _ := b.Kept.(netlog.Bytes)
			got = append(got, fmt.Sprintf("%s %v", kept, b.Truncated))
			if b.Size != 5 || b.SHA256 != sum("hello") {
				t.Errorf("%s: %+v", types, b)
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", types, s, want)
		}
	}
	w := newWorld(t, func(c *Config) { c.Keep = netlog.Limits{Types: "all"} })
	addr := w.origin(echoes(t))
	w.exchangeBody(addr, "hello", 5)
	w.waitFor(1)
	p := w.want(addr, "exchange plain POST http://ADDR/ 200")[0]
	for _, b := range []*netlog.Body{p.requestBody(), p.end.Response.Body} {
		if b.Kept != nil || b.Truncated || b.Size != 5 || b.SHA256 != sum("hello") {
			t.Errorf("nothing was to be kept: %+v", b)
		}
	}
}

// A shared is a buffer for many goroutines.
type shared struct {
	mu sync.Mutex
	bytes.Buffer
	err error
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	return s.Buffer.Write(p)
}

// The key log has the secrets of both legs, the same that their other ends have.
func TestKeyLog(t *testing.T) {
	for _, alpn := range [][]string{{"http/1.1"}, nil} {
		var keys, browser, server shared
		w := newWorld(t, func(c *Config) { c.KeyLog = &keys })
		l := listen(t)
		defer l.Close()
		served := make(chan struct{})
		go func() {
			defer close(served)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			session := tls.Server(conn, &tls.Config{KeyLogWriter: &server, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.ca.leaf("127.0.0.1") }})
			defer session.Close()
			answers(func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" })(newParty(t, session))
		}()
		b := w.connect(l.Addr().String())
		session := tls.Client(b.Conn, &tls.Config{ServerName: "127.0.0.1", RootCAs: w.ca.pool, KeyLogWriter: &browser, NextProtos: alpn})
		p := newParty(t, session)
		p.send("GET / HTTP/1.1\r\nHost: " + l.Addr().String() + "\r\n\r\n")
		p.head()
		b.Close()
		<-served
		w.end()
		got := slices.Sorted(strings.Lines(keys.String()))
		want := slices.Sorted(strings.Lines(browser.String() + server.String()))
		if len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("the key log has\n%s\nwant\n%s", strings.Join(got, ""), strings.Join(want, ""))
		}
	}
}

// A key log that hangs holds nothing up, keeps to its bounds, and has whole lines.
func TestKeyLogThatHangs(t *testing.T) {
	var told shared
	keys := &hanging{release: make(chan bool)}
	w := newWorld(t, func(c *Config) {
		c.KeyLog, c.Logger = keys, slog.New(slog.NewTextHandler(&told, nil))
	})
	addr := w.origin(answers(ok), "127.0.0.1")
	for range 3 {
		p := w.secure(addr, "127.0.0.1")
		p.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		p.expect(okEmpty)
		p.Close()
	}
	line := []byte(strings.Repeat("x", 999) + "\n")
	for range 2 * keyLogQueue / len(line) {
		w.proxy.keys.Write(line)
	}
	close(keys.release)
	w.end()
	got := keys.String()
	if n := len(got); n > keyLogQueue+10_000 || n < keyLogQueue-10_000 {
		t.Errorf("%d bytes were written", n)
	}
	secrets := 0
	for l := range strings.Lines(got) {
		switch {
		case strings.HasPrefix(l, "CLIENT_") || strings.HasPrefix(l, "SERVER_") || strings.HasPrefix(l, "EXPORTER_"):
			secrets++
		case l != string(line):
			t.Fatalf("the line %q", l)
		}
	}
	if secrets < 3*2*4 {
		t.Errorf("%d secrets", secrets)
	}
	if s := told.String(); strings.Count(s, "left out") != 1 {
		t.Errorf("told: %s", s)
	}
}

// A hanging writes once it is released.
type hanging struct {
	shared
	release chan bool
}

func (h *hanging) Write(p []byte) (int, error) {
	<-h.release
	return h.shared.Write(p)
}

// A line that a full disk has cut is ended before the next ones.
func TestKeyLogOfAFullDisk(t *testing.T) {
	f := &full{room: 10}
	k := (&Config{KeyLog: f, Logger: slog.New(slog.DiscardHandler)}).keys()
	for _, line := range []string{"one one\n", "two two\n", "three\n", "four\n"} {
		k.Write([]byte(line))
		k.flush()
		if line == "three\n" {
			f.room = 100
		}
	}
	if got := f.String(); got != "one one\ntw\nfour\n" {
		t.Errorf("it has %q", got)
	}
}

// A full takes as much as it has room for.
type full struct {
	bytes.Buffer
	room int
}

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	f.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// A key log that can't be written ends no session.
func TestKeyLogThatFails(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.KeyLog = &shared{err: errors.New("full")} })
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }), "127.0.0.1")
	p := w.secure(addr, "127.0.0.1")
	p.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	if got := p.head(); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("got %q", got)
	}
}
