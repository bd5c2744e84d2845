package proxy

import (
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// echoSocket answers each piece with itself, unmasked, and ends as its browser does.
func echoSocket(st *h2.Stream) {
	if protocol, _ := st.Head().Get(":protocol"); protocol == "" {
		answerOK(st)
		return
	}
	st.WriteHead(fields(":status", "200", "sec-websocket-protocol", "chat"), false)
	for {
		piece, end, err := st.Next()
		if err != nil {
			return
		}
		if len(piece) > 0 {
			st.Write([]byte("\x81\x02hi"), false)
		}
		st.Took(len(piece))
		if end {
			st.Write([]byte("\x88\x02\x03\xe8"), true)
			return
		}
	}
}

func (b *h2browser) socket(path string) []h2.Field {
	return fields(":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority", b.addr, ":path", path,
		"origin", "https://a.test", "sec-websocket-version", "13", "sec-websocket-protocol", "chat")
}

// A WebSocket over HTTP/2 (RFC 8441) passes and is counted as one over HTTP/1, when
// the server offers it.
func TestWebSocketOverHTTP2(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(echoSocket, h2.Offer{MaxStreams: 100, Connect: true})
	b := w.h2browser(s.addr)
	if got := <-b.settled; !got.Connect {
		t.Fatalf("%+v", got)
	}
	st := b.ask(b.socket("/chat?a"), false)
	h, err := st.ReadHead()
	if err != nil || h.Status() != 200 {
		t.Fatal(h, err)
	}
	w.logHas(`"event":"answer"`)
	for range 3 {
		st.Write([]byte(wsFrame(0x81, "abcd", "hello")), false)
		for want := "\x81\x02hi"; want != ""; {
			piece, _, err := st.Next()
			if err != nil || !strings.HasPrefix(want, string(piece)) {
				t.Fatalf("%q %v", piece, err)
			}
			want = want[len(piece):]
			st.Took(len(piece))
		}
	}
	st.Write([]byte(wsFrame(0x88, "abcd", "\x03\xe8bye")), true)
	if rest, err := bodyOf(st); rest != "\x81\x02hi\x88\x02\x03\xe8" || err != nil {
		t.Errorf("%q %v", rest, err)
	}
	p := w.waitFor(1)[0]
	if got := p.String(); got != "exchange mitm CONNECT https://"+s.addr+"/chat?a 200" {
		t.Error(got)
	}
	if r := p.open.Request; len(r.Pseudo) != 5 || r.Pseudo[1] != (netlog.Header{Name: ":protocol", Value: "websocket"}) {
		t.Errorf("%+v", r.Pseudo)
	}
	ws := p.end.WebSocket
	if ws == nil || ws.Sent.Messages != 3 || ws.Sent.Bytes != 15 || ws.Received.Messages != 4 || ws.Subprotocol != "chat" ||
		ws.Close == nil || ws.Close.Code != 1000 || ws.Close.By != "client" || ws.Close.Reason != "bye" {
		t.Errorf("%+v", ws)
	}
	if lines, _ := w.messageLines(); len(lines) != 9 || !strings.Contains(lines[0], "hello") {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

// How a WebSocket over HTTP/2 ends before its time is told as in HTTP/1.
func TestEndsOfWebSocketsOverHTTP2(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(server, browser *h2.Stream)
		entry string
	}{
		{"a browser that resets", func(_, b *h2.Stream) { b.Reset(http2.ErrCodeCancel) }, "200 failed websocket client_gone"},
		{"a server that resets", func(s, _ *h2.Stream) { s.Reset(http2.ErrCodeInternal) }, "200 failed websocket reset"},
		{"a server without a goodbye", func(s, b *h2.Stream) { s.Write(nil, true); bodyOf(b); b.Write(nil, true) }, "200 failed websocket reset"},
		{"a browser that resets behind its goodbye", func(_, b *h2.Stream) {
			b.Write([]byte(wsFrame(0x88, "abcd", "\x03\xe8")), false)
			b.Next() // the server's
			b.Reset(http2.ErrCodeCancel)
		}, "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			streams := make(chan *h2.Stream, 1)
			done := make(chan bool)
			s := w.h2server(func(st *h2.Stream) {
				st.WriteHead(fields(":status", "200"), false)
				streams <- st
				if piece, _, err := st.Next(); err == nil && len(piece) > 0 {
					st.Took(len(piece))
					st.Write([]byte("\x88\x00"), false)
				}
				<-done
			}, h2.Offer{MaxStreams: 100, Connect: true})
			b := w.h2browser(s.addr)
			<-b.settled
			st := b.ask(b.socket("/"), false)
			if h, err := st.ReadHead(); err != nil || h.Status() != 200 {
				t.Fatal(h, err)
			}
			c.end(<-streams, st)
			w.logHas(`"event":"end"`)
			close(done)
			w.want(s.addr, "exchange mitm CONNECT https://ADDR/ "+c.entry)
		})
	}
}

// A server may refuse one as any request.
func TestAWebSocketOverHTTP2ThatIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(func(st *h2.Stream) {
		st.WriteHead(fields(":status", "403"), false)
		st.Write([]byte("no"), true)
	}, h2.Offer{MaxStreams: 100, Connect: true})
	b := w.h2browser(s.addr)
	<-b.settled
	if a := answerTo(b.ask(b.socket("/"), false)); a.String() != "403 no" {
		t.Error(a)
	}
	if p := w.want(s.addr, "exchange mitm CONNECT https://ADDR/ 403")[0]; p.end.WebSocket != nil {
		t.Errorf("%+v", p.end.WebSocket)
	}
}
