package har

import (
	"math"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// A log that says of a body or a head that it has more bytes than there are
// makes no negative size, and none that a reader rounds.
func TestCountsOfNoSense(t *testing.T) {
	for _, n := range []int64{math.MaxInt64, math.MaxInt64 - 5, 1 << 62, 1 << 53, maxCount, maxCount - 1, 0, -1, math.MinInt64} {
		want := min(max(n, 0), 1<<53-1)
		f := newFixture(t)
		req, resp := get("http://h/"), ok("text/plain", nil)
		req.Body, resp.Body = &netlog.Body{Size: n, Truncated: true}, &netlog.Body{Size: n, Truncated: true}
		req.HeaderBytes, resp.HeaderBytes = n, n
		f.exchange(req, resp)
		id := f.open(&netlog.Open{Request: get("ws://h/")})
		f.message(id, &netlog.Message{Dir: "send", Opcode: 2, Size: &n, Base64: []byte("a")})
		frames := netlog.Frames{Messages: n, Bytes: n, Frames: n, Control: n}
		f.end(id, &netlog.End{Response: &netlog.Response{Status: 101, Version: "HTTP/1.1", HeaderBytes: n, Body: &netlog.Body{Size: n}},
			WebSocket: &netlog.WebSocket{Sent: frames, Received: frames, Recorded: &n}})
		id = f.open(&netlog.Open{Kind: netlog.KindTunnel, Target: "h:443"})
		f.end(id, &netlog.End{Tunnel: &netlog.Tunnel{Sent: n, Received: n}})

		l, _, _ := convertAndCheck(t, f.log(), Options{})
		e := l.Entries[0]
		if e.Request.BodySize != want || e.Response.BodySize != want || e.Response.Content.Size != want || e.Response.TransferSize != min(2*want, maxCount) {
			t.Errorf("of %d: bodies of %d and %d, content of %d, %d in all",
				n, e.Request.BodySize, e.Response.BodySize, e.Response.Content.Size, e.Response.TransferSize)
		}
		if head := headersSize(n); e.Response.HeadersSize != head || want > 0 && head != want {
			t.Errorf("of %d: a head of %d", n, e.Response.HeadersSize)
		}
		s := l.Entries[1].WebSocket
		if counts := (Frames{want, want, want, want}); s.Sent != counts || s.Received != counts || *s.Recorded != want || *l.Entries[1].WebSocketMessages[0].Size != want {
			t.Errorf("of %d: %+v", n, s)
		}
		if e := l.Entries[2]; e.Tunnel.Sent != want || e.Tunnel.Received != want || e.Response.TransferSize != want {
			t.Errorf("of %d: %+v, %d in all", n, e.Tunnel, e.Response.TransferSize)
		}
	}
}
