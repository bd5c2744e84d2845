package proxy

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
	"github.com/agentenv/netlog/proxy/wire"
)

// removed stands in the log for the value of a field that Config.Redact names.
const removed = "<removed>"

// headers are fields as the log has them.
func (p *Proxy) headers(fields []wire.Field) []netlog.Header {
	if len(fields) == 0 {
		return nil
	}
	text := together(fields)
	hs := make([]netlog.Header, len(fields))
	for i := range fields {
		name, value := len(fields[i].Name), len(fields[i].Value)
		h := &hs[i]
		h.Name, h.Value, text = text[:name], text[name:name+value], text[name+value:]
		if p.redacts(h.Name) {
			h.Value = removed
		}
	}
	return hs
}

// together is all names and values in one string: one allocation for a head.
func together(fields []wire.Field) string {
	size := 0
	for i := range fields {
		size += len(fields[i].Name) + len(fields[i].Value)
	}
	var text strings.Builder
	text.Grow(size)
	for i := range fields {
		text.Write(fields[i].Name)
		text.Write(fields[i].Value)
	}
	return text.String()
}

func (p *Proxy) redacts(name string) bool {
	for _, secret := range p.Redact {
		if strings.EqualFold(secret, name) {
			return true
		}
	}
	return false
}

// published are a request's headers, or trailers, without what is never logged.
func (p *Proxy) published(hs []netlog.Header) []netlog.Header {
	kept := hs[:0]
	for _, h := range hs {
		if !p.withholds(h.Name, h.Value) {
			kept = append(kept, h)
		}
	}
	return kept
}

// withholds tells the fields that are never logged: credentials for the proxy, also
// those that were given to its page, and what Config.Withhold names.
func (p *Proxy) withholds(name, value string) bool {
	return strings.EqualFold(name, "Proxy-Authorization") ||
		strings.EqualFold(name, "Authorization") && p.Credentials != nil && p.takes(value) ||
		p.Withhold != nil && p.Withhold(name, value)
}

// request is what the log has of a request's head.
func (p *Proxy) request(r *wire.Request, url, target string) *netlog.Request {
	return &netlog.Request{
		Method:      string(r.Method),
		URL:         url,
		Target:      target,
		Version:     r.Version,
		Headers:     p.published(p.headers(r.Fields)),
		HeaderBytes: int64(len(r.Raw)),
	}
}

// fields are HTTP/2's fields as the log has them, but for those without a name,
// which it has no form for.
func (p *Proxy) fields(list []h2.Field) []netlog.Header {
	if len(list) == 0 {
		return nil
	}
	hs := make([]netlog.Header, 0, len(list))
	for i := range list {
		h := netlog.Header{Name: list[i].Name, Value: list[i].Value}
		switch {
		case h.Name == "":
			continue
		case p.redacts(h.Name), h.Name[0] == ':' && namesUser(h.Name, h.Value):
			h.Value = removed
		}
		hs = append(hs, h)
	}
	return hs
}

// namesUser tells a user name, and maybe a password, where a malformed request has
// them. Neither is ever logged.
func namesUser(pseudo, value string) bool {
	return (pseudo == ":authority" || pseudo == ":path" && value != "" && value[0] != '/') && strings.Contains(value, "@")
}

// split gives a head's pseudo-header fields and the others. In a malformed one they
// may stand among each other.
func (p *Proxy) split(h *h2.Head) (pseudo, regular []netlog.Header) {
	all := p.fields(h.Fields)
	isPseudo := func(h netlog.Header) bool { return h.Name[0] == ':' }
	n := slices.IndexFunc(all, func(h netlog.Header) bool { return !isPseudo(h) })
	if n < 0 {
		return all, nil
	}
	pseudo, regular = all[:n:n], all[n:]
	if slices.ContainsFunc(regular, isPseudo) {
		for _, h := range regular {
			if isPseudo(h) {
				pseudo = append(pseudo, h)
			}
		}
		regular = slices.DeleteFunc(regular, isPseudo)
	}
	return pseudo, regular
}

// trailers are those of a body as the log has them.
func (p *Proxy) trailers(b *body) []netlog.Header {
	if b.fields != nil {
		return p.fields(b.fields)
	}
	return p.headers(b.trailers())
}

// streamRequest is what the log has of a request's head in HTTP/2.
func (p *Proxy) streamRequest(h *h2.Head, url, target string) *netlog.Request {
	method, _ := h.Get(":method")
	pseudo, headers := p.split(h)
	return &netlog.Request{
		Method:      method,
		URL:         url,
		Target:      target,
		Version:     "HTTP/2",
		Headers:     p.published(headers),
		HeaderBytes: int64(h.Size),
		Pseudo:      pseudo,
	}
}

// streamResponse is what the log has of an answer's head in HTTP/2.
func (p *Proxy) streamResponse(h *h2.Head) *netlog.Response {
	pseudo, headers := p.split(h)
	return &netlog.Response{
		Status:      h.Status(),
		Version:     "HTTP/2",
		Headers:     headers,
		HeaderBytes: int64(h.Size),
		Pseudo:      pseudo,
	}
}

// response is what the log has of an answer's head.
func (p *Proxy) response(a *wire.Answer) *netlog.Response {
	return &netlog.Response{
		Status:      a.Status,
		Reason:      string(a.Reason),
		Version:     a.Version,
		Headers:     p.headers(a.Fields),
		HeaderBytes: int64(len(a.Raw)),
	}
}

// browserLeg is what the log has of the TLS session with the browser.
func browserLeg(s tls.ConnectionState) *netlog.TLS {
	return &netlog.TLS{
		Version: tls.VersionName(s.Version),
		Cipher:  tls.CipherSuiteName(s.CipherSuite),
		ALPN:    s.NegotiatedProtocol,
		SNI:     s.ServerName,
		Resumed: s.DidResume,
	}
}

// serverLeg is what the log has of the TLS session with the server, which was
// taken although its certificate is unverified.
func serverLeg(s tls.ConnectionState, sni string, unverified error) *netlog.TLS {
	t := browserLeg(s)
	t.SNI = sni
	t.Verified = new(unverified == nil)
	if unverified != nil {
		t.Unverified = unverified.Error()
	}
	if len(s.PeerCertificates) > 0 {
		describe(t, s.PeerCertificates[0])
	}
	return t
}

func describe(t *netlog.TLS, cert *x509.Certificate) {
	t.Subject = cert.Subject.String()
	t.Issuer = cert.Issuer.String()
	t.SANs = append(t.SANs, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		t.SANs = append(t.SANs, ip.String())
	}
	t.NotBefore, t.NotAfter = cert.NotBefore.UTC(), cert.NotAfter.UTC()
	t.Serial = cert.SerialNumber.Text(16)
	sum := sha256.Sum256(cert.Raw)
	t.SHA256 = hex.EncodeToString(sum[:])
}
