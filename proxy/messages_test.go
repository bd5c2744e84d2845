package proxy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/agentenv/netlog/netlog"
)

// wsFrame is a WebSocket frame; key is its mask, "" for none.
func wsFrame(first byte, key, payload string) string {
	n := len(payload)
	b := []byte{first, 0}
	switch {
	case n < 126:
		b[1] = byte(n)
	case n < 1<<16:
		b[1] = 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] = 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if key != "" {
		b[1] |= 0x80
		b = append(b, key...)
		masked := []byte(payload)
		for i := range masked {
			masked[i] ^= key[i&3]
		}
		payload = string(masked)
	}
	return string(b) + payload
}

const wsKey = "\x01\x82\xf3\x04"

// sent is a browser's frame.
func sent(first byte, payload string) string { return wsFrame(first, wsKey, payload) }

const closing = "\x03\xe8bye"

// messageLines ends the world and gives its message lines and the one end line,
// in words.
func (w *world) messageLines() (lines []string, end netlog.End) {
	w.t.Helper()
	w.end()
	raw, err := os.ReadFile(w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		l, err := netlog.ParseLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			w.t.Fatal(err)
		}
		if l.End != nil {
			end = *l.End
		}
		if l.Message == nil {
			continue
		}
		m := l.Message
		size, more := "?", ""
		if m.Size != nil {
			size = fmt.Sprint(*m.Size)
		}
		if m.More {
			more = " more"
		}
		content := "nothing"
		switch {
		case m.Text != nil:
			content = brief("text", *m.Text)
		case m.Base64 != nil:
			content = brief("base64", string(m.Base64))
		}
		lines = append(lines, fmt.Sprintf("%s %d %s/%d in %d: %s%s", m.Dir, m.Opcode, size, m.WireSize, m.Frames, content, more))
	}
	return lines, end
}

func brief(kind, s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%s of %d", kind, len(s))
	}
	return fmt.Sprintf("%s %q", kind, s)
}

// A wsDialogue is a socket on which both sides send given bytes, one after the other.
type wsDialogue struct {
	extensions     string
	client, server string
}

// hold runs the dialogue through the proxy.
func (d wsDialogue) hold(t *testing.T, change func(*Config)) *world {
	t.Helper()
	w := newWorld(t, change)
	head := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
	if d.extensions != "" {
		head += "Sec-WebSocket-Extensions: " + d.extensions + "\r\n"
	}
	head += "\r\n"
	addr := w.origin(func(p *party) {
		p.head()
		p.send(head)
		p.expect(d.client)
		p.send(d.server)
		p.rest()
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
	b.expect(head)
	b.send(d.client)
	b.expect(d.server)
	b.Close()
	w.waitFor(1)
	return w
}

func TestMessageLines(t *testing.T) {
	const deflate = "permessage-deflate; client_max_window_bits=15"
	long := strings.Repeat("é", keepOfMessage)
	oddly := "x" + long
	both, one := newDeflater(t, true), newDeflater(t, false)
	tests := []struct {
		name string
		wsDialogue
		want []string
	}{
		{"of either side", wsDialogue{"", sent(0x81, "hello") + sent(0x82, "\x00\xff") + sent(0x88, closing), wsFrame(0x81, "", "hé") + wsFrame(0x88, "", closing)}, []string{
			`send 1 5/5 in 1: text "hello"`, `send 2 2/2 in 1: base64 "\x00\xff"`, `send 8 5/5 in 1: base64 "\x03\xe8bye"`,
			`receive 1 3/3 in 1: text "hé"`, `receive 8 5/5 in 1: base64 "\x03\xe8bye"`}},
		{"empty", wsDialogue{"", sent(0x81, "") + sent(0x82, "") + sent(0x88, ""), ""}, []string{
			`send 1 0/0 in 1: text ""`, `send 2 0/0 in 1: nothing`, `send 8 0/0 in 1: nothing`}},
		{"in fragments, with control frames between", wsDialogue{"", sent(0x01, "h\xc3") + sent(0x89, "?") + sent(0x00, "") + sent(0x80, "\xa9!"), wsFrame(0x8a, "", "?")}, []string{
			`send 1 4/4 in 3: text "hé!"`}},
		{"masked with zeros", wsDialogue{"", wsFrame(0x81, "\x00\x00\x00\x00", "plain"), ""}, []string{`send 1 5/5 in 1: text "plain"`}},
		{"no UTF-8", wsDialogue{"", sent(0x81, "h\xff"), ""}, []string{`send 1 2/2 in 1: base64 "h\xff"`}},
		{"cut in a character", wsDialogue{"", sent(0x81, long) + sent(0x81, oddly), ""}, []string{
			fmt.Sprintf(`send 1 %d/%[1]d in 1: text of %d`, len(long), keepOfMessage),
			fmt.Sprintf(`send 1 %d/%[1]d in 1: text of %d`, len(oddly), keepOfMessage-1)}},
		{"not whole", wsDialogue{"", sent(0x01, "begun"), wsFrame(0x81, "", "abc")[:4]}, nil},
		{"behind what is no frame", wsDialogue{"", sent(0x81, "a") + sent(0x83, "b") + sent(0x81, "c"), ""}, []string{`send 1 1/1 in 1: text "a"`}},
		{"half a close code", wsDialogue{"", sent(0x88, "\x03"), ""}, []string{`send 8 1/1 in 1: base64 "\x03"`}},
		{"the first close alone", wsDialogue{"", sent(0x88, closing) + sent(0x88, "\x03\xe9"), ""}, []string{`send 8 5/5 in 1: base64 "\x03\xe8bye"`}},
		{"compressed, each with a window of its own side", wsDialogue{deflate,
			sent(0xc1, both.message("Hello, Hello")) + sent(0x81, "in between") + sent(0xc2, both.message("Hello, Hello")), wsFrame(0xc1, "", newDeflater(t, true).message("Hello"))}, []string{
			`send 1 12/11 in 1: text "Hello, Hello"`, `send 1 10/10 in 1: text "in between"`, `send 2 12/4 in 1: base64 "Hello, Hello"`, `receive 1 5/7 in 1: text "Hello"`}},
		{"compressed, without a window that lasts", wsDialogue{deflate + "; client_no_context_takeover; server_no_context_takeover",
			sent(0xc1, one.message("Hello")) + sent(0xc1, one.message("Hello")), ""}, []string{
			`send 1 5/7 in 1: text "Hello"`, `send 1 5/7 in 1: text "Hello"`}},
		{"compressed, in fragments", wsDialogue{deflate, sent(0x41, "\xf2\x48\xcd") + sent(0x89, "") + sent(0x80, "\xc9\xc9\x07\x00"), ""}, []string{
			`send 1 5/7 in 2: text "Hello"`}},
		{"compressed, though that was not agreed", wsDialogue{"", sent(0xc1, "\xf2\x48\xcd\xc9\xc9\x07\x00") + sent(0x81, "x"), ""}, []string{
			`send 1 ?/7 in 1: nothing`, `send 1 1/1 in 1: text "x"`}},
		{"compressed wrongly", wsDialogue{deflate, sent(0xc1, "\xff\xff\xff\xff") + sent(0xc1, "\xf2\x48\xcd\xc9\xc9\x07\x00") + sent(0x81, "x"),
			wsFrame(0xc1, "", "\xf2\x48\xcd\xc9\xc9\x07\x00")}, []string{
			`send 1 ?/4 in 1: nothing`, `send 1 ?/7 in 1: nothing`, `send 1 1/1 in 1: text "x"`, `receive 1 5/7 in 1: text "Hello"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := test.hold(t, nil)
			lines, end := w.messageLines()
			// The directions are not in step where the client's last bytes and the
			// server's first cross.
			if strings.Join(lines, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("lines:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(test.want, "\n"))
			}
			if end.WebSocket.Recorded != nil {
				t.Errorf("recorded: %d", *end.WebSocket.Recorded)
			}
		})
	}
}

// A compressed message of more than is held is not inflated, nor what builds on it.
func TestMessageThatIsNotInflated(t *testing.T) {
	noise := make([]byte, maxDeflated+100<<10)
	for i, x := 0, uint64(1); i < len(noise); i++ {
		x = x*6364136223846793005 + 1442695040888963407
		noise[i] = byte(x >> 56)
	}
	for extensions, last := range map[string]string{
		"permessage-deflate":                             "send 1 ?/7 in 1: nothing",
		"permessage-deflate; client_no_context_takeover": `send 1 5/7 in 1: text "Hello"`,
	} {
		d := newDeflater(t, false)
		large := d.message(string(noise))
		w := wsDialogue{extensions, sent(0xc2, large) + sent(0xc1, d.message("Hello")), ""}.hold(t, nil)
		lines, _ := w.messageLines()
		if want := []string{fmt.Sprintf("send 2 ?/%d in 1: nothing", len(large)), last}; !reflect.DeepEqual(lines, want) {
			t.Errorf("%s: %q, want %q", extensions, lines, want)
		}
	}
}

// What is kept of a socket has an end, which the last line tells; from then on
// messages are counted.
func TestMessagesBeyondTheBudget(t *testing.T) {
	large := strings.Repeat("x", keepOfMessage+1)
	var client, server strings.Builder
	var want []string
	for i := range 18 {
		client.WriteString(sent(0x81, large))
		if i < 15 {
			want = append(want, fmt.Sprintf("send 1 %d/%[1]d in 1: text of %d", len(large), keepOfMessage))
		}
	}
	want = append(want, fmt.Sprintf("send 1 %d/%[1]d in 1: text of %d more", len(large), keepOfMessage))
	server.WriteString(wsFrame(0x81, "", "y") + wsFrame(0x88, "", closing))
	w := wsDialogue{"", client.String(), server.String()}.hold(t, nil)
	lines, end := w.messageLines()
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("lines: %q", lines)
	}
	s := end.WebSocket
	if s.Sent.Messages != 18 || s.Received.Messages != 1 || s.Recorded == nil || *s.Recorded != 16 || s.Close == nil {
		t.Errorf("%+v, recorded %v", s, s.Recorded)
	}
}

func TestMessageLinesTurnedOff(t *testing.T) {
	w := wsDialogue{"", sent(0x81, "a"), wsFrame(0x81, "", "b") + wsFrame(0x88, "", closing)}.hold(t, func(c *Config) { c.NoMessages = true })
	lines, end := w.messageLines()
	if len(lines) > 0 || end.WebSocket.Recorded == nil || *end.WebSocket.Recorded != 0 || end.WebSocket.Received.Messages != 1 {
		t.Errorf("%q, %+v", lines, end.WebSocket)
	}
}

// A wsEcho is a strict endpoint that sends each message back.
func wsEcho(t *testing.T, w *world, names ...string) (addr string) {
	return w.origin(func(p *party) {
		l := &oneConn{conn: p.Conn, done: make(chan struct{})}
		server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			defer close(l.done)
			up := websocket.Upgrader{EnableCompression: true}
			ws, err := up.Upgrade(rw, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer ws.Close()
			for {
				kind, data, err := ws.ReadMessage()
				if err != nil || ws.WriteMessage(kind, data) != nil {
					return
				}
			}
		})}
		server.Serve(l)
	}, names...)
}

// The cases of the Autobahn test suite, restated: what a client gets for its
// frames from a strict server is the same to the byte with the proxy between.
func TestWebSocketOutcomes(t *testing.T) {
	pieces := func(opcode byte, s string, size int) string {
		var b strings.Builder
		for first := opcode; ; first = 0 {
			n := min(size, len(s))
			if n == len(s) {
				first |= 0x80
			}
			b.WriteString(sent(first, s[:n]))
			if s = s[n:]; s == "" {
				return b.String()
			}
		}
	}
	end := sent(0x88, "\x03\xe8")
	large := strings.Repeat("0123456789abcdef", 1<<20)
	cases := map[string]string{
		"1 lengths": func() (s string) {
			for _, n := range []int{0, 125, 126, 127, 128, 65535, 65536, 65537} {
				s += sent(0x81, strings.Repeat("*", n)) + sent(0x82, strings.Repeat("\xfe", n))
			}
			return s + end
		}(),
		"2 pings":                           sent(0x89, "") + sent(0x89, strings.Repeat("p", 125)) + sent(0x8a, "unasked") + sent(0x89, "\x00\xff") + end,
		"2 a ping too long":                 sent(0x89, strings.Repeat("p", 126)) + end,
		"3 a reserved bit":                  sent(0x81, "a") + sent(0x91, "b") + end,
		"3 a reserved bit in a ping":        sent(0x81, "a") + sent(0xa9, "b") + end,
		"4 a reserved opcode":               sent(0x81, "a") + sent(0x83, "b") + end,
		"4 a reserved control opcode":       sent(0x81, "a") + sent(0x8b, "") + end,
		"5 fragments":                       sent(0x01, "a") + sent(0x89, "1") + sent(0x00, "b") + sent(0x89, "2") + sent(0x80, "c") + end,
		"5 empty fragments":                 sent(0x01, "") + sent(0x00, "") + sent(0x80, "") + end,
		"5 a fragmented ping":               sent(0x09, "a") + sent(0x80, "b") + end,
		"5 a continuation of nothing":       sent(0x80, "b") + end,
		"5 a message in a message":          sent(0x01, "a") + sent(0x81, "b") + end,
		"6 no UTF-8":                        sent(0x81, "\xce\xba\xe1\xbd\xb9\xed\xa0\x80") + end,
		"6 UTF-8 in fragments":              pieces(0x01, "κόσμε 😀", 1) + end,
		"7 a close without a code":          sent(0x88, ""),
		"7 a close with half a code":        sent(0x88, "\x03"),
		"7 a close with a reason":           sent(0x88, "\x03\xe8"+strings.Repeat("r", 123)),
		"7 a close with a reason too long":  sent(0x88, "\x03\xe8"+strings.Repeat("r", 124)),
		"7 a close with no UTF-8":           sent(0x88, "\x03\xe8\xff"),
		"7 a code that is none":             sent(0x88, "\x03\xed"),
		"7 a code of one's own":             sent(0x88, "\x0f\xa0"),
		"7 a message behind the close":      sent(0x88, "\x03\xe8") + sent(0x81, "late"),
		"7 a close within a message":        sent(0x01, "a") + sent(0x88, "\x03\xe8"),
		"9 16 MiB":                          sent(0x82, large) + end,
		"9 4 MiB in fragments":              pieces(0x02, large[:4<<20], 1<<10) + end,
		"9 a thousand messages":             strings.Repeat(sent(0x81, "message"), 1000) + end,
		"a frame without a mask":            wsFrame(0x81, "", "a") + end,
		"masked with zeros":                 wsFrame(0x81, "\x00\x00\x00\x00", "a") + wsFrame(0x89, "\x00\x00\x00\x00", "p") + end,
		"a length with its top bit":         "\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00" + wsKey + end,
		"a length not in its shortest form": "\x81\xfe\x00\x01" + wsKey + "\x60" + end,
	}
	for name, script := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			addr := wsEcho(t, w)
			talk := func(conn net.Conn, target string) string {
				p := newParty(t, conn)
				defer p.Close()
				p.send("GET " + target + " HTTP/1.1\r\nHost: " + addr + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
					"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
				p.head()
				got := make(chan string, 1)
				go func() {
					s, _ := p.rest()
					got <- s
				}()
				p.send(script)
				return <-got
			}
			direct, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			want := talk(direct, "/")
			got := talk(w.browser().Conn, "http://"+addr+"/")
			if got != want {
				t.Errorf("through the proxy %d bytes %.200q, without it %d bytes %.200q", len(got), got, len(want), want)
			}
			w.waitFor(1)
			lines, log := w.messageLines()
			if messages, recorded := countMessages(t, want), log.WebSocket.Received.Messages; messages != recorded {
				t.Errorf("%d messages came back, %d were counted: %q", messages, recorded, lines)
			}
		})
	}
}

// countMessages counts the messages of a stream without masks, as an endpoint
// reads them.
func countMessages(t *testing.T, stream string) (n int64) {
	t.Helper()
	r := strings.NewReader(stream)
	for {
		var h [2]byte
		if _, err := io.ReadFull(r, h[:]); err != nil {
			return n
		}
		length := int64(h[1])
		switch length {
		case 126:
			var b [2]byte
			io.ReadFull(r, b[:])
			length = int64(binary.BigEndian.Uint16(b[:]))
		case 127:
			var b [8]byte
			io.ReadFull(r, b[:])
			length = int64(binary.BigEndian.Uint64(b[:]))
		}
		if _, err := r.Seek(length, io.SeekCurrent); err != nil {
			t.Fatal(err)
		}
		if h[0]&0x80 != 0 && h[0]&0x0f < 8 {
			n++
		}
	}
}

// Between real endpoints, compressed and over TLS, every message has its line.
func TestMessagesBetweenEndpoints(t *testing.T) {
	w := newWorld(t, nil)
	addr := wsEcho(t, w, "127.0.0.1")
	b := w.connect(addr)
	dialer := websocket.Dialer{
		NetDial:           func(string, string) (net.Conn, error) { return b.Conn, nil },
		TLSClientConfig:   clientConfig(w),
		EnableCompression: true,
	}
	ws, answer, err := dialer.Dial("wss://"+addr+"/", nil)
	if err != nil {
		t.Fatal(err, answer)
	}
	if !strings.Contains(answer.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate") {
		t.Fatal("nothing was agreed")
	}
	var want []string
	for i := range 50 {
		m := strings.Repeat("é", i*i)
		if err := ws.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := ws.ReadMessage(); err != nil || string(got) != m {
			t.Fatalf("echo: %d bytes, %v", len(got), err)
		}
		want = append(want, m, m)
	}
	ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
	for {
		if _, _, err := ws.NextReader(); err != nil {
			break
		}
	}
	ws.Close()
	w.waitFor(1)
	raw, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(raw) {
		l, err := netlog.ParseLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		if l.Message == nil || l.Message.Opcode == 8 {
			continue
		}
		got = append(got, *l.Message.Text)
		if dir := []string{"send", "receive"}[len(got)%2^1]; l.Message.Dir != dir {
			t.Errorf("message %d goes %s", len(got), l.Message.Dir)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d messages have lines, want %d", len(got), len(want))
	}
}

// An answer may be looked at before what it answers: its line waits, but not for
// a peer that takes nothing.
func TestMessageLinesKeepTheirOrder(t *testing.T) {
	w := newWorld(t, nil)
	e := &entry{p: w.proxy, open: netlog.Open{Time: w.proxy.now(), Kind: netlog.KindExchange, Via: netlog.ViaPlain, Client: "127.0.0.1:1",
		Request: &netlog.Request{Method: "GET", URL: "http://a/", Version: "HTTP/1.1"}}}
	e.begin()
	e.writeOpen()
	m := newMessages(e, nil)
	m.sent.begin()
	m.received.begin()
	m.received.look([]byte("\x81\x06answer\x88\x00"))
	m.sent.look([]byte(sent(0x81, "question") + sent(0x88, "")))
	if m.closer() != &m.sent {
		t.Error("the close that came second was the first")
	}

	m.sent.begin()
	for range maxHeld + 2 {
		m.received.begin()
		m.received.look([]byte("\x81\x01x"))
	}
	if len(m.held) != maxHeld {
		t.Errorf("%d lines are held, want %d", len(m.held), maxHeld)
	}
	if missing := m.finish(maxHeld + 4); missing != nil || len(m.held) > 0 {
		t.Errorf("only %d messages have lines, %d are held", *missing, len(m.held))
	}
	now := w.proxy.now()
	e.end(&netlog.End{Time: now, Timings: netlog.NoTimings(micros(e.open.Time, now))})
	lines, _ := w.messageLines()
	if len(lines) != maxHeld+6 || !reflect.DeepEqual(lines[:4], []string{
		`send 1 8/8 in 1: text "question"`, `send 8 0/0 in 1: nothing`, `receive 1 6/6 in 1: text "answer"`, `receive 8 0/0 in 1: nothing`}) {
		t.Errorf("%d lines: %q", len(lines), lines[:4])
	}
}
