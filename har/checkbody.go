package har

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
