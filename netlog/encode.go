package netlog

import (
	"strconv"
	"time"
)

// headRoom is more than the longest beginning of a line takes: n, event, id, t
// and lost.
const headRoom = 160

// timeLayout is how t is written: always six fraction digits, always UTC.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// dateLayout is how a certificate's times are written.
const dateLayout = "2006-01-02T15:04:05Z"

// AppendLine appends l to b as one line of the log, with its newline. The error
// is that of a kept body that could not be read: the line is whole all the same,
// with what could be read of the body and marked as truncated.
func AppendLine(b []byte, l *Line) ([]byte, error) {
	e := encoder{b: appendHead(b, &l.Head)}
	switch {
	case l.Start != nil:
		e.start(l.Start)
	case l.Open != nil:
		e.open(l.Open)
	case l.Answer != nil:
		e.answer(l.Answer)
	case l.Message != nil:
		e.message(l.Message)
	case l.End != nil:
		e.end(l.End)
	}
	return append(e.b, '}', '\n'), e.err
}

// appendHead appends a line's beginning, from its brace to the last field that
// a scan reads.
func appendHead(b []byte, h *Head) []byte {
	b = append(b, `{"n":`...)
	b = strconv.AppendInt(b, h.N, 10)
	b = append(b, `,"event":"`...)
	b = append(b, h.Event...)
	b = append(b, '"')
	if h.ID != 0 {
		b = append(b, `,"id":`...)
		b = strconv.AppendInt(b, h.ID, 10)
	}
	b = append(b, `,"t":"`...)
	b = appendTime(b, h.Time)
	b = append(b, '"')
	if h.Lost != 0 {
		b = append(b, `,"lost":`...)
		b = strconv.AppendInt(b, h.Lost, 10)
	}
	return b
}

// appendTime appends a time of timeLayout, at a third of what AppendFormat takes:
// a Writer's lock is held meanwhile.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, timeLayout)
	}
	hour, minute, second := t.Clock()
	n := len(b)
	b = append(b, timeLayout...)
	at := b[n:]
	number := func(end, n int) { // puts n's last two digits before end
		at[end-2], at[end-1] = byte('0'+n/10%10), byte('0'+n%10)
	}
	number(2, year/100)
	number(4, year)
	number(7, int(month))
	number(10, day)
	number(13, hour)
	number(16, minute)
	number(19, second)
	micros := t.Nanosecond() / 1000
	number(22, micros/10000)
	number(24, micros/100)
	number(26, micros)
	return b
}

// An encoder appends the rest of a line to b, which is never empty.
type encoder struct {
	b   []byte
	err error // a kept body could not be read
}

// Write appends p as it is: a kept body comes this way, through base64.
func (e *encoder) Write(p []byte) (int, error) {
	e.b = append(e.b, p...)
	return len(p), nil
}

// key appends a field's name, quoted and with its colon, and before it the comma
// that it needs.
func (e *encoder) key(name string) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, name...)
}

func (e *encoder) object(name string) {
	e.key(name)
	e.b = append(e.b, '{')
}

func (e *encoder) close() { e.b = append(e.b, '}') }

func (e *encoder) string(name, s string) {
	e.key(name)
	e.b, _ = appendString(e.b, s)
}

func (e *encoder) stringIf(name, s string) {
	if s != "" {
		e.string(name, s)
	}
}

func (e *encoder) strings(name string, list []string) {
	if len(list) == 0 {
		return
	}
	e.key(name)
	e.b = append(e.b, '[')
	for i, s := range list {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b, _ = appendString(e.b, s)
	}
	e.b = append(e.b, ']')
}

func (e *encoder) int(name string, n int64) {
	e.key(name)
	e.b = strconv.AppendInt(e.b, n, 10)
}

func (e *encoder) intIf(name string, n int64) {
	if n != 0 {
		e.int(name, n)
	}
}

// phase appends a time in microseconds unless it is Absent.
func (e *encoder) phase(name string, micros int64) {
	if micros >= 0 {
		e.int(name, micros)
	}
}

func (e *encoder) bool(name string, v bool) {
	e.key(name)
	e.b = strconv.AppendBool(e.b, v)
}

func (e *encoder) boolIf(name string, v bool) {
	if v {
		e.bool(name, v)
	}
}

func (e *encoder) time(name string, t time.Time, layout string) {
	e.key(name)
	e.b = append(e.b, '"')
	e.b = t.UTC().AppendFormat(e.b, layout)
	e.b = append(e.b, '"')
}

func (e *encoder) base64(name string, p []byte) {
	e.key(name)
	e.b = append(e.b, '"')
	e.b = appendBase64(e.b, p)
	e.b = append(e.b, '"')
}

func (e *encoder) start(s *Start) {
	e.int(`"format":`, int64(s.Format))
	e.string(`"program":`, s.Program)
	e.string(`"version":`, s.Version)
	e.int(`"pid":`, int64(s.PID))
	e.string(`"mode":`, s.Mode)
	e.object(`"limits":`)
	e.int(`"request_body":`, s.Limits.RequestBody)
	e.int(`"response_body":`, s.Limits.ResponseBody)
	e.string(`"types":`, s.Limits.Types)
	e.close()
	if len(s.Open) == 0 {
		return
	}
	e.key(`"open":`)
	for i, id := range s.Open {
		e.b = append(e.b, "[,"[min(i, 1)])
		e.b = strconv.AppendInt(e.b, id, 10)
	}
	e.b = append(e.b, ']')
}

func (e *encoder) open(o *Open) {
	e.string(`"kind":`, string(o.Kind))
	e.string(`"via":`, string(o.Via))
	e.stringIf(`"site":`, o.Site)
	e.string(`"client":`, o.Client)
	e.intIf(`"connection":`, o.Connection)
	e.intIf(`"stream":`, o.Stream)
	e.stringIf(`"target":`, o.Target)
	e.request(o.Request)
}

func (e *encoder) answer(a *Answer) {
	if a.Response != nil {
		e.response(a.Response, false)
	}
}

func (e *encoder) message(m *Message) {
	e.string(`"dir":`, m.Dir)
	e.int(`"opcode":`, int64(m.Opcode))
	if m.Size != nil {
		e.int(`"size":`, *m.Size)
	}
	e.int(`"wire_size":`, m.WireSize)
	e.int(`"frames":`, int64(m.Frames))
	if m.Text != nil {
		e.string(`"text":`, *m.Text)
	}
	if len(m.Base64) > 0 {
		e.base64(`"base64":`, m.Base64)
	}
	e.boolIf(`"more":`, m.More)
}

func (e *encoder) end(d *End) {
	e.request(d.Request)
	if d.Response != nil {
		e.response(d.Response, true)
	}
	e.server(d.Server)
	e.tls(`"client_tls":`, d.ClientTLS)
	e.timings(&d.Timings)
	e.tunnel(d.Tunnel)
	e.websocket(d.WebSocket)
	if f := d.Failed; f != nil {
		e.object(`"failed":`)
		e.string(`"phase":`, string(f.Phase))
		e.string(`"code":`, string(f.Code))
		e.string(`"reason":`, f.Reason)
		e.close()
	}
	if r := d.Refused; r != nil {
		e.object(`"refused":`)
		e.string(`"code":`, string(r.Code))
		e.string(`"reason":`, r.Reason)
		e.int(`"status":`, int64(r.Status))
		e.close()
	}
	e.strings(`"changed":`, d.Changed)
	e.boolIf(`"unparsed":`, d.Unparsed)
}

func (e *encoder) timings(t *Timings) {
	e.object(`"timings":`)
	e.phase(`"blocked":`, t.Blocked)
	e.phase(`"dns":`, t.DNS)
	e.phase(`"connect":`, t.Connect)
	e.phase(`"tls":`, t.TLS)
	e.phase(`"send":`, t.Send)
	e.phase(`"wait":`, t.Wait)
	e.phase(`"receive":`, t.Receive)
	e.int(`"total":`, max(t.Total, 0))
	e.close()
}
