package proxy

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
	"github.com/agentenv/netlog/proxy/wire"
)

// Requests of HTTP/2 go to servers of HTTP/1, and their answers come back, by the
// rules of RFC 9113 §8.

// toHTTP1 relays the exchange to a server of HTTP/1: on l or, when that is nil, on
// whatever connection there is or can be made.
func (st *stream) toHTTP1(l *link) {
	ex := st.ex
	ex.req = st.asHTTP1()
	head, err := ex.forwardHead(wire.ForwardOptions{})
	if err != nil {
		st.turnDown(refusal(netlog.RefusedBadRequest, http.StatusBadRequest, err.Error()))
		return
	}
	var u *upstream
	if l != nil {
		u = newUpstream(l)
		u.begin(ex, head)
		st.c.keep(u)
	} else {
		var f *failure
		if u, f = st.c.upstreamFor(ex, head); f != nil {
			st.turnDown(f)
			return
		}
	}
	// From here on u owns the exchange.
	st.upload(&chunkSink{u: u, ex: ex, head: head, chunked: ex.req.Fields.Count("transfer-encoding") > 0})
}

// asHTTP1 is the request's head in HTTP/1: Host in place of :authority, one Cookie of
// its crumbs (RFC 9113 §8.2.3), and chunks for a body whose length is not told.
func (st *stream) asHTTP1() *wire.Request {
	h := st.Head()
	authority, named := h.Get(":authority")
	if !named {
		authority, _ = h.Get("host")
	}
	b := headBuilder{b: make([]byte, 0, 2*h.Size+256)}
	b.line(st.ex.method + " " + string(st.ex.target.Path) + " HTTP/1.1\r\n")
	b.field("Host", authority)
	cookie := false
	_, length := h.Get("content-length")
	for _, f := range h.Regular() {
		switch {
		case f.Name == "host":
		case f.Name == "cookie" && cookie:
		case f.Name == "cookie":
			cookie = true
			b.field(f.Name, crumbs(h))
		default:
			b.field(f.Name, f.Value)
		}
	}
	if !h.End && !length {
		b.field("Transfer-Encoding", "chunked")
	}
	return b.request(st.ex.method)
}

// crumbs are all values of the head's cookie fields as one.
func crumbs(h *h2.Head) string {
	var values []string
	for _, f := range h.Regular() {
		if f.Name == "cookie" {
			values = append(values, f.Value)
		}
	}
	return strings.Join(values, "; ")
}

// A headBuilder makes a wire.Request.
type headBuilder struct {
	b     []byte
	lines []int    // where they end
	names []string // of the fields' lines
}

func (hb *headBuilder) line(s string) {
	hb.b = append(hb.b, s...)
	hb.lines = append(hb.lines, len(hb.b))
}

func (hb *headBuilder) field(name, value string) {
	hb.names = append(hb.names, name)
	hb.line(name + ": " + value + "\r\n")
}

func (hb *headBuilder) request(method string) *wire.Request {
	top := hb.lines[0]
	hb.b = append(hb.b, "\r\n"...)
	r := &wire.Request{
		Raw: hb.b, Line: hb.b[:top],
		Method: hb.b[:len(method)], Target: hb.b[len(method)+1 : top-len(" HTTP/1.1\r\n")],
		Version: "HTTP/1.1", Minor: 1,
		Fields: make(wire.FieldList, len(hb.names)),
	}
	for i, name := range hb.names {
		line := hb.b[hb.lines[i]:hb.lines[i+1]:hb.lines[i+1]]
		r.Fields[i] = wire.Field{Name: line[:len(name)], Value: line[len(name)+2 : len(line)-2], Line: line}
	}
	return r
}

// fieldsOf are an answer's fields in HTTP/2, without those whose names it has no
// form for: a browser would take the whole answer for malformed (RFC 9113 §8.2.1).
func fieldsOf(a *wire.Answer) []h2.Field {
	fields := make([]h2.Field, 1, len(a.Fields)+1)
	fields[0] = h2.Field{Name: ":status", Value: strconv.Itoa(a.Status)}
	for name, value := range a.EndToEnd() {
		fields = appendLowered(fields, name, value)
	}
	return fields
}

// lowered are trailers in HTTP/2; nil for none.
func lowered(trailers []wire.Field) (fields []h2.Field) {
	for _, f := range trailers {
		fields = appendLowered(fields, f.Name, f.Value)
	}
	return fields
}

func appendLowered(fields []h2.Field, name, value []byte) []h2.Field {
	f := h2.Field{Name: strings.ToLower(string(name)), Value: string(value)}
	if !h2.IsName(f.Name) {
		return fields
	}
	return append(fields, f)
}
