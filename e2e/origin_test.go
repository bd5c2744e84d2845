package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// An access is one request as the origin had it, and what it answered.
type access struct {
	Method, URL  string
	Status       int
	RequestBody  []byte
	ResponseBody []byte // as written, never decoded
	Header       http.Header
	conn         *counted // that it came on
}

// An origin is a Go server that serves the site over TLS, speaks HTTP/2 to
// whom it may, and keeps its own record of what it was asked.
type origin struct {
	host  string // name:port over TLS
	plain string // address:port of the same site over http://

	mu     sync.Mutex
	record []*access  // in the order in which the requests came
	conns  []*counted // in the order in which they were opened
}

// startOrigin serves h on 127.0.0.1 and, where the machine has it, on ::1.
func startOrigin(t *testing.T, a *authority, h http.Handler) *origin {
	t.Helper()
	return startOriginAt(t, a, h, "127.0.0.1")
}

// startOriginAt serves h on an address of loopback, which is to be localhost's.
func startOriginAt(t *testing.T, a *authority, h http.Handler, address string) *origin {
	t.Helper()
	o := &origin{}
	secure, err := net.Listen("tcp", address+":0")
	if err != nil {
		lacking(t, "loopback has one address: "+err.Error())
	}
	port := strconv.Itoa(secure.Addr().(*net.TCPAddr).Port)
	o.host = "localhost:" + port
	config := &tls.Config{Certificates: []tls.Certificate{a.leaf.tls}, NextProtos: []string{"h2", "http/1.1"}}
	o.serve(t, h, counting{secure, o, o.host}, config)
	if address == "127.0.0.1" {
		if six, err := net.Listen("tcp", "[::1]:"+port); err == nil {
			o.serve(t, h, counting{six, o, o.host}, config)
		}
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.plain = plain.Addr().String()
	o.serve(t, h, counting{plain, o, o.plain}, nil)
	return o
}

// serve answers on one listener until the test is over.
func (o *origin) serve(t *testing.T, h http.Handler, l counting, config *tls.Config) {
	server := &http.Server{
		Handler:                      o.recorded(h),
		TLSConfig:                    config.Clone(),
		DisableGeneralOptionsHandler: true,
		ConnContext:                  withCounted,
		ErrorLog:                     log.New(io.Discard, "", 0),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if config == nil {
			server.Serve(l)
		} else {
			server.ServeTLS(l, "", "")
		}
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
}

// recorded keeps an access of each request before and after h has it.
func (o *origin) recorded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme := "http"
		if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
			scheme = "https"
		}
		a := &access{Method: r.Method, URL: scheme + "://" + r.Host + r.RequestURI, Header: r.Header.Clone(), conn: countedOf(r)}
		if r.RequestURI == "*" {
			a.URL = scheme + "://" + r.Host + "/*"
		}
		o.mu.Lock()
		o.record = append(o.record, a)
		o.mu.Unlock()

		var sent bytes.Buffer
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &sent), r.Body}
		tap := &tap{ResponseWriter: w}
		defer func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			a.RequestBody = sent.Bytes()
			a.Status = cmp.Or(tap.status, http.StatusOK)
			a.ResponseBody = tap.body.Bytes()
		}()
		h.ServeHTTP(tap, r)
	})
}

// accesses returns the record, once each request has been answered.
func (o *origin) accesses(t *testing.T) []access {
	t.Helper()
	var all []access
	until(t, "the origin to have answered", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		all = all[:0]
		for _, a := range o.record {
			all = append(all, *a)
		}
		return !slices.ContainsFunc(all, func(a access) bool { return a.Status == 0 })
	})
	return all
}

// A tap keeps what is written to a browser.
type tap struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *tap) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tap) WriteHeader(status int) {
	if status >= 200 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tap) Write(b []byte) (int, error) {
	t.status = cmp.Or(t.status, http.StatusOK)
	t.body.Write(b)
	return t.ResponseWriter.Write(b)
}

// Hijack gives the connection away, for an upgrade.
func (t *tap) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	t.status = http.StatusSwitchingProtocols
	return http.NewResponseController(t.ResponseWriter).Hijack()
}

func (t *tap) Flush() { http.NewResponseController(t.ResponseWriter).Flush() }
