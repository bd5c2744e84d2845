package site

import (
	"bufio"
	"strings"
	"testing"

	"github.com/agentenv/netlog/proxy"
	"github.com/agentenv/netlog/proxy/wire"
)

var visit = proxy.Visit{Scheme: "https", Host: "notes.test", Authority: "notes.test", Client: "127.0.0.1"}

func TestRewriteLocation(t *testing.T) {
	notes := table(t, Config{Sites: []Site{notes()}}).sites[0]
	root := table(t, Config{Sites: []Site{{Name: "root", Upstream: "http://gw:8080", Domains: []string{"notes.test"}}}}).sites[0]
	secure := table(t, Config{Sites: []Site{{Name: "s", Upstream: "https://gw/website/notes", Domains: []string{"notes.test"}}}}).sites[0]
	for _, c := range []struct {
		site     *routed
		location string
		want     string // "": as it is
	}{
		{notes, "/website/notes/a", "/a"},
		{notes, "/website/notes", "/"},
		{notes, "/website/notes/", "/"},
		{notes, "/website/notes?x=1", "/?x=1"},
		{notes, "/website/notes#top", "/#top"},
		{notes, "/website/notes/%2Fa?next=/website/notes/b", "/%2Fa?next=/website/notes/b"},
		{notes, "http://gw:8080/website/notes/a?b=1", "https://notes.test/a?b=1"},
		{notes, "HTTP://GW:8080/website/notes", "https://notes.test/"},
		{notes, "//gw:8080/website/notes/a", "https://notes.test/a"},
		{notes, "https://notes.test/website/notes/app/", "https://notes.test/app/"},
		{notes, "https://notes.test:443/website/notes", "https://notes.test/"},
		{notes, "//notes.test/website/notes/a", "https://notes.test/a"},
		{notes, "https://www.notes.test/website/notes/a", "https://www.notes.test/a"},

		// A path that would be read as a host's name keeps the site's own.
		{notes, "/website/notes//evil.test/a", "https://notes.test//evil.test/a"},

		{notes, "http://gw:8080/website/other/a", ""},
		{notes, "/website/notes/../other", ""}, // which is not the site's
		{notes, "/website/notes/a/%2E%2e/../b", ""},
		{notes, "http://gw:8080/website/notes/..", ""},
		{notes, "//gw:8080/website/notes/..\\other", ""},
		{notes, "https://notes.test/website/notes/../x", ""},
		{notes, "/website/notes/a/../b?../../..#/../..", "/a/../b?../../..#/../.."},
		{notes, "/website/notes/a#/../../b", "/a#/../../b"},
		{notes, "http://gw:8080/website/notesx/a", ""},
		{notes, "http://gw:8080/svc/notes/x", ""},
		{notes, "http://gw:8081/website/notes/a", ""},
		{notes, "https://gw:8080/website/notes/a", ""},
		{notes, "http://notes.test/website/notes/a", ""},
		{notes, "https://notes.test:8443/website/notes/a", ""},
		{notes, "http://user@gw:8080/website/notes/a", ""},
		{notes, "//other.example/website/notes/a", ""},
		{notes, "https://other.example/website/notes/a", ""},
		{notes, "a/b", ""},
		{notes, "/a", ""},
		{notes, "", ""},
		{notes, "?x", ""},
		{notes, "mailto:a@b", ""},
		{notes, "http:/website/notes/a", ""},
		{notes, "https://notes.test/a", ""},
		{notes, "http://[/website/notes/a", ""},

		{root, "http://gw:8080/svc/x", "https://notes.test/svc/x"},
		{root, "//gw:8080", "https://notes.test/"},
		{root, "/a", ""},
		{root, "//gw/a", ""},
		{root, "https://notes.test/a", ""},

		{secure, "https://gw:443/website/notes/a", "https://notes.test/a"},
		{secure, "//gw/website/notes/a", "https://notes.test/a"},
		{secure, "http://gw/website/notes/a", ""},
	} {
		want := c.want
		if want == "" {
			want = c.location
		}
		if got := c.site.rewriteLocation(c.location, visit); got != want {
			t.Errorf("%s: %q became %q, want %q", c.site.Name, c.location, got, want)
		}
	}

	at8443 := visit
	at8443.Authority = "notes.test:8443"
	for location, want := range map[string]string{
		"http://gw:8080/website/notes/a":          "https://notes.test:8443/a",
		"https://notes.test:8443/website/notes/a": "https://notes.test:8443/a",
		"https://notes.test/website/notes/a":      "https://notes.test/website/notes/a",
	} {
		if got := notes.rewriteLocation(location, at8443); got != want {
			t.Errorf("at port 8443 %q became %q, want %q", location, got, want)
		}
	}
}

func TestRewriteCookie(t *testing.T) {
	notes := table(t, Config{Sites: []Site{notes()}}).sites[0]
	for cookie, want := range map[string]string{
		"a=1; Path = /website/notes/x":                           "a=1; Path=/x",
		"a=1; path=/website/notes":                               "a=1; Path=/",
		"a=1;PATH= /website/notes/a/b ":                          "a=1;Path=/a/b",
		"a=1; Path=/website/notes/; HttpOnly":                    "a=1; Path=/; HttpOnly",
		"a=1; Path=/website/other":                               "a=1; Path=/website/other",
		"a=1; Path=/website/notes/../x":                          "a=1; Path=/website/notes/../x",
		"a=1; Path=/website/notesx":                              "a=1; Path=/website/notesx",
		"a=1; Path=/":                                            "a=1; Path=/",
		"a=1; Path=website/notes":                                "a=1; Path=website/notes",
		"a=1; Domain=gw; Secure":                                 "a=1; Secure",
		"a=1; domain = .GW ;Secure":                              "a=1;Secure",
		"a=1; Domain=notes.test":                                 "a=1; Domain=notes.test",
		"Path=/website/notes; Path=/website/notes/a":             "Path=/website/notes; Path=/a",
		"a=\"1; Path=/website/notes/a\"":                         "a=\"1; Path=/website/notes/a\"",
		"a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/":     "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/",
		"a=\xff; Path=/website/notes/\xff; SameSite=Lax; Secure": "a=\xff; Path=/\xff; SameSite=Lax; Secure",
		"": "",
	} {
		if cookie == "a=\"1; Path=/website/notes/a\"" {
			want = "a=\"1; Path=/website/notes/a\"" // a quote ends no attribute, and is part of this path (RFC 6265 §5.2)
			want = strings.Replace(want, "/website/notes", "", 1)
		}
		if got := notes.rewriteCookie(cookie); got != want {
			t.Errorf("%q became %q, want %q", cookie, got, want)
		}
	}
}

// request and answer read a head as the proxy does.
func request(t *testing.T, head string) *wire.Request {
	t.Helper()
	var r wire.Request
	if err := wire.ReadRequest(bufio.NewReader(strings.NewReader(head)), &r, 1<<20); err != nil {
		t.Fatalf("%q: %v", head, err)
	}
	return &r
}

func answer(t *testing.T, head string) *wire.Answer {
	t.Helper()
	var a wire.Answer
	if err := wire.ReadAnswer(bufio.NewReader(strings.NewReader(head)), &a, 1<<20); err != nil {
		t.Fatalf("%q: %v", head, err)
	}
	return &a
}

func TestRewriteRequest(t *testing.T) {
	site := notes()
	site.UpstreamHeaders = map[string]string{"x-provider-key": "secret", "x-other": "2"}
	notes := table(t, Config{Sites: []Site{site}}).sites[0]
	const ours = "X-Forwarded-Host: notes.test\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 127.0.0.1\r\nAgentEnv-Site-Root: 1\r\nX-Other: 2\r\nX-Provider-Key: secret\r\n\r\n"
	for _, c := range []struct{ head, want string }{
		{"GET /a%2Fb?c=%3F&d HTTP/1.1\r\nHost: notes.test\r\nCookie: a=1\r\ncookie: b=2\r\nConnection: keep-alive\r\n\r\n",
			"GET /website/notes/a%2Fb?c=%3F&d HTTP/1.1\r\nHost: gw:8080\r\nCookie: a=1\r\ncookie: b=2\r\n" + ours},
		{"GET / HTTP/1.1\r\nhost: notes.test\r\nX-Forwarded-Host: evil\r\nx-forwarded-for: 1.2.3.4\r\nX-Forwarded-Port: 1\r\nX-FORWARDED-PREFIX: /x\r\nX_Forwarded_Proto: http\r\nX.Forwarded~Prefix: /y\r\nX.Provider_Key: mine\r\nForwarded: for=1\r\nAgentEnv-Site-Root: 0\r\nX-Provider-Key: mine\r\nx_other: mine\r\nAccept: */*\r\n\r\n",
			"GET /website/notes/ HTTP/1.1\r\nhost: gw:8080\r\nAccept: */*\r\n" + ours},
		{"OPTIONS * HTTP/1.1\r\nHost: notes.test\r\n\r\n",
			"OPTIONS /website/notes/ HTTP/1.1\r\nHost: gw:8080\r\n" + ours},
		{"GET /a/../b HTTP/1.0\r\n\r\n",
			"GET /website/notes/a/../b HTTP/1.0\r\nHost: gw:8080\r\n" + ours},
	} {
		r := request(t, c.head)
		if err := notes.rewriteRequest(r, visit); err != nil {
			t.Errorf("%q: %v", c.head, err)
			continue
		}
		if got := string(r.AppendForward(nil, wire.ForwardOptions{Target: r.Target})); got != c.want {
			t.Errorf("%q became\n%q, want\n%q", c.head, got, c.want)
		}
	}
	for _, target := range []string{"/..", "/../svc/notes", "/a/../../svc", "/%2e%2E/svc", "/a/..%2f../svc", `/..\svc`, "/.%2e%5csvc", "/a//../../svc"} {
		if err := notes.rewriteRequest(request(t, "GET "+target+" HTTP/1.1\r\nHost: notes.test\r\n\r\n"), visit); err == nil {
			t.Errorf("%s leads out of the route", target)
		}
	}
	root := table(t, Config{Sites: []Site{{Name: "root", Upstream: "http://gw/", Domains: []string{"notes.test"}}}}).sites[0]
	for _, target := range []string{"/../a", "*"} {
		method := "GET "
		if target == "*" {
			method = "OPTIONS "
		}
		r := request(t, method+target+" HTTP/1.1\r\nHost: notes.test\r\n\r\n")
		if err := root.rewriteRequest(r, visit); err != nil || string(r.Target) != target {
			t.Errorf("%s became %s, %v", target, r.Target, err)
		}
	}
}

func TestRewriteAnswer(t *testing.T) {
	site := notes()
	site.UpstreamHeaders = map[string]string{"X-Provider-Key": "secret"}
	notes := table(t, Config{Sites: []Site{site}}).sites[0]
	a := answer(t, "HTTP/1.1 302 Found\r\nlocation: /website/notes/a\r\nSet-Cookie: a=1; Path=/website/notes\r\nset-cookie:  b=2; Domain=gw\r\nAlt-Svc: h3=\":443\"\r\nX-PROVIDER-KEY: secret\r\nX-Folded: a\r\n b\r\nServer: \xff\r\n\r\n")
	notes.rewriteAnswer(a, visit)
	const want = "HTTP/1.1 302 Found\r\nlocation: /a\r\nSet-Cookie: a=1; Path=/\r\nset-cookie: b=2\r\nX-Folded: a\r\n b\r\nServer: \xff\r\n\r\n"
	if got := string(a.AppendForward(nil, wire.ForwardOptions{})); got != want {
		t.Errorf("the answer became\n%q, want\n%q", got, want)
	}
}

func FuzzRewrite(f *testing.F) {
	for _, s := range []string{"http://gw:8080/website/notes/a", "//gw:8080/website/notes", "a=1; Path=/website/notes/x; Domain=gw", "/website/notes//x", "/%2e%2e/x"} {
		f.Add(s)
	}
	made, err := NewTable(Config{Sites: []Site{notes()}})
	if err != nil {
		f.Fatal(err)
	}
	notes := made.sites[0]
	f.Fuzz(func(t *testing.T, s string) {
		moved := notes.rewriteLocation(s, visit)
		if moved != s && !strings.HasPrefix(moved, "https://notes.test/") && !strings.HasPrefix(moved, "https://www.notes.test") && (!strings.HasPrefix(moved, "/") || strings.HasPrefix(moved, "//")) {
			t.Errorf("%q became %q", s, moved)
		}
		if moved != s && strings.ContainsAny(moved, "\r\n") != strings.ContainsAny(s, "\r\n") {
			t.Errorf("%q became %q", s, moved)
		}
		notes.rewriteCookie(s)
		climbs(s)
	})
}
