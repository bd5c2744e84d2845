package har

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What archives of ours promise besides: see Convert. Each is RuleOurs.

// oursForm is how times are written: three digits, UTC.
var oursForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

var (
	oursURL   = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://[!-~]*$`)
	oursTypes = []string{"document", "stylesheet", "image", "media", "font", "script", "texttrack", "xhr", "fetch", "prefetch",
		"eventsource", "websocket", "wasm", "manifest", "ping", "csp-violation-report", "preflight", "other"}
	oursVersions = []string{"", "HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3", "http/2.0", "h3"} // the last two for DevTools
)

func (c *checker) oursFault(field string, v value, format string, args ...any) {
	c.fault(RuleOurs, field, v, format, args...)
}

func (c *checker) ours(e *entryFacts) {
	c.tally(e)
	if c.log.first == "" {
		c.log.first = e.start.text
	}
	if e.start.is(kindString) && !oursForm.MatchString(e.start.text) {
		c.oursFault("startedDateTime", e.start, "is %s, not of three digits and Z", e.start.what())
	}
	if e.pageref.text != pageID {
		c.oursFault("pageref", e.pageref, "is %s, not %s", e.pageref.what(), pageID)
	}
	for i, v := range e.timings.phases {
		if v.kind == 0 {
			c.oursFault("timings."+phaseNames[i], e.timings.value, "is missing")
		}
	}
	if n, ok := e.number.integer(); !ok || n < 1 {
		c.oursFault("_id", e.number, "is %s", e.number.what())
	}
	if !slices.Contains(oursTypes, e.resource.text) {
		c.oursFault("_resourceType", e.resource, "is %s", e.resource.what())
	}
	if v := e.connection; v.is(kindString) {
		if _, err := strconv.ParseUint(v.text, 10, 16); err != nil {
			c.oursFault("connection", v, "is %s, not a port", v.what())
		}
	}
	r := &e.request
	if v := r.url; v.is(kindString) && (v.wide || !oursURL.MatchString(v.text)) {
		c.oursFault("request.url", v, "is %s, not absolute and in ASCII", v.what())
	}
	for field, v := range map[string]value{"request.httpVersion": r.version, "response.httpVersion": e.response.version} {
		if v.is(kindString) && !slices.Contains(oursVersions, v.text) {
			c.oursFault(field, v, "is %s", v.what())
		}
	}
	if p := r.post; p != nil && p.value.is(kindObject) {
		if p.text.kind == 0 {
			c.oursFault("request.postData.text", p.value, "is missing")
		}
		if p.base64.kind == 0 {
			c.oursDigest("request.postData", &p.bodyFacts, r.headers.coding, r.bodySize)
		}
	}
	c.oursAnswer(e)
}

func (c *checker) oursAnswer(e *entryFacts) {
	r := &e.response
	if n, ok := r.transferSize.float(); !ok || n < 0 || !r.transferSize.isInteger() {
		c.oursFault("response._transferSize", r.transferSize, "is %s", r.transferSize.what())
	}
	if r.status.text == "-1" && !e.open.is(kindTrue) && r.failure.size == 0 {
		c.oursFault("response._error", r.value, "is missing, and there is no answer")
	}
	if r.cookies.bare >= 0 && r.cookies.value.is(kindArray) {
		c.oursFault("response.cookies["+strconv.Itoa(r.cookies.bare)+"]", r.cookies.value, "lacks httpOnly or secure")
	}
	if r.cookies.imprecise >= 0 && r.cookies.value.is(kindArray) {
		c.oursFault("response.cookies["+strconv.Itoa(r.cookies.imprecise)+"].expires", r.cookies.value, "is not of three digits and Z")
	}
	b := &r.content
	if b.mimeType.is(kindString) && b.mimeType.size == 0 {
		c.oursFault("response.content.mimeType", b.mimeType, "is empty")
	}
	c.oursDigest("response.content", b, r.headers.coding, r.bodySize)
	size, ok := b.size.integer()
	if ok && b.sink != nil && !b.truncated.is(kindTrue) && b.undecoded.kind == 0 && b.charset.kind == 0 && !b.sink.odd && size != b.length() {
		c.oursFault("response.content.size", b.size, "is %d, the text's bytes are %d", size, b.length())
	}
}

// oursDigest compares the digest of the wire's bytes with the text's, where that
// has the same: not decoded, not cut, not transcoded.
func (c *checker) oursDigest(field string, b *bodyFacts, coding string, wire value) {
	sum := b.sha256
	if sum.kind == 0 || b.sink == nil || b.sink.text == nil || b.sink.size == 0 || b.truncated.is(kindTrue) || b.charset.kind != 0 || b.sink.odd && !b.isBase64() {
		return
	}
	if n, ok := wire.integer(); !ok || n != b.length() || coding != "" && !strings.EqualFold(coding, "identity") && b.undecoded.kind == 0 {
		return
	}
	if got := b.sum(); got != sum.text {
		c.oursFault(field+"._sha256", sum, "is %s, that of the text %s", sum.what(), got)
	}
}

// tally counts the entry as _stats does.
func (c *checker) tally(e *entryFacts) {
	n := &c.log.counted
	n.Entries++
	if e.open.is(kindTrue) {
		n.Open++
	}
	if e.failed.is(kindObject) {
		n.Failed++
	}
	if e.refused.is(kindObject) {
		n.Refused++
	}
}

// oursLog checks the archive as a whole.
func (c *checker) oursLog(version value) {
	l, p := &c.log, &c.pages
	if at := c.json.wide; at >= 0 {
		c.oursFault("", value{offset: at}, "has what is not ASCII")
	}
	if version.text != "1.2" {
		c.oursFault("version", version, "is %s, not 1.2", version.what())
	}
	if one := c.stats.Entries > 0; p.count > 1 || one != (p.count == 1) {
		c.oursFault("pages", p.value, "has %d pages for %d entries", p.count, c.stats.Entries)
	} else if one && p.starts.text != l.first {
		c.oursFault("pages[0].startedDateTime", p.starts, "is %s, the first entry's %s", p.starts.what(), safeName(l.first))
	}
	for _, s := range [...]struct {
		name string
		n    int64
	}{{"entries", l.counted.Entries}, {"open", l.counted.Open}, {"failed", l.counted.Failed}, {"refused", l.counted.Refused}} {
		v := l.stats[s.name]
		if n, ok := v.integer(); !ok || n != s.n {
			c.oursFault("_stats."+s.name, v, "is %s, there are %d", v.what(), s.n)
		}
	}
}
