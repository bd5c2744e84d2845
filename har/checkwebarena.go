package har

import "strings"

// webarena: WebArena-Verified 1.2.3 (core/utils/network_event_utils). What it
// refuses ends in an error, of a score of 0; what it misreads, in a wrong score.
func (c *checker) webarena(e *entryFacts) {
	const rule = "webarena"
	r := &e.request
	if c.stats.Entries == 1 && r.method.text == "CONNECT" {
		c.warn(rule, "request.method", r.method, "is CONNECT in the first entry: without a configuration it takes that for the site")
	}
	switch v := r.url; {
	case !v.is(kindString):
	case v.size == 0:
		c.fault(rule, "request.url", v, "is empty: its evaluators fail")
	case !balanced(v.text):
		c.fault(rule, "request.url", v, "is %s: its evaluators fail to split it", v.what())
	case v.hash:
		c.warn(rule, "request.url", v, "has a fragment, which it compares, too")
	}
	if v := r.method; v.is(kindString) && v.text != strings.ToUpper(v.text) {
		c.warn(rule, "request.method", v, "is %s: it looks for upper case", v.what())
	}
	if n := r.headers.cookieFields; n > 1 {
		c.warn(rule, "request.headers", r.headers.value, "has Cookie %d times, of which it reads the last", n)
	}
	if p := r.post; p != nil && p.value.is(kindObject) {
		c.webarenaPost(p)
	}
	c.webarenaAnswer(e)
}

// balanced says whether Python's urlsplit takes the brackets of a host.
func balanced(url string) bool {
	_, rest, ok := strings.Cut(url, "//")
	if !ok {
		return true
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return strings.Contains(rest, "[") == strings.Contains(rest, "]")
}

func (c *checker) webarenaPost(p *postFacts) {
	const rule = "webarena"
	switch {
	case p.isBase64():
		c.warn(rule, "request.postData.encoding", p.encoding, "is nothing to it: it reads the base64 as text")
	case p.text.kind == 0 && p.params.n > 0:
		c.warn(rule, "request.postData.text", p.value, "is missing: it does not read params")
	}
	c.webarenaMark("request.postData.text", p.text, p.mimeType)
	m := p.mimeType
	if !m.is(kindString) {
		return
	}
	media := parseMedia(m.text)
	boundary := media.param("boundary")
	switch {
	case strings.HasPrefix(media.typ, "multipart/form-data") && !strings.Contains(m.text, "boundary="+boundary),
		strings.HasPrefix(media.typ, "multipart/form-data") && boundary == "",
		strings.HasPrefix(media.typ, "multipart/form-data") && !strings.Contains(m.text, media.typ),
		media.typ == "application/json" && !strings.Contains(m.text, media.typ),
		media.typ == "application/x-www-form-urlencoded" && !strings.Contains(m.text, media.typ):
		c.warn(rule, "request.postData.mimeType", m, "is %s: it looks for a type and a boundary= in lower case, without quotes", m.what())
	}
}

// webarenaMark looks for JSON that Python's parser refuses.
func (c *checker) webarenaMark(field string, text, mimeType value) {
	if strings.HasPrefix(text.text, "\ufeff") && strings.Contains(mimeType.text, "application/json") {
		c.warn("webarena", field, text, "begins with a byte order mark: it can't parse the JSON behind that")
	}
}

func (c *checker) webarenaAnswer(e *entryFacts) {
	const rule = "webarena"
	r := &e.response
	b := &r.content
	if b.isBase64() && b.text.size > 0 && strings.Contains(b.mimeType.text, "application/json") {
		c.warn(rule, "response.content.encoding", b.encoding, "is nothing to it: it reads the base64 as JSON")
	}
	c.webarenaMark("response.content.text", b.text, b.mimeType)
	if b.text.kind == 0 && b.file.kind == kindString && strings.Contains(b.mimeType.text, "application/json") {
		c.warn(rule, "response.content.text", b.value, "is missing: it does not look into %s", b.file.what())
	}
	if r.cookies.value.is(kindArray) && r.cookies.n < r.headers.setCookies {
		c.warn(rule, "response.cookies", r.cookies.value, "has %d of the %d cookies that Set-Cookie sets, and it reads no other place", r.cookies.n, r.headers.setCookies)
	}
	if n, ok := r.status.integer(); ok && n == 304 && e.request.method.text == "GET" && strings.HasPrefix(e.request.headers.accept, "text/html") {
		c.warn(rule, "response.status", r.status, "is 304 of a page, where a browser's own HAR has the 200 that it compares with")
	}
}
