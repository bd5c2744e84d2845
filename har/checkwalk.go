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

// object reads a value that is to be an object. member reads a member's value, or
// is false where the schema says nothing of it.
func (c *checker) object(required []string, member func(name string) bool) value {
	v := c.objectOrAny(required, member)
	c.wrong(v, kindObject)
	return v
}

// objectOrAny is object where the schema takes a value of any other kind.
func (c *checker) objectOrAny(required []string, member func(name string) bool) value {
	if c.json.peek() != kindObject {
		return c.any()
	}
	v := value{kind: kindObject, offset: c.json.offset()}
	c.members(required, member)
	return v
}

// members reads an object, which is there.
func (c *checker) members(required []string, member func(name string) bool) {
	from := len(c.names)
	var met uint32 // of required, bit by bit
	begin := value{kind: kindObject, offset: c.json.offset()}
	c.json.object(func(name string) {
		c.enter(pathStep{name, -1})
		if i := slices.Index(required, name); i >= 0 {
			met |= 1 << i
		}
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
	c.names = c.names[:from]
	if c.json.err != nil {
		return
	}
	for i, name := range required {
		if met&(1<<i) == 0 {
			c.fault(RuleSchema, name, begin, "is missing")
		}
	}
}

// list reads a value that is to be an array; element reads each.
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
