package wire

import (
	"bytes"
	"net/netip"
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
	Scheme   string // "http" or "https", of the absolute form
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
	case ok && equalFold(scheme, "http"):
		t.Scheme, t.Port = "http", 80
	case ok && equalFold(scheme, "https"):
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

// SplitHostPort splits a Host field's value or an authority without userinfo. The
// host is as CanonicalHost has it; the port is defaultPort where there is none.
// The error says what is wrong, without the value.
func SplitHostPort(hostport string, defaultPort uint16) (host string, port uint16, err error) {
	a, err := parseAuthority([]byte(hostport))
	if err != nil {
		return "", 0, err
	}
	if a.port == 0 {
		a.port = defaultPort
	}
	return a.canonical(), a.port, nil
}

// CanonicalHost returns a name in lower case (ASCII's) and without a final dot,
// and an IPv6 address (brackets may surround it) as RFC 5952 writes it, without
// brackets. Bytes from 0x80 on stay: a name in UTF-8 is the caller's to map.
// Refused are an empty host or label, a byte that is none of a URI's host, a
// percent sign (so an IPv6 zone too) and more than 1,024 bytes.
func CanonicalHost(host string) (string, error) {
	b := []byte(host)
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		b = []byte("[" + host + "]")
	}
	a, err := parseAuthority(b)
	if err != nil {
		return "", err
	}
	if a.port != 0 {
		return "", authorityError("it has a port")
	}
	return a.canonical(), nil
}

// authority is what parseAuthority found, without allocation.
type authority struct {
	name []byte // without a final dot; nil for an IPv6 address
	v6   netip.Addr
	port uint16 // 0: none given
}

type authorityError string

func (e authorityError) Error() string { return string(e) }

const maxHost = 1024

// parseAuthority reads host [":" [port]] (RFC 3986 §3.2.2).
func parseAuthority(b []byte) (authority, error) {
	var a authority
	host, port := b, []byte(nil)
	if len(b) > 0 && b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 0 || end+1 < len(b) && b[end+1] != ':' {
			return a, authorityError("brackets that do not match")
		}
		addr, err := netip.ParseAddr(string(b[1:end]))
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return a, authorityError("no IPv6 address in the brackets")
		}
		a.v6, host, port = addr, nil, b[end+1:]
	} else if colon := bytes.IndexByte(b, ':'); colon >= 0 {
		host, port = b[:colon], b[colon:]
	}
	if len(port) > 1 {
		n, ok := parseLength(port[1:])
		if !ok || n < 1 || n > 65535 {
			return a, authorityError("the port is not between 1 and 65535")
		}
		a.port = uint16(n)
	}
	if a.v6.IsValid() {
		return a, nil
	}
	var err error
	a.name, err = checkName(host)
	return a, err
}

// checkName checks a name and returns it without its final dot.
func checkName(name []byte) ([]byte, error) {
	if len(name) > maxHost {
		return nil, authorityError("the host is too long")
	}
	name = bytes.TrimSuffix(name, []byte("."))
	if len(name) == 0 {
		return nil, authorityError("the host is empty")
	}
	if name[0] == '.' || bytes.Contains(name, []byte("..")) || name[len(name)-1] == '.' {
		return nil, authorityError("the host has an empty label")
	}
	for _, c := range name {
		if c < 0x80 && !hostBytes[c] {
			return nil, authorityError("the host has a byte that is none of a host's")
		}
	}
	return name, nil
}

// hostBytes are RFC 3986's unreserved and sub-delims.
var hostBytes = set("-._~!$&'()*+,;=" + alphanumeric)

func (a authority) canonical() string {
	if a.v6.IsValid() {
		return a.v6.String()
	}
	name := make([]byte, len(a.name))
	for i, c := range a.name {
		name[i] = lower(c)
	}
	return string(name)
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
