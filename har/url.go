package har

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// unknownHost stands where the log has no name that a reader could parse: a
// refused request whose head was no HTTP. Readers fail on such a URL.
const unknownHost = "unknown.invalid"

// entryURL gives an entry's absolute URL: without a fragment, every byte in a
// URI's alphabet, and of a WebSocket's own scheme, as browsers name it.
func entryURL(o *netlog.Open, webSocket bool) string {
	var url string
	if o.Request != nil {
		url = o.Request.URL
	}
	if url == "" {
		url = o.Target
	}
	scheme, rest, absolute := strings.Cut(url, "://")
	switch {
	case absolute && isScheme(scheme):
	case isTunnel(o, webSocket):
		scheme, rest = "https", withPort(url)
	default:
		scheme, rest = "http", url
	}
	scheme = strings.ToLower(scheme)
	rest, _, _ = strings.Cut(rest, "#")
	authority, path := rest, "/"
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if !isAuthority(authority) {
		authority = unknownHost
	}
	if webSocket {
		switch scheme {
		case "http":
			scheme = "ws"
		case "https":
			scheme = "wss"
		}
	}
	return escapeURL(scheme + "://" + authority + path)
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || (s[i] < '0' || s[i] > '9') && strings.IndexByte("+-.", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

// isAuthority says whether the readers' URL parsers take a for a host and,
// perhaps, a port: they throw on one that is none.
func isAuthority(a string) bool {
	host := a[strings.LastIndexByte(a, '@')+1:]
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		port := host[i+1:]
		if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" {
			return false
		}
		host = host[:i]
	}
	if address, ok := strings.CutPrefix(host, "["); ok {
		address, ok = strings.CutSuffix(address, "]")
		ip, err := netip.ParseAddr(address)
		return ok && err == nil && ip.Is6()
	}
	return validHost(unescape(host, false))
}

// isTunnel says whether a request is one for a tunnel. A WebSocket's over HTTP/2 is
// a CONNECT as well (RFC 8441 §4).
func isTunnel(o *netlog.Open, webSocket bool) bool {
	return o.Kind == netlog.KindTunnel || o.Request != nil && o.Request.Method == "CONNECT" && !webSocket
}

// withPort adds a CONNECT's usual port to a bare host.
func withPort(host string) string {
	host = strings.TrimSuffix(host, "/")
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') && i >= 0 {
		return host
	}
	return host + ":443"
}

// escapeURL percent-encodes the bytes that no URI has (RFC 3986 §2).
func escapeURL(url string) string {
	outside := func(c byte) bool {
		return c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0
	}
	i := 0
	for i < len(url) && !outside(url[i]) {
		i++
	}
	if i == len(url) {
		return url
	}
	b := append(make([]byte, 0, len(url)+16), url[:i]...)
	for ; i < len(url); i++ {
		if c := url[i]; outside(c) {
			b = append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// urlQuery is the part of a URL behind its question mark.
func urlQuery(url string) string {
	_, query, _ := strings.Cut(url, "?")
	return query
}
