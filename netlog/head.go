package netlog

import (
	"bytes"
	"time"
)

// Head is the beginning of a line: what is known without parsing the rest.
type Head struct {
	N     int64     // the line's number
	Event Event     // may be one that this package does not know
	ID    int64     // the open line's number; 0 in a start line
	Time  time.Time // UTC, to the microsecond
	Lost  int64     // exchanges and tunnels before this line that have no lines
}

// parseHead reads a line's beginning, whose form is fixed to the byte, and
// returns what follows it.
func parseHead(b []byte) (h Head, rest []byte, ok bool) {
	if b, ok = bytes.CutPrefix(b, []byte(`{"n":`)); !ok {
		return h, nil, false
	}
	if h.N, b, ok = digits(b); !ok || h.N == 0 {
		return h, nil, false
	}
	if b, ok = bytes.CutPrefix(b, []byte(`,"event":"`)); !ok {
		return h, nil, false
	}
	i := bytes.IndexByte(b, '"')
	if i < 1 || i > 32 {
		return h, nil, false
	}
	if h.Event, ok = event(b[:i]); !ok {
		return h, nil, false
	}
	b = b[i+1:]
	if r, with := bytes.CutPrefix(b, []byte(`,"id":`)); with {
		if h.ID, b, ok = digits(r); !ok {
			return h, nil, false
		}
	}
	if b, ok = bytes.CutPrefix(b, []byte(`,"t":"`)); !ok || len(b) <= len(timeLayout) || b[len(timeLayout)] != '"' {
		return h, nil, false
	}
	if h.Time, ok = parseTime(b[:len(timeLayout)]); !ok {
		return h, nil, false
	}
	b = b[len(timeLayout)+1:]
	if r, with := bytes.CutPrefix(b, []byte(`,"lost":`)); with {
		if h.Lost, b, ok = digits(r); !ok {
			return h, nil, false
		}
	}
	return h, b, len(b) > 0 && (b[0] == ',' || b[0] == '}')
}

// beginsHead says whether b, a file's first bytes, are those of a line of the
// log, be it one that was cut short.
func beginsHead(b []byte) bool {
	b, _, ended := bytes.Cut(b, []byte("\n"))
	if ended && len(b) < len(`{"n":1`) {
		return false // too little to tell
	}
	b, ok := cutForm(b, `{"n":`)
	for ok && len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		b = b[1:]
	}
	_, whole := cutForm(b, `,"event":"`)
	return ok && whole
}

// cutForm cuts form off b's front; ok when b is as short as to end inside it.
func cutForm(b []byte, form string) (rest []byte, ok bool) {
	n := min(len(b), len(form))
	return b[n:], string(b[:n]) == form[:n]
}

// event returns the event of that name, without an allocation when it is known.
func event(b []byte) (Event, bool) {
	switch string(b) {
	case "start":
		return EventStart, true
	case "open":
		return EventOpen, true
	case "answer":
		return EventAnswer, true
	case "message":
		return EventMessage, true
	case "end":
		return EventEnd, true
	}
	for _, c := range b {
		if (c < 'a' || c > 'z') && c != '_' {
			return "", false
		}
	}
	return Event(b), true
}

// digits reads a number as this package writes it: no sign, no leading zero.
func digits(b []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		if i == 18 { // far below an overflow, and no log gets there
			return 0, nil, false
		}
		n = n*10 + int64(b[i]-'0')
	}
	return n, b[i:], i > 0 && (b[0] != '0' || i == 1)
}

// parseTime reads a time of timeLayout, at a tenth of what time.Parse takes.
func parseTime(b []byte) (time.Time, bool) {
	var part [7]int
	at := 0
	for i, form := range []byte(timeLayout) {
		c := b[i]
		if form >= '0' && form <= '9' {
			if c < '0' || c > '9' {
				return time.Time{}, false
			}
			part[at] = part[at]*10 + int(c-'0')
			continue
		}
		if c != form {
			return time.Time{}, false
		}
		at++
	}
	month, day, hour, minute, second := time.Month(part[1]), part[2], part[3], part[4], part[5]
	t := time.Date(part[0], month, day, hour, minute, second, part[6]*1000, time.UTC)
	valid := t.Month() == month && t.Day() == day && t.Hour() == hour && t.Minute() == minute && t.Second() == second
	return t, valid
}
