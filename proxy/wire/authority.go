package wire

import (
	"bytes"
	"net/netip"
	"strings"
)

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
// percent sign (so an IPv6 zone too), more than 1,024 bytes, and an IPv4 address
// in another form than four decimal numbers.
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
	ascii := true
	for _, c := range name {
		if c >= 0x80 {
			ascii = false
		} else if !hostBytes[c] {
			return nil, authorityError("the host has a byte that is none of a host's")
		}
	}
	if ascii && endsInNumber(name) {
		if _, err := netip.ParseAddr(string(name)); err != nil {
			return nil, authorityError("the host ends in a number and is no IPv4 address of four decimal ones")
		}
	}
	return name, nil
}

// endsInNumber tells what a URL's host is an IPv4 address for, also one that is
// written in fewer parts, in octal or in hexadecimal (WHATWG's URL standard). A
// browser writes it anew before it asks, and of any other who asks resolvers
// differ on what is meant: 127.1, 0177.0.0.1, 2130706433.
func endsInNumber(name []byte) bool {
	last := name[bytes.LastIndexByte(name, '.')+1:]
	digits := isDigit
	if len(last) > 1 && last[0] == '0' && lower(last[1]) == 'x' {
		last = last[2:]
		digits = func(c byte) bool { _, ok := hex(c); return ok }
	}
	for _, c := range last {
		if !digits(c) {
			return false
		}
	}
	return true
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
