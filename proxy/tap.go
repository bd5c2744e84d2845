package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentenv/netlog/netlog"
)

// A tap counts and hashes a body as it passes, and keeps its beginning.
type tap struct {
	limit     int64 // bytes to keep; 0: none
	blind     bool  // only count
	noHash    bool
	sniff     bool  // keep only when the first bytes look like text
	length    int64 // of the whole body as its head has it; 0: not known
	framed    bool  // and its framing lets no more come
	size      int64
	hash      hash.Hash // nil: none of it has come, or all of it at once
	sum       string    // of a body that came at once
	kept      kept
	truncated bool

	timed  bool // note when the parts come
	since  time.Time
	chunks []netlog.Chunk
}

// maxChunks bounds the parts of a body that are noted: a stream of events may last.
const maxChunks = 1 << 16

// sniffLen is how much of a body without a Content-Type is looked at.
const sniffLen = 512

// pass takes the body's next bytes, which came at now.
func (t *tap) pass(p []byte, now time.Time) {
	if len(p) == 0 {
		return
	}
	if t.blind {
		t.size += int64(len(p))
		return
	}
	if t.timed && len(t.chunks) < maxChunks {
		t.chunks = append(t.chunks, netlog.Chunk{Offset: t.size, Micros: micros(t.since, now)})
	}
	switch {
	case t.noHash:
	case t.size == 0 && t.framed && int64(len(p)) == t.length: // as most do: it needs no state
		sum := sha256.Sum256(p)
		t.sum = hexOf(sum[:])
	default:
		if t.hash == nil {
			t.hash = sha256.New()
		}
		t.hash.Write(p)
	}
	t.keep(p)
	t.size += int64(len(p))
	if t.sniff && t.kept.size >= sniffLen {
		t.decide()
	}
}

// keep keeps of p what the limit, and the room for bodies, allow.
func (t *tap) keep(p []byte) {
	if t.limit == 0 || t.truncated {
		return
	}
	n := min(int64(len(p)), t.limit-t.size)
	t.truncated = n < int64(len(p))
	if int64(t.kept.write(p[:n], min(t.length, t.limit)-t.size)) < n {
		t.truncated = true
	}
}

// decide settles whether a body without a type is kept.
func (t *tap) decide() {
	t.sniff = false
	if !looksLikeText(t.kept.begin(sniffLen)) {
		t.kept.drop()
		t.limit, t.truncated = 0, false
	}
}

// body is what the log says of the body.
func (t *tap) body() *netlog.Body {
	if t.sniff {
		t.decide()
	}
	b := &netlog.Body{Size: t.size, SHA256: t.sum, Truncated: t.truncated, Chunks: t.chunks}
	if t.hash != nil {
		b.SHA256 = hexOf(t.hash.Sum(nil))
	}
	b.Kept = t.kept.logged()
	return b
}

func hexOf(sum []byte) string {
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum)
	return string(text[:])
}

// tapRequest sets a new tap up for a request's body.
func (p *Proxy) tapRequest(t *tap) { p.tap(t, p.Keep.RequestBody) }

// tap has a new tap keep up to limit bytes.
func (p *Proxy) tap(t *tap, limit int64) {
	if t.blind = p.StandIn || p.Log == nil; !t.blind { // else nobody is to have it
		t.limit, t.noHash, t.kept.store = limit, p.NoHash, &p.bodies
	}
}

// tapAnswer sets a new tap up for an answer of the given Content-Type.
func (p *Proxy) tapAnswer(t *tap, contentType string) {
	limit, sniff := p.Keep.ResponseBody, false
	switch types := p.Keep.Types; {
	case types == "none":
		limit = 0
	case types == "all":
	case contentType == "":
		sniff = true
	case !isTextType(contentType):
		limit = 0
	}
	p.tap(t, limit)
	t.sniff = sniff && t.limit > 0
}

// isTextType tells whether a Content-Type is of those that are kept by default:
// text, JSON, a form, XML or a script.
func isTextType(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	kind, sub, _ := strings.Cut(media, "/")
	if kind == "text" || kind == "multipart" && sub == "form-data" {
		return true
	}
	for _, word := range []string{"json", "xml", "javascript", "ecmascript", "x-www-form-urlencoded", "graphql", "yaml", "csv"} {
		if strings.Contains(sub, word) && !strings.HasPrefix(sub, "vnd.openxmlformats") {
			return true
		}
	}
	return false
}

// looksLikeText tells whether the beginning of a body is text: UTF-8 without
// control characters but white space and escape.
func looksLikeText(p []byte) bool {
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			return !utf8.FullRune(p) // only cut off at the end
		}
		if r < ' ' && r != '\t' && r != '\n' && r != '\f' && r != '\r' && r != 0x1b || r == 0x7f {
			return false
		}
		p = p[n:]
	}
	return true
}
