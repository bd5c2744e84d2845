package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	roleField    = "Agentenv-Role"
	roleKeyField = "Agentenv-Role-Key"
	rootField    = "Agentenv-Site-Root"

	defaultRole = "default"
)

// elsewhere are fields by which some servers take another path than the target's
// for the one that is asked for: a reserved one, perhaps.
var elsewhere = []string{"X-Original-URL", "X-Rewrite-URL", "X-Script-Name"}

// withheld are the fields that no client's word goes up in: those that are written
// here, and the configured ones.
func withheld(names []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range append([]string{roleField, roleKeyField, rootField, "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "TE"}, names...) {
		if name = plain(strings.TrimSpace(name)); name != "" {
			all[name] = true
		}
	}
	return all
}

// plain is a field's name as the most forgiving server reads it: many take an
// underscore for a hyphen, and some whatever is no letter and no digit.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
}

// rewrite makes a client's request one for the site. What concerns one connection
// alone (RFC 9110 §7.6.1) is off it already.
func (p *passage) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL = p.target.at(p.site.URL)
	r.Out.Host = ""
	in, out := p.in.Header, r.Out.Header
	if chain := in["X-Forwarded-For"]; len(chain) > 0 && !httpguts.HeaderValuesContainsToken(in["Connection"], "X-Forwarded-For") {
		out["X-Forwarded-For"] = chain // ReverseProxy drops it, whatever Connection says
	}
	for name := range out {
		if p.gateway.withheld[plain(name)] || p.target.browser && slices.ContainsFunc(elsewhere, func(s string) bool { return plain(s) == plain(name) }) {
			delete(out, name)
		}
	}
	r.Out.Trailer = nil // ReverseProxy would announce it, and send none
	p.forwarded(in, out)
	role, key := p.gateway.role(in)
	out.Set(roleField, role)
	if key != "" {
		out.Set(roleKeyField, key)
	}
	if out.Get("Accept-Encoding") == "" {
		out.Set("Accept-Encoding", "identity") // without it a site may choose any (RFC 9110 §12.5.3)
	}
	out.Del("Connection")
	out.Del("Upgrade")
	if p.socket {
		out.Set("Connection", "Upgrade")
		out.Set("Upgrade", "websocket")
		out.Del("Sec-WebSocket-Extensions") // messages are measured here
	}
}

// forwarded says where the client found the site.
func (p *passage) forwarded(in, out http.Header) {
	host := first(in["X-Forwarded-Host"])
	if host == "" {
		host = p.in.Host
	}
	if host != "" {
		out.Set("X-Forwarded-Host", host)
	}
	scheme := strings.ToLower(first(in["X-Forwarded-Proto"]))
	if scheme != "http" && scheme != "https" {
		scheme = "http"
		if p.in.TLS != nil {
			scheme = "https"
		}
	}
	out.Set("X-Forwarded-Proto", scheme)
	if !p.atRoot() {
		out.Set("X-Forwarded-Prefix", p.target.prefix)
	}
}

// atRoot says whether a site proxy shows the site at a root of its own.
func (p *passage) atRoot() bool { return strings.Join(p.in.Header[rootField], "") != "" }

// first is the first value of a list: that of whoever stands in front the furthest.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	value, _, _ := strings.Cut(values[0], ",")
	return strings.TrimSpace(value)
}

// role is the role that a request is believed to have, with the key that proves it
// to the site. One that claims several, in whatever spelling of a list (RFC 9110
// §5.3), has none.
func (g *Gateway) role(in http.Header) (role, key string) {
	roles, keys := in[roleField], in[roleKeyField]
	if len(roles) != 1 || roles[0] == "" || roles[0] == defaultRole || strings.Contains(roles[0], ",") {
		return defaultRole, ""
	}
	if g.roleKey == "" {
		return roles[0], ""
	}
	if len(keys) != 1 || !same(keys[0], g.roleKey) {
		return defaultRole, ""
	}
	return roles[0], g.roleKey
}

// same compares hashes, so that the time it takes tells nothing, not even of the
// length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
