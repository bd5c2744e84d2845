package har

import (
	"io"
	"slices"
)

// enter goes to a member or an element.
func (c *checker) enter(s pathStep) { c.path = append(c.path, s) }

func (c *checker) leave() { c.path = c.path[:len(c.path)-1] }

// maxNames is among how many members of an object the same name is looked for.
const maxNames = 64

// object reads an object with its members, which member reads where it is true.
// It is false where there is no object.
func (c *checker) object(required []string, member func(name string) bool) value {
	c.json.peek()
	v := value{offset: c.json.offset()}
	if c.json.peek() != kindObject {
		v = c.any()
		c.wrong(v, kindObject)
		return v
	}
	v.kind = kindObject
	c.members(required, member)
	return v
}

// members reads an object, which is there.
func (c *checker) members(required []string, member func(name string) bool) {
	from := len(c.names)
	begin := value{kind: kindObject, offset: c.json.offset()}
	c.json.object(func(name string) {
		c.enter(pathStep{name, -1})
		if slices.Contains(c.names[from:], name) {
			c.fault(RuleJSON, "", value{kind: kindString, offset: c.json.offset()}, "is there twice: most programs take the last, some the first")
		} else if len(c.names)-from < maxNames {
			c.names = append(c.names, name)
		}
		if !member(name) {
			c.any()
		}
		c.leave()
	})
	names := c.names[from:]
	c.names = c.names[:from]
	if c.json.err != nil || len(names) == maxNames {
		return
	}
	for _, name := range required {
		if !slices.Contains(names, name) {
			c.fault(RuleSchema, name, begin, "is missing")
		}
	}
}

// list reads an array with its elements.
func (c *checker) list(element func(i int)) value {
	c.json.peek()
	v := value{offset: c.json.offset()}
	if c.json.peek() != kindArray {
		v = c.any()
		c.wrong(v, kindArray)
		return v
	}
	v.kind = kindArray
	c.json.array(func(i int) {
		c.enter(pathStep{index: i})
		element(i)
		c.leave()
	})
	return v
}

// any reads a value that the schema says nothing of, or one of another kind than
// it says.
func (c *checker) any() value {
	kind := c.json.peek()
	v := value{kind: kind, offset: c.json.offset()}
	switch kind {
	case kindObject:
		c.json.object(func(name string) {
			c.enter(pathStep{name, -1})
			c.any()
			c.leave()
		})
	case kindArray:
		c.json.array(func(i int) {
			c.enter(pathStep{index: i})
			c.any()
			c.leave()
		})
	default:
		v = c.scalar(nil)
	}
	return v
}

func (c *checker) scalar(sink io.Writer) value {
	v := c.json.scalar(sink)
	if v.is(kindNull) && c.stats.Ours {
		c.fault(RuleOurs, "", v, "is null")
	}
	return v
}

// value reads a value that is to be of a kind.
func (c *checker) value(kind byte, sink io.Writer) value {
	var v value
	if k := c.json.peek(); k == kindObject || k == kindArray {
		v = c.any()
	} else {
		v = c.scalar(sink)
	}
	c.wrong(v, kind)
	return v
}

func (c *checker) string() value { return c.value(kindString, nil) }

func (c *checker) number() value { return c.value(kindNumber, nil) }

func (c *checker) integer() value {
	v := c.value(kindNumber, nil)
	if v.is(kindNumber) && !v.isInteger() {
		c.fault(RuleSchema, "", v, "is %s, not an integer", v.what())
	}
	return v
}

func (c *checker) bool() value {
	v := c.any()
	if !v.is(kindFalse) {
		c.wrong(v, kindTrue)
	}
	return v
}

// wrong reports a value of another kind than the schema's.
func (c *checker) wrong(v value, kind byte) {
	if v.kind == kind || c.json.err != nil {
		return
	}
	name := map[byte]string{kindObject: "an object", kindArray: "an array", kindString: "a string", kindNumber: "a number", kindTrue: "true or false"}[kind]
	c.fault(RuleSchema, "", v, "is %s, not %s", v.what(), name)
}

// root reads the file's value.
func (c *checker) root() {
	var log value
	c.object([]string{"log"}, func(name string) bool {
		if name == "log" {
			log = c.logObject()
			return true
		}
		return false
	})
	c.devtoolsObject("log", log)
}

func (c *checker) logObject() value {
	var version, browser value
	log := c.object([]string{"version", "creator", "entries"}, func(name string) bool {
		switch name {
		case "version":
			version = c.string()
		case "creator":
			c.log.creator = c.creator(true)
		case "browser":
			browser = c.creator(false)
		case "pages":
			c.pageArray()
		case "entries":
			c.entries()
		case "comment":
			c.string()
		case "_stats":
			c.statsObject()
		default:
			return false
		}
		return true
	})
	if c.json.err == nil && log.is(kindObject) {
		c.logRules(version, browser)
	}
	return log
}

func (c *checker) creator(creator bool) value {
	return c.object([]string{"name", "version"}, func(name string) bool {
		switch name {
		case "name":
			v := c.string()
			c.stats.Ours = c.stats.Ours || creator && v.text == "agentenv-netlog"
		case "version", "comment":
			c.string()
		default:
			return false
		}
		return true
	})
}

func (c *checker) pageArray() {
	c.pages.value = c.list(func(i int) {
		var id, start, timings value
		v := c.object([]string{"startedDateTime", "id", "title", "pageTimings"}, func(name string) bool {
			switch name {
			case "startedDateTime":
				start = c.started()
			case "id":
				id = c.string()
			case "title", "comment":
				c.string()
			case "pageTimings":
				timings = c.pageTimings()
			default:
				return false
			}
			return true
		})
		c.pageRules(i, v, id, start, timings)
	})
	c.pages.read = true
}

func (c *checker) pageTimings() value {
	return c.object(nil, func(name string) bool {
		switch name {
		case "onContentLoad", "onLoad":
			if v := c.number(); notNumber(v) {
				c.fault("devtools", "", v, "is %s, of which it makes NaN: it refuses the file", v.what())
			}
		case "comment":
			c.string()
		default:
			return false
		}
		return true
	})
}

// started reads a startedDateTime.
func (c *checker) started() value {
	v := c.string()
	if v.is(kindString) && (!v.whole() || !dateTimeForm.MatchString(v.text) || !startForm.MatchString(v.text)) {
		c.fault(RuleSchema, "", v, "is %s, not a date-time", v.what())
	}
	return v
}

func (c *checker) entries() {
	c.log.entries = c.list(func(int) {
		path := c.path
		c.path = path[len(path):]
		c.stats.Entries++
		c.facts = entryFacts{}
		c.entry = &c.facts
		c.entryObject()
		if c.json.err == nil {
			c.entryRules()
		}
		c.path = path
		if c.json.err != nil {
			return
		}
		c.release(c.entry.id())
		c.entry = nil
	})
}

func (c *checker) entryObject() {
	e := c.entry
	e.value = c.object([]string{"startedDateTime", "time", "request", "response", "cache", "timings"}, func(name string) bool {
		switch name {
		case "pageref":
			e.pageref = c.string()
		case "startedDateTime":
			e.start = c.started()
		case "time":
			e.time = c.number()
		case "request":
			e.request.value = c.request()
		case "response":
			e.response.value = c.response()
		case "cache":
			e.cache = c.cache()
		case "timings":
			e.timings.value = c.timings()
		case "serverIPAddress":
			e.address = c.string()
			if v := e.address; v.is(kindString) && (!v.whole() || !isIP(v.text)) {
				c.fault(RuleSchema, "", v, "is %s, not an IP address", v.what())
			}
		case "connection":
			e.connection = c.string()
		case "comment":
			c.string()
		case "_id":
			e.number = c.any()
		case "_connectionId":
			e.connectionID = c.any()
		case "_initiator":
			e.initiator = c.initiator()
		case "_resourceType":
			e.resource = c.any()
		case "_webSocketMessages":
			e.messages = c.messages()
		case "_open":
			e.open = c.any()
		case "_failed":
			e.failed = c.any()
		case "_refused":
			e.refused = c.any()
		default:
			return false
		}
		return true
	})
}

func (c *checker) request() value {
	r := &c.entry.request
	return c.object([]string{"method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"}, func(name string) bool {
		switch name {
		case "method":
			r.method = c.string()
		case "url":
			r.url = c.string()
			if v := r.url; v.is(kindString) && (v.space || !uriForm.MatchString(v.text)) {
				c.fault(RuleSchema, "", v, "is %s, not a URI", v.what())
			}
		case "httpVersion":
			r.version = c.string()
		case "cookies":
			r.cookies = c.cookies()
		case "headers":
			r.headers = c.pairs(nil)
		case "queryString":
			r.query = c.pairs(new(percent))
		case "postData":
			r.post = c.postData()
		case "headersSize":
			r.headersSize = c.integer()
		case "bodySize":
			r.bodySize = c.integer()
		case "comment":
			c.string()
		default:
			return false
		}
		return true
	})
}

func (c *checker) response() value {
	r := &c.entry.response
	return c.object([]string{"status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize"}, func(name string) bool {
		switch name {
		case "status":
			r.status = c.integer()
		case "statusText", "redirectURL", "comment":
			c.string()
		case "httpVersion":
			r.version = c.string()
		case "cookies":
			r.cookies = c.cookies()
		case "headers":
			r.headers = c.pairs(nil)
		case "content":
			c.content()
		case "headersSize":
			r.headersSize = c.integer()
		case "bodySize":
			r.bodySize = c.integer()
		case "_transferSize":
			r.transferSize = c.any()
		case "_error":
			r.failure = c.any()
		default:
			return false
		}
		return true
	})
}

func (c *checker) content() {
	b := &c.entry.response.content
	b.value = c.object([]string{"size", "mimeType"}, func(name string) bool {
		switch name {
		case "size":
			b.size = c.integer()
		case "compression":
			b.compression = c.integer()
		case "mimeType":
			b.mimeType = c.string()
		case "encoding":
			b.encoding = c.string()
		case "comment":
			c.string()
		default:
			return c.bodyMember(name, b)
		}
		return true
	})
}

// bodyMember reads what content and postData have in common.
func (c *checker) bodyMember(name string, b *bodyFacts) bool {
	switch name {
	case "text":
		b.sink = c.newSink()
		b.text = c.value(kindString, b.sink)
	case "_file":
		b.file = c.any()
	case "_sha256":
		b.sha256 = c.any()
	case "_charset":
		b.charset = c.any()
	case "_truncated":
		b.truncated = c.any()
	case "_undecoded":
		b.undecoded = c.any()
	case "_base64":
		b.base64 = c.any()
	default:
		return false
	}
	return true
}

func (c *checker) postData() *postFacts {
	p := new(postFacts)
	b := &p.bodyFacts
	b.value = c.object([]string{"mimeType"}, func(name string) bool {
		switch name {
		case "mimeType":
			b.mimeType = c.string()
		case "params":
			p.params = c.params()
		case "encoding":
			b.encoding = c.any()
		case "comment":
			c.string()
		default:
			return c.bodyMember(name, b)
		}
		return true
	})
	return p
}

// params reads postData's parameters, of which the schema checks nothing.
func (c *checker) params() pairsFacts {
	f := newPairs()
	f.value = c.list(func(i int) {
		f.n++
		if c.json.peek() != kindObject {
			f.other(i, c.any())
			return
		}
		var escapes percent
		valueless := true
		c.json.object(func(name string) {
			c.enter(pathStep{name, -1})
			if name != "name" && name != "value" || c.json.peek() != kindString {
				c.any()
			} else {
				escapes = percent{}
				v := c.scalar(&escapes)
				note(&f.percent, i, escapes.invalid())
				note(&f.variable, i, v.dollar)
			}
			valueless = valueless && name != "value"
			c.leave()
		})
		note(&f.valueless, i, valueless)
	})
	return f
}

// pairs reads a list of objects with a name and a value. A value's bytes go to
// escapes, when there is one.
func (c *checker) pairs(escapes *percent) pairsFacts {
	f := newPairs()
	required := []string{"name", "value"}
	f.value = c.list(func(i int) {
		f.n++
		var name, content value
		v := c.object(required, func(member string) bool {
			switch member {
			case "name":
				name = c.string()
			case "value":
				if escapes == nil {
					content = c.string()
					break
				}
				*escapes = percent{}
				content = c.value(kindString, escapes)
				note(&f.percent, i, content.is(kindString) && escapes.invalid())
			case "comment":
				c.string()
			default:
				return false
			}
			return true
		})
		if !v.is(kindObject) {
			f.other(i, v)
			return
		}
		f.header(i, name, content)
	})
	return f
}

func (c *checker) cookies() cookiesFacts {
	f := cookiesFacts{pairsFacts: newPairs(), undated: -1, bare: -1, imprecise: -1}
	required := []string{"name", "value"}
	f.value = c.list(func(i int) {
		f.n++
		var name, content, expires, httpOnly, secure value
		v := c.object(required, func(member string) bool {
			switch member {
			case "name":
				name = c.string()
			case "value":
				content = c.string()
			case "path", "domain", "comment":
				c.string()
			case "expires":
				expires = c.expires()
			case "httpOnly":
				httpOnly = c.bool()
			case "secure":
				secure = c.bool()
			default:
				return false
			}
			return true
		})
		if !v.is(kindObject) {
			f.other(i, v)
			return
		}
		note(&f.nameless, i, name.is(kindString) && name.size == 0)
		note(&f.variable, i, name.dollar || content.dollar)
		note(&f.bare, i, httpOnly.kind == 0 || secure.kind == 0)
		note(&f.imprecise, i, expires.is(kindString) && !oursForm.MatchString(expires.text))
		dated := expires.kind != 0 && !expires.is(kindNull) && !(expires.is(kindString) && expires.size == 0)
		if dated && notDate(expires) && f.undated < 0 {
			f.undated, f.date = i, expires
		}
	})
	return f
}

// expires reads a date, or null.
func (c *checker) expires() value {
	v := c.any()
	switch {
	case v.is(kindNull):
	case !v.is(kindString):
		c.wrong(v, kindString)
	case !v.whole() || !dateTimeForm.MatchString(v.text):
		c.fault(RuleSchema, "", v, "is %s, not a date-time", v.what())
	}
	return v
}

// cache reads what is in a browser's cache. The schema takes any other value.
func (c *checker) cache() value {
	kind := c.json.peek()
	if kind != kindObject {
		return c.any()
	}
	v := value{kind: kind, offset: c.json.offset()}
	c.members(nil, func(name string) bool {
		switch name {
		case "beforeRequest", "afterRequest":
			if c.json.peek() == kindNull {
				return false
			}
			c.object([]string{"lastAccess", "eTag", "hitCount"}, func(name string) bool {
				switch name {
				case "expires", "lastAccess":
					if v := c.string(); v.is(kindString) && !cacheForm.MatchString(v.text) {
						c.fault(RuleSchema, "", v, "is %s, not a date and time", v.what())
					}
				case "eTag", "comment":
					c.string()
				case "hitCount":
					c.integer()
				default:
					return false
				}
				return true
			})
		case "comment":
			c.string()
		default:
			return false
		}
		return true
	})
	return v
}

// timings reads the phases. The schema takes any other value than an object.
func (c *checker) timings() value {
	kind := c.json.peek()
	if kind != kindObject {
		return c.any()
	}
	v := value{kind: kind, offset: c.json.offset()}
	c.members([]string{"send", "wait", "receive"}, func(name string) bool {
		if i := phaseIndex(name); i >= 0 {
			c.entry.timings.phases[i] = c.number()
			return true
		}
		if name == "comment" {
			c.string()
			return true
		}
		return false
	})
	return v
}

// initiator reads DevTools' own field.
func (c *checker) initiator() value {
	v := value{kind: c.json.peek(), offset: c.json.offset()}
	if !v.is(kindObject) {
		return c.any()
	}
	c.json.object(func(name string) {
		c.enter(pathStep{name, -1})
		if line := c.any(); name == "lineNumber" && notNumber(line) {
			c.fault("devtools", "", line, "is %s, of which it makes NaN: it refuses the file", line.what())
		}
		c.leave()
	})
	return v
}

// messages reads a WebSocket's messages.
func (c *checker) messages() value {
	v := value{kind: c.json.peek(), offset: c.json.offset()}
	if !v.is(kindArray) {
		return c.any()
	}
	c.json.array(func(i int) {
		c.enter(pathStep{index: i})
		c.message()
		c.leave()
	})
	return v
}

func (c *checker) message() {
	m := messageFacts{value: value{kind: c.json.peek(), offset: c.json.offset()}}
	if !m.value.is(kindObject) {
		m.value = c.any()
		c.messageRules(&m)
		return
	}
	sink := bodySink{buf: c.decoded[:]}
	c.json.object(func(name string) {
		c.enter(pathStep{name, -1})
		switch name {
		case "type":
			m.typ = c.any()
		case "time":
			m.time = c.any()
		case "opcode":
			m.opcode = c.any()
		case "encoding":
			m.encoding = c.any()
		case "data":
			if c.json.peek() == kindString {
				m.data = c.scalar(&sink)
				m.base64 = sink.isBase64()
				break
			}
			m.data = c.any()
		default:
			c.any()
		}
		c.leave()
	})
	c.messageRules(&m)
}

// statsObject reads what an archive of ours says of itself.
func (c *checker) statsObject() {
	if c.json.peek() != kindObject {
		c.any()
		return
	}
	c.log.stats = map[string]value{}
	c.json.object(func(name string) {
		c.enter(pathStep{name, -1})
		v := c.any()
		if len(c.log.stats) < maxNames {
			c.log.stats[name] = v
		}
		c.leave()
	})
}
