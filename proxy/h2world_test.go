package proxy

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/agentenv/netlog/proxy/h2"
)

// A server that speaks HTTP/2 stream by stream, and what it counts.
type h2server struct {
	w     *world
	addr  string
	offer h2.Offer

	mu     sync.Mutex
	change func(*tls.Config) // nil: nothing; before the first connection
	conns  []*h2.Conn        // in the order in which they were made
}

// h2server serves each stream of 127.0.0.1 by serve.
func (w *world) h2server(serve func(*h2.Stream), offers ...h2.Offer) *h2server {
	w.t.Helper()
	s := &h2server{w: w, offer: h2.Offer{MaxStreams: 100}}
	if len(offers) > 0 {
		s.offer = offers[0]
	}
	l := listen(w.t)
	s.addr = l.Addr().String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(conn, serve) })
		}
	})
	w.t.Cleanup(func() {
		l.Close()
		s.each(func(c *h2.Conn) { c.Close(net.ErrClosed) })
		running.Wait()
	})
	return s
}

func (s *h2server) serve(conn net.Conn, serve func(*h2.Stream)) {
	defer conn.Close()
	config := &tls.Config{NextProtos: []string{"h2"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.w.ca.leaf("127.0.0.1") }}
	s.mu.Lock()
	change := s.change
	s.mu.Unlock()
	if change != nil {
		change(config)
	}
	session := tls.Server(conn, config)
	if session.Handshake() != nil {
		return
	}
	var streams sync.WaitGroup
	c := h2.NewServer(session, h2.Config{StreamWindow: 1 << 20, Window: 1 << 20, MaxHeaderList: 1 << 20, Stream: func(st *h2.Stream) {
		streams.Go(func() {
			defer st.Close()
			st.SetReadDeadline(time.Now().Add(patience))
			st.SetWriteDeadline(time.Now().Add(patience))
			serve(st)
		})
	}})
	s.mu.Lock()
	s.conns = append(s.conns, c)
	s.mu.Unlock()
	c.Offer(s.offer)
	c.Serve()
	streams.Wait()
}

// each calls f for each connection, also those that have ended.
func (s *h2server) each(f func(*h2.Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		f(c)
	}
}

func (s *h2server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// An h2browser is a browser's connection through the proxy that speaks HTTP/2.
type h2browser struct {
	*h2.Conn
	t       *testing.T
	addr    string // what it is for
	settled chan h2.Settings
}

// h2browser connects to the proxy for addr, whose name is 127.0.0.1.
func (w *world) h2browser(addr string) *h2browser {
	w.t.Helper()
	return newH2Browser(w, w.secureFor(addr, "127.0.0.1", "h2").Conn, addr)
}

func newH2Browser(w *world, session net.Conn, addr string) *h2browser {
	w.t.Helper()
	session.SetDeadline(time.Time{})
	if got := session.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != "h2" {
		w.t.Fatalf("agreed on %q", got)
	}
	b := &h2browser{t: w.t, addr: addr, settled: make(chan h2.Settings, 100)}
	b.Conn = h2.NewClient(session, h2.Config{StreamWindow: 1 << 20, Window: 4 << 20, MaxHeaderList: 1 << 21, Settings: func(s h2.Settings) { b.settled <- s }})
	ended := make(chan error, 1)
	go func() { ended <- b.Serve() }()
	w.t.Cleanup(func() {
		b.Close(net.ErrClosed)
		<-ended
	})
	return b
}

// fields is a header list of "name value" pairs.
func fields(pairs ...string) (fs []h2.Field) {
	for i := 0; i < len(pairs); i += 2 {
		fs = append(fs, h2.Field{Name: pairs[i], Value: pairs[i+1]})
	}
	return fs
}

func (b *h2browser) get(path string, more ...string) []h2.Field {
	return fields(append([]string{":method", "GET", ":scheme", "https", ":authority", b.addr, ":path", path}, more...)...)
}

func (b *h2browser) post(path string, more ...string) []h2.Field {
	fs := b.get(path, more...)
	fs[0].Value = "POST"
	return fs
}

// ask begins a request.
func (b *h2browser) ask(head []h2.Field, end bool) *h2.Stream {
	b.t.Helper()
	st, err := b.NewStream()
	if err == nil {
		b.t.Cleanup(st.Close)
		st.SetReadDeadline(time.Now().Add(patience))
		st.SetWriteDeadline(time.Now().Add(patience))
		err = st.WriteHead(head, end)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return st
}

// An answer is one as it came.
type answer struct {
	early    []*h2.Head
	head     *h2.Head // nil: none came
	body     string
	trailers *h2.Head
	err      error
}

// answerTo reads the whole answer.
func answerTo(st *h2.Stream) (a answer) {
	for {
		h, err := st.ReadHead()
		if err != nil {
			a.err = err
			return a
		}
		if h.Status() >= 200 {
			a.head = h
			break
		}
		a.early = append(a.early, h)
	}
	a.body, a.err = bodyOf(st)
	a.trailers = st.Trailers()
	return a
}

// bodyOf reads a body.
func bodyOf(st *h2.Stream) (string, error) {
	var b []byte
	for {
		piece, end, err := st.Next()
		if err != nil {
			return string(b), err
		}
		b = append(b, piece...)
		st.Took(len(piece))
		if end {
			return string(b), nil
		}
	}
}

// do makes a request without a body.
func (b *h2browser) do(head []h2.Field) answer {
	b.t.Helper()
	return answerTo(b.ask(head, true))
}

// status makes the answer's status a word, for comparisons.
func (a answer) String() string {
	s := ""
	if a.head != nil {
		status, _ := a.head.Get(":status")
		s = status + " " + a.body
	}
	if a.err != nil {
		s += " " + a.err.Error()
	}
	return s
}

// httpServer is one of the standard library's, over TLS for name, that speaks the
// protocols.
func (w *world) httpServer(name string, handler http.HandlerFunc, protocols ...string) string {
	w.t.Helper()
	l := listen(w.t)
	var speaks http.Protocols
	for _, p := range protocols {
		speaks.SetHTTP1(speaks.HTTP1() || p == "http/1.1")
		speaks.SetHTTP2(speaks.HTTP2() || p == "h2")
	}
	cert, err := w.ca.leaf(name)
	if err != nil {
		w.t.Fatal(err)
	}
	s := &http.Server{Handler: handler, Protocols: &speaks, TLSConfig: &tls.Config{Certificates: []tls.Certificate{*cert}}}
	served := make(chan bool)
	go func() {
		defer close(served)
		s.ServeTLS(l, "", "")
	}()
	w.t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().String()
}

// httpClient is the standard library's, through the proxy.
func (w *world) httpClient() *http.Client {
	proxy, err := url.Parse("http://" + w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	t := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: clientConfig(w), ForceAttemptHTTP2: true}
	w.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}
