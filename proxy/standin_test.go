package proxy

import (
	"bytes"
	"crypto/rand"
	"net"
	"os"
	"strings"
	"testing"
)

func standIn(c *Config) { c.StandIn, c.Leaf = true, nil }

// Of a CONNECT the stand-in has a tunnel, whatever goes through it.
func TestStandInTunnels(t *testing.T) {
	w := newWorld(t, standIn)
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }), "site.test")
	b := w.secure(addr, "site.test")
	b.send("GET / HTTP/1.1\r\n\r\n")
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	b.Close()
	w.waitFor(1)
	tn := w.want(addr, "tunnel stand-in ADDR")[0].end.Tunnel
	if tn.SNI != "site.test" || tn.Sent == 0 || tn.Received == 0 {
		t.Errorf("tunnel: %+v", tn)
	}
}

// Of an http:// request it has the first lines and the bytes, one entry each
// though they share a connection.
func TestStandInRequests(t *testing.T) {
	w := newWorld(t, standIn)
	addr := w.origin(answers(func(head string) string {
		if strings.HasPrefix(head, "POST") {
			return "HTTP/1.1 201 Made it\r\nSet-Cookie: secret\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
		}
		return "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext"
	}))
	b := w.browser()
	get := "GET http://" + addr + "/a?b HTTP/1.1\r\nHost: " + addr + "\r\nCookie: secret\r\n\r\n"
	b.send(get)
	b.expect("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext")
	b.send("POST http://" + addr + "/c HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 0\r\n\r\n")
	b.expect("HTTP/1.1 201 Made it\r\nSet-Cookie: secret\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
	ps := w.want(addr, "exchange stand-in GET http://ADDR/a?b 200", "exchange stand-in POST http://ADDR/c 201")
	p := ps[0]
	if r := p.open.Request; r.Headers != nil || r.Body != nil || r.HeaderBytes != int64(len(get)) || r.Version != "HTTP/1.1" {
		t.Errorf("request: %+v", r)
	}
	if r := p.end.Response; r.Headers != nil || r.Body != nil || !r.Complete || r.Reason != "OK" {
		t.Errorf("response: %+v", r)
	}
	up := len(get) - len("http://"+addr) // it goes on in origin form
	if tn := p.end.Tunnel; tn.Sent != int64(up) || tn.Received != int64(len("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext")) {
		t.Errorf("tunnel: %+v, want %d sent", tn, up)
	}
	if raw, _ := os.ReadFile(w.path); bytes.Contains(raw, []byte("secret")) {
		t.Error("the log has a header's value")
	}
}

// The kernel moves large bodies; the bytes and their number stay right.
func TestStandInMovesBodies(t *testing.T) {
	big := make([]byte, 5<<20)
	rand.Read(big)
	for name, head := range map[string]string{
		"length":      "HTTP/1.1 200 OK\r\nContent-Length: 5242880\r\n\r\n",
		"until close": "HTTP/1.0 200 OK\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, standIn)
			addr := w.origin(func(p *party) {
				p.head()
				p.send(head)
				p.Write(big)
				if name == "length" {
					p.head()
					p.send("HTTP/1.1 204 No\r\n\r\n")
				}
			})
			b := w.browser()
			b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
			got := b.head()
			b.expect(string(big))
			if name == "length" {
				b.send("GET http://" + addr + "/next HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
				b.expect("HTTP/1.1 204 No\r\n\r\n")
			} else {
				b.expectEnd()
			}
			p := w.pairs()[0]
			if n := int64(len(got) + len(big)); p.end.Tunnel.Received != n || p.end.Failed != nil {
				t.Errorf("%v: received %d, want %d", p, p.end.Tunnel.Received, n)
			}
		})
	}
}

func TestStandInBrokenBody(t *testing.T) {
	w := newWorld(t, standIn)
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf")
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	b.head()
	if got, _ := b.rest(); got != "half" {
		t.Errorf("got %q", got)
	}
	w.want(addr, "exchange stand-in GET http://ADDR/ 200 failed receive reset")
}

func TestStandInRefusesBeforeConnecting(t *testing.T) {
	w := newWorld(t, func(c *Config) { standIn(c); c.Dial = noDial })
	b := w.browser()
	b.send("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1x\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("answer: %q", got)
	}
	w.want("", "exchange stand-in POST http://a.test/ refused bad_request 400")
}

// An upgraded connection is counted too.
func TestStandInUpgrade(t *testing.T) {
	w := newWorld(t, standIn)
	addr := w.origin(func(p *party) {
		p.head()
		p.send(switching)
		p.expect("ping")
		p.send("pong!")
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
	b.expect(switching)
	b.send("ping")
	b.expect("pong!")
	b.Conn.(*net.TCPConn).Close()
	w.waitFor(1)
	p := w.want(addr, "exchange stand-in GET http://ADDR/ 101")[0]
	if p.end.Tunnel.Received != int64(len(switching)+5) || p.end.WebSocket != nil {
		t.Errorf("%+v", p.end.Tunnel)
	}
}
