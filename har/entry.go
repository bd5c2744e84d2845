package har

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// A process is what one run of the proxy tells all its entries.
type process struct {
	first  int64 // the number of its first start line
	limits netlog.Limits
}

// A builder makes entries of records.
type builder struct {
	decoder  decoder
	maxBody  int64 // of Options
	noBodies bool
	most     int64 // bounds decoded bodies below their limit, which cut then says; 0: not at all
	cut      bool
}

const (
	// What is kept without a start line that says otherwise: the format's defaults.
	defaultRequestBody  = 10 << 20
	defaultResponseBody = 1 << 20

	// wholeBody is up to how many bytes a body that the log has whole is decoded,
	// whatever the log keeps of one: to a grader half of a JSON is none.
	wholeBody = 10 << 20

	// wholeRatio bounds that for bodies of which few bytes were sent. No text is
	// compressed so far; a bomb costs what the log keeps of a body.
	wholeRatio = 256
)

// limit is how many bytes of a body are decoded. logged is what the log's process
// kept of one.
func (b *builder) limit(body *netlog.Body, logged int64) int64 {
	if b.maxBody > 0 {
		return b.maxBody
	} else if body == nil || body.Kept == nil {
		return logged
	}
	return max(logged, min(wholeBody, wholeRatio*body.Kept.Len()))
}

// payload decodes a body as far as its limit.
func (b *builder) payload(body *netlog.Body, codings []string, logged int64) payload {
	limit := b.limit(body, logged)
	if b.most == 0 || limit <= b.most {
		return b.decoder.payload(body, codings, limit)
	}
	p := b.decoder.payload(body, codings, b.most)
	b.cut = b.cut || p.over
	return p
}

// entry makes a record's entry.
func (b *builder) entry(p process, r *record) *Entry {
	o, end := r.open, r.end
	e := &Entry{
		StartedDateTime: formatTime(o.Time),
		ID:              r.id,
		Via:             string(o.Via),
		Site:            o.Site,
		Timings:         timings(end),
		Open:            end == nil,
	}
	e.Time = e.Timings.total()
	if end == nil {
		end = &netlog.End{}
	}
	response := r.response()
	webSocket := end.WebSocket != nil || wantsWebSocket(o.Request)
	b.request(p, r, webSocket, e)
	b.response(p, r, response, e)
	e.outcome(r.end)

	e.ResourceType = resourceType(o.Request, response, webSocket)
	if o.Request != nil {
		if referer := header(o.Request.Headers, "Referer"); referer != "" {
			e.Initiator = &Initiator{Type: "other", URL: referer}
		}
	}
	e.server(p, end)
	e.Changed, e.Unparsed = end.Changed, end.Unparsed
	if t := end.Tunnel; t != nil {
		e.Tunnel = &Tunnel{Sent: counted(t.Sent), Received: counted(t.Received), SNI: t.SNI, ALPN: t.ALPN, TLSVersions: t.TLSVersions, TLSVersion: t.TLSVersion, Reason: t.Reason}
	}
	e.webSocket(end.WebSocket, r.messages)
	return e
}

// timings gives an end's phases, whatever it holds, so that every reader's
// rules are kept: three are never negative and ssl lies inside connect.
func timings(end *netlog.End) Timings {
	if end == nil {
		return Timings{Blocked: None, DNS: None, Connect: None, SSL: None}
	}
	const most = 1e15 // three decades: sums stay exact in a float64
	optional := func(micros int64) Millis {
		if micros < 0 {
			return None
		}
		return Millis(min(micros, most))
	}
	t := end.Timings
	out := Timings{
		Blocked: optional(t.Blocked),
		DNS:     optional(t.DNS),
		Connect: optional(t.Connect),
		SSL:     optional(t.TLS),
		Send:    max(optional(t.Send), 0),
		Wait:    max(optional(t.Wait), 0),
		Receive: max(optional(t.Receive), 0),
	}
	out.SSL = min(out.SSL, out.Connect)
	return out
}

// total is the sum that an entry's time has to be.
func (t *Timings) total() Millis {
	sum := t.Send + t.Wait + t.Receive
	for _, optional := range [...]Millis{t.Blocked, t.DNS, t.Connect} {
		if optional != None {
			sum += optional
		}
	}
	return sum
}

// outcome says how the entry ended.
func (e *Entry) outcome(end *netlog.End) {
	if end == nil {
		return
	}
	if f := end.Failed; f != nil {
		e.Failed = &Failed{Phase: string(f.Phase), Code: string(f.Code), Reason: f.Reason}
	}
	if f := end.Refused; f != nil {
		e.Refused = &Refused{Code: string(f.Code), Reason: f.Reason, Status: f.Status}
	}
	switch {
	case end.Failed != nil:
		e.Response.Error = sentence(end.Failed.Reason, string(end.Failed.Phase), string(end.Failed.Code))
	case end.Refused != nil:
		e.Response.Error = sentence(end.Refused.Reason, "refused", string(end.Refused.Code))
	case end.Unparsed:
		e.Response.Error = "the answer could not be read as HTTP"
	case e.Response.Status < 0:
		e.Response.Error = "no answer was recorded"
	}
}

func sentence(reason string, words ...string) string {
	if reason != "" {
		return reason
	}
	return strings.Join(words, ": ")
}

// server says which connection the entry went on.
func (e *Entry) server(p process, end *netlog.End) {
	e.ClientTLS = clientTLS(end.ClientTLS)
	s := end.Server
	if s == nil {
		return
	}
	if addr, err := netip.ParseAddrPort(s.Address); err == nil {
		e.ServerIPAddress = addr.Addr().String()
		e.ServerPort = int64(addr.Port())
		e.Connection = strconv.Itoa(int(addr.Port()))
	}
	if s.Connection > 0 {
		e.ConnectionID = strconv.FormatInt(p.first, 10) + "-" + strconv.FormatInt(s.Connection, 10)
	}
	e.StreamID = s.Stream
	if t := s.TLS; t != nil {
		e.SecurityDetails = &SecurityDetails{
			Protocol: t.Version, SubjectName: commonName(t.Subject), Issuer: commonName(t.Issuer),
			ValidFrom: seconds(t.NotBefore), ValidTo: seconds(t.NotAfter),
			Cipher: t.Cipher, ALPN: t.ALPN, SNI: t.SNI, SANList: t.SANs,
			Serial: t.Serial, SHA256: t.SHA256, Resumed: t.Resumed, Verified: t.Verified, Unverified: t.Unverified,
		}
	}
}

func clientTLS(t *netlog.TLS) *ClientTLS {
	if t == nil {
		return nil
	}
	return &ClientTLS{Protocol: t.Version, Cipher: t.Cipher, ALPN: t.ALPN, SNI: t.SNI, Resumed: t.Resumed}
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// commonName takes the CN out of an RFC 4514 name, as browsers show it; a name
// without one stays whole.
func commonName(name string) string {
	for rest := name; rest != ""; {
		i := 0
		for i < len(rest) && rest[i] != ',' && rest[i] != '+' {
			if rest[i] == '\\' {
				i++
			}
			i++
		}
		part := rest[:min(i, len(rest))]
		if value, ok := strings.CutPrefix(part, "CN="); ok {
			return unescapeName(value)
		}
		rest = rest[min(i+1, len(rest)):]
	}
	return name
}

// unescapeName undoes RFC 4514 §2.4's escapes.
func unescapeName(v string) string {
	if !strings.Contains(v, `\`) {
		return v
	}
	b := make([]byte, 0, len(v))
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) {
			if i+2 < len(v) && unhex(v[i+1]) >= 0 && unhex(v[i+2]) >= 0 {
				b = append(b, byte(unhex(v[i+1])<<4|unhex(v[i+2])))
				i += 2
				continue
			}
			i++
		}
		b = append(b, v[i])
	}
	return string(b)
}
