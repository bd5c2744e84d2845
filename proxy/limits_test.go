package proxy

import (
	"strings"
	"testing"
	"time"
)

// Each time limit holds in a connection's second exchange as it does in the first,
// and what the first has left of it ends nothing.
func TestLimitsOfASecondExchange(t *testing.T) {
	const short = time.Second
	get := "GET URL/2 HTTP/1.1\r\nHost: ADDR\r\n\r\n"
	for _, c := range []struct {
		name   string
		limit  func(*Timeouts) *time.Duration
		send   string // behind the first answer
		server string // its answer to that; "": none
		want   string // what begins the browser's; "": a clean end
		entry  string // "": none
	}{
		{"no request", func(l *Timeouts) *time.Duration { return &l.Idle }, "", "", "", ""},
		{"a head that stalls", func(l *Timeouts) *time.Duration { return &l.ClientHead }, "GET URL/2 HTTP/1.1\r\nHo", "", "HTTP/1.1 408 ", "GET URL/2 refused timeout 408"},
		{"a body that stalls", func(l *Timeouts) *time.Duration { return &l.Idle }, "POST URL/2 HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 2\r\n\r\nx", "", "HTTP/1.1 504 ", "POST URL/2 failed send timeout"},
		{"no answer", func(l *Timeouts) *time.Duration { return &l.Answer }, get, "", "HTTP/1.1 504 ", "GET URL/2 failed wait timeout"},
		{"an answer's head that stalls", func(l *Timeouts) *time.Duration { return &l.Answer }, get, "HTTP/1.1 200 O", "HTTP/1.1 504 ", "GET URL/2 failed wait timeout"},
		{"an answer's body that stalls", func(l *Timeouts) *time.Duration { return &l.TunnelIdle }, get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx", "GET URL/2 200 failed receive timeout"},
	} {
		for _, together := range []bool{false, true} { // the browser sends both requests at once
			for _, secure := range []bool{false, true} {
				name := c.name
				if together {
					name += ", pipelined"
				}
				if secure {
					name += ", over TLS"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, func(config *Config) { *c.limit(&config.Timeouts) = short })
					var names []string
					if secure {
						names = []string{"127.0.0.1"}
					}
					addr := w.origin(func(p *party) {
						p.head()
						p.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
						if _, err := p.br.Peek(1); err == nil {
							p.head()
							p.send(c.server)
						}
						p.rest()
					}, names...)
					url, b := "http://"+addr, (*party)(nil)
					if secure {
						url, b = "", w.secure(addr, "127.0.0.1")
					} else {
						b = w.browser()
					}
					fill := strings.NewReplacer("URL", url, "ADDR", addr).Replace
					first, second := fill("GET URL/1 HTTP/1.1\r\nHost: ADDR\r\n\r\n"), fill(c.send)
					if together {
						b.send(first + second)
					} else {
						b.send(first)
					}
					b.expect("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
					if !together {
						b.send(second)
					}
					if c.want == "" {
						b.expectEnd()
					} else {
						b.expect(c.want)
						b.rest()
					}
					way, scheme := "exchange plain ", "http://ADDR"
					if secure {
						way, scheme = "exchange mitm ", "https://ADDR"
					}
					want := []string{way + "GET " + scheme + "/1 200"}
					if c.entry != "" {
						want = append(want, way+strings.Replace(c.entry, "URL", scheme, 1))
					}
					w.waitFor(len(want))
					w.want(addr, want...)
				})
			}
		}
	}
}
