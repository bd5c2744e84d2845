package har

import (
	"strconv"
	"strings"
)

// tolerance is how far another program's sum may be off, for its rounding.
const tolerance = 1000 // microseconds

// times checks the phases and their sum.
func (c *checker) times(e *entryFacts) {
	t := &e.timings
	for i, v := range t.phases {
		m, ok := v.millis()
		switch field := "timings." + phaseNames[i]; {
		case !ok || m >= 0:
		case m != None:
			c.invariant(field, v, "is %s: below 0 there is only -1, for what did not happen", v.what())
		case i >= phaseSend && e.time.text != "-1":
			c.invariant(field, v, "is -1, which is only for blocked, dns, connect and ssl")
		}
	}
	sum, known := t.sum()
	if m, ok := e.time.millis(); ok && known && c.differ(m, sum) {
		c.invariant("time", e.time, "is %s, the sum of the timings without ssl %s", e.time.what(), appendScaled(nil, int64(sum), 1000))
	}
	ssl, connect := t.phases[phaseSSL], t.phases[phaseConnect]
	most, _ := connect.millis()
	if m, ok := ssl.millis(); ok && m > max(most, 0) && c.differ(m, max(most, 0)) {
		c.invariant("timings.ssl", ssl, "is %s, though it lies in connect, which is %s", ssl.what(), connect.what())
		c.fault("httpwatch", "timings.ssl", ssl, "is longer than connect: it refuses the file")
	}
}

// differ compares times; those of ours are exact.
func (c *checker) differ(a, b Millis) bool {
	d := max(a-b, b-a)
	return d > 0 && c.stats.Ours || d > tolerance
}

// order checks that entries stand in the order of their times. In an archive of
// ours a later process, whose numbers are higher, may have had another clock.
func (c *checker) order(e *entryFacts) {
	l := &c.log
	id, _ := e.number.integer()
	first, _, _ := strings.Cut(e.connectionID.text, "-")
	process, err := strconv.ParseInt(first, 10, 64)
	later := id > l.lastID && (err != nil || process > l.process)
	l.lastID, l.process = max(l.lastID, id), max(l.process, process)
	t, ok := parseStart(e.start.text)
	if !ok {
		return
	}
	const text = "is before that of the entry above it, and graders go by the order in the file"
	switch {
	case !t.Before(l.last):
	case c.stats.Ours && later:
		c.warn(RuleHAR, "startedDateTime", e.start, text)
	default:
		c.invariant("startedDateTime", e.start, text)
	}
	l.last = t
}

// sizes checks the sizes of heads and bodies.
func (c *checker) sizes(e *entryFacts) {
	r, b := &e.response, &e.response.content
	for _, s := range [...]struct {
		field string
		v     value
	}{
		{"request.headersSize", e.request.headersSize}, {"request.bodySize", e.request.bodySize},
		{"response.headersSize", r.headersSize}, {"response.bodySize", r.bodySize}, {"response.content.size", b.size},
	} {
		if n, ok := s.v.integer(); ok && n < -1 {
			c.invariant(s.field, s.v, "is %d: below 0 there is only -1, for what is not known", n)
		}
	}
	size, ok := b.size.integer()
	wire, wireOK := r.bodySize.integer()
	saved, savedOK := b.compression.integer()
	if ok && wireOK && savedOK && size >= 0 && wire >= 0 && size != wire+saved {
		c.invariant("response.content.size", b.size, "is %d, and bodySize %d and compression %d make %d", size, wire, saved, wire+saved)
	}
	if n, ok := r.status.integer(); ok && n != 0 && n != -1 && (n < 100 || n > 999) {
		c.invariant("response.status", r.status, "is %d", n)
	}
}

// encoded checks that base64 is.
func (c *checker) encoded(at string, b *bodyFacts) {
	switch {
	case !b.encoding.is(kindString) || b.encoding.size == 0:
	case !b.isBase64():
		c.fault(RuleHAR, at+".encoding", b.encoding, "is %s, not base64: the body is lost", b.encoding.what())
	case b.text.is(kindString) && !b.sink.isBase64():
		c.fault(RuleHAR, at+".text", b.text, "is not base64, as encoding says: the body is lost")
	}
}
