package proxy

import (
	"bytes"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agentenv/netlog/netlog"
	"github.com/gorilla/websocket"
)

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

// Any protocol's 101 is spliced, and bytes behind the upgrade request are not lost.
func TestUpgradeToAnyProtocol(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		if head := p.head(); !strings.Contains(head, "Connection: upgrade\r\nUpgrade: echo\r\n") {
			t.Errorf("the server got %q", head)
		}
		p.send(switching + "hello")
		p.expect("earlymore")
		p.send("bye")
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nConnection: keep-alive, upgrade\r\nUpgrade: echo\r\n\r\nearly")
	b.expect(switching + "hello")
	b.send("more")
	b.expect("bye")
	b.expectEnd()
	b.Close()
	w.waitFor(1)
	p := w.want(addr, "exchange plain GET http://ADDR/ 101")[0]
	if p.answer == nil || p.end.WebSocket != nil || !p.end.Response.Complete {
		t.Errorf("%+v %+v", p.answer, p.end)
	}
}

func TestUpgradeThatIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 426 No\r\nContent-Length: 0\r\n\r\n" }))
	b := w.browser()
	for range 2 {
		b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
		b.expect("HTTP/1.1 426 No\r\nContent-Length: 0\r\n\r\n")
	}
	w.want(addr, "exchange plain GET http://ADDR/ 426", "exchange plain GET http://ADDR/ 426")
}

func TestSwitchThatNobodyAskedFor(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.head()
		p.send(switching)
		p.rest()
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
		t.Errorf("answer: %q", got)
	}
	w.want(addr, "exchange plain GET http://ADDR/ failed wait bad_answer")
}

// A WebSocket's frames are counted between real endpoints.
func TestWebSocketIsCounted(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.NoMessages = true })
	addr := w.origin(func(p *party) {
		l := &oneConn{conn: p.Conn, done: make(chan struct{})}
		server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			defer close(l.done)
			up := websocket.Upgrader{Subprotocols: []string{"chat"}, EnableCompression: true}
			ws, err := up.Upgrade(rw, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer ws.Close()
			for {
				kind, data, err := ws.ReadMessage()
				if err != nil {
					return
				}
				if ws.WriteMessage(kind, data) != nil {
					return
				}
			}
		})}
		server.Serve(l)
	}, "127.0.0.1")
	b := w.connect(addr)
	dialer := websocket.Dialer{
		NetDial:         func(string, string) (net.Conn, error) { return b.Conn, nil },
		TLSClientConfig: clientConfig(w), Subprotocols: []string{"chat"},
	}
	ws, answer, err := dialer.Dial("wss://"+addr+"/socket?a=b", nil)
	if err != nil {
		t.Fatal(err, answer)
	}
	for _, m := range []string{"one", strings.Repeat("two", 50_000)} {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := ws.ReadMessage(); err != nil || string(got) != m {
			t.Fatalf("echo: %d bytes, %v", len(got), err)
		}
	}
	ws.WriteMessage(websocket.PingMessage, []byte("p"))
	ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, "done"))
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			break
		}
	}
	ws.Close()
	w.waitFor(1)
	p := w.want(addr, "exchange mitm GET https://ADDR/socket?a=b 101")[0]
	s := p.end.WebSocket
	if s == nil || s.Sent.Messages != 2 || s.Sent.Bytes != 150_003 || s.Sent.Control != 2 {
		t.Fatalf("websocket: %+v", s)
	}
	if s.Received.Messages != 2 || s.Received.Bytes != 150_003 || s.Received.Control != 2 {
		t.Errorf("received: %+v", s.Received)
	}
	if *s.Close != (netlog.Close{Code: 1000, Reason: "done", By: "client"}) || s.Subprotocol != "chat" || *s.Recorded != 0 {
		t.Errorf("websocket: %+v %+v", s, s.Close)
	}
}

// A socket that ends without a close frame is a failure.
func TestWebSocketThatBreaks(t *testing.T) {
	const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n"
	for name, c := range map[string]struct {
		serverEnds bool
		want       string
	}{
		"by the server":  {true, "exchange plain GET http://ADDR/ 101 failed websocket reset"},
		"by the browser": {false, "exchange plain GET http://ADDR/ 101 failed websocket client_gone"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			addr := w.origin(func(p *party) {
				p.head()
				p.send(switching + "\x81\x02hi")
				if !c.serverEnds {
					p.rest()
				}
			})
			b := w.browser()
			b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
			b.expect(switching + "\x81\x02hi")
			if c.serverEnds {
				b.expectEnd()
			}
			b.Close()
			w.waitFor(1)
			p := w.want(addr, c.want)[0]
			if s := p.end.WebSocket; s == nil || s.Received.Messages != 1 || s.Close != nil {
				t.Errorf("websocket: %+v", s)
			}
		})
	}
}

// Some clients ask a proxy for ws:// as they would for http://.
func TestWebSocketURLAskedOfTheProxy(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		if head := p.head(); !strings.HasPrefix(head, "GET /socket HTTP/1.1\r\n") {
			t.Errorf("the server got %q", head)
		}
		p.send(switching)
		p.expect("x")
	})
	b := w.browser()
	b.send("GET ws://" + addr + "/socket HTTP/1.1\r\nHost: " + addr + "\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nx")
	b.expect(switching)
	b.expectEnd()
	b.Close()
	w.waitFor(1)
	if p := w.want(addr, "exchange plain GET http://ADDR/socket 101")[0]; p.open.Request.Target != "ws://"+addr+"/socket" {
		t.Errorf("target: %q", p.open.Request.Target)
	}
}

// What goes both ways behind a 101 at once passes whole, in whatever pieces.
func TestSplicedInPieces(t *testing.T) {
	const size = 1 << 20
	up, down := content('u', 1, size), content('d', 1, size)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			w := newWorld(t, nil)
			exchange := func(conn net.Conn, br io.Reader, send, want []byte) {
				var writing sync.WaitGroup
				writing.Go(func() {
					r := rand.New(rand.NewPCG(1, uint64(version)))
					for b := send; len(b) > 0; {
						n := 1 + r.IntN(min(len(b), 40_000))
						if _, err := conn.Write(b[:n]); err != nil {
							t.Error(err)
							return
						}
						b = b[n:]
					}
					conn.(interface{ CloseWrite() error }).CloseWrite()
				})
				got, err := io.ReadAll(br)
				if !bytes.Equal(got, want) || err != nil {
					t.Errorf("got %d bytes (%v)", len(got), err)
				}
				writing.Wait()
			}
			addr := w.origin(func(p *party) {
				session := tls.Server(&chopper{Conn: p.Conn, rand: rand.New(rand.NewPCG(1, 2))}, &tls.Config{
					MaxVersion: version, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.ca.leaf("127.0.0.1") },
				})
				p = newParty(t, session)
				p.head()
				p.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n")
				exchange(session, p.br, down, up)
			})
			b := w.connect(addr)
			session := tls.Client(&chopper{Conn: b.Conn, rand: rand.New(rand.NewPCG(3, 4))}, &tls.Config{MaxVersion: version, ServerName: "127.0.0.1", RootCAs: w.ca.pool})
			b = newParty(t, session)
			b.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n")
			b.head()
			exchange(session, b.br, up, down)
			w.want(addr, "exchange mitm GET https://ADDR/ 101")
		})
	}
}
