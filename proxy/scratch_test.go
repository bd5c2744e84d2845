package proxy

import (
	"runtime"
	"testing"
	"weak"

	"github.com/agentenv/netlog/netlog"
)

// Browsers hold connections for long: nothing of the last exchange is held with them.
func TestAConnectionThatWaitsLetsItsExchangeGo(t *testing.T) {
	ended := make(chan weak.Pointer[netlog.Open], 2)
	w := newWorld(t, func(c *Config) {
		c.Ended = func(_ int64, o *netlog.Open, _ *netlog.End) { ended <- weak.Make(o) }
	})
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	addr := w.origin(answers(func(string) string { return answer }), "127.0.0.1")
	b := w.secure(addr, "127.0.0.1")
	for range 2 {
		b.send("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		b.expect(answer)
		exchange := <-ended
		eventually(t, "the exchange's memory", func() bool {
			runtime.GC()
			return exchange.Value() == nil
		})
	}
	b.Close()
	w.want(addr, "exchange mitm GET https://ADDR/ 200", "exchange mitm GET https://ADDR/ 200")
}
