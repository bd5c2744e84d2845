package netlog

import (
	"encoding/base64"
	"io"
	"slices"
	"strconv"
)

func (e *encoder) request(r *Request) {
	if r == nil {
		return
	}
	e.object(`"request":`)
	e.stringIf(`"method":`, r.Method)
	e.stringIf(`"url":`, r.URL)
	e.target(r.Target)
	e.stringIf(`"version":`, r.Version)
	e.headers(`"headers":`, r.Headers)
	e.intIf(`"header_bytes":`, r.HeaderBytes)
	e.headers(`"pseudo":`, r.Pseudo)
	e.headers(`"trailers":`, r.Trailers)
	e.body(r.Body)
	e.close()
}

// target appends a request-target: a string or, when it is not UTF-8, a string
// and the exact bytes.
func (e *encoder) target(s string) {
	if s == "" {
		return
	}
	e.key(`"target":`)
	from := len(e.b)
	var exact bool
	if e.b, exact = appendString(e.b, s); !exact {
		e.b = slices.Insert(e.b, from, '[')
		e.exact(s)
		e.b = append(e.b, ']')
	}
}

// exact appends one more element of an array, the bytes of a string that is not
// UTF-8.
func (e *encoder) exact(s string) {
	e.b = append(e.b, ',', '"')
	e.b = appendBase64(e.b, []byte(s))
	e.b = append(e.b, '"')
}

// response appends an answer: whole in an end line, in an answer line without
// what is not known before its end.
func (e *encoder) response(r *Response, ended bool) {
	e.object(`"response":`)
	e.int(`"status":`, int64(r.Status))
	e.stringIf(`"reason":`, r.Reason)
	e.stringIf(`"version":`, r.Version)
	e.headers(`"headers":`, r.Headers)
	e.intIf(`"header_bytes":`, r.HeaderBytes)
	e.headers(`"pseudo":`, r.Pseudo)
	if len(r.Informational) > 0 {
		e.key(`"informational":`)
		for i := range r.Informational {
			e.b = append(e.b, "[,"[min(i, 1)], '{')
			e.int(`"status":`, int64(r.Informational[i].Status))
			e.headers(`"headers":`, r.Informational[i].Headers)
			e.close()
		}
		e.b = append(e.b, ']')
	}
	if ended {
		e.headers(`"trailers":`, r.Trailers)
		e.body(r.Body)
		e.bool(`"complete":`, r.Complete)
	}
	e.close()
}

// headers appends field lines. One whose value is not UTF-8 has a third element,
// the exact bytes.
func (e *encoder) headers(name string, list []Header) {
	if len(list) == 0 {
		return
	}
	e.key(name)
	for i := range list {
		e.b = append(e.b, "[,"[min(i, 1)], '[')
		e.b, _ = appendString(e.b, list[i].Name)
		e.b = append(e.b, ',')
		var exact bool
		if e.b, exact = appendString(e.b, list[i].Value); !exact {
			e.exact(list[i].Value)
		}
		e.b = append(e.b, ']')
	}
	e.b = append(e.b, ']')
}

func (e *encoder) body(b *Body) {
	if b == nil {
		return
	}
	e.object(`"body":`)
	e.int(`"size":`, b.Size)
	if b.Size > 0 {
		e.stringIf(`"sha256":`, b.SHA256)
		truncated := b.Truncated
		if b.Kept != nil && b.Kept.Len() > 0 {
			if err := e.kept(b.Kept); err != nil {
				truncated, e.err = true, err
			}
		}
		e.boolIf(`"truncated":`, truncated)
		e.chunks(b.Chunks)
	}
	e.close()
}

func (e *encoder) kept(k Kept) error {
	if b, ok := k.(Bytes); ok {
		e.base64(`"base64":`, b)
		return nil
	}
	e.key(`"base64":`)
	e.b = append(e.b, '"')
	w := base64.NewEncoder(base64.StdEncoding, e)
	n, err := k.WriteTo(w)
	if err == nil && n < k.Len() {
		err = io.ErrUnexpectedEOF
	}
	w.Close()
	e.b = append(e.b, '"')
	return err
}

func (e *encoder) chunks(list []Chunk) {
	if len(list) == 0 {
		return
	}
	e.key(`"chunks":`)
	for i, c := range list {
		e.b = append(e.b, "[,"[min(i, 1)], '[')
		e.b = strconv.AppendInt(e.b, c.Offset, 10)
		e.b = append(e.b, ',')
		e.b = strconv.AppendInt(e.b, c.Micros, 10)
		e.b = append(e.b, ']')
	}
	e.b = append(e.b, ']')
}

func (e *encoder) server(s *Server) {
	if s == nil {
		return
	}
	e.object(`"server":`)
	e.stringIf(`"address":`, s.Address)
	e.intIf(`"connection":`, s.Connection)
	e.intIf(`"stream":`, s.Stream)
	e.bool(`"reused":`, s.Reused)
	if d := s.Dialled; d != nil {
		e.object(`"dialled":`)
		e.time(`"t":`, d.Time, timeLayout)
		e.phase(`"dns":`, d.DNS)
		e.phase(`"connect":`, d.Connect)
		e.phase(`"tls":`, d.TLS)
		e.close()
	}
	e.tls(`"tls":`, s.TLS)
	e.close()
}

func (e *encoder) tls(name string, t *TLS) {
	if t == nil {
		return
	}
	e.object(name)
	e.stringIf(`"version":`, t.Version)
	e.stringIf(`"cipher":`, t.Cipher)
	e.stringIf(`"alpn":`, t.ALPN)
	e.stringIf(`"sni":`, t.SNI)
	e.boolIf(`"resumed":`, t.Resumed)
	e.stringIf(`"subject":`, t.Subject)
	e.stringIf(`"issuer":`, t.Issuer)
	e.strings(`"sans":`, t.SANs)
	if !t.NotBefore.IsZero() {
		e.time(`"not_before":`, t.NotBefore, dateLayout)
	}
	if !t.NotAfter.IsZero() {
		e.time(`"not_after":`, t.NotAfter, dateLayout)
	}
	e.stringIf(`"serial":`, t.Serial)
	e.stringIf(`"sha256":`, t.SHA256)
	if t.Verified != nil {
		e.bool(`"verified":`, *t.Verified)
	}
	e.stringIf(`"unverified":`, t.Unverified)
	e.close()
}

func (e *encoder) tunnel(t *Tunnel) {
	if t == nil {
		return
	}
	e.object(`"tunnel":`)
	e.int(`"sent":`, t.Sent)
	e.int(`"received":`, t.Received)
	e.stringIf(`"sni":`, t.SNI)
	e.strings(`"alpn":`, t.ALPN)
	e.strings(`"tls_versions":`, t.TLSVersions)
	e.stringIf(`"tls_version":`, t.TLSVersion)
	e.stringIf(`"reason":`, t.Reason)
	e.close()
}

func (e *encoder) websocket(s *WebSocket) {
	if s == nil {
		return
	}
	e.object(`"websocket":`)
	e.frames(`"sent":`, &s.Sent)
	e.frames(`"received":`, &s.Received)
	if c := s.Close; c != nil {
		e.object(`"close":`)
		e.intIf(`"code":`, int64(c.Code))
		e.stringIf(`"reason":`, c.Reason)
		e.string(`"by":`, c.By)
		e.close()
	}
	e.stringIf(`"subprotocol":`, s.Subprotocol)
	e.stringIf(`"extensions":`, s.Extensions)
	if s.Recorded != nil {
		e.int(`"recorded":`, *s.Recorded)
	}
	e.close()
}

func (e *encoder) frames(name string, f *Frames) {
	e.object(name)
	e.int(`"messages":`, f.Messages)
	e.int(`"bytes":`, f.Bytes)
	e.int(`"frames":`, f.Frames)
	e.int(`"control":`, f.Control)
	e.close()
}
