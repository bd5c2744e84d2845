package har

import (
	"regexp"
	"strconv"
	"strings"
)

// entryRules holds an entry that was read against all rules.
func (c *checker) entryRules() {
	e := c.entry
	if !e.value.is(kindObject) {
		c.devtoolsObject("", e.value)
		return
	}
	c.times(e)
	c.order(e)
	c.sizes(e)
	c.encoded("response.content", &e.response.content)
	if p := e.request.post; p != nil {
		c.encoded("request.postData", &p.bodyFacts)
	}
	if e.request.url.hash {
		c.invariant("request.url", e.request.url, "has a fragment, which is the browser's alone")
	}
	c.pageref(e)
	c.devtools(e)
	c.safari(e)
	c.versions(e)
	c.addresses(e)
	c.starts(e)
	c.k6(e)
	c.mitmproxy(e)
	c.playwright(e)
	c.webarena(e)
	if c.stats.Ours {
		c.ours(e)
	}
}

// safari: Web Inspector takes what is not -1 for a time (LocalResource.js).
func (c *checker) safari(e *entryFacts) {
	if !e.timings.value.is(kindObject) {
		return
	}
	for i, v := range e.timings.phases[:phaseSend] {
		if v.kind == 0 {
			c.warn("safari", "timings."+phaseNames[i], e.timings.value, "is missing: it makes NaN of all times; -1 is for what did not happen")
			return
		}
	}
}

// versions: how readers take httpVersion.
func (c *checker) versions(e *entryFacts) {
	for _, leg := range [...]struct {
		field string
		v     value
	}{{"request.httpVersion", e.request.version}, {"response.httpVersion", e.response.version}} {
		v := leg.v
		if !v.is(kindString) {
			continue
		}
		if !versionForm.MatchString(v.text) {
			c.fault("httptoolkit", leg.field, v, "is %s: it refuses the file", v.what())
			c.fault("zap", leg.field, v, "is %s: it passes over the entry", v.what())
		}
		switch v.text {
		case "", "HTTP/1.0", "HTTP/1.1", "http/2.0", "HTTP/2", "HTTP/3":
		default:
			c.warn("mitmproxy", leg.field, v, "is %s, which it takes for HTTP/1.1", v.what())
		}
	}
}

// versionForm is what HTTP Toolkit and ZAP know.
var versionForm = regexp.MustCompile(`(?i)^(http/\d(\.\d)?|h3)?$`)

// addresses: what readers do with URLs and with connection.
func (c *checker) addresses(e *entryFacts) {
	if v := e.request.url; v.is(kindString) && v.whole() {
		if why := notURL(v.text); why != "" {
			c.fault("httptoolkit", "request.url", v, "is %s, which %s: it refuses the file", v.what(), why)
			c.fault("openapi", "request.url", v, "is %s, which %s: it passes over the entry", v.what(), why)
		}
	}
	if v := e.connection; v.is(kindString) {
		if _, err := strconv.ParseInt(strings.TrimSpace(v.text), 10, 64); err != nil {
			c.warn("haralyzer", "connection", v, "is %s: it fails to make a port of it", v.what())
		}
	}
}

// starts: Python's fromisoformat before 3.11, which readers call for times.
func (c *checker) starts(e *entryFacts) {
	v := e.start
	if !v.is(kindString) || !startForm.MatchString(v.text) {
		return
	}
	switch n := fractionDigits(v.text); {
	case n != 0 && n != 3 && n != 6:
		c.fault("python", "startedDateTime", v, "is %s: before Python 3.11 fromisoformat takes 3 or 6 digits behind the point, not %d", v.what(), n)
	case !zoneForm.MatchString(v.text):
		c.fault("python", "startedDateTime", v, "is %s: before Python 3.11 fromisoformat wants a zone as +02:00", v.what())
	}
}

var zoneForm = regexp.MustCompile(`(Z|[+-]\d\d:\d\d)$`)

// mitmproxy reads no further than an entry of which it can't make a flow
// (mitmproxy/io/har.py).
func (c *checker) mitmproxy(e *entryFacts) {
	const ends = ": it reads no further"
	if v := e.request.url; v.is(kindString) {
		switch why := notURL(v.text); {
		case v.wide:
			c.fault("mitmproxy", "request.url", v, "is %s, which is not ASCII%s", v.what(), ends)
		case !hostURL.MatchString(v.text):
			c.fault("mitmproxy", "request.url", v, "is %s, which has no host%s", v.what(), ends)
		case why != "" && v.whole():
			c.fault("mitmproxy", "request.url", v, "is %s, which %s%s", v.what(), why, ends)
		case v.whole() && !mitmproxyHost(v.text):
			c.fault("mitmproxy", "request.url", v, "is %s, whose host it takes for none%s", v.what(), ends)
		}
	}
	if v := e.start; startForm.MatchString(v.text) {
		if _, ok := parseStart(v.text); !ok {
			c.fault("mitmproxy", "startedDateTime", v, "is %s, which is no date%s", v.what(), ends)
		}
	}
	if p := e.request.post; p != nil && p.value.is(kindObject) && p.text.kind == 0 {
		c.fault("mitmproxy", "request.postData.text", p.value, "is missing%s", ends)
	}
	if h := &e.response.headers; !mitmproxyCodes(h.coding) {
		c.fault("mitmproxy", "response.headers", h.value, "has the Content-Encoding %s, which it can't make anew%s", safeName(h.coding), ends)
	}
}

var hostURL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]`)

// playwright: what routeFromHAR serves.
func (c *checker) playwright(e *entryFacts) {
	r := &e.response
	if n, ok := r.status.integer(); ok && n == 0 {
		c.warn("playwright", "response.status", r.status, "is 0, for which it serves an empty 200; -1 is for no answer")
	}
	b := &r.content
	if b.file.is(kindString) && b.text.kind == 0 {
		c.warn("playwright", "response.content._file", b.file, "is %s: it alone looks for the body there", b.file.what())
	}
	if charset := parseMedia(r.headers.contentType).param("charset"); b.text.wide && !b.isBase64() && charset != "" && charsetName(strings.ToLower(charset)) != "utf-8" {
		c.warn("playwright", "response.content.text", b.text, "has more than ASCII, which it serves as UTF-8 with a Content-Type that says %s", safeName(charset))
	}
}
