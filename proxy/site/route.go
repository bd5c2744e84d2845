package site

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/agentenv/netlog/proxy/wire"
)

// An upstream is a site's address at the gateway: http://gateway:8080/website/notes/.
type upstream struct {
	scheme string
	host   string // as wire.CanonicalHost has it
	port   string
	given  string // the authority, as the Host field has it
	prefix string // the route's path, escaped, without its final slash: "/website/notes"; "" for none
}

// parseUpstream reads the URL of a route.
func parseUpstream(s string) (*upstream, error) {
	u, err := url.Parse(s)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, err
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Opaque != "":
		return nil, errors.New("is no http:// or https:// URL")
	case u.User != nil:
		return nil, errors.New("has a user name")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return nil, errors.New("has a query or a fragment")
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	if climbs(path) || strings.Contains(path, "/.") || strings.Contains(strings.ToLower(path), "%2f") {
		return nil, errors.New("has dot segments or an escaped slash in its path")
	}
	fallback := uint16(80)
	if u.Scheme == "https" {
		fallback = 443
	}
	host, _, err := wire.SplitHostPort(u.Host, fallback)
	if err != nil {
		return nil, err
	}
	up := &upstream{scheme: u.Scheme, host: host, port: u.Port(), given: u.Host, prefix: path}
	if up.port == "" {
		up.port = portOf(u.Scheme)
	}
	return up, nil
}

func portOf(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// address is what is dialled.
func (u *upstream) address() string { return net.JoinHostPort(u.host, u.port) }

// under is what is left of a path of the route's once the prefix is off, and
// whether it is one: "/a" of "/website/notes/a", and "/" of "/website/notes", but
// nothing of "/website/notes/../other".
func (u *upstream) under(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, u.prefix)
	switch {
	case !ok || u.prefix != "" && climbs(rest):
		return "", false
	case rest == "" || rest[0] == '?' || rest[0] == '#':
		return "/" + rest, true
	case rest[0] == '/':
		return rest, true
	}
	return "", false
}

// climbs tells whether a path's dot segments, also those that are escaped or come
// behind an escaped slash or a backslash, lead above where it begins.
func climbs(path string) bool {
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	path = dots.Replace(path)
	depth := 0
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		switch segment {
		case "..":
			depth--
		case ".", "":
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return false
}

var dots = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", `\`, "/", "%5c", "/", "%5C", "/")
