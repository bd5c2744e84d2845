package proxy

import (
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// An answer that is no HTTP to us can be one to the browser, which then asks for more
// on its connection: that is closed, so that the browser asks on a new one.
func TestABrowserGoesOnBehindAnAnswerThatIsNoHTTP(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"
	for _, secure := range []bool{false, true} {
		w := newWorld(t, nil)
		keeps := func(p *party) { // its connection
			p.head()
			p.send(answer)
			p.rest()
		}
		var b *party
		var at, root, want string
		if secure {
			at = w.origin(keeps, "127.0.0.1")
			b, want = w.secure(at, "127.0.0.1"), "exchange mitm GET https://ADDR/ 0 failed receive client_gone"
		} else {
			at = w.origin(keeps)
			b, root, want = w.browser(), "http://"+at, "exchange plain GET http://ADDR/ 0 failed receive client_gone"
		}
		request := "GET " + root + "/ HTTP/1.1\r\nHost: " + at + "\r\n\r\n"
		b.send(request)
		b.expect(answer)
		b.send(request)
		if got, _ := b.rest(); got != "" {
			t.Errorf("secure %v: the next request is answered %q", secure, got)
		}
		if p := w.want(at, want)[0]; !p.end.Unparsed || string(p.end.Response.Body.Kept.(netlog.Bytes)) != answer {
			t.Errorf("secure %v: the log has %+v", secure, p.end)
		}
	}
}
