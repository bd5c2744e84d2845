package gateway

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/gorilla/websocket"
)

// A passage is one request on its way to a site, and the answer's way back.
type passage struct {
	gateway *Gateway
	site    *site
	target  target
	in      *http.Request
	socket  bool // it asks for a WebSocket
	upload  *upload
}

// quiet is for those who would log what is logged here.
var quiet = log.New(io.Discard, "", 0)

func (p *passage) serve(w http.ResponseWriter) {
	r := p.in
	p.upload = &upload{ReadCloser: r.Body}
	if r.ContentLength == 0 {
		p.upload.ended.Store(true)
	} else {
		r = r.WithContext(r.Context())
		r.Body = p.upload
	}
	// A site may answer before it has all of the request: net/http would read the
	// rest itself, and so take it away from the site.
	http.NewResponseController(w).EnableFullDuplex()
	proxy := httputil.ReverseProxy{
		Rewrite: p.rewrite, ModifyResponse: p.answered, ErrorHandler: p.unanswered,
		Transport: p.transport(), FlushInterval: -1, ErrorLog: quiet,
	}
	proxy.ServeHTTP(&answerWriter{w, p.upload}, r)
}

// transport is the way up. net/http sends again what has no effects when the site
// has closed the connection meanwhile, and fails what has. Where a body is not
// looked for, some servers take it for the next request: there is none on a
// connection that has just this one.
func (p *passage) transport() *http.Transport {
	switch {
	case p.socket:
		return p.gateway.sockets
	case p.in.ContentLength != 0:
		return p.gateway.fresh
	case p.in.Method == http.MethodGet, p.in.Method == http.MethodHead, p.in.Method == http.MethodOptions:
		return p.gateway.pooled
	}
	return p.gateway.fresh
}

// isSocket tells a WebSocket's handshake. No other protocol is switched to, and none
// from HTTP/1.0 (RFC 9110 §7.8).
func isSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ProtoAtLeast(1, 1) && websocket.IsWebSocketUpgrade(r)
}

// answered looks at the head of a site's answer.
func (p *passage) answered(answer *http.Response) error {
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return p.switched(answer)
	}
	if location := answer.Header["Location"]; len(location) == 1 {
		location[0] = p.moved(location[0])
	}
	answer.Body = &download{ReadCloser: answer.Body, p: p}
	return nil
}

// moved is a Location that the browser can follow: one at the site's own address,
// as a server names it that does not read X-Forwarded-Host, is under the route.
func (p *passage) moved(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return location
	}
	u.Scheme = cmp.Or(u.Scheme, p.site.URL.Scheme)
	_, rest, _ := strings.Cut(location, "//")
	rest, whole := strings.CutPrefix(rest, u.Host) // it may have a user, or be escaped
	if !whole || origin(u) != origin(p.site.URL) {
		return location
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	rest = withinRoot(rest)
	switch {
	case !p.atRoot():
		return p.target.prefix + rest
	case strings.HasPrefix(rest, "//"): // which would name a host
		return "/." + rest
	}
	return rest
}

// withinRoot takes the dot segments out of a reference's path, as browsers do that see
// it at a site's root: behind the route's prefix, they would lead out of it.
func withinRoot(ref string) string {
	end := len(ref)
	if i := strings.IndexAny(ref, "?#"); i >= 0 {
		end = i
	}
	path := dotted.Replace(ref[:end])
	if !strings.Contains(path, "/.") {
		return ref
	}
	return climbed(path) + ref[end:]
}

// dotted spells out what browsers take for dots and slashes (WHATWG URL, path state).
var dotted = strings.NewReplacer("%2e", ".", "%2E", ".", `\`, "/")

// origin is a URL's scheme and host, with the port.
func origin(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	case u.Scheme == "https":
		port = "443"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// unanswered answers for a site that does not, or takes over what is no answer but
// a WebSocket.
func (p *passage) unanswered(w http.ResponseWriter, _ *http.Request, err error) {
	if s := (*socket)(nil); errors.As(err, &s) {
		p.relay(w, s)
		return
	}
	if p.in.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	if p.upload.broken.Load() {
		writeError(w, http.StatusBadRequest, "the request's body can't be read to its end")
		return
	}
	p.gateway.logger.Warn("a site did not answer", "site", p.site.Name, "method", p.in.Method, "path", p.target.path, "error", err)
	writeError(w, http.StatusBadGateway, "Proxy request failed: "+reason(err))
}

// reason is an error's without addresses: browsers are not to know where a site is.
func reason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}
