package har

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// A Profile makes a HAR's entries what one reader wants them to be where that
// is not what the others want.
type Profile struct {
	Name    string            // as a user writes it
	About   string            // what it does, for people, in short lines
	Gzip    bool              // the reader takes a compressed HAR
	Rewrite func(*Entry) bool // for Options
}

// Profiles are all of them.
func Profiles() []Profile {
	return []Profile{
		{"devtools", "HTTP versions as Chrome spells them (http/2.0, h3)", true, forDevTools},
		{"playwright", "what routeFromHAR can serve again: whole answers, no failed tries, no 304;\ntext in old charsets and binary uploads in base64", false, forPlaywright},
		{"k6", "what har-to-k6 takes: requests for http:// and https:// that were let through,\nno CONNECT; forms percent-encoded, queries in the URL alone", false, forK6},
		{"webarena", "for WebArena-Verified: no tunnels, and not what browsers ask on their own\nbehalf (updates, accounts, suggestions)", false, forWebArena},
	}
}

// forDevTools: Chrome's importer knows HTTP/2 by the spelling of its own export
// alone, and shows whatever else as it is.
func forDevTools(e *Entry) bool {
	for _, v := range [...]*string{&e.Request.HTTPVersion, &e.Response.HTTPVersion} {
		switch *v {
		case "HTTP/2":
			*v = "http/2.0"
		case "HTTP/3":
			*v = "h3"
		}
	}
	return true
}

// forPlaywright: of several entries for a request Playwright serves the first,
// whatever became of it, its text in UTF-8 whatever the Content-Type says, and
// nothing where there is no text. It compares a POST's bytes with the text's.
func forPlaywright(e *Entry) bool {
	c := &e.Response.Content
	stream := e.ResourceType == "eventsource" // which ends by breaking off
	switch {
	case e.Open, e.Response.Status <= 0, e.Failed != nil && !stream:
		return false
	case e.Response.Status == 304:
		return false // the browser that asks has no cache
	case c.Undecoded != "", c.Truncated, c.Text == nil && e.Response.BodySize > 0:
		return false
	}
	if c.Charset != "" {
		if b, ok := encodeText(*c.Text, c.Charset); ok {
			text := base64.StdEncoding.EncodeToString(b)
			c.Text, c.Encoding, c.Charset = &text, "base64", ""
		}
	}
	if p := e.Request.PostData; p != nil && p.Base64 != "" {
		p.Text, p.Encoding, p.Base64 = p.Base64, "base64", ""
	}
	return true
}

// encodeText undoes transcode.
func encodeText(text, charset string) ([]byte, bool) {
	e, err := htmlindex.Get(charset)
	if err != nil {
		return nil, false
	}
	b, err := e.NewEncoder().Bytes([]byte(text))
	return b, err == nil
}

// forK6: har-to-k6 refuses the whole file for a request without a method, for a
// second Content-Type and for a field without a name. It decodes forms and
// queries, so that a percent sign in a decoded one is an error, and appends to a
// URL what it does not find in it, such as a parameter's second value.
func forK6(e *Entry) bool {
	r := &e.Request
	if r.Method == "" || e.isTunnel() || e.Refused != nil || !strings.HasPrefix(r.URL, "http") {
		return false
	}
	headers, typed := r.Headers[:0], false
	for _, h := range r.Headers {
		contentType := strings.EqualFold(h.Name, "Content-Type")
		if h.Name == "" || contentType && typed {
			continue
		}
		typed = typed || contentType
		headers = append(headers, h)
	}
	r.Headers, r.QueryString = headers, nil
	if p := r.PostData; p != nil {
		p.Params = k6Params(p)
	}
	return true
}

// k6Params are a form's parameters for har-to-k6; none where it is to take the
// text.
func k6Params(p *PostData) []Param {
	typ := parseMedia(p.MimeType).typ
	if typ == "multipart/form-data" {
		return p.Params
	} else if typ != "application/x-www-form-urlencoded" {
		return nil
	}
	for i := range p.Params {
		one := &p.Params[i]
		if !utf8.ValidString(one.Name) || !utf8.ValidString(one.Value) {
			return nil // decodeURIComponent throws
		}
		one.Name, one.Value = encodeComponent(one.Name), encodeComponent(one.Value)
	}
	return p.Params
}

// encodeComponent is JavaScript's encodeURIComponent.
func encodeComponent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.!~*'()", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// forWebArena: without a list of sites the first entry of a trace tells which
// site a task is about, and whatever a browser navigates to last is the answer.
func forWebArena(e *Entry) bool {
	host, _ := urlHost(e.Request.URL)
	return !e.isTunnel() && !isBackground(host)
}
