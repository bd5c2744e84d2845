package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// A target is where a request goes, spelled as it was sent.
type target struct {
	browser bool   // it came by WebsitePath
	service string // the site's name
	prefix  string // the route's path: "/website/notes"
	path    string // what is behind it: "/a%2Fb"; "" when there is not even a slash
	query   string // with its question mark; "" for none
}

// parseTarget takes a request's target apart (RFC 9112 §3.2), of which it is known
// that its path, decoded, begins with one of the routes'.
func parseTarget(sent string) (target, error) {
	var t target
	path := sent
	if _, rest, ok := strings.Cut(path, "://"); ok && path[0] != '/' { // absolute form
		path = rest[max(strings.IndexAny(rest, "/?"), 0):]
	}
	if strings.Contains(path, "#") {
		// Some servers drop what comes behind it, and would serve another path than
		// the one that was looked at here.
		return t, fmt.Errorf("cannot route request-target %q: it has a fragment", sent)
	}
	if i := strings.IndexByte(path, '?'); i >= 0 {
		path, t.query = path[:i], path[i:]
	}
	segments := strings.SplitAfterN(path, "/", 4) // "/", "website/", "notes/", the rest
	var names [2]string
	for i := range names {
		if len(segments) <= i+1 {
			break
		}
		segment := strings.TrimSuffix(segments[i+1], "/")
		if strings.Contains(strings.ToLower(segment), "%2f") {
			return t, fmt.Errorf("cannot route request-target %q: percent-encoded slash in the route prefix", sent)
		}
		var err error
		if names[i], err = url.PathUnescape(segment); err != nil {
			return t, fmt.Errorf("cannot route request-target %q: %w", sent, err)
		}
	}
	switch names[0] {
	case strings.Trim(WebsitePath, "/"):
		t.browser = true
	case strings.Trim(ServicePath, "/"):
	default:
		return t, errors.New("cannot route request-target: it is on no route")
	}
	t.service = names[1]
	t.prefix = strings.TrimSuffix(strings.Join(segments[:min(len(segments), 3)], ""), "/")
	t.path = path[len(t.prefix):]
	return t, nil
}

// wantsSlash tells a page that is asked for without the final slash of its route:
// its relative links would lead out of it.
func (t target) wantsSlash(r *http.Request) bool {
	return t.path == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(strings.ToLower(strings.Join(r.Header["Accept"], ",")), "text/html")
}

// withSlash refers to it relative to the page, whose path may have more in front
// than this server is told.
func (t target) withSlash() string {
	return t.prefix[strings.LastIndexByte(t.prefix, '/')+1:] + "/" + t.query
}

// at is the target's URL at a site's own address.
func (t target) at(base *url.URL) *url.URL {
	u := &url.URL{Scheme: base.Scheme, Host: base.Host, ForceQuery: t.query == "?"}
	if t.query != "" {
		u.RawQuery = t.query[1:]
	}
	raw := t.path
	if raw == "" {
		raw = "/"
	}
	u.RawPath = raw
	if path, err := url.PathUnescape(raw); err == nil {
		u.Path = path
	}
	if u.EscapedPath() != raw { // net/url would spell it anew
		u.Opaque = raw
		if strings.HasPrefix(raw, "//") { // which net/url takes for a host's: the absolute form
			u.Opaque = "//" + base.Host + raw
		}
	}
	return u
}
