package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/agentenv/netlog/har"
)

// A showTable has the widths that its columns need, and the time that its bars
// are parts of. It holds no entry.
type showTable struct {
	screen
	widths   [showColumns]int
	from, to time.Time
	bars     bool
}

// The columns before the bar and the URL.
const (
	columnID = iota
	columnMethod
	columnStatus
	columnType
	columnSize
	columnTime
	showColumns
)

var showNames = [showColumns]string{"#", "method", "status", "type", "size", "time"}

// mostCells bounds columns in a terminal, where the URL needs room.
var mostCells = [showColumns]int{8, 7, 14, 12, 9, 9}

const (
	barCells = 10
	leastURL = 20 // columns of a URL for which others give way
	gap      = "  "
)

func newTable(s screen) *showTable {
	t := &showTable{screen: s}
	for i, name := range showNames {
		t.widths[i] = len(name)
	}
	return t
}

// measure makes room for an entry.
func (t *showTable) measure(e *har.Entry) {
	for i, text := range t.texts(e) {
		t.widths[i] = max(t.widths[i], cells(text))
	}
	began, ended, ok := span(e)
	if !ok {
		return
	}
	if !t.bars || began.Before(t.from) {
		t.from = began
	}
	if !t.bars || ended.After(t.to) {
		t.to = ended
	}
	t.bars = true
}

// texts are the columns' before they are painted.
func (t *showTable) texts(e *har.Entry) [showColumns]string {
	return [showColumns]string{
		strconv.FormatInt(e.ID, 10), cmp.Or(printable(e.Request.Method), "-"), statusText(e), typeText(e), sizeText(receivedSize(e)), timeText(e),
	}
}

// layout is the columns' widths, 0 for one that gives way, and whether there is
// room for the bar; what remains is the URL's.
func (t *showTable) layout() (widths [showColumns]int, bar bool, url int) {
	widths, bar = t.widths, t.bars
	if t.columns == 0 {
		return widths, bar, 0
	}
	room := func() int {
		n := t.columns
		for _, w := range widths {
			if w > 0 {
				n -= w + len(gap)
			}
		}
		if bar {
			n -= barCells + len(gap)
		}
		return n
	}
	for i := range widths {
		widths[i] = min(widths[i], mostCells[i])
	}
	bar = bar && room() >= leastURL
	for _, i := range [...]int{columnTime, columnSize, columnType} {
		if room() < leastURL {
			widths[i] = 0
		}
	}
	return widths, bar, max(room(), 0)
}

func (t *showTable) head(out io.Writer) error {
	return t.line(out, showNames, t.bar(nil), "url", [showColumns]sgr{dim, dim, dim, dim, dim, dim}, dim)
}

func (t *showTable) row(out io.Writer, e *har.Entry) error {
	return t.line(out, t.texts(e), t.bar(e), printable(e.Request.URL), [showColumns]sgr{columnID: dim, columnStatus: statusColor(e)}, plain)
}

func (t *showTable) line(out io.Writer, texts [showColumns]string, bar, url string, colors [showColumns]sgr, rest sgr) error {
	widths, withBar, room := t.layout()
	var b strings.Builder
	for i, text := range texts {
		if widths[i] == 0 {
			continue
		}
		if t.columns > 0 {
			text = t.fit(text, widths[i])
		}
		b.WriteString(t.paint(colors[i], pad(text, widths[i], i == columnID || i == columnSize || i == columnTime)))
		b.WriteString(gap)
	}
	if withBar {
		b.WriteString(t.paint(blue, bar))
		b.WriteString(gap)
	}
	if t.columns > 0 {
		url = t.fit(url, room)
	}
	b.WriteString(t.paint(rest, url))
	b.WriteByte('\n')
	_, err := io.WriteString(out, b.String())
	return err
}

// bar says when in the whole an entry was. An entry that took no time has a
// cell all the same.
func (t *showTable) bar(e *har.Entry) string {
	from, to := 0, 0
	if e != nil {
		if began, ended, ok := span(e); ok {
			from = min(t.cell(began), barCells-1)
			to = max(t.cell(ended), from+1)
		}
	}
	mark := "="
	if t.blocks {
		mark = "━"
	}
	return strings.Repeat(" ", from) + strings.Repeat(mark, to-from) + strings.Repeat(" ", barCells-to)
}

func (t *showTable) cell(at time.Time) int {
	whole := t.to.Sub(t.from)
	if whole <= 0 {
		return 0
	}
	return min(max(int(float64(at.Sub(t.from))/float64(whole)*barCells+0.5), 0), barCells)
}

// span is when an entry began and ended.
func span(e *har.Entry) (began, ended time.Time, ok bool) {
	began, err := time.Parse(time.RFC3339, e.StartedDateTime)
	if err != nil {
		return began, began, false
	}
	const most = har.Millis(1e15) // three decades: a span's nanoseconds do not overflow
	return began, began.Add(time.Duration(min(max(e.Time, 0), most)) * time.Microsecond), true
}

// statusText is the answer's status, and how the entry went wrong.
func statusText(e *har.Entry) string {
	var words []string
	if e.Response.Status > 0 {
		words = append(words, strconv.Itoa(e.Response.Status))
	}
	switch {
	case e.Open:
		words = append(words, "open")
	case e.Failed != nil:
		words = append(words, "failed: "+printable(e.Failed.Code))
	case e.Refused != nil:
		words = append(words, "refused: "+printable(e.Refused.Code))
	case e.Response.Error != "":
		words = append(words, "failed")
	}
	return cmp.Or(strings.Join(words, " "), "-")
}

func statusColor(e *har.Entry) sgr {
	switch {
	case e.Open:
		return blue
	case e.Response.Error != "" || e.Failed != nil || e.Refused != nil || e.Response.Status >= 500:
		return red
	case e.Response.Status >= 400:
		return yellow
	case e.Response.Status >= 300:
		return cyan
	case e.Response.Status >= 200:
		return green
	}
	return plain
}

// typeText is what an entry is for, or the media type where nothing says so.
func typeText(e *har.Entry) string {
	switch {
	case e.Tunnel != nil || e.Via == "tunnel":
		return "tunnel"
	case e.ResourceType != "" && e.ResourceType != "other":
		return printable(e.ResourceType)
	}
	return cmp.Or(printable(mediaTypeOf(e)), "-")
}

// mediaTypeOf is the answer's media type without parameters; "" for none.
func mediaTypeOf(e *har.Entry) string {
	typ, _, _ := strings.Cut(e.Response.Content.MimeType, ";")
	if typ = strings.TrimSpace(typ); typ == "x-unknown" {
		return ""
	}
	return typ
}

// receivedSize is how many bytes came as the answer's body; -1 when nothing says.
func receivedSize(e *har.Entry) int64 {
	switch {
	case e.WebSocket != nil:
		return e.WebSocket.Received.Bytes
	case e.Tunnel != nil:
		return e.Tunnel.Received
	case e.Response.BodySize >= 0:
		return e.Response.BodySize
	case e.Response.Status > 0 && !e.Open: // another's, of which only the decoded size is known
		return e.Response.Content.Size
	}
	return -1
}

// sentSize is the same of the request.
func sentSize(e *har.Entry) int64 {
	switch {
	case e.WebSocket != nil:
		return e.WebSocket.Sent.Bytes
	case e.Tunnel != nil:
		return e.Tunnel.Sent
	}
	return e.Request.BodySize
}

func sizeText(n int64) string {
	if n < 0 {
		return "-"
	} else if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f := float64(n)
	for _, unit := range [...]string{"kB", "MB", "GB"} {
		if f /= 1000; f < 999.95 {
			return fmt.Sprintf("%.1f %s", f, unit)
		}
	}
	return fmt.Sprintf("%.1f TB", f/1000)
}

func timeText(e *har.Entry) string {
	if e.Open || e.Time < 0 {
		return "-"
	}
	return millisText(e.Time)
}

func millisText(m har.Millis) string {
	ms := float64(m) / 1000
	switch {
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 99995:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
	return fmt.Sprintf("%.0f s", ms/1000)
}
