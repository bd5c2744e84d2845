package proxy

import (
	"fmt"
	"html"
	"net/http"
)

// pageType is the Content-Type of the proxy's own pages.
const pageType = "text/html; charset=utf-8"

// page is the answer that the proxy makes itself when there is none of a server's
// to relay: the field that marks it, and its body.
func (f *failure) page(site bool) (name, mark, body string) {
	name, mark = "X-Agentenv-Proxy", "failed"
	how := "The request could not be completed."
	if f.refused != nil {
		mark, how = "refused", "The request was turned down."
	}
	if site { // whoever checks that a site loads tells our answers from the site's by it
		name, mark = "X-Agentenv-Site-Proxy", "failed"
	}
	return name, mark, fmt.Sprintf("<!doctype html>\n<title>%d %s</title>\n<h1>%s</h1>\n<p>agentenv-netlog: %s</p>\n",
		f.status(), http.StatusText(f.status()), how, html.EscapeString(f.Reason))
}

// page is that answer in HTTP/1. It always ends the connection.
func page(head bool, f *failure, site bool) []byte {
	name, mark, body := f.page(site)
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n%s: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
		f.status(), http.StatusText(f.status()), name, mark, pageType, len(body))
	if head {
		return b
	}
	return append(b, body...)
}
