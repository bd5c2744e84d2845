package har

import "strconv"

// Chrome DevTools' importer (front_end/models/har/HARFormat.ts) throws, and the
// whole file is lost, where it finds no object, or makes NaN of a number or of a
// date.

const refusedByDevTools = ": it refuses the file"

func (c *checker) devtoolsObject(field string, v value) {
	if !v.is(kindObject) && !v.is(kindArray) {
		c.fault("devtools", field, v, "is %s%s", v.what(), refusedByDevTools)
	}
}

func (c *checker) devtoolsDate(field string, v value) {
	if notDate(v) {
		c.fault("devtools", field, v, "is %s, which is no date%s", v.what(), refusedByDevTools)
	}
}

func (c *checker) devtoolsNumber(field string, v value) {
	if notNumber(v) {
		c.fault("devtools", field, v, "is %s, of which it makes NaN%s", v.what(), refusedByDevTools)
	}
}

// devtoolsOptional is devtoolsNumber for what may be missing.
func (c *checker) devtoolsOptional(field string, v value) {
	if v.kind != 0 {
		c.devtoolsNumber(field, v)
	}
}

func (c *checker) devtoolsLog(browser value) {
	c.devtoolsObject("creator", c.log.creator)
	switch browser.kind {
	case 0, kindNull, kindFalse:
	default:
		c.devtoolsObject("browser", browser)
	}
	if e := c.log.entries; !e.is(kindArray) {
		c.fault("devtools", "entries", e, "is %s%s", e.what(), refusedByDevTools)
	}
}

func (c *checker) devtoolsPage(page, start, timings value) {
	if c.devtoolsObject("", page); page.is(kindObject) {
		c.devtoolsDate("startedDateTime", start)
		c.devtoolsObject("pageTimings", timings)
	}
}

func (c *checker) devtools(e *entryFacts) {
	c.devtoolsDate("startedDateTime", e.start)
	c.devtoolsNumber("time", e.time)
	if e.initiator.is(kindNull) {
		c.devtoolsObject("_initiator", e.initiator)
	}
	if r := &e.request; r.value.is(kindObject) {
		c.devtoolsNumber("request.headersSize", r.headersSize)
		c.devtoolsNumber("request.bodySize", r.bodySize)
		c.devtoolsCookies("request.cookies", &r.cookies)
		c.devtoolsList("request.headers", &r.headers)
		c.devtoolsList("request.queryString", &r.query)
		c.devtoolsPost(r.post)
	} else {
		c.devtoolsObject("request", r.value)
	}
	if r := &e.response; r.value.is(kindObject) {
		c.devtoolsNumber("response.status", r.status)
		c.devtoolsNumber("response.headersSize", r.headersSize)
		c.devtoolsNumber("response.bodySize", r.bodySize)
		c.devtoolsOptional("response._transferSize", r.transferSize)
		c.devtoolsCookies("response.cookies", &r.cookies)
		c.devtoolsList("response.headers", &r.headers)
		if b := &r.content; b.value.is(kindObject) {
			c.devtoolsNumber("response.content.size", b.size)
			c.devtoolsOptional("response.content.compression", b.compression)
		} else {
			c.devtoolsObject("response.content", b.value)
		}
		c.devtoolsTransfer(r)
	} else {
		c.devtoolsObject("response", r.value)
	}
	if t := &e.timings; t.value.is(kindObject) {
		for i, v := range t.phases {
			check := c.devtoolsOptional
			if i >= phaseSend {
				check = c.devtoolsNumber
			}
			check("timings."+phaseNames[i], v)
		}
	} else {
		c.devtoolsObject("timings", t.value)
	}
}

// devtoolsList looks for elements of a list that are no objects.
func (c *checker) devtoolsList(field string, f *pairsFacts) {
	if f.value.is(kindArray) && f.odd >= 0 {
		c.devtoolsObject(field+"["+strconv.Itoa(f.odd)+"]", f.oddValue)
	}
}

func (c *checker) devtoolsCookies(field string, f *cookiesFacts) {
	c.devtoolsList(field, &f.pairsFacts)
	if f.value.is(kindArray) && f.undated >= 0 {
		c.devtoolsDate(field+"["+strconv.Itoa(f.undated)+"].expires", f.date)
	}
}

func (c *checker) devtoolsPost(p *postFacts) {
	if p == nil || !p.value.is(kindObject) {
		return
	}
	c.devtoolsList("request.postData.params", &p.params)
	switch {
	case p.text.kind == 0:
		c.warn("devtools", "request.postData.text", p.value, "is missing: it shows undefined for the body")
	case p.isBase64():
		c.warn("devtools", "request.postData.encoding", p.encoding, "is nothing to it: it shows the base64")
	}
}

// devtoolsTransfer: without _transferSize it adds the two sizes, -1 or not.
func (c *checker) devtoolsTransfer(r *responseFacts) {
	head, ok := r.headersSize.integer()
	body, bodyOK := r.bodySize.integer()
	if ok && bodyOK && r.transferSize.kind == 0 && head+body > 0 && (head == -1 || body == -1) {
		c.warn("devtools", "response._transferSize", r.value, "is missing: it shows %d bytes, headersSize %d and bodySize %d", head+body, head, body)
	}
}

// messageRules checks one WebSocket message. DevTools passes over all of them
// where one is no object, but for null.
func (c *checker) messageRules(m *messageFacts) {
	if !m.value.is(kindObject) {
		if m.value.is(kindNull) {
			c.devtoolsObject("", m.value)
		}
		return
	}
	c.devtoolsOptional("time", m.time)
	c.devtoolsOptional("opcode", m.opcode)
	const lastSecond = 1e11 // of the year 5138; in milliseconds, of 1973
	if f, ok := m.time.float(); ok && f > lastSecond {
		c.warn("devtools", "time", m.time, "is %s: it reads seconds", m.time.what())
	}
	switch m.typ.text {
	case "send", "receive", "error":
	default:
		c.warn("devtools", "type", m.typ, "is %s: it passes over the message", m.typ.what())
	}
	if !m.data.is(kindString) {
		c.fault("httptoolkit", "data", m.data, "is %s: it refuses the file", m.data.what())
		return
	}
	if n, ok := m.opcode.integer(); ok && n != 1 && !m.base64 {
		c.warn(RuleHAR, "data", m.data, "is not base64, as opcode %d is to be", n)
	}
}
