package har

import (
	"bytes"
	"sort"
	"strings"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// eventMessages reads the events of a text/event-stream body (HTML §9.2.6).
// chunks says when the body's parts came; marks, for a coded one, where each
// begins in the decoded body. began is what the chunks' times count from.
func eventMessages(body []byte, chunks []netlog.Chunk, marks []int, began time.Time) []EventSourceMessage {
	var list []EventSourceMessage
	var data []string
	event, id := "", ""
	rest := bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	for len(rest) > 0 && len(list) < maxParts {
		line, after, whole := cutLine(rest)
		if !whole {
			break // an event that was not ended is none
		}
		rest = after
		if len(line) == 0 {
			if len(data) > 0 {
				if event == "" {
					event = "message"
				}
				list = append(list, EventSourceMessage{
					Time:      arrival(len(body)-len(rest), chunks, marks, began),
					EventName: event, EventID: id, Data: strings.Join(data, "\n"),
				})
			}
			data, event = nil, ""
			continue
		}
		field, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			event = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		}
	}
	return list
}

// cutLine takes off a line that ends with CR LF, LF or CR.
func cutLine(b []byte) (line, rest []byte, whole bool) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil, false
	}
	line, rest = b[:i], b[i+1:]
	if b[i] == '\r' {
		rest = bytes.TrimPrefix(rest, []byte("\n"))
	}
	return line, rest, true
}

// arrival is when the byte before end came.
func arrival(end int, chunks []netlog.Chunk, marks []int, began time.Time) Seconds {
	at := func(i int) int64 {
		if i < len(marks) {
			return int64(marks[i])
		}
		return chunks[i].Offset
	}
	n := len(chunks)
	if marks != nil {
		n = min(n, len(marks))
	}
	i := sort.Search(n, func(i int) bool { return at(i) >= int64(end) }) - 1
	t := began.UnixMicro()
	if i >= 0 {
		t += chunks[i].Micros
	}
	return Seconds(t)
}
