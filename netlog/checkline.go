package netlog

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// fields holds a line against schema.json, in which one is to look for the rules.
func (c *checker) fields(l *Line, n *notes) {
	known := true
	switch l.Event {
	case EventStart, EventUnrotated:
		if l.ID != 0 {
			c.fault(RuleSchema, "id", "does not belong into this event")
		}
	case EventOpen, EventAnswer, EventMessage, EventEnd:
		if l.ID == 0 {
			c.fault(RuleSchema, "id", "is missing")
		}
	default:
		known = false
		c.warn(RuleSchema, "event", "is %s, which format %d does not have", quote(string(l.Event)), Format)
	}
	before := c.stats.Faults
	switch {
	case l.Start != nil:
		c.startFields(l.Start)
	case l.Open != nil:
		c.openFields(l.Open)
	case l.Answer != nil:
		c.answerFields(l.Answer)
	case l.Message != nil:
		c.messageFields(l.Message)
	case l.End != nil:
		c.endFields(l.End)
	}
	for _, field := range n.unknown {
		if known {
			c.warn(RuleSchema, field, "is a field that format %d does not have", Format)
		}
	}
	if known && len(n.unknown) == 0 && c.stats.Faults == before {
		c.form(l, n)
	}
}

func (c *checker) startFields(s *Start) {
	if s.Format != Format {
		c.fault(RuleSchema, "format", "is %d, not %d", s.Format, Format)
	}
	c.present("program", s.Program)
	c.present("version", s.Version)
	c.positive("pid", int64(s.PID))
	oneOf(c, "mode", s.Mode, "proxy", "record", "demo", "stand-in", "sites")
	c.count("limits.request_body", s.Limits.RequestBody)
	c.count("limits.response_body", s.Limits.ResponseBody)
	oneOf(c, "limits.types", s.Limits.Types, "text", "all", "none")
	for i, id := range s.Open {
		c.positive(indexed("open", i), id)
	}
}

func (c *checker) openFields(o *Open) {
	oneOf(c, "kind", o.Kind, KindExchange, KindTunnel)
	oneOf(c, "via", o.Via, ViaMITM, ViaSite, ViaPlain, ViaTunnel, ViaStandIn)
	c.pattern("client", o.Client, addressForm, "ip:port")
	c.count("connection", o.Connection)
	switch {
	case o.Kind == KindExchange && o.Request == nil:
		c.fault(RuleSchema, "request", "is missing")
	case o.Kind == KindExchange && o.Target != "":
		c.fault(RuleSchema, "target", "is a tunnel's")
	case o.Kind == KindTunnel && o.Request != nil:
		c.fault(RuleSchema, "request", "is an exchange's")
	case o.Kind == KindTunnel:
		c.present("target", o.Target)
	}
	r := o.Request
	if r == nil {
		return
	}
	c.pattern("request.url", r.URL, urlForm, "an absolute URL")
	if r.Version != "" {
		c.pattern("request.version", r.Version, versionForm, "an HTTP version")
	}
	c.count("request.header_bytes", r.HeaderBytes)
	c.headers("request.headers", r.Headers)
	c.headers("request.pseudo", r.Pseudo)
	c.headers("request.trailers", r.Trailers)
	c.body("request.body", r.Body)
}

func (c *checker) answerFields(a *Answer) {
	r := a.Response
	if r == nil {
		c.fault(RuleSchema, "response", "is missing")
		return
	}
	c.response(r)
}

func (c *checker) response(r *Response) {
	if r.Status != 0 {
		c.status("response.status", r.Status)
	}
	if r.Version != "" {
		c.pattern("response.version", r.Version, versionForm, "an HTTP version")
	}
	c.count("response.header_bytes", r.HeaderBytes)
	c.headers("response.headers", r.Headers)
	c.headers("response.pseudo", r.Pseudo)
	c.headers("response.trailers", r.Trailers)
	for i, in := range r.Informational {
		at := indexed("response.informational", i)
		if in.Status < 100 || in.Status > 199 {
			c.fault(RuleSchema, at+".status", "is %d, not 1xx", in.Status)
		}
		c.headers(at+".headers", in.Headers)
	}
	c.body("response.body", r.Body)
}

func (c *checker) messageFields(m *Message) {
	oneOf(c, "dir", m.Dir, "send", "receive")
	oneOf(c, "opcode", m.Opcode, 1, 2, 8)
	c.count("wire_size", m.WireSize)
	c.positive("frames", int64(m.Frames))
	kept := int64(len(m.Base64))
	if m.Text != nil {
		kept = int64(len(*m.Text))
		if m.Base64 != nil {
			c.fault(RuleSchema, "base64", "is there besides text")
		}
	}
	if m.Size == nil {
		return
	}
	c.count("size", *m.Size)
	if kept > *m.Size {
		c.fault(RuleBody, "size", "is %d, of which %d bytes were kept", *m.Size, kept)
	}
}

func (c *checker) endFields(e *End) {
	if r := e.Request; r != nil {
		if r.Trailers == nil && r.Body == nil {
			c.fault(RuleSchema, "request", "has neither body nor trailers")
		}
		if r.Method != "" || r.URL != "" || r.Target != "" || r.Version != "" || r.Headers != nil || r.HeaderBytes != 0 || r.Pseudo != nil {
			c.fault(RuleSchema, "request", "has what belongs into the open line")
		}
		c.headers("request.trailers", r.Trailers)
		c.body("request.body", r.Body)
	}
	if r := e.Response; r != nil {
		c.response(r)
		if r.Status == 0 && !e.Unparsed {
			c.fault(RuleSchema, "response.status", "is 0 of an answer that is not unparsed")
		}
	}
	c.server(e.Server)
	if t := e.ClientTLS; t != nil && (t.Subject+t.Issuer+t.Serial+t.SHA256+t.Unverified != "" || t.SANs != nil || t.Verified != nil || !t.NotBefore.IsZero() || !t.NotAfter.IsZero()) {
		c.fault(RuleSchema, "client_tls", "has what is the server's certificate's")
	}
	if e.Timings.TLS != Absent && e.Timings.Connect == Absent {
		c.fault(RuleSchema, "timings.tls", "is there without connect")
	}
	if t := e.Tunnel; t != nil {
		c.count("tunnel.sent", t.Sent)
		c.count("tunnel.received", t.Received)
	}
	c.websocket(e.WebSocket)
	c.outcome(e)
}

func (c *checker) server(s *Server) {
	if s == nil {
		return
	}
	if s.Address != "" {
		c.pattern("server.address", s.Address, addressForm, "ip:port")
	}
	c.count("server.connection", s.Connection)
	if s.Reused && s.Dialled != nil {
		c.fault(RuleSchema, "server.dialled", "is there of a connection that was reused")
	}
	if t := s.TLS; t != nil {
		if t.SHA256 != "" {
			c.pattern("server.tls.sha256", t.SHA256, sha256Form, "64 hexadecimal digits")
		}
		if t.Serial != "" {
			c.pattern("server.tls.serial", t.Serial, serialForm, "a hexadecimal number")
		}
	}
}

func (c *checker) websocket(s *WebSocket) {
	if s == nil {
		return
	}
	for i, f := range [...]Frames{s.Sent, s.Received} {
		at := [...]string{"websocket.sent.", "websocket.received."}[i]
		c.count(at+"messages", f.Messages)
		c.count(at+"bytes", f.Bytes)
		c.count(at+"frames", f.Frames)
		c.count(at+"control", f.Control)
	}
	if cl := s.Close; cl != nil {
		if cl.Code < 0 || cl.Code > 65535 {
			c.fault(RuleSchema, "websocket.close.code", "is %d", cl.Code)
		}
		oneOf(c, "websocket.close.by", cl.By, "client", "server")
	}
	if s.Recorded != nil {
		c.count("websocket.recorded", *s.Recorded)
	}
}

func (c *checker) outcome(e *End) {
	if f := e.Failed; f != nil {
		oneOf(c, "failed.phase", f.Phase, PhaseDNS, PhaseConnect, PhaseClientTLS, PhaseServerTLS, PhaseSend, PhaseWait, PhaseReceive, PhaseWebSocket, PhaseProxy)
		oneOf(c, "failed.code", f.Code, CodeRefused, CodeTimeout, CodeReset, CodeUnreachable, CodeNotFound, CodeBadCertificate, CodeBadAnswer, CodeBadRequest,
			CodeClientGone, CodeClientRefused, CodeLost, CodeRestarted, CodeStopped, CodeInternal)
		c.present("failed.reason", f.Reason)
	}
	if r := e.Refused; r != nil {
		oneOf(c, "refused.code", r.Code, RefusedBadRequest, RefusedHeadTooLong, RefusedCoding, RefusedMisdirected, RefusedPolicy, RefusedOwnAddress, RefusedTimeout)
		c.present("refused.reason", r.Reason)
		if r.Status != 0 {
			c.status("refused.status", r.Status)
		}
		if e.Failed != nil {
			c.fault(RuleSchema, "failed", "is there of a request that was refused")
		}
		if e.Response != nil {
			c.fault(RuleSchema, "response", "is there of a request that was refused")
		}
	}
	for i, word := range e.Changed {
		oneOf(c, indexed("changed", i), word, "strip_conditionals")
		if slices.Contains(e.Changed[:i], word) {
			c.fault(RuleSchema, indexed("changed", i), "is there twice")
		}
	}
}

func (c *checker) headers(field string, list []Header) {
	for i := range list {
		if list[i].Name == "" {
			c.fault(RuleSchema, indexed(field, i), "has no name")
		}
	}
}

// body holds what is said of a body against what was kept of it.
func (c *checker) body(field string, b *Body) {
	if b == nil {
		return
	}
	c.count(field+".size", b.Size)
	if b.SHA256 != "" {
		c.pattern(field+".sha256", b.SHA256, sha256Form, "64 hexadecimal digits")
	}
	kept, _ := b.Kept.(*sum)
	if kept == nil {
		kept = new(sum)
	}
	switch {
	case b.Size == 0 && (b.SHA256 != "" || kept.n > 0 || b.Truncated || b.Chunks != nil):
		c.fault(RuleSchema, field, "has more than its size, which is 0")
		return
	case kept.n > b.Size:
		c.fault(RuleBody, field+".size", "is %d, of which %d bytes were kept", b.Size, kept.n)
	case kept.n == b.Size && b.Truncated:
		c.fault(RuleBody, field+".truncated", "is true, and all %d bytes were kept", b.Size)
	case kept.n > 0 && kept.n < b.Size && !b.Truncated:
		c.fault(RuleBody, field+".truncated", "is absent, and %d bytes were kept of %d", kept.n, b.Size)
	case kept.n > 0 && kept.n == b.Size && b.SHA256 != "":
		if sum := hex.EncodeToString(kept.sha256[:]); sum != b.SHA256 {
			c.fault(RuleBody, field+".sha256", "is %s, that of the bytes kept %s", quote(b.SHA256), sum)
		}
	}
	last := Chunk{}
	for i, ch := range b.Chunks {
		if ch.Offset < last.Offset || ch.Micros < last.Micros || ch.Offset >= b.Size {
			c.fault(RuleBody, indexed(field+".chunks", i), "is [%d,%d], after [%d,%d] of %d bytes", ch.Offset, ch.Micros, last.Offset, last.Micros, b.Size)
		}
		last = ch
	}
}

func (c *checker) present(field, s string) {
	if s == "" {
		c.fault(RuleSchema, field, "is missing")
	}
}

func (c *checker) count(field string, n int64) {
	if n < 0 {
		c.fault(RuleSchema, field, "is %d", n)
	}
}

func (c *checker) positive(field string, n int64) {
	if n < 1 {
		c.fault(RuleSchema, field, "is %d", n)
	}
}

func (c *checker) status(field string, n int) {
	if n < 100 || n > 999 {
		c.fault(RuleSchema, field, "is %d", n)
	}
}

func (c *checker) pattern(field, s string, form *regexp.Regexp, what string) {
	switch {
	case s == "":
		c.fault(RuleSchema, field, "is missing")
	case !form.MatchString(s):
		c.fault(RuleSchema, field, "is %s, not %s", quote(s), what)
	}
}

// oneOf checks a word of a closed list. An empty one is missing.
func oneOf[T ~string | ~int](c *checker, field string, v T, words ...T) {
	if slices.Contains(words, v) {
		return
	}
	var none T
	if v == none {
		c.fault(RuleSchema, field, "is missing")
		return
	}
	c.fault(RuleSchema, field, "is %s, not one of %v", quote(fmt.Sprint(v)), words)
}

func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// The forms of schema.json.
var (
	addressForm = regexp.MustCompile(`^(\[[0-9a-fA-F:.%a-zA-Z]+\]|[^\[\]:]+):[0-9]{1,5}$`)
	urlForm     = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://[^\s#]+$`)
	versionForm = regexp.MustCompile(`^HTTP/[0-9](\.[0-9])?$`)
	sha256Form  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	serialForm  = regexp.MustCompile(`^-?[0-9a-f]+$`)
)
