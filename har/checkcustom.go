package har

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
