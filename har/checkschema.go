package har

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

// cache reads what is in a browser's cache. The schema takes any other value.
func (c *checker) cache() value {
	return c.objectOrAny(nil, func(name string) bool {
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
}

// timings reads the phases. The schema takes any other value than an object.
func (c *checker) timings() value {
	return c.objectOrAny([]string{"send", "wait", "receive"}, func(name string) bool {
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
}
