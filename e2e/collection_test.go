package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
)

// A collection is one recorded run that has an entry of every sort, and its
// HAR, which was made while some were open.
type collection struct {
	har     string // the file
	entries []harEntry
	path    string  // the log's, which has ended since; "" for none
	log     *record // nil for none
	plain   string  // the specimens' host
}

// collect records it. It needs nothing but Go.
func collect(t *testing.T) *collection {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/specimen/", specimenHost(t))
	mux.Handle("/", site())
	w := newWorldOf(t, mux)
	tunnelled := strings.Replace(w.origin.host, "localhost", "127.0.0.1", 1)
	p := w.proxy("--tunnel", tunnelled, "--deny-host", "denied.test", "--max-request-body", "1MiB", "--drain", "0s")
	tlsSite, plainSite := place{"https", w.origin.host}, place{"http", w.origin.plain}

	for _, s := range specimens() {
		s.ask(t, p.address, w.origin.plain)
	}
	client := p.client()
	for _, path := range []string{"/", "/early", "/coded/br", "/coded/zstd", "/moved", "/events", "/status/404", "/large?size=200000"} {
		asks(t, client, "GET", tlsSite.url(path), "", "")
	}
	asks(t, client, "POST", tlsSite.url("/form"), "application/x-www-form-urlencoded", "name=Ada")
	asks(t, client, "PUT", tlsSite.url("/echo"), "application/octet-stream", string(pattern(1<<20+1)))
	asks(t, client, "GET", "http://denied.test/", "", "")
	asks(t, client, "GET", "https://denied.test/", "", "")
	asks(t, client, "POST", "https://"+freePort(t)+"/dead", "application/json", `{"lost":true}`)
	asks(t, client, "GET", "http://"+freePort(t)+"/dead", "", "")
	asks(t, client, "GET", tlsSite.url("/echo?misdirected"), "", "", "Host", "other.test")
	six := strings.Replace(w.origin.host, "localhost", "[::1]", 1) // where the machine has it
	asks(t, client, "GET", "https://"+six+"/echo?six", "", "")
	if _, err := startDialogue(t.Context(), client.Transport.(*http.Transport), tlsSite, "/status/404"); err == nil {
		t.Error("there is a WebSocket at a page that is not")
	}
	converse(t, client, tlsSite)
	converse(t, client, plainSite)

	stranger := p.client()
	stranger.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	asks(t, stranger, "GET", tlsSite.url("/echo?untrusted"), "", "")
	through := p.client()
	through.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: w.ca.pool}
	asks(t, through, "GET", "https://"+tunnelled+"/large?size=20000", "", "")
	through.CloseIdleConnections()
	specimen{path: "/unread", method: "GET", fields: "Content-Length: 1\nContent-Length: 2\n"}.ask(t, p.address, w.origin.plain)

	// What is still going on.
	patient := p.client()
	patient.Timeout = 0
	var going sync.WaitGroup
	t.Cleanup(going.Wait)
	for _, path := range []string{"/held", "/events/open"} {
		going.Go(func() { asks(t, patient, "GET", plainSite.url(path), "", "") })
	}
	d, err := startDialogue(t.Context(), client.Transport.(*http.Transport), tlsSite, "/socket?open")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.conn.Close() })
	if err := d.say("still here"); err != nil {
		t.Fatal(err)
	}
	tunnel, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tunnel.Close() })
	fmt.Fprintf(tunnel, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", tunnelled)

	c := &collection{har: filepath.Join(w.dir, "collection.har"), path: p.log, plain: w.origin.plain}
	until(t, "what stays open to be in the HAR", func() bool {
		c.entries = convertTo(t, p.log, c.har)
		open := 0
		for _, e := range c.entries {
			if e.Open && (e.Tunnel != nil || e.Request.Method == "CONNECT" || e.Response.Status > 0 || strings.HasSuffix(e.Request.URL, "/held")) {
				open++
			}
		}
		return open == 4
	})
	p.stop()
	c.log = readLog(t, p.log)
	return c
}

// madeFor is the HAR for one reader, which it is refused without; of a HAR without
// its log, that.
func (c *collection) madeFor(t *testing.T, reader string) (file string, entries []harEntry) {
	t.Helper()
	if c.path == "" {
		return c.har, c.entries
	}
	file = filepath.Join(t.TempDir(), reader+".har")
	return file, convertTo(t, c.path, file, "--for", reader)
}

// asks is one request, whatever comes of it.
func asks(t *testing.T, c *http.Client, method, url, contentType, body string, more ...string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if len(more) == 2 && more[0] == "Host" {
		r.Host = more[1]
	}
	answer, err := c.Do(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, answer.Body)
}

// converse has a WebSocket with messages of every sort.
func converse(t *testing.T, c *http.Client, at place) {
	t.Helper()
	d, err := startDialogue(t.Context(), c.Transport.(*http.Transport), at, "/socket")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hello", "žluť 🦊", "", string(pattern(100_000))} {
		if err := d.say(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.conn.WriteMessage(websocket.BinaryMessage, []byte(everyByte())); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.conn.ReadMessage(); err != nil {
		t.Fatal(err)
	}
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
}
