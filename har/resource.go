package har

import (
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// resourceType names what a request was for in DevTools' words, from what the
// browser says of it and, where it says nothing, from what came back.
func resourceType(req *netlog.Request, resp *netlog.Response, webSocket bool) string {
	if webSocket {
		return "websocket"
	}
	if req == nil {
		return "other"
	}
	accept := strings.ToLower(header(req.Headers, "Accept"))
	dest := strings.ToLower(header(req.Headers, "Sec-Fetch-Dest"))
	sent := parseMedia(header(req.Headers, "Content-Type")).typ
	switch {
	case req.Method == "OPTIONS" && header(req.Headers, "Access-Control-Request-Method") != "":
		return "preflight"
	case strings.HasPrefix(accept, "text/event-stream"):
		return "eventsource"
	case sent == "application/csp-report":
		return "csp-violation-report"
	case sent == "text/ping":
		return "ping"
	case isPrefetch(req.Headers):
		return "prefetch"
	case dest == "empty":
		if strings.EqualFold(header(req.Headers, "X-Requested-With"), "XMLHttpRequest") {
			return "xhr"
		}
		return "fetch"
	case dest != "":
		return destType(dest)
	case strings.HasPrefix(accept, "text/html"):
		return "document"
	case strings.HasPrefix(accept, "text/css"):
		return "stylesheet"
	case strings.HasPrefix(accept, "image/"):
		return "image"
	case strings.EqualFold(header(req.Headers, "X-Requested-With"), "XMLHttpRequest"):
		return "xhr"
	}
	// Browsers leave Sec-Fetch-Dest out towards plain http:// hosts.
	if resp != nil {
		if t := contentType(parseMedia(header(resp.Headers, "Content-Type")).typ); t != "" {
			return t
		}
	}
	if header(req.Headers, "Referer") != "" || header(req.Headers, "Origin") != "" {
		return "fetch"
	}
	return "other"
}

func isPrefetch(headers []netlog.Header) bool {
	return strings.HasPrefix(header(headers, "Sec-Purpose"), "prefetch") || header(headers, "Purpose") == "prefetch"
}

// destType maps a Sec-Fetch-Dest (Fetch §2.2.7).
func destType(dest string) string {
	switch dest {
	case "document", "iframe", "frame", "embed", "object", "fencedframe":
		return "document"
	case "script", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet":
		return "script"
	case "style":
		return "stylesheet"
	case "image", "font", "manifest":
		return dest
	case "audio", "video":
		return "media"
	case "track":
		return "texttrack"
	}
	return "other"
}

// contentType maps the media types that only one kind of resource has.
func contentType(typ string) string {
	major, _, _ := strings.Cut(typ, "/")
	switch {
	case major == "image" || major == "font":
		return major
	case major == "audio" || major == "video":
		return "media"
	case strings.HasSuffix(typ, "javascript"):
		return "script"
	case typ == "text/css":
		return "stylesheet"
	case typ == "text/vtt":
		return "texttrack"
	case typ == "application/wasm":
		return "wasm"
	case typ == "application/manifest+json":
		return "manifest"
	}
	return ""
}

// header returns the value of the first field of that name, or "".
func header(headers []netlog.Header, name string) string {
	for i := range headers {
		if len(headers[i].Name) == len(name) && strings.EqualFold(headers[i].Name, name) {
			return headers[i].Value
		}
	}
	return ""
}
