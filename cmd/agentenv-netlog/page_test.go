package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentenv/netlog/ca"
	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

// A shownProxy is a session in this process, whose page is looked at.
type shownProxy struct {
	*session
	t         *testing.T
	authority *ca.Authority
}

func newShownProxy(t *testing.T, change func(*proxy.Config)) *shownProxy {
	t.Helper()
	authority, err := ca.Create(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := ca.NewLeaves(authority)
	if err != nil {
		t.Fatal(err)
	}
	l, err := listenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	c := proxy.Config{Leaf: leaves.Leaf, Keep: proxy.DefaultKeep()}
	if change != nil {
		change(&c)
	}
	s, err := newSession(l, netlog.WriterConfig{Path: filepath.Join(t.TempDir(), "network.jsonl"), Mode: "proxy"}, c, authority)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-s.served; err != nil {
			t.Error(err)
		}
	})
	return &shownProxy{s, t, authority}
}

// get asks the proxy at its own address, or for a whole URL through it.
func (p *shownProxy) get(target string, change func(*http.Request)) (*http.Response, string) {
	p.t.Helper()
	r, err := http.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	if r.URL.IsAbs() {
		transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: p.address.String()})
	} else {
		r.URL.Scheme, r.URL.Host = "http", p.address.String()
		r.Host = p.address.String()
	}
	if change != nil {
		change(r)
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer, string(body)
}

func TestPage(t *testing.T) {
	p := newShownProxy(t, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "<b>&bold</b>")
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()
	p.get(server.URL+"/a'<script>?b=\"&c", nil)
	p.get("http://"+p.address.String()+"/", nil) // refused
	err := poll(func() bool {                    // what a browser has seen ends a little later
		_, body := p.get("/", nil)
		return strings.Contains(body, "0 requests, 0 tunnels") && strings.Contains(body, "own_address") && strings.Contains(body, "&lt;b&gt;")
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, at := range []string{"/", "http://netlog.internal/"} {
		answer, body := p.get(at, nil)
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Fatalf("%s: %s, %q", at, answer.Status, answer.Header)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", at, name, got)
			}
		}
		if csp := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'self'; ") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %s", at, csp)
		}
		for _, want := range []string{
			"<td>&lt;b&gt;&amp;bold&lt;/b&gt;</td>", "/a%27%3Cscript%3E?b=%22&amp;c</td>", "<td>200</td>", `<td class="bad">refused: own_address</td>`,
			"network.jsonl</code>", "0 requests, 0 tunnels", p.address.String(), "certutil", `href="/ca.pem"`, `href="/ca.crt"`,
		} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %q in\n%s", at, want, body)
			}
		}
		if regexp.MustCompile(`(?i)<script|<b>|style=|\son[a-z]+=`).MatchString(body) {
			t.Errorf("%s: what is not allowed in\n%s", at, body)
		}
		if through := at != "/"; strings.Contains(body, "/metrics") == through {
			t.Errorf("%s: /metrics is offered", at)
		}
	}
}

// What a path gives at the proxy's own address and at netlog.internal.
func TestPagePaths(t *testing.T) {
	p := newShownProxy(t, nil)
	for _, c := range []struct {
		path            string
		direct, through int
		kind            string
	}{
		{"/", 200, 200, "text/html; charset=utf-8"},
		{"/page.css", 200, 200, "text/css; charset=utf-8"},
		{"/ca.pem", 200, 200, "application/x-pem-file"},
		{"/ca.crt", 200, 200, "application/x-x509-ca-cert"},
		{"/proxy.pac", 200, 404, "application/x-ns-proxy-autoconfig"},
		{"/metrics", 200, 404, "text/plain"},
		{"/healthz", 200, 404, "text/plain; charset=utf-8"},
		{"/other", 404, 404, "text/plain"},
		{"/ca-key.pem", 404, 404, "text/plain"},
	} {
		for target, want := range map[string]int{c.path: c.direct, "http://netlog.internal" + c.path: c.through} {
			answer, _ := p.get(target, nil)
			if answer.StatusCode != want || want == 200 && !strings.HasPrefix(answer.Header.Get("Content-Type"), c.kind) {
				t.Errorf("%s: %s %q, want %d", target, answer.Status, answer.Header.Get("Content-Type"), want)
			}
			if answer.Header.Get("X-Content-Type-Options") != "nosniff" || answer.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", target, answer.Header)
			}
			if post, _ := p.get(target, func(r *http.Request) { r.Method = http.MethodPost }); want == 200 && post.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("POST %s: %s", target, post.Status)
			}
			head, body := p.get(target, func(r *http.Request) { r.Method = http.MethodHead })
			if head.StatusCode != want || body != "" {
				t.Errorf("HEAD %s: %s %q", target, head.Status, body)
			}
		}
	}
	_, text := p.get("/ca.pem", nil)
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatalf("no PEM: %q", text)
	}
	_, der := p.get("/ca.crt", nil)
	for _, b := range []string{string(block.Bytes), der} {
		if cert, err := x509.ParseCertificate([]byte(b)); err != nil || !cert.Equal(p.authority.Certificate) {
			t.Errorf("another certificate: %v", err)
		}
	}
}

func TestPACNamesTheProxyAsItWasAsked(t *testing.T) {
	p := newShownProxy(t, func(c *proxy.Config) { c.Names = []string{"box"} })
	_, port, _ := net.SplitHostPort(p.address.String())
	for host, want := range map[string]string{
		p.address.String():  "PROXY " + p.address.String(),
		"localhost:" + port: "PROXY localhost:" + port,
		"box:9":             "PROXY box:9",
		"box":               "PROXY box:80",
	} {
		_, body := p.get("/proxy.pac", func(r *http.Request) { r.Host = host })
		if body != "function FindProxyForURL(url, host) {\n  return \""+want+"\";\n}\n" {
			t.Errorf("%s: %s", host, body)
		}
	}
	for _, host := range []string{"evil.test:" + port, `box";alert(1)//`} {
		if answer, body := p.get("/proxy.pac", func(r *http.Request) { r.Host = host }); answer.StatusCode != http.StatusMisdirectedRequest && answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s %s", host, answer.Status, body)
		}
	}
}

func TestMetrics(t *testing.T) {
	deny, err := proxy.ParseHostRule("denied.test")
	if err != nil {
		t.Fatal(err)
	}
	p := newShownProxy(t, func(c *proxy.Config) {
		c.Policy = (&proxy.Rules{Deny: []proxy.HostRule{deny}}).Decide
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, strings.Repeat("x", 1000))
	}))
	defer server.Close()
	p.get(server.URL+"/", nil)
	p.get(server.URL+"/", func(r *http.Request) {
		r.Method, r.ContentLength, r.Body = http.MethodPost, 5000, io.NopCloser(strings.NewReader(strings.Repeat("y", 5000)))
	})
	p.get("http://denied.test/", nil)
	p.get("http://nowhere.localhost:1/", nil)
	tunnel, err := net.Dial("tcp", p.address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer tunnel.Close()
	fmt.Fprintf(tunnel, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", server.Listener.Addr())
	if _, err := bufio.NewReader(tunnel).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(tunnel, "\x00no HTTP")

	var body string
	has := func(line string) bool { return strings.Contains("\n"+body, "\n"+metricsPrefix+line+"\n") }
	missing := ""
	err = poll(func() bool { // what a browser has seen is counted a little later
		_, body = p.get("/metrics", nil)
		missing = ""
		for _, line := range []string{
			`open{kind="tunnel"} 1`, `exchanges_total{protocol="HTTP/1.1",status="2xx",via="plain"} 2`,
			`open{kind="exchange"} 0`, `connections 2`, `exchanges_total{protocol="HTTP/1.1",status="none",via="plain"} 2`,
			`failures_total{code="refused",phase="connect"} 1`, `refusals_total{code="policy"} 1`, `exchange_duration_seconds_count 3`,
			`log_lost_total 0`, `log_write_failures_total 0`, `log_stalled 0`, `log_lines_total 10`,
		} {
			if !has(line) {
				missing += line + "\n"
			}
		}
		for name, between := range map[string][2]float64{
			"sent_bytes_total": {5000, 6000}, "received_bytes_total": {2000, 3000}, "log_written_bytes_total": {5000, 1e5}, "log_size_bytes": {5000, 1e5},
		} {
			var got float64
			_, after, _ := strings.Cut(body, "\n"+metricsPrefix+name+" ")
			fmt.Sscan(after, &got)
			if got < between[0] || got > between[1] {
				missing += fmt.Sprintf("%s between %g\n", name, between)
			}
		}
		return missing == ""
	})
	if err != nil {
		t.Fatalf("%v: no %sin\n%s", err, missing, body)
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if !strings.Contains(body, "\n"+name+" ") {
			t.Errorf("no %s", name)
		}
	}
}

// With users the page asks for them too, but for what is asked by those who have no
// way to give them.
func TestPageWantsCredentials(t *testing.T) {
	p := newShownProxy(t, func(c *proxy.Config) {
		c.Credentials = func(user, password string) bool { return user == "ali" && password == "sesame" }
	})
	for path, open := range map[string]bool{"/": false, "/metrics": false, "/ca.pem": false, "/page.css": false, "/other": false, "/healthz": true, "/proxy.pac": true} {
		answer, _ := p.get(path, nil)
		if open != (answer.StatusCode == http.StatusOK) || !open && (answer.StatusCode != http.StatusUnauthorized || answer.Header.Get("WWW-Authenticate") == "") {
			t.Errorf("%s: %s", path, answer.Status)
		}
		if answer, _ := p.get(path, func(r *http.Request) { r.SetBasicAuth("ali", "wrong") }); !open && answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s with wrong ones: %s", path, answer.Status)
		}
		if answer, _ := p.get(path, func(r *http.Request) { r.SetBasicAuth("ali", "sesame") }); answer.StatusCode == http.StatusUnauthorized {
			t.Errorf("%s with the right ones: %s", path, answer.Status)
		}
	}
	if answer, _ := p.get("http://netlog.internal/", nil); answer.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("through the proxy: %s", answer.Status)
	}
	answer, _ := p.get("http://netlog.internal/", func(r *http.Request) {
		r.SetBasicAuth("ali", "sesame")
		r.Header.Set("Proxy-Authorization", r.Header.Get("Authorization"))
		r.Header.Del("Authorization")
	})
	if answer.StatusCode != http.StatusOK {
		t.Errorf("through the proxy, with: %s", answer.Status)
	}
}

func TestRecentRows(t *testing.T) {
	var r recent
	for i := range int64(recentRows + 10) {
		o := &netlog.Open{Kind: netlog.KindExchange, Request: &netlog.Request{Method: "GET", URL: "http://a.test/" + strings.Repeat("é", int(i)*20)}}
		r.add(i, o, &netlog.End{Failed: &netlog.Failed{Code: netlog.CodeReset}})
	}
	list := r.list()
	if len(list) != recentRows || list[0].id != recentRows+9 || list[recentRows-1].id != 10 {
		t.Fatalf("%d rows, %d to %d", len(list), list[0].id, list[len(list)-1].id)
	}
	if n := len(list[0].url); n > recentText+len("…") || !strings.HasSuffix(list[0].url, "é…") || list[0].status != "failed: reset" {
		t.Errorf("%d bytes: %+v", n, list[0])
	}
}

// A log that can't be written is no health.
func TestHealth(t *testing.T) {
	p := newShownProxy(t, nil)
	if answer, body := p.get("/healthz", nil); answer.StatusCode != http.StatusOK || body != "ok\n" {
		t.Errorf("%s %q", answer.Status, body)
	}
	for _, stats := range []netlog.WriterStats{{Stalled: true}, {Gone: true}, {Err: errors.New("no space")}} {
		if healthy(stats) {
			t.Errorf("%+v is healthy", stats)
		}
	}
}
