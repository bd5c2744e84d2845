package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// However much of an answer comes before its connection ends, the browser and the log
// have the same of it, and neither takes it for whole when it is not.
func TestAnswersOfHTTP2ThatAreCut(t *testing.T) {
	for _, clean := range []bool{false, true} {
		t.Run(fmt.Sprint(clean), func(t *testing.T) {
			w := newWorld(t, nil)
			cut, whole := make(chan int, 1), make(chan int, 1)
			addr := newH2Listener(w, func(p *h2peer) {
				id, _ := p.request()
				var b bytes.Buffer
				fr := p.fr
				p.fr = http2.NewFramer(&b, nil)
				p.head(id, false, fields(":status", "103", "link", "</a>"))
				p.head(id, false, fields(":status", "200", "content-type", "text/plain"))
				p.fr.WriteData(id, false, []byte("some"))
				p.fr.WriteData(id, false, []byte(" more"))
				p.head(id, true, fields("x-sum", "1"))
				if clean {
					p.fr.WriteGoAway(id, http2.ErrCodeNo, nil)
				}
				p.fr = fr
				whole <- b.Len()
				p.conn.Write(b.Bytes()[:min(<-cut, b.Len())])
			})
			n := 0
			type seen struct {
				status int
				body   string
				whole  bool
			}
			var all []seen
			for k := 0; ; k++ {
				b := w.h2browser(addr)
				cut <- k
				a := b.do(b.get(fmt.Sprint("/", k)))
				s := seen{body: a.body, whole: a.err == nil}
				if a.head != nil {
					s.status = a.head.Status()
				}
				all = append(all, s)
				n++
				b.Close(net.ErrClosed)
				if k >= <-whole {
					break
				}
			}
			for i, e := range w.waitFor(n) {
				s := all[i]
				a := e.end.Response
				switch {
				case s.status == 502:
					if a != nil || e.end.Failed == nil || e.end.Failed.Phase != netlog.PhaseWait {
						t.Errorf("%d: %v, the browser has %+v", i, e, s)
					}
				case a == nil || a.Status != s.status || a.Complete != s.whole || (e.end.Failed == nil) != s.whole || a.Body.Size != int64(len(s.body)):
					t.Errorf("%d: %v %+v, the browser has %+v", i, e, a, s)
				}
			}
		})
	}
}

// A request whose connection ends within its body, or before its trailers, was never
// sent whole, however soon that is: the log says so, with as much as came in frames.
func TestRequestsOfHTTP2ThatAreCut(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(func(st *h2.Stream) { bodyOf(st) })
	var want []string
	for i := range 30 {
		p := newH2Peer(t, w.secureFor(s.addr, "127.0.0.1", "h2").Conn)
		var b bytes.Buffer
		p.fr = http2.NewFramer(&b, nil)
		b.WriteString(http2.ClientPreface)
		p.fr.WriteSettings()
		p.head(1, false, fields(":method", "POST", ":scheme", "https", ":authority", s.addr, ":path", fmt.Sprintf("/%d/", i)))
		pieces := i % 3
		for range pieces {
			p.fr.WriteData(1, false, []byte("piece"))
		}
		end := b.Len()
		p.head(1, true, fields("x-sum", "1"))
		p.conn.Write(b.Bytes()[:end+i%2])
		p.conn.(*tls.Conn).CloseWrite()
		io.Copy(io.Discard, p.conn)                // lest the end be a reset, before which nobody has to read on
		w.logHas(fmt.Sprintf("%s/%d/", s.addr, i)) // which puts them in order
		want = append(want, fmt.Sprintf("exchange mitm POST https://ADDR/%d/ failed send client_gone", i))
	}
	w.waitFor(len(want))
	for i, e := range w.want(s.addr, want...) {
		if size := e.requestBody().Size; size != int64(i%3*len("piece")) {
			t.Errorf("%v: a body of %d bytes", e, size)
		}
	}
}

// What had come of a request whose browser goes away before there is a connection to
// its server is in the log.
func TestARequestThatIsCutBeforeItsServer(t *testing.T) {
	dialling := make(chan bool)
	w := newWorld(t, func(c *Config) {
		c.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			close(dialling)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	b := w.browser()
	b.send("POST http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 10\r\n\r\npiece")
	<-dialling
	b.Close()
	e := w.waitFor(1)[0]
	if f := e.end.Failed; f == nil || f.Phase != netlog.PhaseConnect || f.Code != netlog.CodeClientGone || e.requestBody().Size != 5 {
		t.Errorf("%v, with a body of %+v", e, e.requestBody())
	}
}

// So it is in HTTP/2.
func TestARequestOfHTTP2ThatIsCutBeforeItsServer(t *testing.T) {
	var gateway string
	var dials atomic.Int64
	dialling := make(chan bool)
	w := newWorld(t, func(c *Config) {
		routed(&gateway)(c)
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1) != 2 {
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			close(dialling)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	gateway = w.origin(answers(func(string) string { return "HTTP/1.1 204 No Content\r\n\r\n" }))
	b := w.h2browser("127.0.0.1:443")
	if a := b.do(b.get("/first")); a.String() != "204 " {
		t.Fatal(a)
	}
	st := b.ask(b.post("/"), false)
	st.Write([]byte("piece"), false)
	<-dialling
	if a := b.do(b.get("/last")); a.String() != "204 " { // by then the piece has come
		t.Error(a)
	}
	st.Reset(http2.ErrCodeCancel)
	for _, e := range w.waitFor(3) {
		if e.open.Request.Method != "POST" {
			continue
		}
		if f := e.end.Failed; f == nil || f.Phase != netlog.PhaseConnect || f.Code != netlog.CodeClientGone || e.requestBody().Size != 5 {
			t.Errorf("%v, with a body of %+v", e, e.requestBody())
		}
	}
}
