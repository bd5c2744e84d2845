package proxy

import (
	"fmt"
	"net/http"
	"time"

	"github.com/agentenv/netlog/proxy/wire"
)

// authenticated tells whether the request in c.req comes with credentials that
// the proxy takes (RFC 9110 §11.7). What a CONNECT was granted for needs no more.
func (c *client) authenticated() bool {
	if c.p.Credentials == nil {
		return true
	}
	value, _ := c.req.Fields.Get("proxy-authorization")
	return c.req.Fields.Count("proxy-authorization") == 1 && c.p.takes(string(value))
}

// takes tells whether a field's value has credentials that the proxy takes.
func (p *Proxy) takes(value string) bool {
	basic := http.Request{Header: http.Header{"Authorization": {value}}}
	user, password, ok := basic.BasicAuth()
	return ok && p.Credentials(user, password)
}

// challenge asks for credentials, which is not logged. It says whether the
// connection can take the request once more, with them.
func (c *client) challenge() bool {
	again := c.req.KeepAlive() && c.req.Minor > 0 && c.skipBody()
	const body = "<!doctype html>\n<title>407 Proxy Authentication Required</title>\n<h1>The request was turned down.</h1>\n" +
		"<p>agentenv-netlog: this proxy asks for a user name and a password</p>\n"
	b := fmt.Appendf(nil, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"agentenv-netlog\", charset=\"UTF-8\"\r\n"+
		"X-Agentenv-Proxy: refused\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\n", len(body))
	if !again {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "\r\n"...)
	if string(c.req.Method) != http.MethodHead {
		b = append(b, body...)
	}
	c.write(b)
	if !again {
		c.linger()
	}
	return again
}

// skipBody reads past the body of the request in c.req. It fails when that is
// long, or is not sent before it is asked for.
func (c *client) skipBody() bool {
	framing, err := c.req.Framing()
	if err != nil || c.req.Fields.HasToken("expect", "100-continue") {
		return false
	}
	if string(c.req.Method) == http.MethodConnect { // it has none, whatever it says (RFC 9110 §9.3.6)
		framing = wire.Framing{}
	}
	var b body
	b.frame(framing, false)
	b.tap.blind = true
	c.conn.SetReadDeadline(time.Now().Add(lingerTime))
	defer c.conn.SetReadDeadline(time.Time{})
	for !b.whole {
		if _, err := c.br.Peek(1); err != nil || b.tap.size > lingerBytes {
			return false
		}
		piece, _ := c.br.Peek(c.br.Buffered())
		n, err := b.take(piece, time.Time{})
		c.br.Discard(n)
		if err != nil {
			return false
		}
	}
	return true
}
