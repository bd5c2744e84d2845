package har

import (
	"cmp"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/agentenv/netlog/netlog"
)

func (b *builder) request(p process, r *record, webSocket bool, e *Entry) {
	out := &e.Request
	req := r.open.Request
	if req == nil {
		req = &netlog.Request{}
		if r.open.Kind == netlog.KindTunnel {
			req.Method, req.Version = "CONNECT", "HTTP/1.1"
		}
	}
	*out = Request{
		Method:        req.Method,
		URL:           entryURL(r.open, webSocket),
		HTTPVersion:   httpVersion(req.Version),
		Headers:       headers(oneCookie(req)),
		Cookies:       requestCookies(req.Headers),
		HeadersSize:   headersSize(req.HeaderBytes),
		PseudoHeaders: headers(req.Pseudo),
		Trailers:      headers(req.Trailers),
	}
	out.QueryString = query(urlQuery(out.URL))
	body := req.Body
	if r.end != nil && r.end.Request != nil {
		// What the open line came too early for.
		late := r.end.Request
		if late.Body != nil {
			body = late.Body
		}
		if len(late.Trailers) > 0 {
			out.Trailers = headers(late.Trailers)
		}
	}
	switch {
	case body != nil:
		out.BodySize = counted(body.Size)
	case r.open.Kind == netlog.KindTunnel:
	case r.end == nil, r.end.Tunnel != nil: // not known yet, or never: the stand-in's
		out.BodySize = -1
	}
	if out.BodySize > 0 && !b.noBodies {
		b.postData(p, req.Headers, body, e)
	}
}

func (b *builder) postData(p process, list []netlog.Header, body *netlog.Body, e *Entry) {
	contentType := header(list, "Content-Type")
	got := b.payload(body, codings(list), cmp.Or(p.limits.RequestBody, defaultRequestBody))
	out := &PostData{MimeType: plainMedia(contentType), Text: string(got.bytes), BodyNote: got.note}
	// Without its coding undone a body is no text, even where it happens to be
	// UTF-8.
	if !utf8.Valid(got.bytes) || got.note.Undecoded != "" {
		out.Base64 = base64.StdEncoding.EncodeToString(got.bytes)
	}
	if got.note.Undecoded == "" {
		out.Params = formParams(got.bytes, contentType)
		e.GRPCMessages = grpcMessages(got.bytes, contentType, "send")
	}
	e.Request.PostData = out
}

// headers copies field lines; one whose value is not UTF-8 keeps its bytes too.
func headers(list []netlog.Header) []Header {
	if len(list) == 0 {
		return nil
	}
	out := make([]Header, len(list))
	for i, h := range list {
		out[i] = Header{Name: h.Name, Value: h.Value}
		if !utf8.ValidString(h.Value) {
			out[i].ValueBase64 = base64.StdEncoding.EncodeToString([]byte(h.Value))
		}
	}
	return out
}

// oneCookie joins the cookie crumbs that HTTP/2 allows (RFC 9113 §8.2.3):
// readers keep only one Cookie header of several.
func oneCookie(req *netlog.Request) []netlog.Header {
	if !strings.HasPrefix(req.Version, "HTTP/2") && !strings.HasPrefix(req.Version, "HTTP/3") {
		return req.Headers
	}
	var out []netlog.Header
	at := -1
	for _, h := range req.Headers {
		if !strings.EqualFold(h.Name, "Cookie") {
			out = append(out, h)
		} else if at < 0 {
			at = len(out)
			out = append(out, h)
		} else {
			out[at].Value += "; " + h.Value
		}
	}
	return out
}

// httpVersion spells a version as no reader misreads it; "" is none.
func httpVersion(v string) string {
	switch v {
	case "HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3":
		return v
	case "HTTP/2.0", "h2", "h2c":
		return "HTTP/2"
	case "HTTP/3.0", "h3":
		return "HTTP/3"
	}
	return ""
}

// headersSize is -1 where the bytes were not counted.
func headersSize(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return counted(n)
}
