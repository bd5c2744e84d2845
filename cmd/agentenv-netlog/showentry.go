package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentenv/netlog/har"
)

// mostDump is how many bytes of a body that is no text are shown.
const mostDump = 1024

// An entryPrinter prints one entry in full. Its first error stays.
type entryPrinter struct {
	screen
	out io.Writer
	err error
}

func printEntry(out io.Writer, s screen, e *har.Entry) error {
	p := &entryPrinter{screen: s, out: out}
	p.summary(e)
	p.request(e)
	p.response(e)
	p.messages(e)
	return p.err
}

func (p *entryPrinter) text(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, s)
	}
}

// fact prints a named line, unless it says nothing.
func (p *entryPrinter) fact(name string, parts ...string) {
	var said []string
	for _, part := range parts {
		if part != "" {
			said = append(said, printable(part))
		}
	}
	if len(said) > 0 {
		p.text(p.paint(dim, pad(name, 10, false)) + strings.Join(said, ", ") + "\n")
	}
}

func (p *entryPrinter) title(name string, parts ...string) {
	line := p.paint(bold, name)
	for _, part := range parts {
		if part != "" {
			line += ", " + printable(part)
		}
	}
	p.text("\n" + line + "\n")
}

// named is a word before what it names, and nothing before nothing.
func named(name, value string) string {
	if value == "" {
		return ""
	}
	return name + " " + value
}

func (p *entryPrinter) summary(e *har.Entry) {
	p.text(p.paint(bold, strconv.FormatInt(e.ID, 10)) + "  " + p.paint(statusColor(e), statusText(e)) + "  " +
		printable(e.Request.Method) + " " + printable(e.Request.URL) + "\n")
	took := ""
	if e.Open {
		took = "still going"
	} else if e.Time >= 0 {
		took = "took " + millisText(e.Time)
	}
	p.fact("started", e.StartedDateTime, took)
	p.fact("type", typeText(e), named("via", e.Via), named("site", e.Site))
	if i := e.Initiator; i != nil {
		p.fact("from", i.URL)
	}
	if f := e.Failed; f != nil {
		p.fact("failed", f.Phase+": "+f.Code+": "+f.Reason)
	} else if r := e.Refused; r != nil {
		status := "the browser got no answer"
		if r.Status > 0 {
			status = "the browser got " + strconv.Itoa(r.Status)
		}
		p.fact("refused", r.Code+": "+r.Reason, status)
	} else {
		p.fact("error", e.Response.Error)
	}
	p.fact("changed", e.Changed...)
	p.timings(&e.Timings)
	p.fact("server", serverText(e), named("connection", e.ConnectionID))
	p.server(e.SecurityDetails)
	if t := e.ClientTLS; t != nil {
		p.fact("browser", t.Protocol, t.Cipher, t.ALPN, named("for", t.SNI), resumed(t.Resumed))
	}
	if t := e.Tunnel; t != nil {
		p.fact("tunnel", fmt.Sprintf("%d B sent", t.Sent), fmt.Sprintf("%d B received", t.Received), named("for", t.SNI),
			named("offers", strings.Join(t.ALPN, " ")), strings.Join(t.TLSVersions, " "), named("agreed", t.TLSVersion))
	}
	if w := e.WebSocket; w != nil {
		p.fact("websocket", framesText("sent", w.Sent), framesText("received", w.Received), w.Subprotocol, w.Extensions)
	}
}

func (p *entryPrinter) timings(t *har.Timings) {
	var parts []string
	for _, phase := range []struct {
		name string
		took har.Millis
	}{
		{"blocked", t.Blocked}, {"dns", t.DNS}, {"connect", t.Connect}, {"of it ssl", t.SSL},
		{"send", t.Send}, {"wait", t.Wait}, {"receive", t.Receive},
	} {
		if phase.took >= 0 {
			parts = append(parts, phase.name+" "+strconv.FormatFloat(float64(phase.took)/1000, 'f', -1, 64))
		}
	}
	if len(parts) > 0 {
		parts[len(parts)-1] += " ms"
	}
	p.fact("timings", parts...)
}

func (p *entryPrinter) server(d *har.SecurityDetails) {
	if d == nil {
		return
	}
	verified := ""
	if d.Verified != nil {
		verified = "not verified"
		if *d.Verified {
			verified = "verified"
		}
	}
	p.fact("TLS", d.Protocol, d.Cipher, d.ALPN, named("for", d.SNI), resumed(d.Resumed), verified)
	valid := ""
	if d.ValidFrom != 0 || d.ValidTo != 0 {
		valid = dayText(d.ValidFrom) + " to " + dayText(d.ValidTo)
	}
	p.fact("", d.SubjectName, named("by", d.Issuer), valid, named("names", strings.Join(d.SANList, " ")))
	p.fact("", named("serial", d.Serial), named("SHA-256", d.SHA256))
}

func dayText(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.DateOnly) }

func resumed(yes bool) string {
	if yes {
		return "resumed"
	}
	return ""
}

func serverText(e *har.Entry) string {
	if e.ServerIPAddress == "" || e.ServerPort == 0 {
		return e.ServerIPAddress
	}
	if strings.Contains(e.ServerIPAddress, ":") {
		return fmt.Sprintf("[%s]:%d", e.ServerIPAddress, e.ServerPort)
	}
	return fmt.Sprintf("%s:%d", e.ServerIPAddress, e.ServerPort)
}

func framesText(dir string, f har.Frames) string {
	return fmt.Sprintf("%d messages of %d B %s", f.Messages, f.Bytes, dir)
}

func (p *entryPrinter) request(e *har.Entry) {
	r := &e.Request
	p.title("request", headSize(r.HeadersSize))
	p.headLine(">", blue, strings.TrimSpace(r.Method+" "+requestTarget(e)+" "+r.HTTPVersion))
	p.fields(">", r.PseudoHeaders)
	p.fields(">", r.Headers)
	if d := r.PostData; d != nil {
		p.title("request body", d.MimeType, sizeText(r.BodySize))
		p.note(&d.BodyNote)
		if d.Base64 != "" {
			p.base64(d.Base64)
		} else if d.Encoding == "base64" {
			p.base64(d.Text)
		} else if d.Text == "" && len(d.Params) > 0 { // of another program
			for _, param := range d.Params {
				p.text(printable(param.Name) + "=" + printable(param.Value) + "\n")
			}
		} else {
			p.body(d.Text)
		}
	}
	p.trailers("request", ">", r.Trailers)
}

// requestTarget is the request-target as far as the URL tells it (RFC 9112 §3.2).
func requestTarget(e *har.Entry) string {
	_, rest, absolute := strings.Cut(e.Request.URL, "://")
	i := strings.IndexAny(rest, "/?")
	switch {
	case !absolute || e.Via == "plain":
		return e.Request.URL
	case e.Request.Method == "CONNECT" && !strings.HasPrefix(e.Request.URL, "ws"): // but for a WebSocket's (RFC 8441)
		return strings.TrimSuffix(rest, "/")
	case i < 0:
		return "/"
	}
	return rest[i:]
}

func (p *entryPrinter) response(e *har.Entry) {
	r := &e.Response
	for _, i := range r.Informational {
		p.title("informational response")
		p.headLine("<", cyan, r.HTTPVersion+" "+strconv.Itoa(i.Status))
		p.fields("<", i.Headers)
	}
	if r.Status <= 0 {
		p.title("no response")
		if c := &r.Content; c.Text != nil && *c.Text != "" || r.BodySize > 0 { // one that is no HTTP
			p.responseBody(r, "what came instead")
		}
		return
	}
	p.title("response", headSize(r.HeadersSize))
	p.headLine("<", statusColor(e), strings.TrimSpace(r.HTTPVersion+" "+strconv.Itoa(r.Status)+" "+r.StatusText))
	p.fields("<", r.PseudoHeaders)
	p.fields("<", r.Headers)
	if r.Content.Text != nil || r.BodySize > 0 {
		p.responseBody(r, "response body")
	}
	p.trailers("response", "<", r.Trailers)
}

func (p *entryPrinter) responseBody(r *har.Response, name string) {
	c := &r.Content
	size := ""
	if r.BodySize >= 0 {
		size = sizeText(r.BodySize)
	}
	if c.Size >= 0 && c.Size != r.BodySize && c.Text != nil {
		size = strings.TrimPrefix(size+", "+sizeText(c.Size)+" decoded", ", ")
	}
	p.title(name, c.MimeType, size)
	p.note(&c.BodyNote)
	switch {
	case c.Text == nil:
		p.remark("not kept")
	case c.Encoding == "base64":
		p.base64(*c.Text)
	default:
		p.body(*c.Text)
	}
}

func headSize(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("head of %d B", n)
}

func (p *entryPrinter) headLine(mark string, c sgr, line string) {
	p.text(mark + " " + p.paint(c, printable(line)) + "\n")
}

func (p *entryPrinter) fields(mark string, list []har.Header) {
	for _, h := range list {
		value := h.Value
		if b, err := base64.StdEncoding.DecodeString(h.ValueBase64); err == nil && len(b) > 0 {
			value = string(b) // printable spells out what is not UTF-8
		}
		p.text(mark + " " + p.paint(dim, printable(h.Name)+":") + " " + printable(value) + "\n")
	}
}

func (p *entryPrinter) trailers(of, mark string, list []har.Header) {
	if len(list) > 0 {
		p.title(of + " trailers")
		p.fields(mark, list)
	}
}

// remark prints what is not the entry's own.
func (p *entryPrinter) remark(text string) {
	p.text(p.paint(yellow, "("+printable(text)+")") + "\n")
}

func (p *entryPrinter) note(n *har.BodyNote) {
	if n.Undecoded != "" {
		p.remark("as it came, since it could not be decoded: " + n.Undecoded)
	}
	if n.Misencoded != "" {
		p.remark("decoded as far as it goes: " + n.Misencoded)
	}
	if n.Truncated {
		kept := ""
		if n.KeptSize != nil {
			kept = fmt.Sprintf(": %d B were kept", *n.KeptSize)
		}
		p.remark("only the beginning" + kept)
	}
	if n.SHA256 != "" {
		p.text(p.paint(dim, "SHA-256 "+printable(n.SHA256)) + "\n")
	}
}

func (p *entryPrinter) body(text string) {
	text = printableText(text)
	p.text(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		p.text("\n")
	}
}

// base64 prints a body that is in base64: text as such, a dump of what is none.
func (p *entryPrinter) base64(encoded string) {
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		p.remark("base64 that can't be read: " + err.Error())
		return
	}
	if isText(b) {
		p.body(string(b))
		return
	}
	p.text(hex.Dump(b[:min(len(b), mostDump)]))
	if len(b) > mostDump {
		p.remark(fmt.Sprintf("%d B more", len(b)-mostDump))
	}
}

func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return utf8.Valid(b)
}

func (p *entryPrinter) messages(e *har.Entry) {
	if len(e.WebSocketMessages) > 0 || e.WebSocketClose != nil {
		p.title("messages")
	}
	for _, m := range e.WebSocketMessages {
		mark, c := "<", green
		if m.Type == "send" {
			mark, c = ">", blue
		}
		at := time.UnixMicro(int64(m.Time)).UTC().Format("15:04:05.000000")
		p.text(p.paint(c, mark+" "+at) + " ")
		if m.Opcode == 1 && m.Encoding == "" {
			p.text(printable(m.Data) + "\n")
		} else if b, err := base64.StdEncoding.DecodeString(m.Data); err == nil {
			p.text(fmt.Sprintf("opcode %d, %d B\n", m.Opcode, len(b)) + hex.Dump(b[:min(len(b), mostDump)]))
		} else {
			p.text(fmt.Sprintf("opcode %d: %s\n", m.Opcode, printable(m.Data)))
		}
		if m.Truncated {
			p.remark("only the beginning")
		}
	}
	if c := e.WebSocketClose; c != nil {
		p.text("closed " + printable(named("by", c.By)) + " " + strconv.Itoa(c.Code) + " " + printable(c.Reason) + "\n")
	}
	p.grpcMessages(e.GRPCMessages)
}

func (p *entryPrinter) grpcMessages(list []har.GRPCMessage) {
	if len(list) > 0 {
		p.title("gRPC messages")
	}
	for _, m := range list {
		mark, c := "<", green
		if m.Type == "send" {
			mark, c = ">", blue
		}
		line := fmt.Sprintf("%d B", m.Size)
		if m.Compressed {
			line += ", compressed"
		}
		if m.Trailers {
			line += ", trailers"
		}
		p.text(p.paint(c, mark) + " " + line + "\n")
		p.base64(m.Data)
		if m.Truncated {
			p.remark("only the beginning")
		}
	}
}
