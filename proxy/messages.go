package proxy

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
	"github.com/agentenv/netlog/proxy/wsframe"
)

// Bounds of what is kept of a WebSocket's messages, in bytes.
const (
	keepOfMessage = 64 << 10
	keepOfSocket  = 1 << 20
)

// maxHeld is how many lines of one direction wait for a piece of the other's that
// was read before them and does not go on.
const maxHeld = 64

// messages writes the message lines of one WebSocket. Each direction has a
// goroutine of its own; what is kept of both shares one budget. Pieces are looked
// at when they have gone on, so that an answer may be looked at before what it
// answers: the turns, taken when pieces are read, keep the lines in order.
type messages struct {
	entry    *entry
	sent     messageTap
	received messageTap
	full     atomic.Bool // no line is written any more

	mu       sync.Mutex // guards these, and turn and closed of the taps
	turn     int64      // the last that was taken
	held     []heldLine // in the order of their turns
	left     int        // bytes that may still be kept
	recorded int64      // lines, without those of close frames
}

type heldLine struct {
	turn int64
	line *netlog.Message
}

// newMessages is for the WebSocket that an answer of these fields has made of e.
func newMessages(e *entry, fields wire.FieldList) *messages {
	m := &messages{entry: e, left: keepOfSocket}
	m.sent = messageTap{of: m, by: &byClient, dir: "send"}
	m.received = messageTap{of: m, by: &byServer, dir: "receive"}
	if e.p.NoMessages || e.p.Log == nil {
		m.full.Store(true)
		return m
	}
	m.sent.frames.Sink, m.received.frames.Sink = m.sent.payload, m.received.payload
	if d, ok := agreedDeflate(fields); ok {
		m.sent.inflate = &inflater{pool: &e.p.inflating, takeover: d.clientTakeover}
		m.received.inflate = &inflater{pool: &e.p.inflating, takeover: d.serverTakeover}
	}
	return m
}

// of is the direction in which the bytes of one side go; nil for what is no WebSocket.
func (m *messages) of(by *string) *messageTap {
	switch {
	case m == nil:
		return nil
	case by == &byClient:
		return &m.sent
	}
	return &m.received
}

// closer is the direction in which the first close frame passed; nil: none has.
func (m *messages) closer() *messageTap {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	sent, received := m.sent.closed, m.received.closed
	switch {
	case sent == 0 && received == 0:
		return nil
	case received == 0 || sent != 0 && sent < received:
		return &m.sent
	}
	return &m.received
}

// finish writes what is held. It returns how many of count messages have lines,
// nil for all.
func (m *messages) finish(count int64) *int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent.turn, m.received.turn = 0, 0
	m.flush()
	if m.recorded >= count {
		return nil
	}
	return new(m.recorded)
}

// add makes a line with as much of content as may be kept.
func (m *messages) add(t *messageTap, line *netlog.Message, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full.Load() {
		return
	}
	content = content[:min(len(content), keepOfMessage)]
	if len(content) >= m.left {
		content = content[:m.left]
		line.More = true
		m.full.Store(true)
	}
	m.left -= len(content)
	line.Dir, line.Time = t.dir, t.at
	switch text, ok := asText(content, line); {
	case ok:
		line.Text = &text
	case len(content) > 0:
		line.Base64 = bytes.Clone(content)
	}
	if line.Opcode != int(wsframe.Close) {
		m.recorded++
	}
	i := len(m.held)
	for i > 0 && m.held[i-1].turn > t.turn {
		i--
	}
	m.held = slices.Insert(m.held, i, heldLine{t.turn, line})
	m.flush()
}

// flush writes, under the lock, the lines that nothing can come before any more.
func (m *messages) flush() {
	n := 0
	for n < len(m.held) && (len(m.held)-n > maxHeld || !m.sent.before(m.held[n].turn) && !m.received.before(m.held[n].turn)) {
		m.entry.message(m.held[n].line)
		n++
	}
	m.held = slices.Delete(m.held, 0, n)
}

// asText is the content as a text message's text: without the rest of a
// character that the limit has cut. It is none where the size, and so the
// content, is not known, and where it is not UTF-8.
func asText(content []byte, line *netlog.Message) (string, bool) {
	if line.Opcode != int(wsframe.Text) || line.Size == nil {
		return "", false
	}
	if int64(len(content)) < *line.Size {
		for i := range min(utf8.UTFMax, len(content)) {
			if last := content[len(content)-1-i:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					content = content[:len(content)-len(last)]
				}
				break
			}
		}
	}
	return string(content), utf8.Valid(content)
}

// A messageTap puts together the messages of one direction.
type messageTap struct {
	of      *messages
	by      *string // whose they are
	dir     string  // the same in the log's words
	frames  wsframe.Parser
	inflate *inflater // nil: no compression that is known was agreed

	turn   int64     // of the piece that is passing, and
	at     time.Time // when it was read
	closed int64     // the turn of the first close frame

	begun      bool // a message is passing
	opcode     wsframe.Opcode
	compressed bool
	parts      int // frames
	wireSize   int64
	kept       []byte // of the payload, as on the wire
}

// before tells whether a piece is passing that was read before a turn.
func (t *messageTap) before(turn int64) bool { return t.turn != 0 && t.turn < turn }

// begin is called when a piece was read, before it goes on.
func (t *messageTap) begin() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.turn++
	t.turn, t.at = t.of.turn, t.of.entry.p.now()
}

// look looks at the piece, which has gone on.
func (t *messageTap) look(piece []byte) {
	if t.of.full.Load() {
		t.frames.Sink = nil
		t.kept, t.inflate = nil, nil
	}
	t.frames.Feed(piece)
	if payload, closed := t.frames.CloseFrame(); closed && t.closed == 0 {
		size := int64(len(payload))
		t.of.add(t, &netlog.Message{Opcode: int(wsframe.Close), Size: &size, WireSize: size, Frames: 1}, payload)
		t.of.mu.Lock()
		t.closed = t.turn
		t.of.mu.Unlock()
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.turn = 0
	t.of.flush()
}

// payload takes the payload of data frames; it is a wsframe.Sink.
func (t *messageTap) payload(h wsframe.Header, piece []byte, end bool) {
	if !t.begun {
		t.begun = true
		t.opcode, t.compressed = h.Opcode, h.RSV1
		t.parts, t.wireSize, t.kept = 0, 0, t.kept[:0]
	}
	t.wireSize += int64(len(piece))
	t.keep(piece)
	if !end {
		return
	}
	t.parts++
	if h.Final {
		t.begun = false
		t.write()
	}
}

// keep keeps of the payload what the line or the inflating needs.
func (t *messageTap) keep(piece []byte) {
	limit := keepOfMessage
	if t.compressed {
		if limit = 0; t.inflate != nil && !t.inflate.lost {
			limit = maxDeflated
		}
	}
	if room := limit - len(t.kept); len(piece) > room {
		piece = piece[:max(room, 0)]
	}
	t.kept = append(t.kept, piece...)
}

// write makes the line of the message that has passed.
func (t *messageTap) write() {
	line := &netlog.Message{Opcode: int(t.opcode), WireSize: t.wireSize, Frames: t.parts}
	content := t.kept
	switch {
	case !t.compressed:
		line.Size = new(t.wireSize)
	case t.inflate == nil:
		content = nil
	default:
		var size int64
		var ok bool
		if content, size, ok = t.inflate.message(t.kept, t.wireSize); ok {
			line.Size = &size
		}
	}
	t.of.add(t, line, content)
	if cap(t.kept) > keepOfMessage {
		t.kept = nil // what a rare message took is not held for the next
	}
}
