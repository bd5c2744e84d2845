package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
)

// A leaving server takes some requests on a connection and answers them; of the rest
// it says that it has not looked at them (RFC 9113 §6.8).
type leaving struct {
	host    string
	takes   int  // how many it takes
	waits   int  // until so many are there
	always  bool // not on its first connection alone
	running sync.WaitGroup

	mu      sync.Mutex
	conns   []net.Conn
	answers map[string]int // by request's path
}

func startLeaving(t *testing.T, w *world, takes, waits int, always bool) *leaving {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{w.ca.leaf.tls}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &leaving{host: l.Addr().String(), takes: takes, waits: waits, always: always, answers: map[string]int{}}
	s.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			leaves := always || len(s.conns) == 1
			s.mu.Unlock()
			s.running.Go(func() { s.serve(conn, leaves) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.running.Wait()
	})
	return s
}

func (s *leaving) serve(conn net.Conn, leaves bool) {
	f := newFramed(conn, s.host)
	f.within(patience)
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil || f.WriteSettings() != nil {
		return
	}
	s.running.Go(f.read)
	if leaves {
		f.await(func() bool { return f.request(uint32(2*s.waits-1)) != "" })
		f.locked(func() error { return f.WriteGoAway(uint32(2*s.takes-1), http2.ErrCodeNo, nil) })
	}
	for id := uint32(1); !leaves || int(id) < 2*s.takes; id += 2 {
		if !f.await(func() bool { return f.request(id) != "" }) {
			return
		}
		path := f.request(id)
		s.mu.Lock()
		s.answers[path]++
		s.mu.Unlock()
		f.begin(id, false)
		f.body(id, true, path)
	}
}

// request is the path of the request on a stream, once it is there whole.
func (f *framed) request(id uint32) (path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.streams[id]; s != nil && s.ended {
		path = s.head[":path"]
	}
	return path
}

// Requests that a server says it has not looked at are made again: on a new
// connection by the proxy, unless they have bodies, which the browser then sends
// again itself. Each is answered once.
func TestRequestsThatAServerLeaves(t *testing.T) {
	const total, takes = 10, 3
	for _, method := range []string{"GET", "POST"} {
		t.Run(method, func(t *testing.T) {
			w := newWorld(t)
			p := w.proxy()
			s := startLeaving(t, w, takes, total, false)
			c := p.multiplexing()
			var asking sync.WaitGroup
			for i := range total {
				asking.Go(func() {
					path := fmt.Sprint("/", i)
					var body io.Reader
					if method == "POST" {
						body = strings.NewReader("body of " + path)
					}
					r, err := http.NewRequestWithContext(t.Context(), method, "https://"+s.host+path, body)
					if err != nil {
						t.Error(err)
						return
					}
					answer, err := c.Do(r)
					if err != nil {
						t.Errorf("%s: %v", path, err)
						return
					}
					defer answer.Body.Close()
					if got, err := io.ReadAll(answer.Body); string(got) != path || err != nil || answer.StatusCode != 200 {
						t.Errorf("%s: %s, %q, %v", path, answer.Status, got, err)
					}
				})
			}
			asking.Wait()
			c.CloseIdleConnections()
			p.stop()
			log := readLog(t, p.log)
			answered := map[string]int{}
			for _, e := range log.exchanges {
				switch end := ending(e); {
				case end == "200":
					answered[e.open.Request.URL]++
				case method == "GET" || !strings.HasPrefix(end, "failed wait reset: ") && !strings.HasPrefix(end, "failed send reset: "):
					t.Errorf("%s ended so: %s", e.open.Request.URL, end)
				}
			}
			if method == "GET" {
				is(t, "the number of entries", len(log.exchanges), total)
			}
			for i := range total {
				path := fmt.Sprint("/", i)
				is(t, "how often the server answered "+path, s.answers[path], 1)
				is(t, "how often the log has an answer of "+path, answered["https://"+s.host+path], 1)
			}
		})
	}
}

// A server that goes away behind each answer costs a new connection for the next
// request, of which the browser knows nothing.
func TestAServerThatAlwaysGoesAway(t *testing.T) {
	const total = 50
	w := newWorld(t)
	p := w.proxy()
	s := startLeaving(t, w, 1, 1, true)
	c := p.multiplexing()
	for i := range total {
		if got := ask(c, fmt.Sprintf("https://%s/%d", s.host, i)); got != "200" {
			t.Errorf("%d: %s", i, got)
		}
	}
	c.CloseIdleConnections()
	p.stop()
	log := readLog(t, p.log)
	is(t, "the number of entries", len(log.exchanges), total)
	for _, e := range log.exchanges {
		went(t, e)
		is(t, "the browser's connection", e.open.Connection, log.exchanges[0].open.Connection)
	}
}
