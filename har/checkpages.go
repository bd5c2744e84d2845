package har

import "fmt"

// pageRules checks one page.
func (c *checker) pageRules(i int, page, id, start, timings value) {
	p := &c.pages
	if p.count++; i == 0 {
		p.starts = start
	}
	c.devtoolsPage(page, start, timings)
	if !id.is(kindString) {
		return
	}
	switch {
	case id.size == 0:
		c.fault("k6", "id", id, "is empty: it refuses the file")
	case p.ids[id.text]:
		c.fault("k6", "id", id, "is %s, as another page's: it refuses the file", id.what())
		c.warn("haralyzer", "id", id, "is %s, as another page's: it has its entries on both", id.what())
	case len(p.ids) < maxPages:
		p.ids[id.text] = true
	}
}

// pageref looks for an entry's page, now or when the pages are read.
func (c *checker) pageref(e *entryFacts) {
	v := e.pageref
	if v.kind == 0 {
		v.offset = e.value.offset
	}
	if !c.pages.read {
		if len(c.pages.refs) < maxPageRefs {
			c.pages.refs = append(c.pages.refs, pageRef{c.stats.Entries, e.id(), v})
		}
		return
	}
	readers, text := c.pages.lacks(v)
	for _, reader := range readers {
		c.fault(reader, "pageref", v, "%s: it passes over the entry", text)
	}
}

// lateRefs looks for the pages of the entries that stand before them.
func (c *checker) lateRefs() {
	for _, ref := range c.pages.refs {
		readers, text := c.pages.lacks(ref.value)
		for _, reader := range readers {
			if c.counts(reader) {
				c.tell(Fault{Offset: ref.value.offset, Entry: ref.entry, ID: ref.id, Field: "pageref", Rule: reader, Text: text + ": it passes over the entry"})
			}
		}
	}
	c.pages.refs = nil
}

// lacks says whom an entry with a pageref is lost to, and why.
func (p *pageList) lacks(ref value) (readers []string, text string) {
	switch {
	case p.count > maxPages || ref.kind != 0 && ref.kind != kindString:
		return nil, ""
	case p.count == 0 && ref.kind == 0:
		return nil, ""
	case p.count == 0:
		return []string{"haralyzer"}, fmt.Sprintf("is %s, and there is no page", ref.what())
	case ref.kind == 0:
		return []string{"perfcascade"}, "is missing, though there are pages"
	case !p.ids[ref.text]:
		return []string{"haralyzer", "perfcascade"}, fmt.Sprintf("is %s, which is no page's id", ref.what())
	}
	return nil, ""
}

// logRules checks what is known behind the log's last member.
func (c *checker) logRules(version, browser value) {
	l, p := &c.log, &c.pages
	c.devtoolsLog(browser)
	if version.is(kindString) && version.text != "1.2" {
		c.fault("safari", "version", version, "is %s: it takes only 1.2", version.what())
	}
	if !l.entries.is(kindArray) {
		return
	}
	c.lateRefs()
	some := c.fault
	if c.stats.Entries == 0 {
		some = c.warn // nothing is lost
		c.warn("webarena", "entries", l.entries, "is empty: it refuses the file")
	}
	lack := "is empty"
	if p.value.kind == 0 {
		lack = "is missing"
	}
	switch {
	case p.count == 0:
		some("safari", "pages", p.value, "%s: it refuses the file", lack)
		some("chromehar", "pages", p.value, "%s: it shows nothing", lack)
		if c.stats.Entries == 0 {
			c.warn("perfcascade", "pages", p.value, "%s, as entries is: it shows nothing", lack)
		}
	case notDate(p.starts):
		c.fault("safari", "pages[0].startedDateTime", p.starts, "is %s: it refuses the file", p.starts.what())
	}
	if at := c.json.wide; at >= 0 {
		c.warn("webarena", "", value{offset: at}, "has more than ASCII, which it can't read where Python's locale is another than UTF-8")
	}
	if units := c.json.offset() - c.json.saved; units > c.longest {
		c.fault("v8", "", value{kind: kindObject}, "has %d characters; Chrome DevTools, Playwright and Node read no more than %d in one", units, c.longest)
	}
	if c.stats.Ours {
		c.oursLog(version)
	}
}

// maxString is V8's longest string, in UTF-16 units.
const maxString = 1<<29 - 24
