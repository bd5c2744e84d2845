package netlog

import (
	"errors"
	"fmt"
	"path/filepath"
)

// A Fault says where a log is not as FORMAT.md and schema.json have it.
type Fault struct {
	File    string // the name of the file, of those of the log
	Offset  int64  // where the line begins in it
	N       int64  // the line's number; 0: it has none that can be read
	ID      int64  // the number of the open line that it belongs to; 0: none
	Field   string // the field's path in the line, such as response.body.size; "": the whole line's
	Rule    string // one of the Rule constants
	Text    string // what is wrong, in printable ASCII, values quoted and cut
	Warning bool   // what a log may be in all the same: see the rules
}

// The rules of a log.
const (
	// RuleLine: each line is one of the log. A warning where a process that was
	// killed has left it cut short, and for a live file's last one that is not
	// whole yet.
	RuleLine = "line"
	// RuleNumber: lines are numbered without a gap or a repeat.
	RuleNumber = "number"
	// RuleSchema: each field is as schema.json has it. A warning for an event and
	// for a field that it does not have: later versions add some.
	RuleSchema = "schema"
	// RuleForm: fields stand in FORMAT.md's order, written as the Writer does.
	RuleForm = "form"
	// RuleStart: each file and each process begins with a start line, which says
	// what is open.
	RuleStart = "start"
	// RulePair: a line belongs to one that was opened before and has not ended.
	RulePair = "pair"
	// RuleEnd: each open line has an end line. A warning, since an entry may be
	// going on, or its process may have been killed.
	RuleEnd = "end"
	// RuleTimings: phases fill the time from the open line to the end line.
	RuleTimings = "timings"
	// RuleBody: what is said of a body agrees with what was kept of it.
	RuleBody = "body"
	// RuleMessages: a WebSocket's counts agree with its message lines.
	RuleMessages = "messages"
)

// CheckOptions are how a log is checked.
type CheckOptions struct {
	// Fault is told of each fault, in the order of the lines. Its error ends the
	// check, which returns it. Nil: they are only counted.
	Fault func(Fault) error

	// Progress is told now and then how many bytes of the log are read of how
	// many. Its error ends the check. Nil: nobody is told.
	Progress func(done, total int64) error
}

// CheckStats counts what a check saw.
type CheckStats struct {
	Lines      int64 // that are the log's
	Entries    int64 // open lines
	Open       int64 // those without an end line
	Lost       int64 // exchanges that the log itself says it has no lines of
	Unreadable int64 // lines that are none of the log's
	Faults     int64
	Warnings   int64
}

// Check holds log against its format and goes on behind each fault. Its memory
// is that of the longest line, and some bytes for each entry that is open at one
// time. An error is that of reading the files, or CheckOptions'.
func Check(log *Log, o CheckOptions) (CheckStats, error) {
	if o.Fault == nil {
		o.Fault = func(Fault) error { return nil }
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) error { return nil }
	}
	c := &checker{log: log, options: o, open: make(map[int64]*opened)}
	s := log.Scan()
	s.passOver = c.passOver
	err := c.lines(s)
	return c.stats, err
}

// A checker is the state of a check.
type checker struct {
	log     *Log
	options CheckOptions
	stats   CheckStats
	err     error // what an option's function returned

	at    Fault  // where faults are
	buf   []byte // the line
	again []byte // its canonical form

	passed []passed // lines that are none of the log's, before the next that is one
	last   *Line    // the line before; nil: none
	pid    int      // of the last start line
	first  int64    // the log's first number
	open   map[int64]*opened
}

// An opened is what is known of an entry that has not ended.
type opened struct {
	at       int64 // microseconds since 1970
	n        int64 // of its open line; 0: that is in a file that is gone
	pos      Pos
	kind     Kind
	nameless bool // no method or no version
	body     bool // the request's body is known
	status   int  // of its answer line; 0: none
	messages int64
	more     bool // no message is recorded any more
}

const checkProgressLines = 1024

func (c *checker) lines(s *Scanner) error {
	total := c.log.size()
	for n := 0; s.Next(); n++ {
		if n%checkProgressLines == 0 {
			if err := c.options.Progress(c.log.before(s.Pos()), total); err != nil {
				return err
			}
		}
		if err := c.line(s.Head(), s.Pos()); err != nil {
			return err
		}
		if c.err != nil {
			return c.err
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	c.passedBefore(nil, Pos{File: int32(len(c.log.files))})
	c.stats.Unreadable = s.Unreadable()
	c.tail()
	c.unended()
	return c.err
}

// line checks one line.
func (c *checker) line(h Head, pos Pos) error {
	var err error
	if c.buf, err = c.log.ReadLine(pos, c.buf); err != nil {
		return err
	}
	c.stats.Lines++
	c.stats.Lost += h.Lost
	l, notes, err := parseStrict(c.buf)
	c.passedBefore(l, pos)
	c.place(pos, h)
	if err != nil {
		c.fault(RuleLine, notes.failed, "%v", errors.Unwrap(err))
		l = &Line{Head: h}
	}
	if !c.order(l, pos) {
		c.begin(l)
		c.place(pos, h)
	}
	if err == nil {
		c.fields(l, notes)
		c.belongs(l, pos)
	} else {
		c.supposed(h, pos)
	}
	c.last = l
	return nil
}

// place says where the faults that follow are.
func (c *checker) place(pos Pos, h Head) {
	c.at = Fault{Offset: pos.Offset, N: h.N, ID: h.ID}
	if f := int(pos.File); f < len(c.log.files) {
		c.at.File = filepath.Base(c.log.files[f].Name())
	}
}

func (c *checker) fault(rule, field, format string, args ...any) {
	f := c.at
	f.Rule, f.Field, f.Text = rule, field, fmt.Sprintf(format, args...)
	c.report(f)
}

func (c *checker) warn(rule, field, format string, args ...any) {
	f := c.at
	f.Rule, f.Field, f.Text, f.Warning = rule, field, fmt.Sprintf(format, args...), true
	c.report(f)
}

func (c *checker) report(f Fault) {
	if c.err != nil {
		return
	}
	if f.Warning {
		c.stats.Warnings++
	} else {
		c.stats.Faults++
	}
	c.err = c.options.Fault(f)
}

// tail looks at what follows the live file's last newline.
func (c *checker) tail() {
	if len(c.log.files) == 0 {
		return
	}
	i := len(c.log.files) - 1
	f := c.log.files[i]
	if !f.live || f.size == 0 {
		return
	}
	if end, err := afterNewline(f, f.size); err == nil && end < f.size {
		c.place(Pos{File: int32(i), Offset: end}, Head{})
		c.warn(RuleLine, "", "%d bytes of a last line that is not whole yet", f.size-end)
	}
}

// size is the length of all files.
func (l *Log) size() (n int64) {
	for _, f := range l.files {
		n += f.size
	}
	return n
}

// before is how many bytes of the log stand before p.
func (l *Log) before(p Pos) int64 {
	n := p.Offset
	for _, f := range l.files[:p.File] {
		n += f.size
	}
	return n
}
