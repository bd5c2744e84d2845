package gateway

import (
	"strings"
	"testing"
)

// What is behind a site's route goes up as it was sent, to the byte, also in the
// absolute form of a target.
func TestTheTargetGoesUpAsItWasSent(t *testing.T) {
	site := newRawSite(t, "HTTP/1.1 204 No Content\r\n\r\n")
	w := withSite(t, site.url)
	for _, sent := range []string{
		"/", "/a", "/a/", "/a%2Fb", "/a%2fb", "/%61", "/a%3Fb%23c%25", "/a;b=c;d", "/a//b", "//", "//a/b", "///", "/a/../b/./c", "/..", "/a%5Cb", `/a\b`,
		"/caf\xc3\xa9", "/\xff\xfe", `/a|b"c<d>e^f{g}h` + "`", "/a:b@c!$&'()*+,=~", "/[a]", "/a%00b", "/a+b",
		"/?", "/?a=b", "/?a=%zz&b;c&&=", "/?a=b?c=d", "/a?%2F..//", "/?\xff|\"", "/a?" + strings.Repeat("x=y&", 2500),
	} {
		for _, route := range []string{"/website/notes", "/svc/notes", "/%77ebsite/n%6Ftes", "http://gateway.test/website/notes", "HTTPS://gateway.test:8443/svc/notes"} {
			answer := w.raw(request(route + sent))
			if !strings.HasPrefix(answer, "HTTP/1.1 204 No Content\r\n") {
				t.Errorf("%s%.100q: %.200s", route, sent, answer)
				continue
			}
			if line, _, _ := strings.Cut(<-site.heads, "\r\n"); line != "GET "+sent+" HTTP/1.1" {
				t.Errorf("%s%.100q goes up as %.200q", route, sent, line)
			}
		}
	}
	// net/url would take the first for a host's; a server is to know the absolute form.
	w.raw(request("/svc/notes//a|b?c"))
	if line, _, _ := strings.Cut(<-site.heads, "\r\n"); line != "GET "+site.url+"//a|b?c HTTP/1.1" {
		t.Errorf("//a|b goes up as %q", line)
	}
	// Without anything behind it, it is the root.
	for route, want := range map[string]string{"/website/notes": "/", "/svc/notes": "/", "/website/notes?a=b": "/?a=b", "/svc/notes?": "/?"} {
		w.raw(request(route))
		if line, _, _ := strings.Cut(<-site.heads, "\r\n"); line != "GET "+want+" HTTP/1.1" {
			t.Errorf("%s goes up as %q", route, line)
		}
	}
}

func TestWhatIsNoRoute(t *testing.T) {
	w := withSite(t, newRawSite(t, "").url)
	slash := ": percent-encoded slash in the route prefix"
	for target, is := range map[string]func(string) bool{
		"/website%2Fnotes/a":   errorOf("400 Bad Request", `cannot route request-target "/website%2Fnotes/a"`+slash),
		"/website%2fnotes":     errorOf("400 Bad Request", `cannot route request-target "/website%2fnotes"`+slash),
		"/website/notes%2Fa":   errorOf("400 Bad Request", `cannot route request-target "/website/notes%2Fa"`+slash),
		"/svc/notes%2f..%2fa":  errorOf("400 Bad Request", `cannot route request-target "/svc/notes%2f..%2fa"`+slash),
		"/svc%2F/notes":        errorOf("400 Bad Request", `cannot route request-target "/svc%2F/notes"`+slash),
		"/website/notes/a#b":   errorOf("400 Bad Request", `cannot route request-target "/website/notes/a#b": it has a fragment`),
		"/website/notes?a#b":   errorOf("400 Bad Request", `cannot route request-target "/website/notes?a#b": it has a fragment`),
		"/website/other/a":     errorOf("404 Not Found", "Unknown service: other"),
		"/svc/other":           errorOf("404 Not Found", "Unknown service: other"),
		"/website/Notes/":      errorOf("404 Not Found", "Unknown service: Notes"),
		"/website/":            errorOf("404 Not Found", "Unknown service: "),
		"/website//notes/":     errorOf("404 Not Found", "Unknown service: "),
		"/website/../notes/":   errorOf("404 Not Found", "Unknown service: .."),
		"/website/notes;a/":    errorOf("404 Not Found", "Unknown service: notes;a"),
		"/website/%6Eotes%20/": errorOf("404 Not Found", "Unknown service: notes "),
	} {
		if answer := w.raw(request(target)); !is(answer) {
			t.Errorf("%s: %s", target, answer)
		}
		if answer := w.raw(handshake(target, "Connection: close")); !is(answer) {
			t.Errorf("a WebSocket to %s: %s", target, answer)
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	site := newRawSite(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	w := withSite(t, site.url)
	for _, path := range []string{"/website/notes", "/website/notes/", "/website/notes/a", "/svc/notes/a"} {
		for _, method := range methods {
			if answer, _ := w.do(method, path, nil); answer.StatusCode != 200 {
				t.Errorf("%s %s: %d", method, path, answer.StatusCode)
			} else if head := <-site.heads; !strings.HasPrefix(head, method+" /") {
				t.Errorf("%s %s goes up as %s", method, path, head)
			}
		}
		for _, method := range []string{"TRACE", "PROPFIND", "get", "X"} {
			if answer, body := w.do(method, path, nil); answer.StatusCode != 405 || answer.Header.Get("Allow") != "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" {
				t.Errorf("%s %s: %d %s", method, path, answer.StatusCode, body)
			}
		}
	}
	if len(site.heads) > 0 {
		t.Errorf("the site was asked: %q", <-site.heads)
	}
}

// A page's relative links need the slash; whoever wants no page is not sent round.
func TestAPageIsAskedForWithTheSlash(t *testing.T) {
	site := newRawSite(t, "HTTP/1.1 204 No Content\r\n\r\n")
	w := withSite(t, site.url)
	const page = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct{ method, path, accept, location string }{
		{"GET", "/website/notes", page, "notes/"},
		{"HEAD", "/website/notes?a=b", page, "notes/?a=b"},
		{"GET", "/website/n%6Ftes?", page, "n%6Ftes/?"},
		{"GET", "/website/notes", "*/*", ""},
		{"GET", "/website/notes/", page, ""},
		{"POST", "/website/notes", page, ""},
		{"GET", "/svc/notes", page, ""},
	} {
		answer := w.raw(strings.Replace(request(c.path, "Accept: "+c.accept), "GET", c.method, 1))
		if c.location == "" {
			if !strings.HasPrefix(answer, "HTTP/1.1 204 ") {
				t.Errorf("%s %s: %s", c.method, c.path, answer)
			}
		} else if !strings.HasPrefix(answer, "HTTP/1.1 307 Temporary Redirect\r\n") || !strings.Contains(answer, "\r\nLocation: "+c.location+"\r\n") {
			t.Errorf("%s %s: %s", c.method, c.path, answer)
		}
	}
}

func TestParseSite(t *testing.T) {
	for s, want := range map[string]string{
		"notes=http://notes:8000": "http://notes:8000", "a.b-c_9=https://[::1]/": "https://[::1]", "n=HTTP://h": "http://h",
	} {
		got, err := ParseSite(s)
		if name, _, _ := strings.Cut(s, "="); err != nil || got.URL.String() != want || got.Name != name {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{
		"", "notes", "=http://h", "http://h", "a/b=http://h", "..=http://h", "-a=http://h", "a b=http://h", "n=", "n=h:80", "n=ftp://h", "n=http://",
		"n=http://:80", "n=http://u@h", "n=http://u:p@h", "n=http://h/a", "n=http://h//", "n=http://h?", "n=http://h/?a", "n=http://h#", "n=http://h:x", "n=http:h",
	} {
		if got, err := ParseSite(s); err == nil {
			t.Errorf("%s is a site: %v", s, got)
		} else if strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: the error has a password: %v", s, err)
		}
	}
}

func TestATargetIsOnOneRoute(t *testing.T) {
	for sent, want := range map[string]target{
		"/website/notes":              {true, "notes", "/website/notes", "", ""},
		"/website/notes/":             {true, "notes", "/website/notes", "/", ""},
		"/website/notes//":            {true, "notes", "/website/notes", "//", ""},
		"/website/notes/a/b?c/d":      {true, "notes", "/website/notes", "/a/b", "?c/d"},
		"/svc/notes?":                 {false, "notes", "/svc/notes", "", "?"},
		"/sv%63/%6eotes/%6e":          {false, "notes", "/sv%63/%6eotes", "/%6e", ""},
		"http://h:80/svc/notes/a?b":   {false, "notes", "/svc/notes", "/a", "?b"},
		"/website/notes/http://h/a":   {true, "notes", "/website/notes", "/http://h/a", ""},
		"/website/notes?http://h/a/b": {true, "notes", "/website/notes", "", "?http://h/a/b"},
	} {
		if got, err := parseTarget(sent); err != nil || got != want {
			t.Errorf("%s: %+v, %v", sent, got, err)
		}
	}
	for _, sent := range []string{"", "/", "*", "/website", "/svc/%zz", "http://h", "http://h?/website/notes", "/other/notes", "h:80"} {
		if got, err := parseTarget(sent); err == nil && sent != "/website" {
			t.Errorf("%q: %+v", sent, got)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"/website/notes/a?b", "http://h/svc/n", "/website%2Fn", "://", "?", "/website/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		got, err := parseTarget(sent)
		if err == nil && !strings.HasSuffix(sent, got.prefix+got.path+got.query) {
			t.Errorf("%q: %+v", sent, got)
		}
	})
}
