package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// An access is one request as the origin had it, and what it answered.
type access struct {
	Method, URL  string
	Status       int
	RequestBody  []byte
	ResponseBody []byte // as written, never decoded
	Header       http.Header
}

// An origin is a Go server that serves the site over TLS, speaks HTTP/2 to
// whom it may, and keeps its own record of what it was asked.
type origin struct {
	host  string // name:port over TLS
	plain string // address:port of the same site over http://

	mu     sync.Mutex
	record []*access // in the order in which the requests came
}

// startOrigin serves on 127.0.0.1 and, where the machine has it, on ::1.
func startOrigin(t *testing.T, a *authority) *origin {
	t.Helper()
	o := &origin{}
	secure, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(secure.Addr().(*net.TCPAddr).Port)
	o.host = "localhost:" + port
	config := &tls.Config{Certificates: []tls.Certificate{a.leaf.tls}, NextProtos: []string{"h2", "http/1.1"}}
	o.serve(t, secure, config)
	if six, err := net.Listen("tcp", "[::1]:"+port); err == nil {
		o.serve(t, six, config)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.plain = plain.Addr().String()
	o.serve(t, plain, nil)
	return o
}

// serve answers on one listener until the test is over.
func (o *origin) serve(t *testing.T, l net.Listener, config *tls.Config) {
	server := &http.Server{
		Handler:                      o.recorded(site()),
		TLSConfig:                    config.Clone(),
		DisableGeneralOptionsHandler: true,
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
		a := &access{Method: r.Method, URL: scheme + "://" + r.Host + r.RequestURI, Header: r.Header.Clone()}
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

// site is what the Go origin serves, and nginx by way of it: the files of
// testdata/site and what a file can't do.
func site() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir("testdata/site")))
	mux.HandleFunc("POST /form", form)
	mux.HandleFunc("GET /thanks", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>thanks</title><link rel=icon href=data:,><p>Thank you, %s", r.URL.Query().Get("name"))
	})
	mux.HandleFunc("POST /upload", upload)
	mux.HandleFunc("GET /api/first", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]string{"next": "/api/second?after=first"})
	})
	mux.HandleFunc("GET /api/second", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]string{"came": r.URL.RawQuery, "sign": "Grüße, 世界"})
	})
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("GET /moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/landed?by=redirect", http.StatusFound)
	})
	mux.HandleFunc("GET /landed", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]string{"landed": r.URL.Query().Get("by")})
	})
	mux.HandleFunc("GET /repo.git/HEAD", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "ref: refs/heads/main")
	})
	mux.HandleFunc("GET /repo.git/info/refs", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "0123456789012345678901234567890123456789\trefs/heads/main")
	})
	mux.HandleFunc("GET /status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.WriteHeader(code)
		if code >= 200 && code != 204 && code != 304 {
			fmt.Fprintf(w, "this is a %d\n", code)
		}
	})
	mux.HandleFunc("GET /coded/{coding}", coded)
	mux.HandleFunc("GET /chunked", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Checksum")
		for i := range 4 {
			fmt.Fprintf(w, "part %d\n", i)
			http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-Checksum", "four")
	})
	mux.HandleFunc("GET /early", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload; as=style")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		fmt.Fprintln(w, "after the hints")
	})
	mux.HandleFunc("GET /endless", endless)
	mux.HandleFunc("GET /held", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("GET /large", func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		http.ServeContent(w, r, "large.txt", time.Time{}, bytes.NewReader(pattern(size)))
	})
	mux.HandleFunc("GET /events", events)
	mux.HandleFunc("GET /events/open", openEvents)
	mux.HandleFunc("GET /socket", socket)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "*" { // the mux answers it with 400
			w.Header().Set("Allow", "GET, HEAD, POST, OPTIONS")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if r.Header.Get("Origin") != "" {
			allow(w, r)
		}
		if r.Method == "OPTIONS" && r.Header.Get("Access-Control-Request-Method") != "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// allow lets a page of another origin read the answer.
func allow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	w.Header().Set("Access-Control-Allow-Headers", "x-asked, content-type")
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// form sets two cookies and sends the browser on (RFC 9110 §15.4.4).
func form(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Add("Set-Cookie", "session=abc123; Path=/; HttpOnly; SameSite=Lax")
	w.Header().Add("Set-Cookie", "name="+r.PostForm.Get("name")+"; Path=/; Max-Age=3600")
	http.Redirect(w, r, "/thanks?name="+r.PostForm.Get("name"), http.StatusSeeOther)
}

// upload says what came, so that the browser's side can be compared too.
func upload(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type part struct{ Name, FileName, SHA256 string }
	var came []part
	for {
		p, err := parts.NextPart()
		if err == io.EOF {
			answer(w, came)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		hash := sha256.New()
		io.Copy(hash, p)
		came = append(came, part{p.FormName(), p.FileName(), hex.EncodeToString(hash.Sum(nil))})
	}
}

// echo answers with the request's method and body; a HEAD gets the length.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	said := fmt.Appendf(nil, "%s %s", r.Method, body)
	w.Header().Set("Content-Length", strconv.Itoa(len(said)))
	w.Write(said)
}

// coded serves one JSON document in the coding asked for.
func coded(w http.ResponseWriter, r *http.Request) {
	coding := r.PathValue("coding")
	body, err := encode(coding, []byte(`{"coding":"`+coding+`","text":"`+string(pattern(2000))+`"}`))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", coding)
	w.Write(body)
}

// endless writes until nobody reads.
func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	for chunk := pattern(32 << 10); ; {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// events is an event stream of three events that the server ends.
func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 3 {
		fmt.Fprintf(w, "id: %d\nevent: count\ndata: {\"i\":%d}\n\n", i, i)
		http.NewResponseController(w).Flush()
	}
}

// openEvents is one that goes on until the browser closes it.
func openEvents(w http.ResponseWriter, r *http.Request) {
	events(w, r)
	<-r.Context().Done()
}

// socket echoes each message until the browser closes.
func socket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{EnableCompression: true}
	c, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer c.Close()
	for {
		kind, message, err := c.ReadMessage()
		if err != nil {
			return
		}
		if err := c.WriteMessage(kind, message); err != nil {
			return
		}
	}
}

// pattern is n bytes of text that no two neighbouring blocks share.
func pattern(n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "%08d ", i)
	}
	return slices.Clip(b[:n])
}

// until polls a condition and fails the test when it does not come true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited 30 s for %s", what)
		}
	}
}
