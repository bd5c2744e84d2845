package har

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strings"
)

// entryFacts are what is known of an entry once it is read: enough for every
// rule, however long it is.
type entryFacts struct {
	value                 value
	pageref               value
	start                 value
	time                  value
	request               requestFacts
	response              responseFacts
	cache                 value
	timings               timingsFacts
	address               value
	connection            value
	number                value // _id
	connectionID          value
	initiator             value
	resource              value
	messages              value
	open, failed, refused value
}

// id is the entry's _id for people.
func (e *entryFacts) id() string {
	switch e.number.kind {
	case kindString:
		return safeName(e.number.text)
	case kindNumber:
		return e.number.what()
	}
	return ""
}

type requestFacts struct {
	value                 value
	method, url, version  value
	cookies               cookiesFacts
	headers, query        pairsFacts
	post                  *postFacts
	headersSize, bodySize value
}

type responseFacts struct {
	value                 value
	status, version       value
	cookies               cookiesFacts
	headers               pairsFacts
	content               bodyFacts
	headersSize, bodySize value
	transferSize, failure value
}

// bodyFacts are of content, or of postData.
type bodyFacts struct {
	value                 value
	size, compression     value
	mimeType              value
	text, encoding        value
	file, sha256, charset value
	truncated, undecoded  value
	base64                value
	sink                  *bodySink // of text; nil: there is none
}

// isBase64 says that the text is to be base64.
func (b *bodyFacts) isBase64() bool { return b.encoding.is(kindString) && b.encoding.text == "base64" }

type postFacts struct {
	bodyFacts
	params pairsFacts
}

// newSink takes a body's text. Digests are only of archives of ours.
func (c *checker) newSink() *bodySink {
	s := &bodySink{buf: c.decoded[:]}
	if c.stats.Ours {
		s.text, s.decoded = sha256.New(), sha256.New()
	}
	return s
}

// sum is the SHA-256 of the body that the text stands for.
func (b *bodyFacts) sum() string {
	h := b.sink.text
	if b.isBase64() {
		h = b.sink.decoded
	}
	return hex.EncodeToString(h.Sum(nil))
}

// length is how many bytes the text stands for.
func (b *bodyFacts) length() int64 {
	if b.isBase64() {
		return b.sink.bytes
	}
	return b.sink.size
}

// pairsFacts are of a list of objects. The indexes are those of the first
// element that is so; -1: none is.
type pairsFacts struct {
	value     value
	n         int
	odd       int // no object
	oddValue  value
	nameless  int // an object whose name is ""
	percent   int // one that decodeURIComponent does not take
	variable  int // one with ${…}
	valueless int // of params: one without a value

	contentTypes, cookieFields, setCookies int
	contentType, coding, accept            string
	secFetchUser                           bool
}

func (f *pairsFacts) other(i int, v value) {
	if f.odd < 0 {
		f.odd, f.oddValue = i, v
	}
}

func newPairs() pairsFacts {
	return pairsFacts{odd: -1, nameless: -1, percent: -1, variable: -1, valueless: -1}
}

// note keeps the first index.
func note(first *int, i int, so bool) {
	if so && *first < 0 {
		*first = i
	}
}

// header takes a field line.
func (f *pairsFacts) header(i int, name, content value) {
	note(&f.nameless, i, name.is(kindString) && name.size == 0)
	note(&f.variable, i, name.dollar || content.dollar)
	switch strings.ToLower(name.text) {
	case "content-type":
		f.contentTypes++
		f.contentType = content.text
	case "content-encoding":
		f.coding = strings.TrimSpace(f.coding + " " + content.text)
	case "cookie":
		f.cookieFields++
	case "set-cookie":
		f.setCookies++
	case "accept":
		f.accept = strings.ToLower(content.text)
	case "sec-fetch-user":
		f.secFetchUser = true
	}
}

type cookiesFacts struct {
	pairsFacts
	undated   int // expires when no date is
	date      value
	bare      int // without httpOnly or secure
	imprecise int // expires in another form than ours
}

type timingsFacts struct {
	value  value
	phases [len(phaseNames)]value
}

// The phases in the order in which they follow one another, ssl behind connect,
// in which it lies.
var phaseNames = [...]string{"blocked", "dns", "connect", "ssl", "send", "wait", "receive"}

const (
	phaseConnect = 2
	phaseSSL     = 3
	phaseSend    = 4
)

func phaseIndex(name string) int {
	for i, phase := range phaseNames {
		if name == phase {
			return i
		}
	}
	return -1
}

// sum is the time that the phases take, and whether any is known.
func (t *timingsFacts) sum() (sum Millis, known bool) {
	for i, v := range t.phases {
		if m, ok := v.millis(); ok && m >= 0 && i != phaseSSL {
			sum += m
			known = true
		}
	}
	return sum, known
}

// millis is a number of milliseconds.
func (v value) millis() (Millis, bool) {
	f, ok := v.float()
	f = math.Round(f * 1000)
	return Millis(f), ok && math.Abs(f) < 1<<62
}

// messageFacts are of a WebSocket message.
type messageFacts struct {
	value                             value
	typ, time, opcode, data, encoding value
	base64                            bool // data may be
}
