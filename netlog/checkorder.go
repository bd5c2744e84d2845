package netlog

import "slices"

// maxPassed is how many lines in a row a process that is killed again and again
// may leave cut short.
const maxPassed = 64

// passOver is told by the scan of a line that is none of the log's.
func (c *checker) passOver(p passed) {
	c.passed = append(c.passed, p)
	if len(c.passed) > maxPassed {
		c.passedFaults(false)
	}
}

// passedBefore reports the lines passed over before l, which is at pos; nil when
// there are no more lines.
func (c *checker) passedBefore(l *Line, pos Pos) {
	later := slices.IndexFunc(c.passed, func(p passed) bool {
		return p.file > int(pos.File) || p.file == int(pos.File) && p.offset > pos.Offset
	})
	var rest []passed
	if later >= 0 {
		rest = slices.Clone(c.passed[later:])
		c.passed = c.passed[:later]
	}
	// A process that goes on where another was killed ends the line that this has
	// cut short, and begins with a start line.
	c.passedFaults(l != nil && l.Start != nil)
	c.passed = append(c.passed, rest...)
}

func (c *checker) passedFaults(killed bool) {
	for _, p := range c.passed {
		c.place(Pos{File: int32(p.file), Offset: p.offset}, Head{})
		if killed {
			c.warn(RuleLine, "", "%d bytes of a line cut short, as by a process that was killed", p.length)
		} else {
			c.fault(RuleLine, "", "%d bytes that are no line of a log: %s", p.length, p.why)
		}
	}
	c.passed = c.passed[:0]
}

// order checks a line's number, and that files and processes begin with a start
// line. It is false when the log begins again.
func (c *checker) order(l *Line, pos Pos) bool {
	begins := pos.Offset == 0
	switch {
	case c.last == nil:
		c.first = l.N
	case l.N != c.last.N+1:
		c.fault(RuleNumber, "n", "stands where line %d belongs", c.last.N+1)
	}
	switch {
	case l.Event == EventStart:
	case c.last == nil:
		c.fault(RuleStart, "event", "the first line is of the event %s", quote(string(l.Event)))
	case begins:
		c.fault(RuleStart, "event", "begins a file and is of the event %s", quote(string(l.Event)))
	}
	return c.last == nil || l.N > c.last.N || l.Event != EventStart
}

// begin forgets the lines before one at which the log begins again.
func (c *checker) begin(l *Line) {
	c.unended()
	clear(c.open)
	c.first, c.last = l.N, nil
}

// supposed takes a line that can't be read for what its head says, so that the
// lines which belong to it are no faults.
func (c *checker) supposed(h Head, pos Pos) {
	switch h.Event {
	case EventOpen:
		c.stats.Entries++
		c.open[h.ID] = &opened{pos: pos}
	case EventEnd:
		delete(c.open, h.ID)
	}
}

// belongs checks a line's id against the lines before it.
func (c *checker) belongs(l *Line, pos Pos) {
	switch l.Event {
	case EventStart:
		c.start(l, pos)
		return
	case EventOpen:
		c.opens(l, pos)
		return
	case EventAnswer, EventMessage, EventEnd:
	default:
		return
	}
	if l.ID == 0 {
		return
	}
	o := c.open[l.ID]
	if o == nil {
		c.fault(RulePair, "id", "is of %d, which is not open: it was never opened, or has ended", l.ID)
		return
	}
	if o.n > 0 && l.Time.UnixMicro() < o.at && !restarted(l) {
		c.fault(RuleTimings, "t", "is before that of line %d", o.n)
	}
	switch {
	case l.Answer != nil:
		c.answers(o, l)
	case l.Message != nil:
		c.speaks(o, l)
	case l.End != nil:
		c.ends(o, l)
		delete(c.open, l.ID)
	}
}

func (c *checker) opens(l *Line, pos Pos) {
	c.stats.Entries++
	if l.ID == 0 {
		l.ID = l.N
	} else if l.ID != l.N {
		c.fault(RulePair, "id", "is %d and not the line's own number", l.ID)
	}
	o := &opened{at: l.Time.UnixMicro(), n: l.N, pos: pos, kind: l.Open.Kind}
	if r := l.Open.Request; r != nil && o.kind == KindExchange {
		o.nameless = r.Method == "" || r.Version == ""
		o.body = r.Body != nil
	}
	c.open[l.ID] = o
}

// start checks the ids that are open after a rotation. Those of lines that are
// gone begin with this line.
func (c *checker) start(l *Line, pos Pos) {
	last := int64(0)
	if c.last != nil {
		last = c.last.N
	}
	for i, id := range l.Start.Open {
		gone := id < c.first || id > last && id < l.N || id == l.N && (c.last == nil || l.N-last > 1)
		switch {
		case c.open[id] != nil:
		case !gone:
			c.fault(RuleStart, indexed("open", i), "is %d, which is not open", id)
		default:
			c.open[id] = &opened{pos: pos} // a number that is gone may be given again
		}
	}
	if n := len(l.Start.Open); pos.Offset == 0 && c.pid == l.Start.PID && n < len(c.open) {
		c.fault(RuleStart, "open", "has %d ids of the %d that are open", n, len(c.open))
	}
	c.pid = l.Start.PID
}

func (c *checker) answers(o *opened, l *Line) {
	if o.kind == KindTunnel {
		c.fault(RulePair, "event", "is an answer to a tunnel")
	}
	if l.Answer.Response != nil {
		o.status = l.Answer.Response.Status
	}
}

func (c *checker) speaks(o *opened, l *Line) {
	m := l.Message
	if o.kind == KindTunnel {
		c.fault(RulePair, "event", "is a message in a tunnel")
	}
	if o.more {
		c.fault(RuleMessages, "", "follows the last message that is recorded, which says more")
	}
	o.more = m.More
	if m.Opcode != 8 {
		o.messages++
	}
}

func (c *checker) ends(o *opened, l *Line) {
	end := l.End
	if o.n == 0 {
		return
	}
	c.timings(o, l)
	if o.nameless && end.Refused == nil {
		c.fault(RulePair, "refused", "is absent, though open line %d has no method or no version", o.n)
	}
	if r := end.Request; r != nil && r.Body != nil && o.body {
		c.fault(RuleBody, "request.body", "is in open line %d, too", o.n)
	}
	if r := end.Response; r != nil && o.status != 0 && r.Status != o.status {
		c.fault(RulePair, "response.status", "is %d, that of the answer line %d", r.Status, o.status)
	}
	if o.kind == KindTunnel {
		if end.Response != nil {
			c.fault(RulePair, "response", "is an answer to a tunnel")
		}
	}
	s := end.WebSocket
	if s == nil {
		return
	}
	all := s.Sent.Messages + s.Received.Messages
	switch {
	case s.Recorded != nil && *s.Recorded != o.messages:
		c.fault(RuleMessages, "websocket.recorded", "is %d, there are %d message lines", *s.Recorded, o.messages)
	case s.Recorded != nil && *s.Recorded >= all:
		c.fault(RuleMessages, "websocket.recorded", "is %d of %d messages, and is to be absent when it is all", *s.Recorded, all)
	case s.Recorded == nil && all != o.messages:
		c.fault(RuleMessages, "websocket", "counts %d messages, there are %d message lines", all, o.messages)
	}
}

// timings checks that the phases fill the time from the open line to the end line.
func (c *checker) timings(o *opened, l *Line) {
	t := &l.End.Timings
	sum, phases := int64(0), 0
	for _, p := range [...]int64{t.Blocked, t.DNS, t.Connect, t.Send, t.Wait, t.Receive} {
		if p >= 0 {
			sum += p
			phases++
		}
	}
	if phases > 0 && sum != t.Total {
		c.fault(RuleTimings, "timings.total", "is %d, the sum of the phases %d", t.Total, sum)
	}
	if t.TLS > max(t.Connect, 0) {
		c.fault(RuleTimings, "timings.tls", "is %d of the %d that connect takes", t.TLS, t.Connect)
	}
	if restarted(l) {
		return
	}
	if took := l.Time.UnixMicro() - o.at; took != t.Total {
		c.fault(RuleTimings, "timings.total", "is %d, from line %d to this one %d microseconds passed", t.Total, o.n, took)
	}
}

// restarted says that an end line was written by another process than its open
// line, whose clock may have been another.
func restarted(l *Line) bool {
	return l.End != nil && l.End.Failed != nil && l.End.Failed.Code == CodeRestarted
}

// unended reports the entries without an end, in the order of their numbers.
func (c *checker) unended() {
	c.stats.Open += int64(len(c.open))
	ids := make([]int64, 0, len(c.open))
	for id := range c.open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		o := c.open[id]
		c.place(o.pos, Head{N: id, ID: id})
		c.warn(RuleEnd, "", "has no end line: it is going on, or its process was killed")
	}
}
