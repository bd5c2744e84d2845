package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// answerOK answers a request.
func answerOK(st *h2.Stream) {
	bodyOf(st)
	st.WriteHead(fields(":status", "200"), false)
	st.Write([]byte("ok"), true)
}

// A request that the server has not acted on is made again, once, when it has no body:
// on a new connection if the server leaves that one. Else the browser is told that it
// may make it again.
func TestRequestsThatWereNotProcessed(t *testing.T) {
	for _, c := range []struct {
		method, how string
		times       int64 // that the server declines
		answer      string
		entry       string
	}{
		{"GET", "refuse", 1, "200 ok", "200"},
		{"DELETE", "refuse", 1, "200 ok", "200"},
		{"GET", "goaway", 1, "200 ok", "200"},
		{"GET", "refuse", 2, " REFUSED_STREAM", "failed wait reset"},
		{"GET", "goaway", 2, " REFUSED_STREAM", "failed wait reset"},
		{"POST", "refuse", 1, " REFUSED_STREAM", "failed wait reset"},
		{"POST", "goaway", 1, " REFUSED_STREAM", "failed wait reset"},
	} {
		t.Run(fmt.Sprint(c.method, " ", c.how, " ", c.times), func(t *testing.T) {
			w := newWorld(t, nil)
			var declined atomic.Int64
			l := newH2Listener(w, func(p *h2peer) {
				for {
					id, _ := p.request()
					if id == 0 {
						return
					}
					if c.method == "POST" {
						if _, whole := p.body(); !whole {
							return
						}
					}
					switch {
					case declined.Add(1) > c.times:
						p.head(id, false, fields(":status", "200"))
						p.fr.WriteData(id, true, []byte("ok"))
					case c.how == "refuse":
						p.fr.WriteRSTStream(id, http2.ErrCodeRefusedStream)
					default:
						p.fr.WriteGoAway(0, http2.ErrCodeNo, nil)
					}
				}
			})
			b := w.h2browser(l)
			head := b.get("/")
			head[0].Value = c.method
			st := b.ask(head, c.method != "POST")
			if c.method == "POST" {
				st.Write([]byte("body"), true)
			}
			if a := answerTo(st); a.String() != c.answer {
				t.Errorf("got %q, want %q", a, c.answer)
			}
			p := w.want(l, "exchange mitm "+c.method+" https://ADDR/ "+c.entry)[0]
			connection := int64(1)
			if c.how == "goaway" {
				connection = 2
			}
			if s := p.end.Server; s.Address != l || c.answer == "200 ok" && s.Connection != connection {
				t.Errorf("server: %+v", s)
			}
			if c.method == "POST" && p.requestBody().Size != 4 {
				t.Errorf("body: %+v", p.requestBody())
			}
		})
	}
}

// A connection that had been used and dies before an answer: as in HTTP/1, GET goes
// once more; what may have been done is not done again, and answered by our page.
func TestAUsedTrunkThatDies(t *testing.T) {
	for _, c := range []struct{ method, answer, entry string }{
		{"GET", "200 ok", "200"},
		{"POST", "502 ", "failed wait reset"},
	} {
		t.Run(c.method, func(t *testing.T) {
			w := newWorld(t, nil)
			var asked atomic.Int64
			addr := newH2Listener(w, func(p *h2peer) {
				for {
					id, _ := p.request()
					if id == 0 || asked.Add(1) == 2 {
						return
					}
					p.head(id, false, fields(":status", "200"))
					p.fr.WriteData(id, true, []byte("ok"))
				}
			})
			b := w.h2browser(addr)
			if a := b.do(b.get("/first")); a.String() != "200 ok" {
				t.Fatal(a)
			}
			head := b.get("/")
			head[0].Value = c.method
			a := b.do(head)
			if !strings.HasPrefix(a.String(), c.answer) {
				t.Errorf("got %q", a)
			}
			if mark, _ := a.head.Get("x-agentenv-proxy"); (mark == "failed") != (c.method == "POST") {
				t.Errorf("mark: %q", mark)
			}
			if a := b.do(b.get("/last")); a.String() != "200 ok" { // the browser's connection goes on
				t.Error(a)
			}
			w.want(addr, "exchange mitm GET https://ADDR/first 200", "exchange mitm "+c.method+" https://ADDR/ "+c.entry, "exchange mitm GET https://ADDR/last 200")
		})
	}
}

// What is open when its server ends the connection says why.
func TestAServerThatEndsTheConnection(t *testing.T) {
	w := newWorld(t, nil)
	addr := newH2Listener(w, func(p *h2peer) {
		id, path := p.request()
		if path == "/within" {
			p.head(id, false, fields(":status", "200"))
			p.fr.WriteData(id, false, []byte("some"))
		}
		p.fr.WriteGoAway(id, http2.ErrCodeEnhanceYourCalm, []byte("slow down"))
	})
	b := w.h2browser(addr)
	if a := b.do(b.get("/before")); !strings.HasPrefix(a.String(), "502 ") || !strings.Contains(a.body, "ENHANCE_YOUR_CALM: slow down") {
		t.Errorf("before: %q", a)
	}
	if a := b.do(b.get("/within")); a.String() != "200 some ENHANCE_YOUR_CALM" {
		t.Errorf("within: %q", a)
	}
	ps := w.want(addr, "exchange mitm GET https://ADDR/before failed wait reset", "exchange mitm GET https://ADDR/within 200 failed receive reset")
	if got := ps[1].end.Failed.Reason; got != "ENHANCE_YOUR_CALM: slow down" || ps[1].end.Response.Complete {
		t.Error(got)
	}
}

// A server that breaks the protocol is told so, and its requests' browsers too.
func TestServersThatBreakHTTP2(t *testing.T) {
	w := newWorld(t, nil)
	told := make(chan http2.ErrCode, 1)
	addr := newH2Listener(w, func(p *h2peer) {
		id, path := p.request()
		if path == "/stream" {
			p.head(id, true, fields("a", "b"))
		} else {
			p.fr.WriteContinuation(id, true, nil)
		}
		for {
			switch f := p.next().(type) {
			case *http2.RSTStreamFrame:
				told <- f.ErrCode
				return
			case *http2.GoAwayFrame:
				told <- f.ErrCode
				return
			case nil:
				return
			}
		}
	})
	for _, path := range []string{"/stream", "/conn"} {
		b := w.h2browser(addr)
		if a := b.do(b.get(path)); !strings.HasPrefix(a.String(), "502 ") || !strings.Contains(a.body, "PROTOCOL_ERROR: ") {
			t.Errorf("%s: %q", path, a)
		}
		if code := <-told; code != http2.ErrCodeProtocol {
			t.Errorf("%s: %v", path, code)
		}
	}
	for _, p := range w.want(addr, "exchange mitm GET https://ADDR/stream failed wait bad_answer", "exchange mitm GET https://ADDR/conn failed wait bad_answer") {
		if !strings.HasPrefix(p.end.Failed.Reason, "PROTOCOL_ERROR: ") {
			t.Error(p.end.Failed.Reason)
		}
	}
}

// What the server lets be done is what the browser may do.
func TestTheServersSettingsReachTheBrowser(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(answerOK, h2.Offer{MaxStreams: 3, MaxHeaderList: 5000, Connect: true, NoPriorities: true})
	b := w.h2browser(s.addr)
	if got := <-b.settled; got.MaxStreams != 3 || got.MaxHeaderList != 5000 || !got.Connect || !got.NoPriorities {
		t.Errorf("%+v", got)
	}
	eventually(t, "the server's connection", func() bool { return s.count() == 1 })
	s.each(func(c *h2.Conn) { c.Offer(h2.Offer{MaxStreams: 7, Connect: true}) })
	if got := <-b.settled; got.MaxStreams != 7 {
		t.Errorf("%+v", got)
	}
	s = w.h2server(answerOK, h2.Offer{MaxStreams: 1 << 30})
	b = w.h2browser(s.addr)
	if got := <-b.settled; got.MaxStreams != maxStreams || got.MaxHeaderList != headLimit || got.Connect || got.NoPriorities {
		t.Errorf("%+v", got)
	}
}

// A server that takes one request at a time gets them one after the other, whatever
// the browser does.
func TestRequestsWaitForTheServersRoom(t *testing.T) {
	w := newWorld(t, nil)
	var open, most atomic.Int64
	s := w.h2server(func(st *h2.Stream) {
		most.Store(max(most.Load(), open.Add(1)))
		bodyOf(st)
		open.Add(-1)
		st.WriteHead(fields(":status", "204"), true)
	}, h2.Offer{MaxStreams: 1})
	var running sync.WaitGroup
	b := w.h2browser(s.addr)
	for range 20 {
		st := b.ask(b.get("/"), true)
		running.Go(func() {
			if a := answerTo(st); a.String() != "204 " {
				t.Error(a)
			}
		})
	}
	running.Wait()
	if most.Load() != 1 {
		t.Errorf("%d at once", most.Load())
	}
}

// A server that is slow to be read holds nothing back but its window; a slow browser
// slows its server.
func TestASlowBrowserSlowsTheServer(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Keep = netlog.Limits{Types: "none"} })
	var sent atomic.Int64
	s := w.h2server(func(st *h2.Stream) {
		if path, _ := st.Head().Get(":path"); path == "/other" {
			answerOK(st)
			return
		}
		st.WriteHead(fields(":status", "200"), false)
		piece := make([]byte, 64<<10)
		for range 1024 {
			if st.Write(piece, false) != nil {
				return
			}
			sent.Add(int64(len(piece)))
		}
		st.Write(nil, true)
	})
	b := w.h2browser(s.addr)
	st := b.ask(b.get("/"), true)
	if _, err := st.ReadHead(); err != nil {
		t.Fatal(err)
	}
	// The browser's window of 1 MiB, ours, and what is on its way.
	eventually(t, "a full window", func() bool { return sent.Load() >= 1<<20 })
	if a := b.do(b.get("/other")); a.String() != "200 ok" { // which does not wait for it
		t.Error(a)
	}
	if n := sent.Load(); n > 8<<20 {
		t.Errorf("%d bytes have left the server", n)
	}
	n := 0
	for {
		piece, end, err := st.Next()
		if err != nil {
			t.Fatal(err)
		}
		n += len(piece)
		st.Took(len(piece))
		if end {
			break
		}
	}
	if n != 64<<20 {
		t.Errorf("%d bytes", n)
	}
}

// Priorities go with the requests, by the server's own numbers.
func TestPrioritiesPass(t *testing.T) {
	w := newWorld(t, nil)
	frames := make(chan http2.Frame, 10)
	fields9218 := make(chan string, 10)
	addr := newH2Listener(w, func(p *h2peer) {
		for {
			switch f := p.next().(type) {
			case nil:
				return
			case *http2.HeadersFrame:
				fs := p.decode(f)
				fields9218 <- fs[len(fs)-1].Value
				copied := *f
				frames <- &copied
			case *http2.PriorityFrame, *http2.PriorityUpdateFrame:
				frames <- f
			}
		}
	})
	raw := w.secureFor(addr, "127.0.0.1", "h2").Conn
	p := newH2Peer(t, raw)
	p.greet()
	get := fields(":method", "GET", ":scheme", "https", ":authority", addr, ":path", "/", "priority", "u=1, i")
	p.headWith(5, get, http2.PriorityParam{StreamDep: 3, Weight: 109, Exclusive: true})
	first := (<-frames).(*http2.HeadersFrame)
	p.headWith(7, get, http2.PriorityParam{StreamDep: 5, Weight: 200})
	second := (<-frames).(*http2.HeadersFrame)
	p.fr.WritePriority(7, http2.PriorityParam{StreamDep: 5, Weight: 3})
	p.fr.WritePriority(99, http2.PriorityParam{StreamDep: 5, Weight: 4}) // nobody knows it
	p.fr.WritePriorityUpdate(5, "u=7")
	if first.StreamID != 1 || first.Priority.Weight != 109 || first.Priority.StreamDep != 0 || !first.Priority.Exclusive {
		t.Errorf("first: %+v", first)
	}
	if second.StreamID != 3 || second.Priority.Weight != 200 || second.Priority.StreamDep != 1 {
		t.Errorf("second: %+v", second)
	}
	if f, ok := (<-frames).(*http2.PriorityFrame); !ok || f.StreamID != 3 || f.StreamDep != 1 || f.Weight != 3 {
		t.Errorf("PRIORITY: %+v", f)
	}
	if f, ok := (<-frames).(*http2.PriorityUpdateFrame); !ok || f.PrioritizedStreamID != 1 || f.Priority != "u=7" {
		t.Errorf("PRIORITY_UPDATE: %+v", f)
	}
	if got := <-fields9218; got != "u=1, i" {
		t.Errorf("priority: %q", got)
	}
}

// The time limits are those of HTTP/1.
func TestTimeLimitsOfHTTP2(t *testing.T) {
	for _, c := range []struct {
		name, path, entry string
		limit             Timeouts
	}{
		{"no answer", "/silent", "failed wait timeout", Timeouts{Answer: 50 * time.Millisecond}},
		{"an answer that stalls", "/stalls", "200 failed receive timeout", Timeouts{TunnelIdle: 50 * time.Millisecond}},
		{"an upload that stalls", "/upload", "failed send timeout", Timeouts{Idle: time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(cfg *Config) { cfg.Timeouts = c.limit })
			s := w.h2server(func(st *h2.Stream) {
				gone := make(chan error, 1)
				st.OnGone(func(err error) { gone <- err })
				if c.path == "/stalls" {
					st.WriteHead(fields(":status", "200"), false)
				}
				<-gone
			})
			b := w.h2browser(s.addr)
			a := answerTo(b.ask(b.post(c.path), c.path != "/upload"))
			switch c.path {
			case "/silent":
				if !strings.HasPrefix(a.String(), "504 ") {
					t.Error(a)
				}
			case "/stalls":
				if a.String() != "200  INTERNAL_ERROR" {
					t.Error(a)
				}
			}
			w.want(s.addr, "exchange mitm POST https://ADDR"+c.path+" "+c.entry)
		})
	}
}

// A browser that goes away ends the work upstream at once, and nothing of it is left.
func TestABrowserOfHTTP2ThatGoesAway(t *testing.T) {
	w := newWorld(t, nil)
	var begun, ended atomic.Int64
	s := w.h2server(func(st *h2.Stream) {
		begun.Add(1)
		gone := make(chan error, 1)
		st.OnGone(func(err error) { gone <- err })
		<-gone
		ended.Add(1)
	}, h2.Offer{MaxStreams: 200})
	b := w.h2browser(s.addr)
	<-b.settled
	for range 100 {
		b.ask(b.get("/"), true)
		b.ask(b.post("/"), false)
	}
	eventually(t, "all of them", func() bool { return begun.Load() == 200 })
	b.Close(net.ErrClosed)
	eventually(t, "their ends", func() bool { return ended.Load() == 200 })
	for _, p := range w.waitFor(200) {
		if f := p.end.Failed; f == nil || f.Code != netlog.CodeClientGone {
			t.Errorf("%v: %+v", p, f)
		}
	}
}

// Shutdown lets what has begun end; what has not then ends as stopped.
func TestShutdownOfHTTP2(t *testing.T) {
	w := newWorld(t, nil)
	release, asked := make(chan bool), make(chan bool, 2)
	s := w.h2server(func(st *h2.Stream) {
		asked <- true
		if path, _ := st.Head().Get(":path"); path == "/slow" {
			gone := make(chan error, 1)
			st.OnGone(func(err error) { gone <- err })
			<-gone
			return
		}
		<-release
		answerOK(st)
	})
	b := w.h2browser(s.addr)
	first := b.ask(b.get("/"), true)
	w.logHas(`"event":"open"`)
	slow := b.ask(b.get("/slow"), true)
	<-asked
	<-asked
	done := make(chan bool)
	go func() {
		w.end()
		close(done)
	}()
	eventually(t, "the GOAWAY", func() bool { return !b.Usable() })
	close(release)
	if a := answerTo(first); a.String() != "200 ok" {
		t.Error(a)
	}
	if a := answerTo(slow); a.err == nil {
		t.Error(a)
	}
	<-done
	w.want(s.addr, "exchange mitm GET https://ADDR/ 200", "exchange mitm GET https://ADDR/slow failed wait stopped")
}

// Whoever answers early may end the upload, which is no failure.
func TestAnEarlyAnswer(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(func(st *h2.Stream) {
		st.WriteHead(fields(":status", "413"), false)
		st.Write([]byte("too large"), true)
		st.Reset(http2.ErrCodeNo)
	})
	b := w.h2browser(s.addr)
	st := b.ask(b.post("/"), false)
	if a := answerTo(st); a.String() != "413 too large" {
		t.Error(a)
	}
	var e *h2.Error
	eventually(t, "the end of the upload", func() bool { return errors.As(st.Write([]byte("x"), false), &e) || st.Write(nil, true) == nil })
	w.waitFor(1)
	p := w.want(s.addr, "exchange mitm POST https://ADDR/ 413")[0]
	if !p.end.Response.Complete {
		t.Errorf("%+v", p.end.Response)
	}
}

// Where there is no server any more the browser is told so, and its connection goes on.
func TestATrunkThatCantBeMadeAgain(t *testing.T) {
	w := newWorld(t, nil)
	l := listen(t)
	addr := l.Addr().String()
	served := make(chan bool)
	go func() {
		defer close(served)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		l.Close()
		defer conn.Close()
		cert, _ := w.ca.leaf("127.0.0.1")
		session := tls.Server(conn, &tls.Config{NextProtos: []string{"h2"}, Certificates: []tls.Certificate{*cert}})
		p := newH2Peer(t, session)
		io.ReadFull(session, make([]byte, len(http2.ClientPreface)))
		p.fr.WriteSettings()
		id, _ := p.request()
		p.head(id, true, fields(":status", "204"))
		p.fr.WriteGoAway(id, http2.ErrCodeNo, nil)
		io.Copy(io.Discard, session)
	}()
	b := w.h2browser(addr)
	if a := b.do(b.get("/first")); a.String() != "204 " {
		t.Fatal(a)
	}
	<-served
	for _, path := range []string{"/second", "/third"} {
		a := b.do(b.get(path))
		if mark, _ := a.head.Get("x-agentenv-proxy"); a.head.Status() != 502 || mark != "failed" {
			t.Errorf("%v", a)
		}
	}
	w.want(addr, "exchange mitm GET https://ADDR/first 204", "exchange mitm GET https://ADDR/second failed connect refused", "exchange mitm GET https://ADDR/third failed connect refused")
}

// HTTP/2 by prior knowledge, in the clear, is none that is looked into: a tunnel
// inside a CONNECT, nothing to a proxy.
func TestHTTP2InTheClear(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) {
		p.expect(http2.ClientPreface)
		p.send("settings")
	})
	b := w.connect(addr)
	b.send(http2.ClientPreface)
	b.expect("settings")
	b.expectEnd()
	b.Close()
	w.logHas(`"event":"end"`)
	b = w.browser()
	b.send(http2.ClientPreface)
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("answer: %q", got)
	}
	ps := w.waitFor(2)
	if got := ps[0].String(); got != "tunnel tunnel "+addr || ps[0].end.Tunnel.Sent != int64(len(http2.ClientPreface)) {
		t.Error(got, ps[0].end.Tunnel)
	}
	if r := ps[1].end.Refused; r == nil || r.Code != netlog.RefusedBadRequest {
		t.Errorf("%v", ps[1])
	}
}

// Requests that wait for the same connection fail together when it can't be made: a
// server that is silent is not waited for once for each.
func TestWaitingForAConnectionThatCantBeMade(t *testing.T) {
	const many = 20
	var dials atomic.Int64
	all := make(chan bool)
	w := newWorld(t, func(c *Config) {
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1) == 1 {
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			<-all
			return nil, os.ErrDeadlineExceeded
		}
	})
	addr := newH2Listener(w, func(p *h2peer) {
		id, _ := p.request()
		p.head(id, true, fields(":status", "204"))
		p.fr.WriteGoAway(id, http2.ErrCodeNo, nil)
	})
	b := w.h2browser(addr)
	if a := b.do(b.get("/first")); a.String() != "204 " {
		t.Fatal(a)
	}
	var running sync.WaitGroup
	for range many {
		st := b.ask(b.get("/"), true)
		running.Go(func() {
			if a := answerTo(st); a.head.Status() != 504 {
				t.Error(a)
			}
		})
	}
	eventually(t, "all requests", func() bool { return w.proxy.Stats().Exchanges == many })
	close(all)
	running.Wait()
	for _, p := range w.waitFor(many + 1)[1:] {
		if f := p.end.Failed; f == nil || f.Phase != netlog.PhaseConnect || f.Code != netlog.CodeTimeout {
			t.Errorf("%v", p)
		}
	}
	if n := dials.Load() - 1; n >= many {
		t.Errorf("%d connections were tried for %d requests", n, many)
	}
}

// A server that refuses one request goes on with the others on its connection, where
// that one is made again.
func TestARefusalIsNoEndOfTheConnection(t *testing.T) {
	w := newWorld(t, nil)
	var refused atomic.Bool
	ended := make(chan bool)
	s := w.h2server(func(st *h2.Stream) {
		if path, _ := st.Head().Get(":path"); path == "/refused" && !refused.Swap(true) {
			st.Reset(http2.ErrCodeRefusedStream)
			return
		} else if path == "/slow" {
			<-ended
		}
		answerOK(st)
	})
	b := w.h2browser(s.addr)
	slow := b.ask(b.get("/slow"), true)
	if a := b.do(b.get("/refused")); a.String() != "200 ok" {
		t.Error(a)
	}
	s.each(func(c *h2.Conn) {
		if !c.Usable() {
			t.Error("the server was told of an end")
		}
	})
	close(ended)
	if a := answerTo(slow); a.String() != "200 ok" {
		t.Error(a)
	}
	if n := s.count(); n != 1 {
		t.Errorf("%d connections", n)
	}
	w.want(s.addr, "exchange mitm GET https://ADDR/slow 200", "exchange mitm GET https://ADDR/refused 200")
}
