package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
)

// fetchers are the clients that fetch what they are given: curl, wget and Go.
func fetchers() []client {
	return []client{
		{
			name: "curl",
			run: func(s *session) {
				got := s.do(need(s.t, "curl"), "-sS", "--cacert", "{trust}", "-d", "a=1&b=%20", "https://{tls}/echo?1", "https://{tls}/echo?2", "http://{plain}/echo?3")
				s.said(got, "POST a=1&b=%20POST a=1&b=%20POST a=1&b=%20")
				s.said(s.do(need(s.t, "curl"), "-sS", "--cacert", "{trust}", "--compressed", "-L", "https://{tls}/moved", "http://{plain}/moved"), "{\"landed\":\"redirect\"}\n{\"landed\":\"redirect\"}\n")
			},
			asks: []string{"POST https://{tls}/echo?2 200", "POST http://{plain}/echo?3 200", "GET https://{tls}/moved 302", "GET http://{plain}/landed?by=redirect 200"},
		},
		{
			name: "wget",
			run: func(s *session) {
				wget := need(s.t, "wget")
				s.do(wget, "-nv", "--ca-certificate={trust}", "-e", "robots=off", "--page-requisites", "--no-host-directories", "-P", "{home}/tls", "https://{tls}/sync.html")
				s.do(wget, "-nv", "-e", "robots=off", "--recursive", "--no-host-directories", "-P", "{home}/plain", "http://{plain}/sync.html")
				for _, way := range []string{"tls", "plain"} {
					for _, file := range []string{"sync.html", "logo.png", "style.css", "imported.css", "sync.js"} {
						got, want := contentOf(s.t, filepath.Join(s.home, way, file)), contentOf(s.t, filepath.Join("testdata/site", file))
						if !bytes.Equal(got, want) {
							s.t.Errorf("%s/%s has %d bytes, want %d", way, file, len(got), len(want))
						}
					}
				}
				s.do(wget, "-nv", "--ca-certificate={trust}", "-O", "{home}/posted", "--post-data=from wget", "https://{tls}/echo?post")
				is(s.t, "the answer to the POST", string(contentOf(s.t, filepath.Join(s.home, "posted"))), "POST from wget")
			},
			asks: []string{"GET https://{tls}/sync.html 200", "GET https://{tls}/imported.css 200", "GET http://{plain}/frame.html 200", "POST https://{tls}/echo?post 200"},
		},
		{
			name: "go",
			run:  goes,
			asks: []string{"GET https://{tls}/coded/gzip 200", "PUT https://{tls}/echo?chunked 200", "HEAD http://{plain}/echo 200", "GET wss://{tls}/socket 101", "GET ws://{plain}/socket 101", "GET https://{tls}/echo?n=39 200"},
		},
	}
}

// goes asks with Go's own client, as it is set up when nobody sets it up but for
// the proxy and the trust, and with gorilla's WebSocket.
func goes(s *session) {
	pem, err := os.ReadFile(s.proxy.trust)
	if err != nil {
		s.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: s.proxy.address})
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	ask := func(method, url, body string) string {
		var r io.Reader
		if body != "" { // of a length that Go does not know, so that it sends chunks
			r = io.MultiReader(strings.NewReader(body))
		}
		request, err := http.NewRequestWithContext(s.t.Context(), method, s.names.Replace(url), r)
		if err != nil {
			s.t.Error(err)
			return ""
		}
		answer, err := c.Do(request)
		if err != nil {
			s.t.Error(err)
			return ""
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			s.t.Errorf("%s: %v", url, err)
		}
		return string(b)
	}
	for _, base := range []string{"https://{tls}", "http://{plain}"} {
		is(s.t, "the decoded document", strings.HasPrefix(ask("GET", base+"/coded/gzip", ""), `{"coding":"gzip"`), true)
		is(s.t, "the echo", ask("PUT", base+"/echo?chunked", string(pattern(300_000))), "PUT "+string(pattern(300_000)))
		is(s.t, "the body of a HEAD", ask("HEAD", base+"/echo", ""), "")
		is(s.t, "what the redirect led to", ask("GET", base+"/moved", ""), "{\"landed\":\"redirect\"}\n")
	}
	var crowd sync.WaitGroup
	for i := range 40 {
		crowd.Go(func() {
			is(s.t, "one of many", ask("GET", fmt.Sprintf("https://{tls}/echo?n=%d", i), ""), "GET ")
		})
	}
	crowd.Wait()
	sockets := &websocket.Dialer{Proxy: transport.Proxy, TLSClientConfig: &tls.Config{RootCAs: roots}, EnableCompression: true}
	for _, address := range []string{"wss://{tls}/socket", "ws://{plain}/socket"} {
		talk(s.t, sockets, s.names.Replace(address))
	}
}

// talk sends three messages to a socket that echoes them, and closes it.
func talk(t *testing.T, d *websocket.Dialer, address string) {
	t.Helper()
	c, _, err := d.DialContext(t.Context(), address, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	for _, m := range []string{"one", string(pattern(100_000)), "three"} {
		if err := c.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			t.Error(err)
		}
		if _, got, err := c.ReadMessage(); err != nil || string(got) != m {
			t.Errorf("%s: %v, %.100q", address, err, got)
		}
	}
	if err := c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")); err != nil {
		t.Error(err)
	}
	if _, _, err := c.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("%s: it did not close: %v", address, err)
	}
}
