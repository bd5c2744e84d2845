package har

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxHeld is how many faults of an entry wait for its _id.
const maxHeld = 100

// fault and warn report what is wrong with a value by a rule, at a path below
// what is being read.
func (c *checker) fault(rule, field string, v value, format string, args ...any) {
	c.report(Fault{Offset: c.place(field, v), Field: c.below(field), Rule: rule, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) warn(rule, field string, v value, format string, args ...any) {
	c.report(Fault{Offset: c.place(field, v), Field: c.below(field), Rule: rule, Text: fmt.Sprintf(format, args...), Warning: true})
}

// invariant reports what is a fault in archives of ours, and a warning in others.
func (c *checker) invariant(field string, v value, format string, args ...any) {
	if c.stats.Ours {
		c.fault(RuleHAR, field, v, format, args...)
	} else {
		c.warn(RuleHAR, field, v, format, args...)
	}
}

// place is where a value is or, when it is missing, the object that lacks it.
func (c *checker) place(field string, v value) int64 {
	if v.kind != 0 || v.offset > 0 || c.entry == nil {
		return v.offset
	}
	e := c.entry
	for _, in := range [...]struct {
		prefix string
		v      value
	}{{"request.", e.request.value}, {"response.content.", e.response.content.value}, {"response.", e.response.value}, {"timings.", e.timings.value}} {
		if strings.HasPrefix(field, in.prefix) {
			return in.v.offset
		}
	}
	return e.value.offset
}

// report holds an entry's faults until its _id is known.
func (c *checker) report(f Fault) {
	if !c.counts(f.Rule) || c.json != nil && c.json.err != nil && !c.ended {
		return // what broke off is not the file's fault twice
	}
	if c.entry == nil {
		c.tell(f)
		return
	}
	if len(c.held) == maxHeld {
		c.release(c.entry.id())
	}
	f.Entry = c.stats.Entries
	c.held = append(c.held, f)
}

// counts says whether a rule is one of those that are asked for.
func (c *checker) counts(rule string) bool {
	return c.options.Readers == nil || !slices.Contains(readers[:], rule) || slices.Contains(c.options.Readers, rule)
}

// release tells the faults that are held, in the order of the file.
func (c *checker) release(id string) {
	slices.SortStableFunc(c.held, func(a, b Fault) int { return int(min(max(a.Offset-b.Offset, -1), 1)) })
	for _, f := range c.held {
		f.ID = id
		c.tell(f)
	}
	c.held = c.held[:0]
}

func (c *checker) tell(f Fault) {
	if c.err != nil {
		return
	}
	if f.Warning {
		c.stats.Warnings++
	} else {
		c.stats.Faults++
	}
	if c.err = c.options.Fault(f); c.err != nil {
		c.stop()
	}
}

// stop ends the reading.
func (c *checker) stop() {
	if c.json != nil && c.json.err == nil {
		c.json.err = c.err
	}
}

// maxField bounds a path.
const maxField = 200

// field is the path to what is being read.
func (c *checker) field() string {
	var b strings.Builder
	for i, s := range c.path {
		if b.Len() > maxField {
			b.WriteString("...")
			break
		}
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		b.WriteString(safeName(s.name))
	}
	return b.String()
}

func (c *checker) below(field string) string {
	path := c.field()
	if path == "" || field == "" || field[0] == '[' {
		return path + field
	}
	return path + "." + field
}

// safeName is a member's name for a path: in ASCII, cut.
func safeName(s string) string {
	if isWord(s) {
		return s
	}
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	q := strconv.QuoteToASCII(s)
	return q[1 : len(q)-1]
}

func isWord(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && s[i] != '_' {
			return false
		}
	}
	return len(s) <= 60
}
