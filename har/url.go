package har

import (
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// unknownURL stands where the log has no name at all: a refused request whose
// head was no HTTP. Readers fail on a URL that does not parse.
const unknownURL = "http://unknown.invalid/"

// entryURL gives an entry's absolute URL: without a fragment, every byte in a
// URI's alphabet, and of a WebSocket's own scheme, as browsers name it.
func entryURL(o *netlog.Open, webSocket bool) string {
	var method, url string
	if o.Request != nil {
		method, url = o.Request.Method, o.Request.URL
	}
	connect := method == "CONNECT" && !webSocket || o.Kind == netlog.KindTunnel
	if url == "" {
		url = o.Target
	}
	switch {
	case strings.Contains(url, "://"):
	case url == "":
		return unknownURL
	case connect:
		url = "https://" + withPort(url)
	default:
		url = "http://" + url
	}
	url, _, _ = strings.Cut(url, "#")
	scheme, rest, _ := strings.Cut(url, "://")
	if !strings.ContainsAny(rest, "/?") {
		rest += "/"
	}
	if webSocket {
		switch strings.ToLower(scheme) {
		case "http":
			scheme = "ws"
		case "https":
			scheme = "wss"
		}
	}
	return escapeURL(scheme + "://" + rest)
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
