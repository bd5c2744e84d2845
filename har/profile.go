package har

import (
	"encoding/base64"
	"net/netip"
	"regexp"
	"slices"
	"strings"

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
		{"k6", "what har-to-k6 takes: requests for http:// and https:// that were let through,\nno CONNECT; forms and queries as they were sent, not taken apart", false, forK6},
		{"webarena", "for WebArena-Verified: no tunnels, and not what browsers ask on their own\nbehalf (updates, accounts, suggestions); JSON always as text, without a mark", false, forWebArena},
		{"mitmproxy", "no Content-Encoding that mitmproxy can't make anew (a list, one that it does\nnot know): the contents are decoded already; no host that it takes for none", false, forMitmproxy},
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
// nothing where there is no text. It compares a POST's bytes with the text's, if
// there are any: Chromium does not show it those of an uploaded file. It follows
// a redirect to the URL of an entry, which has no fragment.
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
	if e.Response.Status/100 == 3 {
		for i := range e.Response.Headers {
			if h := &e.Response.Headers[i]; strings.EqualFold(h.Name, "Location") {
				h.Value, _, _ = strings.Cut(h.Value, "#")
			}
		}
	}
	p := e.Request.PostData
	switch {
	case p == nil:
	case slices.ContainsFunc(p.Params, func(p Param) bool { return p.FileName != "" }):
		e.Request.PostData = nil
	case p.Base64 != "":
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
// second Content-Type and for a field without a name. Forms and queries that are
// taken apart it decodes once more, so that a percent sign is an error, makes one
// value of several, and appends to a URL what it does not find in it. What is
// left it sends as it stands, so that a body has no coding any more. What looks
// like ${a variable} in a request must be one, or it refuses the file too.
func forK6(e *Entry) bool {
	r := &e.Request
	if r.Method == "" || e.isTunnel() || e.Refused != nil || !strings.HasPrefix(r.URL, "http") {
		return false
	}
	headers, typed := r.Headers[:0], false
	for _, h := range r.Headers {
		contentType := strings.EqualFold(h.Name, "Content-Type")
		decoded := strings.EqualFold(h.Name, "Content-Encoding") && r.PostData != nil && r.PostData.Undecoded == "" && r.PostData.Misencoded == ""
		if h.Name == "" || contentType && typed || decoded {
			continue
		}
		typed = typed || contentType
		headers = append(headers, h)
	}
	r.Headers, r.QueryString = headers, nil
	if r.PostData != nil {
		r.PostData.Params = nil
	}
	return !hasK6Variable(r)
}

var k6Variable = regexp.MustCompile(`\$\{[^}\r\n\t\f\v]*\}`)

func hasK6Variable(r *Request) bool {
	for _, h := range r.Headers {
		if k6Variable.MatchString(h.Name) || k6Variable.MatchString(h.Value) { // cookies too
			return true
		}
	}
	return k6Variable.MatchString(r.Method) || r.PostData != nil && k6Variable.MatchString(r.PostData.Text)
}

// forWebArena: without a list of sites the first entry of a trace tells which
// site a task is about, and whatever a browser navigates to last is the answer.
func forWebArena(e *Entry) bool {
	host, _ := urlHost(e.Request.URL)
	e.Response.Content.asJSON()
	return !e.isTunnel() && !isBackground(host)
}

// asJSON makes of what JSON there is a text as a page has it: without a byte order
// mark, with U+FFFD in the place of each byte that is not UTF-8. A reader that
// parses it knows no base64, and takes no mark.
func (c *Content) asJSON() {
	if c.Text == nil || c.Undecoded != "" || !isJSON(parseMedia(c.MimeType).typ) {
		return
	}
	if c.Encoding == "base64" {
		text := string(answerBytes(c))
		c.Text, c.Encoding = &text, ""
	}
	text, marked := strings.CutPrefix(*c.Text, "\ufeff")
	if !marked {
		return
	}
	c.Text = &text
	if c.Charset == "" { // else the size is not the text's
		c.Size -= int64(len("\ufeff"))
		c.Compression = nil
	}
}

// forMitmproxy: it codes each answer's content once more, and reads no further
// than one with a coding that it does not know, or with several, or than a host
// that is no name.
func forMitmproxy(e *Entry) bool {
	if !mitmproxyHost(e.Request.URL) {
		return false
	}
	r := &e.Response
	var codings []string
	for _, h := range r.Headers {
		if isContentEncoding(h) {
			codings = append(codings, h.Value)
		}
	}
	if !mitmproxyCodes(strings.Join(codings, ", ")) {
		r.Headers = slices.DeleteFunc(r.Headers, isContentEncoding)
	}
	return true
}

func isContentEncoding(h Header) bool { return strings.EqualFold(h.Name, "Content-Encoding") }

// mitmproxyHost says whether mitmproxy takes a URL's host for one
// (mitmproxy/net/check.py): it undoes no percent-encoding.
func mitmproxyHost(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if strings.Contains(rest, "%") {
		return false
	}
	host, _ := urlHost(url)
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	if host == "" || len(host) > 255 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		outside := func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		}
		if label == "" || len(label) > 63 || strings.IndexFunc(label, outside) >= 0 {
			return false
		}
	}
	return true
}

// mitmproxyCodes tells the codings that mitmproxy makes (mitmproxy/net/encoding.py).
func mitmproxyCodes(coding string) bool {
	switch strings.ToLower(coding) {
	case "", "none", "identity", "gzip", "deflate", "deflateraw", "br", "zstd":
		return true
	}
	return false
}
