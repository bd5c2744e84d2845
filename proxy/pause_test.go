package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/proxy/h2"
)

// A browser that has its answer whole and pauses in sending the rest of its request
// learns that the server takes no more of it, or that its body is not waited for
// behind a 100 that has not come. It has failed in nothing.
func TestUploadsThatOutlastTheirAnswers(t *testing.T) {
	for _, c := range []struct{ name, expect, sent string }{
		{"the server resets", "", "some"},
		{"no 100 comes", "100-continue", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			s := w.h2server(func(st *h2.Stream) {
				if c.sent == "" {
					st.WriteHead(fields(":status", "413"), true)
					st.Next()
					return
				}
				if piece, _, err := st.Next(); string(piece) != c.sent || err != nil {
					t.Errorf("the server got %q, %v", piece, err)
				}
				st.WriteHead(fields(":status", "413"), true)
				st.Reset(http2.ErrCodeNo)
			})
			b := w.h2browser(s.addr)
			gone := make(chan error, 1)
			head := b.post("/", "content-length", "1000")
			if c.expect != "" {
				head = append(head, h2.Field{Name: "expect", Value: c.expect})
			}
			st := b.ask(head, false)
			st.OnGone(func(err error) { gone <- err })
			st.Write([]byte(c.sent), false)
			if a := answerTo(st); a.String() != "413 " {
				t.Error(a)
			}
			toldToStop(t, gone)
			p := w.waitFor(1)[0]
			if got := p.String(); got != "exchange mitm POST https://"+s.addr+"/ 413" || p.requestBody().Size != int64(len(c.sent)) {
				t.Errorf("%s, with a body of %+v", got, p.requestBody())
			}
		})
	}
}

// toldToStop waits for the browser to be told that the rest of its request is not wanted.
func toldToStop(t *testing.T, gone <-chan error) {
	t.Helper()
	select {
	case err := <-gone:
		var e *h2.Error
		if !errors.As(err, &e) || e.Code != http2.ErrCodeNo || !e.Remote || !e.Stream {
			t.Errorf("the browser is told %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the browser is told nothing")
	}
}

// The same from and to HTTP/1, where the server closes its connection.
func TestUploadsThatOutlastTheirServers(t *testing.T) {
	for _, c := range []struct{ name, expect, sent, answer string }{
		{"the server closes", "", "some", "HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
		{"no 100 comes", "Expect: 100-continue\r\n", "", "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n"},
	} {
		serve := func(p *party) {
			p.head()
			p.expect(c.sent)
			p.send(c.answer)
			if c.sent == "" {
				p.br.Peek(1)
			}
		}
		t.Run(c.name+", HTTP/1", func(t *testing.T) {
			w := newWorld(t, nil)
			addr := w.origin(serve, "127.0.0.1")
			b := w.secure(addr, "127.0.0.1")
			b.send("POST / HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 1000\r\n" + c.expect + "\r\n" + c.sent)
			if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 413 ") {
				t.Error(got)
			}
			b.expectEnd()
			if p := w.waitFor(1)[0]; p.String() != "exchange mitm POST https://"+addr+"/ 413" || p.requestBody().Size != int64(len(c.sent)) {
				t.Errorf("%v, with a body of %+v", p, p.requestBody())
			}
		})
		t.Run(c.name+", HTTP/2", func(t *testing.T) {
			var gateway string
			w := newWorld(t, routed(&gateway))
			gateway = w.origin(serve)
			b := w.h2browser("127.0.0.1:443")
			head := b.post("/", "content-length", "1000")
			if c.expect != "" {
				head = append(head, h2.Field{Name: "expect", Value: "100-continue"})
			}
			st := b.ask(head, false)
			gone := make(chan error, 1)
			st.OnGone(func(err error) { gone <- err })
			st.Write([]byte(c.sent), false)
			if a := answerTo(st); a.String() != "413 " {
				t.Error(a)
			}
			toldToStop(t, gone)
			if p := w.waitFor(1)[0]; !strings.HasSuffix(p.String(), "/ 413") || p.requestBody().Size != int64(len(c.sent)) {
				t.Errorf("%v, with a body of %+v", p, p.requestBody())
			}
		})
	}
}

// Nothing ends an upload that its server goes on taking behind its answer, though it
// pauses: here until the server's word that it has the first piece.
func TestAnUploadThatIsTakenBehindItsAnswer(t *testing.T) {
	for _, to := range []string{"HTTP/1", "HTTP/1, half closed", "HTTP/2"} {
		t.Run(to, func(t *testing.T) {
			const pieces = 3
			w := newWorld(t, nil)
			taken := make(chan string)
			var addr string
			if to == "HTTP/2" {
				addr = w.h2server(func(st *h2.Stream) {
					st.WriteHead(fields(":status", "200"), true)
					for {
						piece, end, err := st.Next()
						if err != nil {
							t.Error(err)
							return
						}
						if len(piece) > 0 {
							taken <- string(piece)
						}
						if st.Took(len(piece)); end {
							return
						}
					}
				}).addr
			} else {
				addr = w.origin(func(p *party) {
					p.head()
					p.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					if to == "HTTP/1, half closed" {
						p.Conn.(*tls.Conn).CloseWrite()
					}
					for i := range pieces {
						want := fmt.Sprint("piece ", i)
						p.expect(want)
						taken <- want
					}
				}, "127.0.0.1")
			}
			if to == "HTTP/2" {
				b := w.h2browser(addr)
				st := b.ask(b.post("/"), false)
				if a := answerTo(st); a.String() != "200 " {
					t.Fatal(a)
				}
				for i := range pieces {
					st.Write([]byte(fmt.Sprint("piece ", i)), i == pieces-1)
					if got := <-taken; got != fmt.Sprint("piece ", i) {
						t.Error(got)
					}
				}
			} else {
				b := w.secure(addr, "127.0.0.1")
				b.send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", addr, pieces*len("piece 0")))
				b.head()
				for i := range pieces {
					b.send(fmt.Sprint("piece ", i))
					if got := <-taken; got != fmt.Sprint("piece ", i) {
						t.Error(got)
					}
				}
			}
			if p := w.waitFor(1)[0]; p.end.Failed != nil || p.requestBody().Size != int64(pieces*len("piece 0")) {
				t.Errorf("%v, with a body of %+v", p, p.requestBody())
			}
		})
	}
}

// What a browser had sent whole when it left with its answer goes on to the server.
func TestAnUploadWhoseBrowserHasLeft(t *testing.T) {
	const body = "what the browser has sent"
	for _, to := range []string{"HTTP/1", "HTTP/2"} {
		t.Run(to, func(t *testing.T) {
			left := make(chan bool)
			taken := make(chan string, 1)
			var gateway string
			w := newWorld(t, func(c *Config) {
				if to == "HTTP/2" {
					return
				}
				routed(&gateway)(c)
				c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					return &slowUpload{conn, left}, err
				}
			})
			addr := "127.0.0.1:443"
			if to == "HTTP/2" {
				addr = newH2Listener(w, func(p *h2peer) {
					p.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
					id, _ := p.request()
					p.head(id, true, fields(":status", "200"))
					<-left
					p.fr.WriteWindowUpdate(id, uint32(len(body)))
					got, _ := p.body()
					taken <- got
				})
			} else {
				gateway = w.origin(func(p *party) {
					p.head()
					p.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					got, _ := io.ReadAll(io.LimitReader(p.br, int64(len(body))))
					taken <- string(got)
				})
			}
			session := w.secureFor(addr, "127.0.0.1", "h2").Conn.(*tls.Conn)
			b := newH2Peer(t, session)
			b.greet()
			b.head(1, false, fields(":method", "POST", ":scheme", "https", ":authority", addr, ":path", "/", "content-length", fmt.Sprint(len(body))))
			if f, isHead := b.next().(*http2.HeadersFrame); !isHead || !f.StreamEnded() {
				t.Errorf("the browser got %v", f)
			}
			b.fr.WriteData(1, true, []byte(body))
			session.CloseWrite()
			for b.next() != nil {
			}
			close(left)
			if got := <-taken; got != body {
				t.Errorf("the server got %q", got)
			}
			if p := w.waitFor(1)[0]; p.end.Failed != nil || p.end.Response.Status != 200 || p.requestBody().Size != int64(len(body)) {
				t.Errorf("%v, with a body of %+v", p, p.requestBody())
			}
		})
	}
}

// A slowUpload takes what comes behind a head once the browser has left.
type slowUpload struct {
	net.Conn
	left <-chan bool
}

func (c *slowUpload) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte("POST ")) {
		<-c.left
	}
	return c.Conn.Write(p)
}
