package har

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
