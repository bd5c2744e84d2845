package har

import (
	"cmp"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// response fills in e's answer; a nil one makes the whole object all the same,
// since readers refuse a file with a part of it.
func (b *builder) response(p process, r *record, answer *netlog.Response, e *Entry) {
	out := &e.Response
	*out = Response{Status: r.status(), HeadersSize: -1, BodySize: -1, Content: Content{MimeType: unknownType}}
	if answer == nil {
		if tunnelled(r) {
			out.HTTPVersion, out.BodySize = "HTTP/1.1", 0
			out.TransferSize = counted(r.end.Tunnel.Received)
		}
		return
	}
	answered := answerTime(r)
	contentType := header(answer.Headers, "Content-Type")
	out.StatusText = answer.Reason
	out.HTTPVersion = httpVersion(answer.Version)
	out.Cookies = responseCookies(answer.Headers, answered)
	out.Headers = headers(answer.Headers)
	out.RedirectURL = header(answer.Headers, "Location")
	out.HeadersSize = headersSize(answer.HeaderBytes)
	out.TransferSize = counted(answer.HeaderBytes)
	out.PseudoHeaders = headers(answer.Pseudo)
	out.Trailers = headers(answer.Trailers)
	for _, i := range answer.Informational {
		out.Informational = append(out.Informational, Informational{Status: i.Status, Headers: headers(i.Headers)})
	}
	if contentType != "" {
		out.Content.MimeType = contentType
	}
	if r.end == nil || r.end.Response == nil {
		return // the body is still coming, or nothing is known of it
	}
	body := answer.Body
	switch {
	case body != nil:
		out.BodySize = counted(body.Size)
	case r.end.Tunnel != nil: // the stand-in counts a connection's bytes alone
		out.TransferSize = counted(r.end.Tunnel.Received)
		return
	default:
		out.BodySize, body = 0, &netlog.Body{}
	}
	out.TransferSize = counted(out.TransferSize + out.BodySize)
	if r.end.WebSocket != nil {
		out.TransferSize = counted(out.TransferSize + counted(r.end.WebSocket.Received.Bytes))
	}
	if out.BodySize == 0 && !hasBody(r.open.Request, answer.Status) {
		return
	}
	if b.noBodies {
		out.Content.Size, out.Content.SHA256 = out.BodySize, body.SHA256
		return
	}
	got := b.payload(body, codings(answer.Headers), cmp.Or(p.limits.ResponseBody, defaultResponseBody))
	out.Content = got.content(contentType, out.BodySize)
	if !got.kept || got.note.Undecoded != "" {
		return
	}
	if parseMedia(contentType).typ == "text/event-stream" {
		e.EventSourceMessages = eventMessages(got.bytes, body.Chunks, got.marks, r.open.Time)
	}
	e.GRPCMessages = append(e.GRPCMessages, grpcMessages(got.bytes, contentType, "receive")...)
}

// hasBody says whether an answer could have one (RFC 9110 §6.4.1).
func hasBody(req *netlog.Request, status int) bool {
	if req != nil && (req.Method == "HEAD" || req.Method == "CONNECT" && status/100 == 2) {
		return false
	}
	return status >= 200 && status != 204 && status != 304
}

// tunnelled says whether a tunnel came about, so that the browser got its 200.
func tunnelled(r *record) bool {
	if r.open.Kind != netlog.KindTunnel || r.end == nil || r.end.Tunnel == nil || r.end.Refused != nil {
		return false
	}
	if f := r.end.Failed; f != nil {
		switch f.Phase {
		case netlog.PhaseDNS, netlog.PhaseConnect, netlog.PhaseClientTLS, netlog.PhaseServerTLS:
			return false
		}
		return r.end.Server != nil
	}
	return true
}

// answerTime is when the answer's head came.
func answerTime(r *record) time.Time {
	if r.end != nil && r.end.Response != nil {
		return r.end.Time.Add(-time.Duration(max(r.end.Timings.Receive, 0)) * time.Microsecond)
	} else if r.answer != nil {
		return r.answer.Time
	}
	return r.open.Time
}
