package proxy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

func TestHTTP2WithOthers(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Keep = netlog.Limits{Types: "none"} })
	addr := w.httpServer("127.0.0.1", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Trailer", "X-End")
		rw.Header().Set("X-Proto", r.Proto)
		n, _ := io.Copy(io.Discard, r.Body)
		rw.WriteHeader(201)
		fmt.Fprintf(rw, "%d of %s", n, r.URL.Path)
		rw.Header().Set("X-End", "yes")
	}, "h2", "http/1.1")
	client := w.httpClient()
	r, err := client.Get("https://" + addr + "/first")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if string(body) != "0 of /first" || err != nil || r.Proto != "HTTP/2.0" || r.Header.Get("X-Proto") != "HTTP/2.0" || r.Trailer.Get("X-End") != "yes" {
		t.Errorf("%q %v %+v", body, err, r)
	}
	const many = 50
	var running sync.WaitGroup
	for i := range many {
		running.Go(func() {
			r, err := client.Post("https://"+addr+"/more", "text/plain", strings.NewReader(strings.Repeat("x", 10_000*i)))
			if err != nil {
				t.Error(err)
				return
			}
			if body, err := io.ReadAll(r.Body); string(body) != fmt.Sprint(10_000*i, " of /more") {
				t.Errorf("%q %v", body, err)
			}
		})
	}
	running.Wait()
	client.CloseIdleConnections()
	ps := w.waitFor(many + 1)
	p := ps[0]
	if got := p.String(); got != "exchange mitm GET https://"+addr+"/first 201" {
		t.Error(got)
	}
	if r := p.open.Request; r.Version != "HTTP/2" || len(r.Pseudo) != 4 || r.HeaderBytes == 0 || r.Body == nil {
		t.Errorf("request: %+v", r)
	}
	if r := p.end.Response; r.Version != "HTTP/2" || len(r.Pseudo) != 1 || r.Body.Size != 11 || len(r.Trailers) != 1 || !r.Complete {
		t.Errorf("response: %+v", r)
	}
	for _, p := range ps[1:] {
		if s := p.end.Server; !s.Reused || s.TLS.ALPN != "h2" || p.end.Failed != nil || p.end.ClientTLS.ALPN != "h2" {
			t.Errorf("%v: %+v", p, s)
		}
	}
}

// Heads and trailers pass as they came, in both directions, and stand so in the log.
func TestFieldsOfHTTP2PassAsTheyCame(t *testing.T) {
	w := newWorld(t, nil)
	early := fields(":status", "103", "link", "</x>", "link", "</y>")
	head := fields(":status", "200", "set-cookie", "a=1", "content-type", "text/plain", "set-cookie", "b=2", "x-odd", "caf\xe9")
	head[1].Sensitive = true
	end := fields("grpc-status", "0", "grpc-message", "")
	got := make(chan answer, 1)
	s := w.h2server(func(st *h2.Stream) {
		var a answer
		a.head = st.Head()
		a.body, a.err = bodyOf(st)
		a.trailers = st.Trailers()
		got <- a
		st.WriteHead(early, false)
		st.WriteHead(head, false)
		st.Write([]byte("good"), false)
		st.WriteHead(end, true)
	})
	b := w.h2browser(s.addr)
	request := fields(":authority", s.addr, ":method", "POST", ":path", "/a/%7e?q=%zz&&", ":scheme", "https",
		"cookie", "a=1", "x-b", "", "te", "trailers", "cookie", "b=2", "authorization", "secret", "proxy-authorization", "Basic x", "content-length", "5")
	request[8].Sensitive = true
	st := b.ask(request, false)
	st.Write([]byte("hel"), false)
	st.Write([]byte("lo"), false)
	st.WriteHead(fields("x-sum", "1"), true)
	a := answerTo(st)
	if a.err != nil || len(a.early) != 1 || !reflect.DeepEqual(a.early[0].Fields, early) || !reflect.DeepEqual(a.head.Fields, head) ||
		a.body != "good" || !reflect.DeepEqual(a.trailers.Fields, end) {
		t.Errorf("the browser got %+v", a)
	}
	up := <-got
	want := append(append([]h2.Field(nil), request[:9]...), request[10]) // without the credentials for us
	if up.err != nil || !reflect.DeepEqual(up.head.Fields, want) || up.body != "hello" || !reflect.DeepEqual(up.trailers.Fields, fields("x-sum", "1")) {
		t.Errorf("the server got %+v\n%v", up.head, up)
	}
	p := w.want(s.addr, "exchange mitm POST https://ADDR/a/%7e?q=%zz&& 200")[0]
	r := p.open.Request
	if len(r.Pseudo) != 4 || r.Pseudo[0].Name != ":authority" || len(r.Headers) != 6 || r.Headers[3].Value != "b=2" || r.Body.Size != 5 || r.Trailers[0].Name != "x-sum" {
		t.Errorf("request: %+v", r)
	}
	q := p.end.Response
	if q.Headers[3].Value != "caf\xe9" || len(q.Informational) != 1 || q.Informational[0].Status != 103 || len(q.Informational[0].Headers) != 2 || q.Trailers[1].Name != "grpc-message" ||
		string(q.Body.Kept.(netlog.Bytes)) != "good" {
		t.Errorf("response: %+v", q)
	}
	if tm := p.end.Timings; tm.Send == netlog.Absent || tm.Wait == netlog.Absent || tm.Receive == netlog.Absent {
		t.Errorf("timings: %+v", tm)
	}
}

// Each message of a call passes at once, in both directions: the next is an answer
// to the last.
func TestStreamingBothWays(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(func(st *h2.Stream) {
		st.WriteHead(fields(":status", "200", "content-type", "application/grpc"), false)
		for {
			piece, end, err := st.Next()
			if err != nil {
				return
			}
			if len(piece) > 0 {
				st.Write(append([]byte("re:"), piece...), false)
			}
			st.Took(len(piece))
			if end {
				st.WriteHead(fields("grpc-status", "0"), true)
				return
			}
		}
	})
	b := w.h2browser(s.addr)
	st := b.ask(b.post("/", "content-type", "application/grpc", "te", "trailers"), false)
	if h, err := st.ReadHead(); err != nil || h.Status() != 200 {
		t.Fatal(h, err)
	}
	sent := int64(0)
	for i := range 20 {
		message := fmt.Sprint("message ", i)
		sent += int64(len(message))
		if err := st.Write([]byte(message), false); err != nil {
			t.Fatal(err)
		}
		for want := "re:" + message; want != ""; {
			piece, _, err := st.Next()
			if err != nil || !strings.HasPrefix(want, string(piece)) {
				t.Fatalf("%q, %v, want %q", piece, err, want)
			}
			want = want[len(piece):]
			st.Took(len(piece))
		}
	}
	st.Write(nil, true)
	if _, err := bodyOf(st); err != nil || st.Trailers() == nil {
		t.Error(err)
	}
	p := w.want(s.addr, "exchange mitm POST https://ADDR/ 200")[0]
	if up, down := p.requestBody().Size, p.end.Response.Body.Size; up != sent || down != sent+20*3 {
		t.Errorf("%d bytes up, %d down, of %d", up, down, sent)
	}
}

// A server's reset reaches the browser with its code, wherever it comes.
func TestResetsOfServersPass(t *testing.T) {
	for _, code := range []http2.ErrCode{http2.ErrCodeCancel, http2.ErrCodeInternal, http2.ErrCodeHTTP11Required, http2.ErrCodeNo} {
		for _, c := range []struct{ path, want string }{
			{"/before", "failed wait reset"},
			{"/within", "200 failed receive reset"},
		} {
			t.Run(code.String()+c.path, func(t *testing.T) {
				w := newWorld(t, nil)
				s := w.h2server(func(st *h2.Stream) {
					if path, _ := st.Head().Get(":path"); path == "/within" {
						st.WriteHead(fields(":status", "200"), false)
						st.Write([]byte("some"), false)
					}
					st.Reset(code)
				})
				b := w.h2browser(s.addr)
				a := b.do(b.get(c.path))
				var e *h2.Error
				if !errors.As(a.err, &e) || e.Code != code || !e.Remote || c.path == "/within" && a.body != "some" {
					t.Errorf("the browser got %v", a)
				}
				p := w.want(s.addr, "exchange mitm GET https://ADDR"+c.path+" "+c.want)[0]
				if got := p.end.Failed.Reason; got != code.String()+": the server reset the stream" {
					t.Error(got)
				}
			})
		}
	}
}

// It does so while the browser still has something to send, which is not waited for.
func TestResetsOfServersPassDuringAnUpload(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"/before", "failed send reset"},
		{"/within", "200 failed receive reset"},
	} {
		t.Run(c.path, func(t *testing.T) {
			w := newWorld(t, nil)
			s := w.h2server(func(st *h2.Stream) {
				if piece, _, err := st.Next(); string(piece) != "some" || err != nil {
					t.Errorf("the server got %q, %v", piece, err)
				}
				if c.path == "/within" {
					st.WriteHead(fields(":status", "200"), false)
				}
				st.Reset(http2.ErrCodeConnect)
			})
			b := w.h2browser(s.addr)
			st := b.ask(b.post(c.path), false)
			st.Write([]byte("some"), false)
			st.SetReadDeadline(time.Now().Add(new(exchange).drainTime() / 2))
			a := answerTo(st)
			var e *h2.Error
			if !errors.As(a.err, &e) || e.Code != http2.ErrCodeConnect || !e.Remote || !e.Stream {
				t.Errorf("the browser got %v", a)
			}
			p := w.want(s.addr, "exchange mitm POST https://ADDR"+c.path+" "+c.want)[0]
			if body := p.requestBody(); body == nil || body.Size != 4 {
				t.Errorf("body: %+v", body)
			}
		})
	}
}

// So does a page of ours.
func TestAPageDuringAnUpload(t *testing.T) {
	w := newWorld(t, nil)
	s := w.h2server(func(st *h2.Stream) { t.Error("it was asked something") })
	b := w.h2browser(s.addr)
	head := b.post("/")
	head[2].Value = "other.test"
	st := b.ask(head, false)
	st.SetReadDeadline(time.Now().Add(new(exchange).drainTime() / 2))
	if a := answerTo(st); a.head.Status() != 421 || a.err != nil {
		t.Errorf("%v", a)
	}
	st.Write([]byte("body"), true)
	p := w.waitFor(1)[0]
	if body := p.requestBody(); p.end.Refused == nil || body == nil || body.Size != 4 {
		t.Errorf("%+v, body %+v", p.end, body)
	}
}

// A browser's reset reaches the server at once with its code, wherever it comes.
func TestResetsOfBrowsersPass(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"/upload", "failed send client_gone"},
		{"/wait", "failed wait client_gone"},
		{"/within", "200 failed receive client_gone"},
	} {
		t.Run(c.path, func(t *testing.T) {
			w := newWorld(t, nil)
			there, gone := make(chan bool), make(chan error, 1)
			s := w.h2server(func(st *h2.Stream) {
				st.OnGone(func(err error) { gone <- err })
				if c.path == "/within" {
					st.WriteHead(fields(":status", "200"), false)
					st.Write([]byte("some"), false)
				}
				close(there)
				for {
					piece, _, err := st.Next()
					if err != nil {
						return
					}
					st.Took(len(piece))
					if c.path != "/upload" {
						<-gone
						gone <- nil
						return
					}
				}
			})
			b := w.h2browser(s.addr)
			st := b.ask(b.post(c.path), c.path != "/upload")
			if c.path == "/upload" {
				st.Write([]byte("some"), false)
			}
			if c.path == "/within" {
				if h, err := st.ReadHead(); err != nil || h.Status() != 200 {
					t.Fatal(h, err)
				}
			}
			<-there
			st.Reset(http2.ErrCodeCancel)
			var e *h2.Error
			if err := <-gone; err != nil && (!errors.As(err, &e) || e.Code != http2.ErrCodeCancel || !e.Stream) {
				t.Errorf("the server got %v", err)
			}
			gone <- nil
			p := w.waitFor(1)[0]
			if got := p.String(); got != "exchange mitm POST https://"+s.addr+c.path+" "+c.want {
				t.Error(got)
			}
			if got := p.end.Failed.Reason; got != "CANCEL: the browser reset the stream" {
				t.Error(got)
			}
		})
	}
}

// A browser has no use for a redirect's body. The log has it, if it comes soon.
func TestABrowserThatMovesOn(t *testing.T) {
	for _, c := range []struct {
		name, status, entry string
		comes               bool
	}{
		{"what comes", "302", "302", true},
		{"what does not", "302", "302 failed receive client_gone", false},
		{"no redirect", "200", "200 failed receive client_gone", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			left := make(chan bool)
			s := w.h2server(func(st *h2.Stream) {
				gone := make(chan error, 1)
				st.OnGone(func(err error) { gone <- err })
				st.WriteHead(fields(":status", c.status, "location", "/there"), false)
				<-left
				if c.comes {
					st.Write([]byte("moved"), true)
				} else {
					<-gone
				}
			})
			b := w.h2browser(s.addr)
			st := b.ask(b.get("/"), true)
			if _, err := st.ReadHead(); err != nil {
				t.Fatal(err)
			}
			st.Reset(http2.ErrCodeCancel)
			other := b.get("/other")
			other[2].Value = "other.test"
			if a := b.do(other); a.head.Status() != 421 { // by then the reset has been seen
				t.Error(a)
			}
			close(left)
			w.waitFor(2)
			w.want(s.addr, "exchange mitm GET https://ADDR/ "+c.entry, "exchange mitm GET https://ADDR/other refused misdirected 421")
		})
	}
}

// A browser may leave with the content whose length it was told, before the end that
// comes behind it: nothing is missing.
func TestABrowserThatCountsTheContent(t *testing.T) {
	for _, c := range []struct {
		name, length, entry string
		closes              bool // its connection
		comes               bool // the end
	}{
		{"a reset", "4", "200", false, false},
		{"a reset, and the end", "4", "200", false, true},
		{"a closed connection", "4", "200", true, false},
		{"a closed connection, and the end", "4", "200", true, true},
		{"too early", "5", "200 failed receive client_gone", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			s := w.h2server(func(st *h2.Stream) {
				gone := make(chan error, 1)
				st.OnGone(func(err error) { gone <- err })
				st.WriteHead(fields(":status", "200", "content-length", c.length), false)
				st.Write([]byte("some"), false)
				if c.comes {
					st.Write(nil, true)
					return
				}
				<-gone
			})
			b := w.h2browser(s.addr)
			st := b.ask(b.get("/"), true)
			if _, err := st.ReadHead(); err != nil {
				t.Fatal(err)
			}
			if piece, _, err := st.Next(); err != nil || string(piece) != "some" {
				t.Fatalf("%q, %v", piece, err)
			}
			if c.closes {
				b.Close(net.ErrClosed)
			} else {
				st.Reset(http2.ErrCodeStreamClosed)
			}
			p := w.want(s.addr, "exchange mitm GET https://ADDR/ "+c.entry)[0]
			if complete := c.entry == "200"; p.end.Response.Complete != complete {
				t.Errorf("the answer is complete: %v", p.end.Response.Complete)
			}
		})
	}
}

// Requests without a body stand in the log in the order in which they came, however
// many are begun together.
func TestTheLogHasTheOrderOfTheRequests(t *testing.T) {
	const many = 100
	w := newWorld(t, nil)
	s := w.h2server(answerOK)
	p := newH2Peer(t, w.secureFor(s.addr, "127.0.0.1", "h2").Conn)
	p.greet()
	for i := range many {
		p.head(uint32(2*i+1), true, fields(":method", "GET", ":scheme", "https", ":authority", s.addr, ":path", "/"))
	}
	for ended := 0; ended < many; {
		switch f := p.next().(type) {
		case nil:
			t.Fatal("the connection has ended")
		case *http2.DataFrame:
			if f.StreamEnded() {
				ended++
			}
		}
	}
	ps := w.waitFor(many)
	for i := range ps {
		if ps[i].open.Stream != int64(2*i+1) || i > 0 && !ps[i].open.Time.After(ps[i-1].open.Time) {
			t.Fatalf("line %d is of stream %d, of %v, behind %v", i, ps[i].open.Stream, ps[i].open.Time, ps[max(i-1, 0)].open.Time)
		}
	}
}

// An answer whose content-length is too short is hashed whole.
func TestHTTP2AnswerLongerThanItsLength(t *testing.T) {
	more := make(chan struct{})
	w := newWorld(t, nil)
	s := w.h2server(func(st *h2.Stream) {
		st.WriteHead(fields(":status", "200", "content-length", "3", "content-type", "text/plain"), false)
		st.Write([]byte("abc"), false)
		<-more
		st.Write([]byte("def"), true)
	})
	b := w.h2browser(s.addr)
	st := b.ask(b.get("/"), true)
	_, headErr := st.ReadHead()
	piece, _, err := st.Next()
	close(more)
	if string(piece) != "abc" || headErr != nil || err != nil {
		t.Fatalf("%q %v %v", piece, headErr, err)
	}
	st.Took(3)
	st.Next()
	p := w.waitFor(1)[0]
	body := p.end.Response.Body
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("abcdef"))); body.SHA256 != want || body.Size != 6 {
		t.Errorf("size %d, sha256 %s, want %s", body.Size, body.SHA256, want)
	}
}

// What a browser sends without a pause is in the log whole, though it goes nowhere,
// before it is told.
func TestAnUploadToNobody(t *testing.T) {
	const pieces = 40
	w := newWorld(t, nil)
	s := w.h2server(func(st *h2.Stream) { t.Error("it was asked something") })
	b := w.h2browser(s.addr)
	head := b.post("/")
	head[2].Value = "other.test"
	st := b.ask(head, false)
	piece := make([]byte, 64<<10)
	for i := range pieces {
		if err := st.Write(piece, i == pieces-1); err != nil {
			t.Fatal(err)
		}
	}
	if a := answerTo(st); a.head.Status() != 421 {
		t.Errorf("%v", a)
	}
	if body := w.want(s.addr, "exchange mitm POST https://ADDR/ refused misdirected 421")[0].requestBody(); body == nil || body.Size != pieces*64<<10 {
		t.Errorf("%+v", body)
	}
}

// A browser that ends its connection by an error code has it in the log, with what was
// open then.
func TestABrowserThatEndsTheConnection(t *testing.T) {
	w := newWorld(t, nil)
	gone := make(chan error, 1)
	s := w.h2server(func(st *h2.Stream) {
		st.OnGone(func(err error) { gone <- err })
		st.WriteHead(fields(":status", "200"), false)
		gone <- <-gone
	})
	p := newH2Peer(t, w.secureFor(s.addr, "127.0.0.1", "h2").Conn)
	p.greet()
	p.head(1, true, fields(":method", "GET", ":scheme", "https", ":authority", s.addr, ":path", "/"))
	if f, ok := p.next().(*http2.HeadersFrame); !ok {
		t.Fatal(f)
	}
	p.fr.WriteGoAway(0, http2.ErrCodeCompression, []byte("what is this?"))
	p.conn.Close()
	if err := <-gone; err == nil {
		t.Error("the server was not told")
	}
	gone <- nil
	e := w.waitFor(1)[0]
	if f := e.end.Failed; f == nil || f.Code != netlog.CodeClientGone || f.Reason != "COMPRESSION_ERROR: the browser ended the connection" {
		t.Errorf("%v: %+v", e, f)
	}
}
