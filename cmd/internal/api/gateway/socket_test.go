package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gorilla/websocket"
)

// newSocketSite serves WebSockets, as another implementation has them.
func newSocketSite(t *testing.T, talk func(*websocket.Conn, *http.Request)) string {
	t.Helper()
	upgrader := websocket.Upgrader{Subprotocols: []string{"v2"}, CheckOrigin: func(*http.Request) bool { return true }}
	return newSite(t, func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, http.Header{"Set-Cookie": {"a=1", "b=2"}, "X-Site": {"yes"}, "Date": {"yesterday"}})
		if err != nil {
			return
		}
		defer conn.Close()
		conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
		talk(conn, r)
	})
}

// open opens a WebSocket through the gateway.
func (w *world) open(path string, header http.Header) *websocket.Conn {
	w.t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{"v1", "v2"}, EnableCompression: true}
	conn, answer, err := dialer.DialContext(w.t.Context(), "ws://"+w.address+path, header)
	if err != nil {
		w.t.Fatal(err)
	}
	if answer.Header.Get("X-Site") != "yes" || !slices.Equal(answer.Header["Set-Cookie"], []string{"a=1", "b=2"}) || answer.Header.Get("Sec-WebSocket-Extensions") != "" || answer.Header.Get("Date") != "yesterday" {
		w.t.Errorf("the handshake is answered with %q", answer.Header)
	}
	conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	w.t.Cleanup(func() { conn.Close() })
	return conn
}

func TestMessagesPassAsTheyCome(t *testing.T) {
	headers := make(chan http.Header, 2)
	site := newSocketSite(t, func(conn *websocket.Conn, r *http.Request) {
		headers <- r.Header
		for {
			kind, b, err := conn.ReadMessage()
			if err != nil {
				return
			}
			conn.WriteMessage(kind, b)
		}
	})
	w := newWorld(t, Config{RoleKey: "key", Withhold: []string{"X-Provider"}}, usual, map[string]string{"notes": site})
	for _, route := range []string{"/website/notes", "/svc/notes"} {
		conn := w.open(route+"/a%2Fb?c", http.Header{"Cookie": {"a=1"}, "Origin": {"http://page.test"}, "X-Provider": {"secret"}, "AgentEnv-Role": {"admin"}, "AgentEnv-Role-Key": {"wrong"}, "AgentEnv-Site-Root": {"1"}, "X-Forwarded-Prefix": {"/evil"}})
		if conn.Subprotocol() != "v2" {
			t.Errorf("the subprotocol is %q", conn.Subprotocol())
		}
		h := <-headers
		if h.Get("Cookie") != "a=1" || h.Get("Origin") != "http://page.test" || h.Get("Agentenv-Role") != "default" || h.Get("X-Forwarded-Host") != w.address || h.Get("Sec-WebSocket-Version") != "13" {
			t.Errorf("the handshake goes up with %q", h)
		}
		for _, name := range []string{"X-Provider", "Agentenv-Role-Key", "Agentenv-Site-Root", "X-Forwarded-Prefix", "Sec-Websocket-Extensions"} {
			if h[name] != nil {
				t.Errorf("%s goes up", name)
			}
		}
		for _, size := range []int{0, 1, 125, 126, 65535, 65536, 1 << 20, 3<<20 + 1} {
			for _, kind := range []int{websocket.TextMessage, websocket.BinaryMessage} {
				b := bytes.Repeat([]byte("é\x00x"), size/4+1)[:size]
				var writing sync.WaitGroup
				writing.Go(func() { conn.WriteMessage(kind, b) })
				if k, got, err := conn.ReadMessage(); err != nil || k != kind || !bytes.Equal(got, b) {
					t.Fatalf("%d bytes of kind %d come back as %d of kind %d, %v", size, kind, len(got), k, err)
				}
				writing.Wait()
			}
		}
		conn.Close()
	}
}

// closings are the codes that are said, and what the site and the client hear. 0
// is a Close without a code, -1 none at all.
var closings = []struct{ said, site, client int }{
	{0, 1000, 1000}, {-1, 1001, 1011}, {1000, 1000, 1000}, {1001, 1001, 1001}, {1002, 1002, 1002}, {1003, 1003, 1003}, {1004, 1001, 1011}, {1005, 1000, 1000}, {1006, 1001, 1011},
	{1007, 1007, 1007}, {1008, 1008, 1008}, {1009, 1009, 1009}, {1010, 1010, 1010}, {1011, 1011, 1011}, {1012, 1012, 1012}, {1013, 1013, 1013}, {1014, 1014, 1014}, {1015, 1001, 1011},
	{1016, 1001, 1011}, {2999, 1001, 1011}, {3000, 3000, 3000}, {4999, 4999, 4999}, {5000, 1001, 1011}, {999, 1001, 1011}, {1, 1001, 1011},
}

// rawClose is a Close as it goes over the wire; masked is a client's.
func rawClose(code int, reason string, masked bool) []byte {
	if code < 0 {
		return nil
	}
	var body []byte
	if code > 0 {
		body = ws.NewCloseFrameBody(ws.StatusCode(code), reason)
	}
	f := ws.NewCloseFrame(body)
	if masked {
		f = ws.MaskFrame(f)
	}
	return ws.MustCompileFrame(f)
}

// readClose reads the frames up to a Close, and what that says.
func readClose(r io.Reader) (code int, reason string, err error) {
	for {
		h, err := ws.ReadHeader(r)
		if err != nil {
			return 0, "", err
		}
		if h.OpCode != ws.OpClose {
			if _, err := io.CopyN(io.Discard, r, h.Length); err != nil {
				return 0, "", err
			}
			continue
		}
		b := make([]byte, h.Length)
		if _, err := io.ReadFull(r, b); err != nil || len(b) == 0 {
			return 0, "", err
		}
		if h.Masked {
			ws.Cipher(b, h.Mask, 0)
		}
		c, reason := ws.ParseCloseFrameData(b)
		return int(c), reason, nil
	}
}

// A rawSocket is one whose both ends are the test's: the site's side is sent on.
func rawSocket(t *testing.T, l limits) (w *world, client net.Conn, site net.Conn, siteIn *bufio.Reader) {
	t.Helper()
	type end struct {
		conn net.Conn
		in   *bufio.Reader
	}
	ends, done := make(chan end, 1), make(chan struct{})
	s := newTalkingSite(t, func(conn net.Conn, in *bufio.Reader) {
		io.WriteString(conn, switching)
		ends <- end{conn, in}
		<-done
	})
	t.Cleanup(func() { close(done) })
	w = newWorld(t, Config{}, l, map[string]string{"notes": s.url})
	client = w.dial()
	t.Cleanup(func() { client.Close() })
	io.WriteString(client, handshake("/website/notes/socket"))
	if head := readHead(bufio.NewReaderSize(oneByte{client}, 16)); !strings.HasPrefix(head, "HTTP/1.1 101 ") {
		t.Fatalf("the handshake is answered with %q", head)
	}
	e := <-ends
	return w, client, e.conn, e.in
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

// oneByte reads no more than it is asked for.
type oneByte struct{ io.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.Reader.Read(b[:min(len(b), 1)]) }

func TestEachSideHearsHowTheOtherCloses(t *testing.T) {
	for _, c := range closings {
		t.Run(fmt.Sprint(c.said), func(t *testing.T) {
			t.Parallel()
			_, client, site, siteIn := rawSocket(t, usual)
			client.Write(rawClose(c.said, "because", true))
			if c.said < 0 {
				client.Close()
			}
			code, reason, err := readClose(siteIn)
			if want := map[bool]string{true: "because"}[c.said > 0]; err != nil || code != c.site || reason != want {
				t.Errorf("the site hears %d %q, %v, want %d", code, reason, err, c.site)
			}
			if c.said >= 0 { // and it answers
				site.Write(rawClose(4000, "bye", false))
				if code, reason, err := readClose(client); err != nil || code != 4000 || reason != "bye" {
					t.Errorf("the client hears %d %q, %v", code, reason, err)
				}
				ends(t, client)
			} else {
				site.Write(rawClose(1001, "", false))
			}
			ends(t, siteIn)
		})
		t.Run(fmt.Sprint(c.said, " of the site"), func(t *testing.T) {
			t.Parallel()
			_, client, site, siteIn := rawSocket(t, usual)
			site.Write(rawClose(c.said, "because", false))
			if c.said < 0 {
				site.Close()
			}
			code, _, err := readClose(client)
			if err != nil || code != c.client {
				t.Errorf("the client hears %d, %v, want %d", code, err, c.client)
			}
			client.Write(rawClose(code, "", true))
			ends(t, client)
			if c.said >= 0 {
				if code, _, err := readClose(siteIn); err != nil || code != c.client {
					t.Errorf("the site hears %d, %v", code, err)
				}
				ends(t, siteIn)
			}
		})
	}
}

// ends holds that a connection ends.
func ends(t *testing.T, r io.Reader) {
	t.Helper()
	if b, err := io.ReadAll(r); err != nil && !errors.Is(err, net.ErrClosed) || len(b) > 0 {
		t.Errorf("the connection goes on with %q, %v", b, err)
	}
}

// Whoever closed and is not answered hears what it said itself.
func TestACloseThatIsNotAnswered(t *testing.T) {
	for _, c := range []struct{ said, heard int }{{4001, 4001}, {0, 1000}, {1006, 1011}} {
		_, client, site, siteIn := rawSocket(t, usual)
		client.Write(rawClose(c.said, "", true))
		if _, _, err := readClose(siteIn); err != nil {
			t.Fatal(err)
		}
		site.Close() // many servers do
		if code, _, err := readClose(client); err != nil || code != c.heard {
			t.Errorf("%d: the client hears %d, %v", c.said, code, err)
		}
		ends(t, client)
	}
	l := usual
	l.closing = 50 * time.Millisecond
	_, client, _, _ := rawSocket(t, l)
	client.Write(rawClose(4001, "", true))
	if code, _, err := readClose(client); err != nil || code != 4001 {
		t.Errorf("beside a silent site the client hears %d, %v", code, err)
	}
	ends(t, client)
}

func TestAMessageThatIsTooLarge(t *testing.T) {
	const most = 16 << 20
	for _, fromSite := range []bool{false, true} {
		for _, sizes := range [][]int64{{most + 1}, {1 << 62}, {most, 1}, {1, 2, most - 2}, {0, most, 1}} {
			l := usual
			if sizes[0] > 1<<30 {
				l.closing = 100 * time.Millisecond // it never comes to an end
			}
			_, client, site, siteIn := rawSocket(t, l)
			var from, to io.Writer = client, site
			var hearsFrom, hearsTo io.Reader = client, siteIn
			if fromSite {
				from, to = site, client
				hearsFrom, hearsTo = siteIn, client
			}
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				for i, size := range sizes {
					h := ws.Header{OpCode: ws.OpContinuation, Length: size, Masked: !fromSite, Fin: i == len(sizes)-1}
					if i == 0 {
						h.OpCode = ws.OpBinary
					}
					ws.WriteHeader(from, h)
					if size < 1<<30 {
						io.CopyN(from, zeros{}, size)
					}
				}
			}()
			var hearing sync.WaitGroup
			for name, r := range map[string]io.Reader{"who sent it": hearsFrom, "the other one": hearsTo} {
				hearing.Go(func() {
					if code, _, err := readClose(r); err != nil || code != 1009 {
						t.Errorf("%v, from the site %v: %s hears %d, %v", sizes, fromSite, name, code, err)
					}
				})
			}
			hearing.Wait()
			to.Write(rawClose(1009, "", fromSite))
			if sizes[0] < 1<<30 {
				<-sent // nothing is answered in the midst of a frame
				from.Write(rawClose(1009, "", !fromSite))
				ends(t, hearsFrom)
			}
			ends(t, hearsTo)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestAMessageThatIsJustNotTooLarge(t *testing.T) {
	_, client, _, siteIn := rawSocket(t, usual)
	go func() {
		for range 2 { // the limit is each message's
			ws.WriteHeader(client, ws.Header{OpCode: ws.OpBinary, Length: 1, Masked: true})
			client.Write([]byte{0})
			ws.WriteHeader(client, ws.Header{OpCode: ws.OpPing, Fin: true, Masked: true})
			ws.WriteHeader(client, ws.Header{OpCode: ws.OpContinuation, Length: 16<<20 - 1, Fin: true, Masked: true})
			io.CopyN(client, zeros{}, 16<<20-1)
		}
	}()
	for range 2 {
		for _, want := range []ws.Header{{OpCode: ws.OpBinary, Length: 1}, {OpCode: ws.OpPing, Fin: true}, {OpCode: ws.OpContinuation, Length: 16<<20 - 1, Fin: true}} {
			h, err := ws.ReadHeader(siteIn)
			if want.Masked = true; err != nil || h != want {
				t.Fatalf("%+v comes as %+v, %v", want, h, err)
			}
			io.CopyN(io.Discard, siteIn, h.Length)
		}
	}
}

// What is no frame of that side ends both.
func TestWhatIsNoFrame(t *testing.T) {
	for name, c := range map[string]struct {
		fromSite bool
		frame    []byte
	}{
		"unmasked, of a client": {false, []byte{0x81, 1, 'a'}},
		"masked, of a site":     {true, []byte{0x81, 0x81, 0, 0, 0, 0, 'a'}},
		"reserved bits":         {true, []byte{0xc1, 1, 'a'}},
		"reserved opcode":       {true, []byte{0x83, 1, 'a'}},
		"long control":          {true, append([]byte{0x89, 126, 0, 126}, make([]byte, 126)...)},
		"fragmented control":    {true, []byte{0x09, 0}},
		"continues nothing":     {true, []byte{0x80, 0}},
		"begins within":         {true, []byte{0x01, 0, 0x81, 0}},
		"length of 64 bits":     {true, []byte{0x82, 127, 0xff, 0, 0, 0, 0, 0, 0, 0}},
	} {
		l := usual
		l.closing = brief.closing
		_, client, site, siteIn := rawSocket(t, l)
		from, other := client, site
		hears, heard := io.Reader(client), io.Reader(siteIn)
		want := 1001
		if c.fromSite {
			from, other, hears, heard, want = site, client, siteIn, client, 1011
		}
		from.Write(c.frame)
		if code, _, err := readClose(hears); err != nil || code != 1002 {
			t.Errorf("%s: who sent it hears %d, %v", name, code, err)
		}
		if code, _, err := readClose(heard); err != nil || code != want {
			t.Errorf("%s: the other one hears %d, %v", name, code, err)
		}
		other.Write(rawClose(want, "", c.fromSite))
		ends(t, heard)
		ends(t, hears)
	}
}

// A frame is passed on as it is: its opcode, its end, its mask. One that breaks off
// is not passed on at all.
func TestFramesPassAsTheyCome(t *testing.T) {
	_, client, site, siteIn := rawSocket(t, usual)
	sent := slices.Concat(
		[]byte{0x01, 0x83, 1, 2, 3, 4, 'a' ^ 1, 'b' ^ 2, 'c' ^ 3},                    // a text begins
		[]byte{0x89, 0x82, 9, 9, 9, 9, 'h' ^ 9, 'i' ^ 9},                             // a ping in its midst
		[]byte{0x00, 0x80, 5, 6, 7, 8}, []byte{0x80, 0x81, 0xff, 0, 0, 0, 'd' ^ 255}, // and it ends
		[]byte{0x8a, 0x80, 0, 0, 0, 0}, // a pong
	)
	for _, b := range sent { // in any cut
		client.Write([]byte{b})
	}
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(siteIn, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("% x\ncomes as\n% x, %v", sent, got, err)
	}
	back := []byte{0x02, 1, 0xff, 0x8a, 2, 'h', 'i', 0x80, 126, 0, 126}
	back = append(back, bytes.Repeat([]byte{'x'}, 126)...)
	site.Write(back)
	got = make([]byte, len(back))
	if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, back) {
		t.Errorf("% x\ncomes as\n% x, %v", back, got, err)
	}
	site.Write([]byte{0x82, 100, 'x'})
	site.Close()
	if code, _, err := readClose(client); err != nil || code != 1011 {
		t.Errorf("after a frame that broke off the client hears %d, %v", code, err)
	}
}

// What either side sends with its handshake is not lost.
func TestFramesThatComeWithTheHandshake(t *testing.T) {
	hello := []byte{0x81, 0x82, 0, 0, 0, 0, 'h', 'i'}
	welcome := []byte{0x81, 2, 'y', 'o'}
	got := make(chan []byte, 1)
	site := newTalkingSite(t, func(conn net.Conn, in *bufio.Reader) {
		conn.Write(append([]byte(switching), welcome...))
		b := make([]byte, len(hello))
		io.ReadFull(in, b)
		got <- b
		io.Copy(io.Discard, in)
	})
	l := usual
	l.closing = 100 * time.Millisecond // the site says no more
	w := newWorld(t, Config{}, l, map[string]string{"notes": site.url})
	conn := w.dial()
	defer conn.Close()
	conn.Write(append([]byte(handshake("/website/notes/")), hello...))
	if b := <-got; !bytes.Equal(b, hello) {
		t.Errorf("the site gets % x", b)
	}
	in := bufio.NewReader(conn)
	head := readHead(in)
	b := make([]byte, len(welcome))
	if _, err := io.ReadFull(in, b); err != nil || !bytes.Equal(b, welcome) {
		t.Errorf("the client gets % x, %v", b, err)
	}
	if !strings.Contains(head, "\r\nSec-Websocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") {
		t.Errorf("the handshake is answered with %q", head)
	}
}

// A refused handshake comes back whole.
func TestAHandshakeThatIsRefused(t *testing.T) {
	body := strings.Repeat("no ", 1000)
	site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		w.Header().Set("Sec-WebSocket-Version", "13")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, body)
	})
	w := withSite(t, site)
	answer := w.raw(handshake("/website/notes/", "Connection: close"))
	if !strings.HasPrefix(answer, "HTTP/1.1 403 Forbidden\r\n") || !strings.Contains(answer, "\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n") || !strings.Contains(answer, "\r\nSec-Websocket-Version: 13\r\n") || !strings.Contains(answer, body[:1024*2]) {
		t.Errorf("%s", answer)
	}
	for answer, says := range map[string]string{
		strings.Replace(switching, "websocket", "h2c", 1):                                                          "the site switches to another protocol than WebSocket",
		strings.Replace(switching, "\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate", 1) + "\r\n\r\n": "the site chose a WebSocket extension that was not offered",
	} {
		w := withSite(t, newRawSite(t, answer).url)
		if got := w.raw(handshake("/svc/notes/", "Connection: close")); !errorOf("502 Bad Gateway", "Proxy request failed: "+says)(got) {
			t.Errorf("%q: %s", answer, got)
		}
	}
}

// Another protocol is not switched to, and neither a POST nor HTTP/1.0 has a handshake.
func TestWhatIsNoHandshake(t *testing.T) {
	site := newRawSite(t, "HTTP/1.1 204 No Content\r\n\r\n")
	w := withSite(t, site.url)
	for _, r := range []string{
		strings.Replace(handshake("/svc/notes/", "Connection: close"), "WebSocket", "h2c", 1),
		strings.Replace(handshake("/svc/notes/", "Connection: close"), "GET", "POST", 1),
		strings.NewReplacer("HTTP/1.1", "HTTP/1.0", "keep-alive, ", "").Replace(handshake("/svc/notes/")),
		strings.Replace(handshake("/svc/notes/", "Connection: close"), "keep-alive, Upgrade", "keep-alive", 1),
	} {
		if answer := w.raw(r); !strings.Contains(answer, "204 No Content\r\n") {
			t.Errorf("%q: %s", r, answer)
		}
		if head := <-site.heads; strings.Contains(head, "\r\nUpgrade:") || strings.Contains(head, "Connection: Upgrade") {
			t.Errorf("%q goes up as %q", r, head)
		}
	}
}

// When the request's context ends, as that of a server that is stopped, both are
// told.
func TestBothAreToldWhenTheServerStops(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	heard := make(chan int, 1)
	site := newSocketSite(t, func(conn *websocket.Conn, _ *http.Request) {
		_, _, err := conn.ReadMessage()
		var c *websocket.CloseError
		errors.As(err, &c)
		heard <- c.Code
	})
	s, err := ParseSite("notes=" + site)
	if err != nil {
		t.Fatal(err)
	}
	g := New(Config{Sites: []Site{s}})
	defer g.Close()
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.ServeHTTP(w, r.WithContext(stopping))
		close(ended)
	}))
	defer server.Close()
	w := &world{t: t, address: server.Listener.Addr().String()}
	conn := w.open("/website/notes/", nil)
	stop()
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("the client: %v", err)
	}
	if code := <-heard; code != websocket.CloseGoingAway {
		t.Errorf("the site hears %d", code)
	}
	<-ended
}

// A heap is a connection from which given bytes come, and that keeps what it is
// sent.
type heap struct {
	io.Reader
	bytes.Buffer
}

func (h *heap) Read(b []byte) (int, error)  { return h.Reader.Read(b) }
func (h *heap) Write(b []byte) (int, error) { return h.Buffer.Write(b) }
func (*heap) Close() error                  { return nil }

// Whatever comes from one side, the other one gets whole frames of which none says
// what can't be said, then a Close and nothing more.
func FuzzPump(f *testing.F) {
	f.Add([]byte{0x81, 0x82, 0, 0, 0, 0, 'h', 'i', 0x89, 0x80, 0, 0, 0, 0}, false)
	f.Add([]byte{0x01, 1, 'h', 0x8a, 0, 0x80, 126, 0, 3, 'a', 'b', 'c'}, true)
	for _, c := range closings {
		f.Add(rawClose(c.said, "because", true), false)
		f.Add(rawClose(c.said, "because\xff", false), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, fromSite bool) {
		l := &heap{Reader: bytes.NewReader(b)}
		o := &heap{Reader: strings.NewReader("")}
		from := &peer{conn: l, in: bufio.NewReader(l), frames: ws.StateServerSide, lost: ws.StatusInternalServerError, closeWait: time.Hour}
		to := &peer{conn: o, frames: ws.StateClientSide, lost: ws.StatusGoingAway, closeWait: time.Hour}
		if fromSite {
			from.frames, from.lost, to.frames, to.lost = to.frames, to.lost, from.frames, from.lost
		}
		pump(from, to, 1000)
		from.end()
		to.end()
		state, size := from.frames, int64(0)
		for {
			h, err := ws.ReadHeader(&o.Buffer)
			if err == nil {
				err = ws.CheckHeader(h, state)
			}
			if err != nil || h.Length > int64(o.Len()) {
				t.Fatalf("%+v is sent, %v", h, err)
			}
			payload := o.Next(int(h.Length))
			if h.OpCode == ws.OpClose {
				code, _ := saidBy(h, payload)
				if sendable(code, 0) != code || o.Len() > 0 {
					t.Fatalf("a Close with %d is sent, and then % x", code, o.Bytes())
				}
				return
			}
			if !h.OpCode.IsControl() {
				if size += h.Length; size > 1000 {
					t.Fatalf("a message of more than %d bytes is sent", size)
				}
				if state = state.Set(ws.StateFragmented); h.Fin {
					state, size = state.Clear(ws.StateFragmented), 0
				}
			}
		}
	})
}

func TestAReasonFitsIntoItsFrame(t *testing.T) {
	long := strings.Repeat("é", 100)
	if got := cut(long); len(got) != 122 || !strings.HasPrefix(long, got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := cut("short"); got != "short" {
		t.Error(got)
	}
}
