package proxy

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// redirect answers an http:// request with the same URL at its origin's redirect
// (RFC 9110 §15.4.9: the method and the body stay). It is an answer of our own,
// so that the entry has a response and no server, and the last on its connection.
func (c *client) redirect(ex *exchange) bool {
	path := wire.EscapeURL(c.target.Path)
	if path == "*" {
		path = "/"
	}
	fields := []netlog.Header{
		{Name: "Location", Value: ex.origin.redirect + path},
		{Name: "Content-Length", Value: "0"},
		{Name: "Connection", Value: "close"},
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 308 %s\r\n", http.StatusText(http.StatusPermanentRedirect))
	for _, f := range fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	b.WriteString("\r\n")
	c.drain(ex)
	ex.response = &netlog.Response{
		Status: http.StatusPermanentRedirect, Reason: http.StatusText(http.StatusPermanentRedirect),
		Version: "HTTP/1.1", Headers: fields, HeaderBytes: int64(b.Len()),
	}
	ex.receiving.frame(wire.Framing{}, true)
	ex.finish(nil)
	c.write(b.Bytes())
	c.linger()
	return false
}
