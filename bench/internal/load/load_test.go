package load

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, test := range []struct {
		of   []time.Duration
		p    float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{hundred[:1], 0.5, 1},
		{hundred[:1], 0.99, 1},
		{hundred[:2], 0.5, 1},
		{hundred[:3], 0.5, 2},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
	} {
		if got := percentile(test.of, test.p); got != test.want {
			t.Errorf("percentile(%d of them, %v) = %d, want %d", len(test.of), test.p, got, test.want)
		}
	}
}

// answering serves each connection's requests, heads alone, with one answer.
func answering(t *testing.T, answer string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serveOne(c, answer)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// serveOne serves one connection until it ends.
func serveOne(c net.Conn, answer string) {
	defer c.Close()
	var said strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if said.Write(buf[:n]); strings.HasSuffix(said.String(), "\r\n\r\n") {
			said.Reset()
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	}
}

func TestAnAnswerIsReadToItsEnd(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		bytes        int64
		fails        bool
	}{
		{"a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 5, false},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 5, false},
		{"no body", "HTTP/1.1 204 No Content\r\n\r\n", 0, false},
		{"a proxy's failure", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", 0, true},
		{"no HTTP", "hello\r\n\r\n", 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, err := Dial(context.Background(), Config{Proxy: answering(t, test.answer), Authority: "origin.test", Target: "/", Connections: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			for range 2 { // what is left of one answer would spoil the next
				r, err := g.Run(context.Background(), 0)
				if (err != nil) != test.fails {
					t.Fatalf("error %v", err)
				}
				if test.fails {
					return
				}
				if r.Requests != 1 || r.Bytes != test.bytes {
					t.Errorf("%d requests, %d bytes, want 1 and %d", r.Requests, r.Bytes, test.bytes)
				}
			}
		})
	}
}

func TestRequestsComeWhenTheyAreDue(t *testing.T) {
	const rate = 200
	g, err := Dial(context.Background(), Config{
		Proxy: answering(t, "HTTP/1.1 204 No Content\r\n\r\n"), Authority: "origin.test", Target: "/", Connections: 1, Rate: rate,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	const d = 100 * time.Millisecond
	r, err := g.Run(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(rate * d.Seconds()); r.Requests != want { // those that come late come nevertheless
		t.Errorf("%d requests in %v, not %d", r.Requests, d, want)
	}
}
