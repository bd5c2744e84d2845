package har

import (
	"bytes"
	"io"
)

const (
	pageID = "page_1"

	// titleEntries and titleBytes bound the first entries among which a document
	// is looked for.
	titleEntries = 1000
	titleBytes   = 512 << 10
)

// An archive writes a HAR. The page stands before the entries and is told by
// them, so that the first ones wait until a document has come.
type archive struct {
	enc     *encoder
	version string
	page    Page
	n       int // entries
	waits   bool
	waiting bytes.Buffer // entries, encoded
	early   *encoder     // to waiting
}

func newArchive(w io.Writer, o Options) *archive {
	a := &archive{enc: newEncoder(w), version: o.Version, waits: true}
	a.early = newEncoder(&a.waiting)
	a.page = Page{ID: pageID, Title: o.Title, PageTimings: PageTimings{OnContentLoad: None, OnLoad: None}}
	if a.version == "" {
		a.version = "devel"
	}
	if a.page.Title == "" {
		a.page.Title = "network"
	}
	return a
}

// add writes the next entry.
func (a *archive) add(e *Entry) error {
	e.Pageref = pageID
	if a.n++; a.n == 1 {
		a.page.StartedDateTime = e.StartedDateTime
	}
	if !a.waits {
		a.enc.entry(e)
		return a.enc.err
	}
	document := e.ResourceType == "document"
	if document {
		a.page.Title = e.Request.URL
	}
	a.early.entry(e)
	if document || a.n == titleEntries || a.waiting.Len() > titleBytes {
		a.begin()
	}
	return a.enc.err
}

// begin writes what stands before the entries, and those that waited.
func (a *archive) begin() {
	a.early.flush()
	a.waits = false
	e := a.enc
	e.open("", '{')
	e.open("log", '{')
	e.string("version", "1.2")
	e.object("creator", func() {
		e.string("name", "agentenv-netlog")
		e.string("version", a.version)
	})
	e.open("pages", '[')
	if a.n > 0 {
		e.page(&a.page)
	}
	e.close(']')
	e.open("entries", '[')
	if a.n > 0 {
		e.next()
		e.write(a.waiting.Bytes())
	}
	a.waiting, a.early = bytes.Buffer{}, nil
}

// end writes what stands behind the entries.
func (a *archive) end(s *Stats) error {
	if a.waits {
		a.begin()
	}
	e := a.enc
	e.close(']')
	e.int("_unreadable", s.Unreadable)
	e.stats(s)
	e.close('}')
	e.close('}')
	e.raw("\n")
	return e.flush()
}
