package wsframe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// frame makes a frame; key is its mask, "" for none.
func frame(first byte, key, payload string) string {
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

// seen is all that a Parser says of a stream.
type seen struct {
	counts Counts
	frames []shown
	code   int
	reason string
	closed bool
	err    string
}

type shown struct {
	h       Header
	payload string
}

// read feeds the stream in cuts of that size.
func read(stream string, size int) seen {
	var s seen
	var piece []byte
	p := Parser{Sink: func(h Header, b []byte, end bool) {
		piece = append(piece, b...)
		if end {
			s.frames = append(s.frames, shown{h, string(piece)})
			piece = nil
		}
	}}
	for b := []byte(stream); len(b) > 0; {
		n := min(size, len(b))
		p.Feed(b[:n])
		b = b[n:]
	}
	s.counts = p.Counts
	s.code, s.reason, s.closed = p.Closed()
	if p.Err() != nil {
		s.err = p.Err().Error()
	}
	return s
}

func TestParser(t *testing.T) {
	const key = "\x01\x82\xf3\x04"
	long, longer := strings.Repeat("medium ", 40), strings.Repeat("long ", 20_000)
	data := func(opcode Opcode, final, masked bool, payload string) shown {
		return shown{Header{final, false, opcode, masked, int64(len(payload))}, payload}
	}
	tests := []struct {
		name   string
		stream string
		want   seen
	}{
		{"nothing", "", seen{}},
		{"text", frame(0x81, "", "hello"),
			seen{counts: Counts{1, 5, 1, 0}, frames: []shown{data(Text, true, false, "hello")}}},
		{"masked", frame(0x82, key, "hello"),
			seen{counts: Counts{1, 5, 1, 0}, frames: []shown{data(Binary, true, true, "hello")}}},
		{"no payload", frame(0x81, key, "") + frame(0x82, "", ""),
			seen{counts: Counts{2, 0, 2, 0}, frames: []shown{data(Text, true, true, ""), data(Binary, true, false, "")}}},
		{"16-bit length", frame(0x81, key, long),
			seen{counts: Counts{1, 280, 1, 0}, frames: []shown{data(Text, true, true, long)}}},
		{"64-bit length", frame(0x81, key, longer) + frame(0x81, "", longer),
			seen{counts: Counts{2, 200_000, 2, 0}, frames: []shown{data(Text, true, true, longer), data(Text, true, false, longer)}}},
		{"fragments, with a ping between", frame(0x01, key, "a") + frame(0x89, key, "?") + frame(0x00, key, "") + frame(0x80, key, "bc"),
			seen{counts: Counts{1, 3, 3, 1}, frames: []shown{data(Text, false, true, "a"), data(Continuation, false, true, ""), data(Continuation, true, true, "bc")}}},
		{"compressed", frame(0xc1, "", "\xf2\x48"),
			seen{counts: Counts{1, 2, 1, 0}, frames: []shown{{Header{true, true, Text, false, 2}, "\xf2\x48"}}}},
		{"ping and pong", frame(0x89, "", "") + frame(0x8a, key, strings.Repeat("x", 125)), seen{counts: Counts{Control: 2}}},
		{"close", frame(0x88, key, "\x03\xe8bye"), seen{counts: Counts{Control: 1}, code: 1000, reason: "bye", closed: true}},
		{"close without a code", frame(0x88, "", ""), seen{counts: Counts{Control: 1}, closed: true}},
		{"close with half a code", frame(0x88, "", "\x03"), seen{counts: Counts{Control: 1}, closed: true}},
		{"the longest close", frame(0x88, key, "\x0f\xa0"+strings.Repeat("r", 123)),
			seen{counts: Counts{Control: 1}, code: 4000, reason: strings.Repeat("r", 123), closed: true}},
		{"the first close counts", frame(0x88, "", "\x03\xe9") + frame(0x88, "", "\x03\xe8bye"), seen{counts: Counts{Control: 2}, code: 1001, closed: true}},
		{"cut within a message", frame(0x81, "", "hello")[:4], seen{counts: Counts{Bytes: 2}}},
		{"cut within a close", frame(0x88, key, "\x03\xe8bye")[:8], seen{}},
		{"reserved opcode", frame(0x81, "", "a") + frame(0x83, "", "b") + frame(0x81, "", "c"),
			seen{counts: Counts{1, 1, 1, 0}, frames: []shown{data(Text, true, false, "a")}, err: "a frame with a reserved opcode"}},
		{"reserved control opcode", frame(0x8b, "", "b"), seen{err: "a frame with a reserved opcode"}},
		{"control frame too long", frame(0x89, "", strings.Repeat("x", 126)), seen{err: "a control frame of more than 125 bytes"}},
		{"fragmented control frame", frame(0x09, "", "x"), seen{err: "a fragmented control frame"}},
		{"continuation of nothing", frame(0x80, "", "x"), seen{err: "a continuation of no message"}},
		{"continuation of a whole message", frame(0x81, "", "") + frame(0x80, "", "x"),
			seen{counts: Counts{1, 0, 1, 0}, frames: []shown{data(Text, true, false, "")}, err: "a continuation of no message"}},
		{"message within a message", frame(0x01, "", "a") + frame(0x82, "", "b"),
			seen{counts: Counts{0, 1, 1, 0}, frames: []shown{data(Text, false, false, "a")}, err: "a new message within a fragmented one"}},
		{"length with its top bit", "\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00xxx", seen{err: "a frame whose length has its top bit set"}},
		{"the longest length", "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xffxxx", seen{counts: Counts{Bytes: 3}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 5, 7, 4096, 1 << 20} {
				if got := read(test.stream, size); !reflect.DeepEqual(got, test.want) {
					t.Errorf("in cuts of %d: %+v, want %+v", size, got, test.want)
				}
			}
		})
	}
}

// What a Parser is fed goes on to the other side: it must stay as it is.
func TestFedBytesStay(t *testing.T) {
	stream := frame(0x81, "abcd", "hello") + frame(0x88, "abcd", "\x03\xe8bye")
	b := []byte(stream)
	p := Parser{Sink: func(Header, []byte, bool) {}}
	p.Feed(b)
	if string(b) != stream {
		t.Errorf("the fed bytes became %q", b)
	}
}

// counted follows both directions of a client's connection, each from behind its
// HTTP head on, which the client's library reads and writes by itself.
type counted struct {
	net.Conn
	in, out behindHead
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.feed(b[:n])
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	c.out.feed(b)
	return c.Conn.Write(b)
}

type behindHead struct {
	Parser
	head []byte
	done bool
}

func (p *behindHead) feed(b []byte) {
	if p.done {
		p.Feed(b)
		return
	}
	p.head = append(p.head, b...)
	if _, rest, ok := bytes.Cut(p.head, []byte("\r\n\r\n")); ok {
		p.done = true
		p.Feed(rest)
	}
}

// TestGorilla counts between two real endpoints, with compression and fragments.
func TestGorilla(t *testing.T) {
	text := strings.Repeat("some text ", 1000)
	upgrader := websocket.Upgrader{EnableCompression: true, WriteBufferSize: 512}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		for {
			kind, b, err := ws.ReadMessage()
			if err != nil {
				return
			}
			if ws.WriteMessage(kind, b) != nil {
				return
			}
		}
	}))
	defer server.Close()
	conn := &counted{}
	dialer := websocket.Dialer{EnableCompression: true, WriteBufferSize: 512, NetDial: func(network, address string) (net.Conn, error) {
		c, err := net.Dial(network, address)
		conn.Conn = c
		return conn, err
	}}
	ws, _, err := dialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	ws.SetReadDeadline(time.Now().Add(2 * time.Minute))
	for i := range 20 {
		ws.EnableWriteCompression(i%2 == 0)
		if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, b, err := ws.ReadMessage(); err != nil || string(b) != text {
			t.Fatalf("echo: %d bytes, %v", len(b), err)
		}
	}
	if err := ws.WriteControl(websocket.PingMessage, []byte("ping"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4001, "enough"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ws.ReadMessage(); !websocket.IsCloseError(err, 4001) {
		t.Fatalf("close: %v", err)
	}
	in, out := &conn.in, &conn.out
	if out.Messages != 20 || out.Control != 2 || out.Frames <= 20 || out.Bytes < 10*int64(len(text)) || out.Err() != nil {
		t.Errorf("sent: %+v, %v", out.Counts, out.Err())
	}
	if code, reason, ok := out.Closed(); code != 4001 || reason != "enough" || !ok {
		t.Errorf("sent close: %d %q %t", code, reason, ok)
	}
	if in.Messages != 20 || in.Control != 2 || in.Frames < 20 || in.Err() != nil {
		t.Errorf("received: %+v, %v", in.Counts, in.Err())
	}
	if code, _, ok := in.Closed(); code != 4001 || !ok {
		t.Errorf("received close: %d %t", code, ok)
	}
}

// FuzzFrames: the cut changes nothing, and the frames that the Sink is shown are
// those that a second reading, from the payloads, gives again.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(frame(0x01, "abcd", "a")+frame(0x89, "abcd", "?")+frame(0x80, "abcd", "bc")), uint8(1))
	f.Add([]byte(frame(0xc2, "", strings.Repeat("x", 70_000))), uint8(200))
	f.Add([]byte(frame(0x88, "abcd", "\x03\xe8bye")+"\x83"), uint8(3))
	f.Add([]byte("\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00xxx"), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, size uint8) {
		whole := read(string(b), len(b)+1)
		if cut := read(string(b), int(size)+1); !reflect.DeepEqual(cut, whole) {
			t.Fatalf("in cuts of %d: %+v; whole: %+v", int(size)+1, cut, whole)
		}
		var again strings.Builder
		for _, s := range whole.frames {
			first := byte(s.h.Opcode)
			if s.h.Final {
				first |= 0x80
			}
			if s.h.RSV1 {
				first |= 0x40
			}
			key := ""
			if s.h.Masked {
				key = "wxyz"
			}
			again.WriteString(frame(first, key, s.payload))
		}
		second := read(again.String(), len(b)+1)
		if !reflect.DeepEqual(second.frames, whole.frames) || second.counts.Messages != whole.counts.Messages || second.counts.Frames != whole.counts.Frames {
			t.Fatalf("again: %+v; first: %+v", second, whole)
		}
	})
}

func BenchmarkFeed(b *testing.B) {
	for _, size := range []int{32, 1 << 10, 64 << 10} {
		for _, sink := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/sink=%t", size, sink), func(b *testing.B) {
				f := []byte(frame(0x82, "abcd", string(bytes.Repeat([]byte{'x'}, size))))
				var p Parser
				if sink {
					p.Sink = func(Header, []byte, bool) {}
				}
				b.SetBytes(int64(len(f)))
				b.ReportAllocs()
				for b.Loop() {
					p.Feed(f)
				}
				if p.Err() != nil || p.Messages == 0 {
					b.Fatal(p.Counts, p.Err())
				}
			})
		}
	}
}
