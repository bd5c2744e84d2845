package wire

import (
	"bytes"
	"strings"
)

// Form is a form of request-target (RFC 9112 §3.2).
type Form int

const (
	OriginForm    Form = iota // /path?query
	AbsoluteForm              // http://host:port/path?query
	AuthorityForm             // host:port, of CONNECT alone
	AsteriskForm              // *, of OPTIONS alone
)

// Target is a request-target in parts.
type Target struct {
	Form     Form
	Scheme   string // "http" or "https", of the absolute form; of ws and wss, which some clients ask a proxy for, these
	Host     string // of the absolute and authority forms: as CanonicalHost has it
	Port     uint16 // of the same; the scheme's own where the target has none
	Userinfo bool   // the absolute form had one; it is in no part of the Target, and to be sent and logged nowhere
	Path     []byte // path and query, byte-exact, as they go to an origin: "/" for an empty path, "*" for OPTIONS of a whole server; nil for the authority form
}

// ParseTarget reads the request-target of a request of that method. Path is a
// slice of target, unless the absolute form has no path. The error is a *Refusal
// with status 400.
func ParseTarget(method, target []byte) (Target, error) {
	switch {
	case string(method) == "CONNECT":
		return parseConnect(target)
	case len(target) > 0 && target[0] == '/':
		return Target{Form: OriginForm, Path: target}, nil
	case string(target) == "*":
		if string(method) != "OPTIONS" {
			return Target{}, bad("a request-target of * that is not OPTIONS'")
		}
		return Target{Form: AsteriskForm, Path: target}, nil
	}
	return parseAbsolute(method, target)
}

func parseConnect(target []byte) (Target, error) {
	a, err := parseAuthority(target)
	if err != nil {
		return Target{}, bad("CONNECT's target is no host and port: " + err.Error())
	}
	if a.port == 0 {
		return Target{}, bad("CONNECT's target has no port")
	}
	return Target{Form: AuthorityForm, Host: a.canonical(), Port: a.port}, nil
}

func parseAbsolute(method, target []byte) (Target, error) {
	t := Target{Form: AbsoluteForm}
	scheme, rest, ok := bytes.Cut(target, []byte("://"))
	switch {
	case ok && (equalFold(scheme, "http") || equalFold(scheme, "ws")):
		t.Scheme, t.Port = "http", 80
	case ok && (equalFold(scheme, "https") || equalFold(scheme, "wss")):
		t.Scheme, t.Port = "https", 443
	default:
		return Target{}, bad("the request-target is neither a path nor an http or https URL")
	}
	end := bytes.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	t.Path = rest[end:]
	if at := bytes.LastIndexByte(authority, '@'); at >= 0 {
		t.Userinfo = true
		for _, c := range authority[:at] {
			if c != ':' && c != '%' && !hostBytes[c] {
				return Target{}, bad("the request-target's user name has a byte that is none of a URI's")
			}
		}
		authority = authority[at+1:]
	}
	a, err := parseAuthority(authority)
	if err != nil {
		return Target{}, bad("the request-target's authority is no host and port: " + err.Error())
	}
	t.Host = a.canonical()
	if a.port != 0 {
		t.Port = a.port
	}
	switch {
	case len(t.Path) == 0 && string(method) == "OPTIONS": // RFC 9112 §3.2.4
		t.Path = []byte("*")
	case len(t.Path) == 0:
		t.Path = []byte("/")
	case t.Path[0] != '/':
		t.Path = append([]byte("/"), t.Path...)
	}
	return t, nil
}

// EscapeURL returns target without its fragment and with every byte outside
// RFC 3986's alphabet (reserved, unreserved and the percent sign) percent-encoded.
func EscapeURL(target []byte) string {
	target, _, _ = bytes.Cut(target, []byte("#"))
	var b strings.Builder
	b.Grow(len(target))
	for _, c := range target {
		if urlBytes[c] {
			b.WriteByte(c)
			continue
		}
		const digits = "0123456789ABCDEF"
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

var urlBytes = set("-._~!$&'()*+,;=:/?#[]@%" + alphanumeric)
