package proxy

import (
	"fmt"
	"html"
	"net/http"
)

// page is the answer that the proxy makes itself when there is none of a
// server's to relay. It always ends the connection.
func page(head bool, f *failure, site bool) []byte {
	status := f.status()
	mark, how := "failed", "The request could not be completed."
	if f.refused != nil {
		mark, how = "refused", "The request was turned down."
	}
	name := "X-Agentenv-Proxy"
	if site { // whoever checks that a site loads tells our answers from the site's by it
		name, mark = "X-Agentenv-Site-Proxy", "failed"
	}
	text := http.StatusText(status)
	body := fmt.Sprintf("<!doctype html>\n<title>%d %s</title>\n<h1>%s</h1>\n<p>agentenv-netlog: %s</p>\n",
		status, text, how, html.EscapeString(f.Reason))
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n%s: %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
		status, text, name, mark, len(body))
	if head {
		return b
	}
	return append(b, body...)
}
