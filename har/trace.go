package har

import (
	"archive/zip"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"io"
	"time"

	"github.com/klauspost/compress/flate"
)

// traceVersion is that of Playwright's trace format. Every viewer since the one
// that had it first takes it, and none before.
const traceVersion = 7

// A tracer writes entries as a Playwright trace, which is a ZIP:
//
//	trace.network   each entry as a line, which graders read
//	trace.trace     the browser's context, without which a viewer opens nothing
//	resources/      the answers' bodies by their SHA-1, which viewers show
//
// A ZIP's members come one after the other, so that the entries have to be gone
// through twice.
type tracer struct {
	zip         *zip.Writer
	title       string
	begin, last time.Time
	network     *encoder
	written     map[[sha1.Size]byte]bool // resources
}

func newTracer(w io.Writer, title string) *tracer {
	t := &tracer{zip: zip.NewWriter(w), title: title, written: map[[sha1.Size]byte]bool{}}
	t.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.DefaultCompression)
	})
	return t
}

// member begins a file. Its time is the first entry's, so that the same entries
// give the same bytes.
func (t *tracer) member(name string) (io.Writer, error) {
	return t.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: t.begin})
}

// write has passes give the entries, and writes the trace of them.
func (t *tracer) write(passes func(each func(*Entry) error) error) error {
	if err := passes(t.snapshot); err != nil {
		return err
	}
	if t.network == nil { // there is no entry
		if err := t.beginNetwork(); err != nil {
			return err
		}
	}
	if err := t.network.flush(); err != nil {
		return err
	}
	if err := t.context(); err != nil {
		return err
	}
	if err := passes(t.resource); err != nil {
		return err
	}
	return t.zip.Close()
}

func (t *tracer) beginNetwork() error {
	w, err := t.member("trace.network")
	t.network = newEncoder(w)
	return err
}

// snapshot writes an entry's line.
func (t *tracer) snapshot(e *Entry) error {
	began, err := time.Parse(time.RFC3339, e.StartedDateTime)
	if err != nil {
		return err
	}
	if t.network == nil {
		t.begin = began
		if err := t.beginNetwork(); err != nil {
			return err
		}
	}
	if ended := began.Add(time.Duration(e.Time) * time.Microsecond); ended.After(t.last) {
		t.last = ended
	}
	if body := answerBytes(&e.Response.Content); len(body) > 0 {
		sum := sha1.Sum(body)
		e.Response.Content.SHA1 = hex.EncodeToString(sum[:])
	}
	e.Pageref, e.MonotonicTime = pageID, Millis(began.UnixMicro())
	n := t.network
	n.first = true
	n.object("", func() {
		n.string("type", "resource-snapshot")
		n.name("snapshot")
		n.first = true
		n.entry(e)
	})
	n.raw("\n")
	return n.err
}

// context writes what a viewer asks of a browser's context, and one page for as
// long as the entries took. Monotonic times are those of the clock.
func (t *tracer) context() error {
	w, err := t.member("trace.trace")
	if err != nil {
		return err
	}
	e := newEncoder(w)
	begin := Millis(max(t.begin.UnixMicro(), 0))
	line := func(typ string, members func()) {
		e.first = true
		e.object("", func() {
			e.string("type", typ)
			members()
		})
		e.raw("\n")
	}
	line("context-options", func() {
		e.int("version", traceVersion)
		e.string("origin", "library")
		e.string("browserName", "")
		e.object("options", func() {})
		e.string("platform", "")
		e.millis("wallTime", begin)
		e.millis("monotonicTime", begin)
		e.string("sdkLanguage", "javascript")
		e.string("contextId", "context@1")
		e.string("title", t.title)
	})
	event := func(method string, at Millis) {
		line("event", func() {
			e.millis("time", at)
			e.string("class", "BrowserContext")
			e.string("method", method)
			e.object("params", func() { e.string("pageId", pageID) })
			e.string("pageId", pageID)
		})
	}
	event("page", begin)
	event("pageClosed", max(begin, Millis(t.last.UnixMicro())))
	return e.flush()
}

// resource writes the body of an entry's answer, once for all that are the same.
func (t *tracer) resource(e *Entry) error {
	body := answerBytes(&e.Response.Content)
	sum := sha1.Sum(body)
	if len(body) == 0 || t.written[sum] {
		return nil
	}
	t.written[sum] = true
	w, err := t.member("resources/" + hex.EncodeToString(sum[:]))
	if err == nil {
		_, err = w.Write(body)
	}
	return err
}

// answerBytes are the bytes of an answer's text.
func answerBytes(c *Content) []byte {
	if c.Text == nil {
		return nil
	}
	if c.Encoding == "base64" {
		b, _ := base64.StdEncoding.DecodeString(*c.Text)
		return b
	}
	if c.Charset != "" {
		if b, ok := encodeText(*c.Text, c.Charset); ok {
			return b
		}
	}
	return []byte(*c.Text)
}
