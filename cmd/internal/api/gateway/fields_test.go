package gateway

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"
)

// newEcho serves a site that tells what header it got.
func newEcho(t *testing.T) string {
	t.Helper()
	return newSite(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header["Host"] = []string{r.Host}
		json.NewEncoder(w).Encode(r.Header)
	})
}

// sees is the header that a site gets of a request.
func sees(t *testing.T, answer *http.Response, body string) http.Header {
	t.Helper()
	var h http.Header
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatalf("%s: %s", answer.Status, body)
	}
	return h
}

func TestRoles(t *testing.T) {
	echo := newEcho(t)
	const key = "k3y-of-this-deploy"
	for _, c := range []struct {
		key       string
		sent      []string
		role, got string // the key that goes up
	}{
		{"", nil, "default", ""},
		{"", []string{"AgentEnv-Role", "admin"}, "admin", ""},
		{"", []string{"AgentEnv-Role", "admin", "AgentEnv-Role-Key", "anything"}, "admin", ""},
		{"", []string{"AgentEnv-Role", ""}, "default", ""},
		{"", []string{"AgentEnv-Role", "default", "AgentEnv-Role-Key", key}, "default", ""},
		{"", []string{"AgentEnv-Role", "admin", "AgentEnv-Role", "user"}, "default", ""},
		{"", []string{"AgentEnv-Role", "admin, user"}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin,", "AgentEnv-Role-Key", key}, "default", ""},
		{"", []string{"AgentEnv_Role", "admin"}, "default", ""},
		{key, nil, "default", ""},
		{key, []string{"AgentEnv-Role", "admin", "AgentEnv-Role-Key", key}, "admin", key},
		{key, []string{"agentenv-role", "admin", "AGENTENV-ROLE-KEY", key}, "admin", key},
		{key, []string{"AgentEnv-Role", "default", "AgentEnv-Role-Key", key}, "default", ""},
		{key, []string{"AgentEnv-Role-Key", key}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin"}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin", "AgentEnv-Role-Key", ""}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin", "AgentEnv-Role-Key", "wrong"}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin", "AgentEnv-Role-Key", key[:5]}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin", "AgentEnv-Role-Key", key + "x"}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin", "AgentEnv-Role-Key", strings.ToUpper(key)}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin", "AgentEnv-Role-Key", key, "AgentEnv-Role-Key", key}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin", "AgentEnv-Role", "user", "AgentEnv-Role-Key", key}, "default", ""},
		{key, []string{"AgentEnv_Role", "admin", "AgentEnv_Role_Key", key}, "default", ""},
		{"", []string{"AgentEnv.Role", "admin", "AgentEnv~Role~Key", key}, "default", ""},
		{key, []string{"AgentEnv-Role", "admin", "AgentEnv-Role-Key", key, "Connection", "AgentEnv-Role, AgentEnv-Role-Key"}, "admin", key},
	} {
		w := newWorld(t, Config{RoleKey: c.key}, usual, map[string]string{"notes": echo})
		for _, path := range []string{"/website/notes/", "/svc/notes/"} {
			answer, body := w.get(path, c.sent...)
			h := sees(t, answer, body)
			want := []string(nil)
			if c.got != "" {
				want = []string{c.got}
			}
			if !slices.Equal(h["Agentenv-Role"], []string{c.role}) || !slices.Equal(h["Agentenv-Role-Key"], want) {
				t.Errorf("key %q, %s with %q: the role is %q, the key %q", c.key, path, c.sent, h["Agentenv-Role"], h["Agentenv-Role-Key"])
			}
			for name := range h {
				if strings.ContainsAny(name, "_.~") {
					t.Errorf("with %q %s goes up", c.sent, name)
				}
			}
		}
	}
}

func TestWhereTheClientFoundTheSite(t *testing.T) {
	w := withSite(t, newEcho(t))
	for _, c := range []struct {
		path                string
		sent                []string
		host, proto, prefix string
	}{
		{"/website/notes/a", nil, w.address, "http", "/website/notes"},
		{"/website/notes", nil, w.address, "http", "/website/notes"},
		{"/svc/notes/a", nil, w.address, "http", "/svc/notes"},
		{"/%77ebsite/n%6Ftes/a", nil, w.address, "http", "/%77ebsite/n%6Ftes"},
		{"/website/notes/", []string{"Host", "gw.test:8443"}, "gw.test:8443", "http", "/website/notes"},
		{"/website/notes/", []string{"X-Forwarded-Host", "front.test", "X-Forwarded-Proto", "https"}, "front.test", "https", "/website/notes"},
		{"/website/notes/", []string{"X-Forwarded-Host", " a.test , b.test", "X-Forwarded-Proto", "HTTPS, http"}, "a.test", "https", "/website/notes"},
		{"/website/notes/", []string{"X-Forwarded-Host", "a.test", "X-Forwarded-Host", "b.test", "X-Forwarded-Proto", "https", "X-Forwarded-Proto", "http"}, "a.test", "https", "/website/notes"},
		{"/website/notes/", []string{"X-Forwarded-Host", "", "X-Forwarded-Proto", ""}, w.address, "http", "/website/notes"},
		{"/website/notes/", []string{"X-Forwarded-Host", ",b.test", "X-Forwarded-Proto", "wss"}, w.address, "http", "/website/notes"},
		{"/website/notes/", []string{"X-Forwarded-Proto", "javascript"}, w.address, "http", "/website/notes"},
		{"/website/notes/", []string{"X-Forwarded-Prefix", "//evil"}, w.address, "http", "/website/notes"},
		{"/website/notes/", []string{"X_Forwarded_Prefix", "/evil", "X_FORWARDED_HOST", "evil", "x-forwarded_proto", "https"}, w.address, "http", "/website/notes"},
		{"/website/notes/", []string{"AgentEnv-Site-Root", "1"}, w.address, "http", ""},
		{"/website/notes/", []string{"AgentEnv-Site-Root", "1", "X-Forwarded-Prefix", "/evil", "X_Forwarded-Prefix", "/evil"}, w.address, "http", ""},
		{"/website/notes/", []string{"AgentEnv-Site-Root", ""}, w.address, "http", "/website/notes"},
		{"/website/notes/", []string{"AgentEnv_Site_Root", "1"}, w.address, "http", "/website/notes"},
		{"/website/notes/", []string{"Connection", "X-Forwarded-Host, X-Forwarded-Prefix", "X-Forwarded-Host", "a.test"}, "a.test", "http", "/website/notes"},
		{"/website/notes/", []string{"Forwarded", "host=evil.test;proto=https"}, w.address, "http", "/website/notes"},
	} {
		lines := []string{"Connection: close"}
		host := w.address
		for i := 0; i < len(c.sent); i += 2 {
			if c.sent[i] == "Host" {
				host = c.sent[i+1]
				continue
			}
			lines = append(lines, c.sent[i]+": "+c.sent[i+1])
		}
		head := "GET " + c.path + " HTTP/1.1\r\nHost: " + host + "\r\n" + joined(lines) + "\r\n"
		_, body, _ := strings.Cut(w.raw(head), "\r\n\r\n")
		h := sees(t, &http.Response{Status: c.path}, body)
		prefix := []string{c.prefix}
		if c.prefix == "" {
			prefix = nil
		}
		if !slices.Equal(h["X-Forwarded-Host"], []string{c.host}) || !slices.Equal(h["X-Forwarded-Proto"], []string{c.proto}) || !slices.Equal(h["X-Forwarded-Prefix"], prefix) {
			t.Errorf("%s with %q: %q %q %q", c.path, c.sent, h["X-Forwarded-Host"], h["X-Forwarded-Proto"], h["X-Forwarded-Prefix"])
		}
		for name := range h {
			if strings.Contains(name, "_") || name == "Agentenv-Site-Root" || name == "Forwarded" {
				t.Errorf("%s with %q: %s goes up", c.path, c.sent, name)
			}
		}
	}
	// Without a Host (HTTP/1.0) nothing is known.
	_, body, _ := strings.Cut(w.raw("GET /website/notes/ HTTP/1.0\r\n\r\n"), "\r\n\r\n")
	if h := sees(t, &http.Response{}, body); h["X-Forwarded-Host"] != nil || h.Get("X-Forwarded-Proto") != "http" {
		t.Errorf("without a Host: %q", h)
	}
}

func TestASandboxProvidersFieldsReachNoSite(t *testing.T) {
	w := newWorld(t, Config{Withhold: []string{" X-Provider-Token", "", "x-tunnel-id ", "Accept-Language", "X-Forwarded-For"}}, usual, map[string]string{"notes": newEcho(t)})
	for _, path := range []string{"/website/notes/", "/svc/notes/"} {
		answer, body := w.get(path, "X-Provider-Token", "secret", "x-provider-token", "secret", "X_Provider_Token", "secret", "X-Tunnel-ID", "secret", "Accept-Language", "secret", "X-Forwarded-For", "secret", "X-Provider-Tokens", "theirs")
		if h := sees(t, answer, body); strings.Contains(body, "secret") || h.Get("X-Provider-Tokens") != "theirs" {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// What is of one connection alone stays there (RFC 9110 §7.6.1); all else goes up
// as it is, repeated fields apart and in order.
func TestWhatGoesUp(t *testing.T) {
	site := newRawSite(t, "HTTP/1.1 204 No Content\r\n\r\n")
	w := withSite(t, site.url)
	w.raw(request("/website/notes/",
		"Cookie: a=1", "cookie: b=2", "X-Forwarded-For: 192.0.2.1, 192.0.2.2", "X-Forwarded-For: 192.0.2.3", "X-Bytes: caf\xe9 \xff", "X-Empty:", "x-CASE: Kept",
		"Keep-Alive: timeout=5", "TE: trailers", "Trailer: x", "Upgrade: h2c", "HTTP2-Settings: x", "Connection: X-Mine, Upgrade, HTTP2-Settings", "X-Mine: 1", "Proxy-Authorization: Basic x", "Proxy-Authenticate: x", "Proxy-Connection: keep-alive",
		"Authorization: Bearer site", "Sec-WebSocket-Key: x", "If-None-Match: \"x\"", "Range: bytes=0-1"))
	head := <-site.heads
	for _, line := range []string{
		"Cookie: a=1\r\nCookie: b=2\r\n", "X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\nX-Forwarded-For: 192.0.2.3\r\n", "X-Bytes: caf\xe9 \xff\r\n", "X-Empty: \r\n", "X-Case: Kept\r\n",
		"Authorization: Bearer site\r\n", "Accept-Encoding: identity\r\n", "Agentenv-Role: default\r\n", "Host: " + strings.TrimPrefix(site.url, "http://") + "\r\n", "If-None-Match: \"x\"\r\n", "Range: bytes=0-1\r\n",
	} {
		if !strings.Contains(head, line) {
			t.Errorf("no %q goes up: %s", line, head)
		}
	}
	for _, name := range []string{"Keep-Alive", "TE", "Trailer", "Upgrade", "HTTP2-Settings", "Connection", "X-Mine", "Proxy-Authorization", "Proxy-Authenticate", "Proxy-Connection", "User-Agent", "Transfer-Encoding", "Content-Length"} {
		if strings.Contains(strings.ToLower(head), "\r\n"+strings.ToLower(name)+":") {
			t.Errorf("%s goes up: %s", name, head)
		}
	}
	w.raw(request("/website/notes/", "X-Forwarded-For: 192.0.2.1", "Connection: x-forwarded-for"))
	if head := <-site.heads; strings.Contains(head, "192.0.2.1") {
		t.Errorf("what is of the connection alone goes up: %s", head)
	}
	w.raw(request("/website/notes/", "Accept-Encoding: br, gzip", "User-Agent: curl"))
	if head := <-site.heads; !strings.Contains(head, "Accept-Encoding: br, gzip\r\n") || !strings.Contains(head, "User-Agent: curl\r\n") {
		t.Errorf("what the client takes is not said: %s", head)
	}
}

// A browser's fields name no other path than its target, and none comes behind the
// body.
func TestNoFieldLeadsToAnotherPath(t *testing.T) {
	echo := newEcho(t)
	w := withSite(t, echo)
	sent := []string{"X-Original-URL", "/agentenv", "x-rewrite-url", "/agentenv", "X_Script.Name", "/a", "X-Original", "kept"}
	for path, want := range map[string]int{"/website/notes/a": 0, "/svc/notes/a": 3} {
		answer, body := w.get(path, sent...)
		h, found := sees(t, answer, body), 0
		for name := range h {
			if slices.Contains([]string{"x-original-url", "x-rewrite-url", "x-script-name"}, plain(name)) {
				found++
			}
		}
		if found != want || h.Get("X-Original") != "kept" {
			t.Errorf("%s: the site gets %v", path, h)
		}
	}
	site := newTalkingSite(t, func(conn net.Conn, in *bufio.Reader) {
		body, err := io.ReadAll(httputil.NewChunkedReader(in))
		rest, _ := in.ReadString('\n')
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s %v %q", body, err, rest)
	})
	w = withSite(t, site.url)
	answer := w.raw("POST /website/notes/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: AgentEnv-Role\r\n\r\n3\r\nabc\r\n0\r\nAgentEnv-Role: admin\r\n\r\n")
	if head := <-site.heads; strings.Contains(head, "Trailer") || !strings.Contains(answer, `abc <nil> "\r\n"`) {
		t.Errorf("the site gets %q, and then %q", head, answer)
	}
}

// A site that looks for no body reads one as the next request: nobody else's answer
// is to be that one's, and it is not to be answered at all.
func TestABodyIsNoOtherRequest(t *testing.T) {
	const second = "POST /agentenv HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
	site := newTalkingSite(t, func(conn net.Conn, _ *bufio.Reader) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
	})
	w := withSite(t, site.url)
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "DELETE"} {
		request := fmt.Sprintf("%s /website/notes/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, len(second), second)
		if answer := w.raw(request); !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s: %s", method, answer)
		}
		if head := <-site.heads; !strings.Contains(head, "\r\nConnection: close\r\n") || !strings.Contains(head, fmt.Sprintf("\r\nContent-Length: %d\r\n", len(second))) {
			t.Errorf("%s goes up as %q", method, head)
		}
	}
	refused := errorOf("400 Bad Request", "a WebSocket's handshake has no body")
	for _, framed := range []string{handshake("/website/notes/a", "Content-Length: 57") + second, handshake("/svc/notes/a", "Transfer-Encoding: chunked") + "0\r\n\r\n"} {
		if answer := w.raw(strings.Replace(framed, "keep-alive, Upgrade", "close, Upgrade", 1)); !refused(answer) {
			t.Errorf("%q: %s", framed, answer)
		}
	}
	if len(site.heads) > 0 {
		t.Errorf("the site is asked %q", <-site.heads)
	}
}
