package proxy

import (
	"strings"
	"testing"
	"time"
)

// A 1xx says that the server is at work: the limit for its answer begins anew, and
// does not hold while the request still goes up.
func TestAnswerBehindInformationalOnes(t *testing.T) {
	const limit = 2 * time.Second
	slowly := func(step func()) {
		tick := time.NewTicker(limit / 4)
		defer tick.Stop()
		for range 6 {
			<-tick.C
			step()
		}
	}
	body := strings.Repeat("x", 6)
	tests := map[string]struct {
		server  func(*party)
		browser func(b *party, addr string)
	}{
		"an upload that was asked for": {
			func(p *party) {
				p.head()
				p.send("HTTP/1.1 100 Continue\r\n\r\n")
				p.expect(body)
			},
			func(b *party, addr string) {
				b.send("POST http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n")
				b.expect("HTTP/1.1 100 Continue\r\n\r\n")
				slowly(func() { b.send("x") })
			},
		},
		"an answer that takes long": {
			func(p *party) {
				p.head()
				slowly(func() { p.send("HTTP/1.1 102 Processing\r\n\r\n") })
			},
			func(b *party, addr string) {
				b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
				b.expect(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 6))
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *Config) { c.Timeouts.Answer = limit })
			addr := w.origin(func(p *party) {
				test.server(p)
				p.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				p.rest()
			})
			b := w.browser()
			test.browser(b, addr)
			b.expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		})
	}
}

// A server that says 100 and then no more is not waited for without an end.
func TestSilenceBehindAnInformationalAnswer(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Timeouts.Answer = time.Second })
	addr := w.origin(func(p *party) {
		p.head()
		p.send("HTTP/1.1 103 Early Hints\r\n\r\n")
		p.rest()
	})
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	b.expect("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 504 ")
	b.rest()
	w.want(addr, "exchange plain GET http://ADDR/ failed wait timeout")
}
