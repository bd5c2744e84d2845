package wire

import (
	"bufio"
	"strings"
	"testing"
)

func TestRequestForward(t *testing.T) {
	tests := []struct {
		name, head string
		o          ForwardOptions
		want       string
	}{
		{"byte-exact", "get /a%2f?b HTTP/1.1\r\nhOST:a\r\nX-b:  2 \r\nX-A: \xff\r\nx-b:\t1\r\nCookie: a\r\ncookie: b\r\n\r\n", ForwardOptions{},
			"get /a%2f?b HTTP/1.1\r\nhOST:a\r\nX-b:  2 \r\nX-A: \xff\r\nx-b:\t1\r\nCookie: a\r\ncookie: b\r\n\r\n"},
		{"what belongs to one hop",
			"GET / HTTP/1.1\r\nHost: a\r\nKeep-Alive: 5\r\nproxy-connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nProxy-Authenticate: x\r\nConnection: keep-alive\r\nUpgrade: h2c\r\nTE: gzip\r\nLast: 1\r\n\r\n", ForwardOptions{},
			"GET / HTTP/1.1\r\nHost: a\r\nLast: 1\r\n\r\n"},
		{"what Connection names",
			"GET / HTTP/1.1\r\nX-One: 1\r\nHost: a\r\nConnection: x-ONE, close\r\nX-Two: 2\r\nconnection:X-Two\r\nX-Three: 3\r\n\r\n", ForwardOptions{},
			"GET / HTTP/1.1\r\nHost: a\r\nX-Three: 3\r\n\r\n"},
		{"what Connection can't name",
			"POST / HTTP/1.1\r\nHost: a\r\nConnection: host, transfer-encoding, trailer, te, connection\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\nTE: trailers\r\n\r\n", ForwardOptions{},
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\nTE: trailers\r\n\r\n"},
		{"Connection can't name the length",
			"POST / HTTP/1.1\r\nHost: a\r\nConnection: content-length\r\nContent-Length: 1\r\n\r\n", ForwardOptions{},
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"},
		{"TE with more", "GET / HTTP/1.1\r\nHost: a\r\nte:gzip;q=0.5 , Trailers\r\nTE:  trailers\r\n\r\n", ForwardOptions{},
			"GET / HTTP/1.1\r\nHost: a\r\nte: Trailers\r\nTE:  trailers\r\n\r\n"},
		{"equal lengths become one", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:5\r\ncontent-length: 5\r\n\r\n", ForwardOptions{},
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:5\r\n\r\n"},
		{"upgrade as Chromium spells it", "GET / HTTP/1.1\r\nHost: a\r\nConnection:  Upgrade\r\nUpgrade:websocket\r\nSec-WebSocket-Key: x\r\n\r\n", ForwardOptions{Upgrade: true},
			"GET / HTTP/1.1\r\nHost: a\r\nConnection:  Upgrade\r\nUpgrade:websocket\r\nSec-WebSocket-Key: x\r\n\r\n"},
		{"upgrade as Firefox spells it", "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade, X\r\nX: 1\r\nUpgrade: websocket\r\n\r\n", ForwardOptions{Upgrade: true},
			"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"},
		{"absolute target", "GET http://u:p@a/b HTTP/1.1\r\nHost: a\r\n\r\n", ForwardOptions{Target: []byte("/b")},
			"GET /b HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"another Host", "GET / HTTP/1.1\r\nA: b\r\nhost:a\r\n\r\n", ForwardOptions{Host: []byte("b:81")},
			"GET / HTTP/1.1\r\nA: b\r\nhost: b:81\r\n\r\n"},
		{"a Host where there is none", "GET http://a/ HTTP/1.0\r\nA: b\r\n\r\n", ForwardOptions{Target: []byte("/"), Host: []byte("a")},
			"GET / HTTP/1.0\r\nHost: a\r\nA: b\r\n\r\n"},
		{"no fields", "GET / HTTP/1.0\r\n\r\n", ForwardOptions{}, "GET / HTTP/1.0\r\n\r\n"},
	}
	var r Request
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := ReadRequest(bufio.NewReader(strings.NewReader(test.head)), &r, testLimit); err != nil {
				t.Fatal(err)
			}
			if got := string(r.AppendForward([]byte("before"), test.o)); got != "before"+test.want {
				t.Errorf("got  %q\nwant %q", got, "before"+test.want)
			}
			if string(r.Raw) != test.head {
				t.Errorf("Raw became %q", r.Raw)
			}
		})
	}
}

func TestAnswerForward(t *testing.T) {
	tests := []struct {
		name, head string
		o          ForwardOptions
		want       string
	}{
		{"byte-exact", "HTTP/1.1  200  ok\r\nserver:x\r\nSet-Cookie: a\r\nA: b\r\n  c\r\nset-cookie: b\r\n\r\n", ForwardOptions{},
			"HTTP/1.1  200  ok\r\nserver:x\r\nSet-Cookie: a\r\nA: b\r\n  c\r\nset-cookie: b\r\n\r\n"},
		{"empty lines before", "\r\n\r\nHTTP/1.1 200 OK\r\nConnection: x\r\n\r\n", ForwardOptions{}, "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"},
		{"what belongs to one hop", "HTTP/1.1 200 OK\r\nConnection: keep-alive, X\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nUpgrade: h2,h2c\r\nX: 1\r\nY: 2\r\n\r\n", ForwardOptions{},
			"HTTP/1.1 200 OK\r\nY: 2\r\n\r\n"},
		{"close", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", ForwardOptions{Close: true},
			"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n"},
		{"length and chunked", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n", ForwardOptions{},
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"},
		{"length and chunked in HTTP/1.0, where both are void", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", ForwardOptions{},
			"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"length and a coding that is not chunked", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: gzip\r\n\r\n", ForwardOptions{},
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"},
		{"for HTTP/1.0", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\nA: b\r\n\r\n", ForwardOptions{Dechunk: true, Close: true},
			"HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n"},
		{"lengths become one", "HTTP/1.1 200 OK\r\nContent-length: 5 ,5\r\nContent-Length: 5\r\n\r\n", ForwardOptions{},
			"HTTP/1.1 200 OK\r\nContent-length: 5\r\n\r\n"},
		{"a HEAD's lengths that differ stay", "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\nContent-Length: 5\r\n\r\n", ForwardOptions{},
			"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\nContent-Length: 5\r\n\r\n"},
		{"switching protocols", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n", ForwardOptions{Upgrade: true},
			"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n"},
		{"an answer has no Host", "HTTP/1.1 200 OK\r\nHost: a\r\n\r\n", ForwardOptions{Host: []byte("b")}, "HTTP/1.1 200 OK\r\nHost: a\r\n\r\n"},
	}
	var a Answer
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := ReadAnswer(bufio.NewReader(strings.NewReader(test.head)), &a, testLimit); err != nil {
				t.Fatal(err)
			}
			if got := string(a.AppendForward([]byte("before"), test.o)); got != "before"+test.want {
				t.Errorf("got  %q\nwant %q", got, "before"+test.want)
			}
			if string(a.Raw) != test.head {
				t.Errorf("Raw became %q", a.Raw)
			}
		})
	}
}

// What goes to a hop that is not HTTP/1 has nothing of HTTP/1's framing.
func TestEndToEnd(t *testing.T) {
	for _, c := range []struct{ head, want string }{
		{"A: 1\r\nConnection: x-hop, close\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nUpgrade: h2c\r\nTE: trailers\r\nProxy-Authenticate: Basic\r\nProxy-Connection: x\r\nTrailer: T\r\na: 2\r\n", "A=1 Trailer=T a=2"},
		{"Content-Length: 5\r\nB: \r\nContent-Length: 5\r\n", "Content-Length=5 B="},
		{"Content-Length: 5, 5\r\n", "Content-Length=5"},
		{"Content-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n", ""},
		{"Transfer-Encoding: identity\r\nContent-Length: 5\r\n", "Content-Length=5"},
		{"Connection: content-length, trailer\r\nContent-Length: 5\r\nTrailer: T\r\nHost: h\r\n", "Content-Length=5 Trailer=T Host=h"},
		{"X: a\r\n b\r\n", "X=a b"},
	} {
		var a Answer
		if err := ReadAnswer(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n"+c.head+"\r\n")), &a, 1<<20); err != nil {
			t.Fatal(err)
		}
		var got []string
		for name, value := range a.EndToEnd() {
			got = append(got, string(name)+"="+string(value))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, want %q", c.head, got, c.want)
		}
	}
}
