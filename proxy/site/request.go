package site

import (
	"errors"
	"slices"
	"strings"

	"github.com/agentenv/netlog/proxy"
	"github.com/agentenv/netlog/proxy/wire"
)

// siteRoot tells the gateway that the browser sees the site at its own root, so
// that it names no prefix to it.
const siteRoot = "AgentEnv-Site-Root"

// rewriteRequest makes a request one for the route: its path under the prefix,
// the gateway's Host, and what was forwarded in fields of ours alone.
func (s *routed) rewriteRequest(r *wire.Request, v proxy.Visit) error {
	target := string(r.Target)
	switch {
	case target == "*" && s.up.prefix != "": // of the site, not of the gateway
		target = "/"
	case s.up.prefix != "" && climbs(target):
		return errors.New("the path leads out of the site's own")
	}
	if target != "*" {
		target = s.up.prefix + target
	}
	r.Target = []byte(target)

	named := r.Fields.Count("host") > 0
	kept := r.Fields[:0]
	for _, f := range r.Fields {
		switch {
		case strings.EqualFold(string(f.Name), "host"):
			kept = append(kept, field(string(f.Name), s.up.given))
		case !s.isOurs(string(f.Name)):
			kept = append(kept, f)
		}
	}
	if !named { // HTTP/1.0
		kept = slices.Insert(kept, 0, field("Host", s.up.given))
	}
	kept = append(kept,
		field("X-Forwarded-Host", v.Authority),
		field("X-Forwarded-Proto", v.Scheme),
		field("X-Forwarded-For", v.Client),
		field(siteRoot, "1"))
	r.Fields = append(kept, s.headers...)
	return nil
}

// isOurs tells the fields that a browser may not send for itself.
func (s *routed) isOurs(name string) bool {
	name = plain(name)
	return name == "forwarded" || strings.HasPrefix(name, "x-forwarded-") || name == plain(siteRoot) || s.isSecret(name)
}

// isSecret tells the fields that upstream_headers sets.
func (s *routed) isSecret(name string) bool {
	name = plain(name)
	return slices.ContainsFunc(s.headers, func(f wire.Field) bool { return plain(string(f.Name)) == name })
}

// plain is a field's name as the most forgiving server reads it: some take whatever
// is no letter and no digit for a hyphen.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
}

func field(name, value string) wire.Field {
	return wire.Field{Name: []byte(name), Value: []byte(value), Line: []byte(name + ": " + value + "\r\n")}
}
