package site

import (
	"strings"

	"github.com/agentenv/netlog/proxy"
	"github.com/agentenv/netlog/proxy/wire"
)

// rewriteAnswer makes an answer of the route's one of the site's own name.
func (s *routed) rewriteAnswer(a *wire.Answer, v proxy.Visit) {
	kept := a.Fields[:0]
	for _, f := range a.Fields {
		name := strings.ToLower(string(f.Name))
		value := string(f.Value)
		switch {
		case name == "alt-svc": // the browser would leave us for the gateway
			continue
		case s.isSecret(name):
			continue
		case name == "location":
			value = s.rewriteLocation(value, v)
		case name == "set-cookie":
			value = s.rewriteCookie(value)
		}
		if value != string(f.Value) {
			f = field(string(f.Name), value)
		}
		kept = append(kept, f)
	}
	a.Fields = kept
}

// rewriteLocation is a Location as the browser needs it: what names the route, by
// its path, by the gateway's address or under the site's name, is moved to the
// site's name. Anything else is left alone.
func (s *routed) rewriteLocation(location string, v proxy.Visit) string {
	scheme, authority, path := splitURL(location)
	if authority == "" {
		if scheme != "" || s.up.prefix == "" {
			return location
		}
		moved, ok := s.up.under(path)
		switch {
		case !ok:
			return location
		case strings.HasPrefix(moved, "//"): // which would name a host
			return v.Scheme + "://" + v.Authority + moved
		}
		return moved
	}
	fallback := uint16(80)
	if scheme == "https" || scheme == "" && v.Scheme == "https" {
		fallback = 443
	}
	host, _, err := wire.SplitHostPort(authority, fallback)
	if err != nil {
		return location
	}
	switch {
	case host == s.up.host:
		if scheme == "" {
			scheme = s.up.scheme
		}
		moved, under := s.up.under(path)
		if scheme == s.up.scheme && portIn(authority, scheme) == s.up.port && under {
			return v.Scheme + "://" + v.Authority + moved
		}
	case s.answersFor(host):
		if scheme == "" {
			scheme = v.Scheme
		}
		moved, under := s.up.under(path)
		port := portIn(v.Authority, v.Scheme)
		if s.up.prefix != "" && scheme == v.Scheme && portIn(authority, scheme) == port && under {
			if host == v.Host {
				return v.Scheme + "://" + v.Authority + moved
			}
			return scheme + "://" + strings.TrimSuffix(authority, ":"+portOf(scheme)) + moved
		}
	}
	return location
}

// splitURL cuts a reference (RFC 3986 §4.1) into its scheme, in lower case, its
// authority and the rest, each "" where there is none.
func splitURL(ref string) (scheme, authority, path string) {
	rest := ref
	if i := strings.IndexAny(ref, ":/?#"); i > 0 && ref[i] == ':' {
		scheme, rest = strings.ToLower(ref[:i]), ref[i+1:]
	}
	after, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return scheme, "", rest
	}
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	return scheme, after[:end], after[end:]
}

// portIn is an authority's port or, where it has none, that of the scheme.
func portIn(authority, scheme string) string {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.HasSuffix(authority, "]") || i == len(authority)-1 {
		return portOf(scheme)
	}
	return authority[i+1:]
}

// rewriteCookie is a Set-Cookie as the browser needs it: a Path under the route
// begins at the site's root, and a Domain that names the gateway is gone. The rest
// stays as it is (RFC 6265 §5.2 reads it).
func (s *routed) rewriteCookie(cookie string) string {
	parts := strings.Split(cookie, ";")
	kept := parts[:1]
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		value = strings.Trim(value, " \t")
		switch strings.ToLower(strings.Trim(name, " \t")) {
		case "path":
			if moved, ok := s.up.under(value); ok && s.up.prefix != "" {
				indent := part[:len(part)-len(strings.TrimLeft(part, " \t"))]
				part = indent + "Path=" + moved
			}
		case "domain":
			if host := strings.ToLower(strings.TrimPrefix(value, ".")); host == s.up.host {
				continue
			}
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, ";")
}
