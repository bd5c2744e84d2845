package h2

import (
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
)

// open begins a request and reads its head at the server.
func (s *served) open(t *testing.T, path string, end bool) *Stream {
	t.Helper()
	st, err := s.NewStream()
	check(t, err)
	t.Cleanup(st.Close)
	check(t, st.WriteHead(get(path), end))
	f := want[*http2.HeadersFrame](s.peer)
	if got := s.decode(f); !reflect.DeepEqual(got, get(path)) || f.StreamID != st.ID() || f.StreamEnded() != end {
		t.Fatalf("the server got %v %v", f, got)
	}
	return st
}

func TestAnAnswerAndItsInformationalOnesAreRead(t *testing.T) {
	s := newDialled(t)
	st := s.open(t, "/", true)
	s.head(1, false, fields(":status", "100"))
	s.head(1, false, fields(":status", "103", "link", "</x>"))
	s.head(1, false, fields(":status", "200", "X-Any", " spelling\x01"))
	s.fr.WriteData(1, false, []byte("body"))
	s.head(1, true, fields("grpc-status", "0"))
	for _, status := range []int{100, 103, 200} {
		h, err := st.ReadHead()
		check(t, err)
		if h.Status() != status {
			t.Errorf("status %d, want %d", h.Status(), status)
		}
		if v, _ := h.Get("X-Any"); status == 200 && v != " spelling\x01" {
			t.Errorf("field: %q", v)
		}
	}
	if got := readAll(t, st); got != "body" || !reflect.DeepEqual(st.Trailers().Fields, fields("grpc-status", "0")) {
		t.Errorf("body %q, trailers %v", got, st.Trailers())
	}
}

// The standard library's server, and many streams at once.
func TestOthersServer(t *testing.T) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	server := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-End")
		w.WriteHeader(201)
		io.Copy(w, r.Body)
		w.Header().Set("X-End", r.URL.Path)
	})}
	go server.Serve(l)
	defer server.Close()
	nc, err := net.Dial("tcp", l.Addr().String())
	check(t, err)
	c := NewClient(nc, Config{})
	ended := make(chan error, 1)
	go func() { ended <- c.Serve() }()
	var running sync.WaitGroup
	for i := range 300 { // above what the server lets be open at once
		running.Go(func() {
			path, body := fmt.Sprint("/", i), strings.Repeat("x", 1000*i)
			st, err := c.NewStream()
			if err != nil {
				t.Error(err)
				return
			}
			defer st.Close()
			if err := st.WriteHead(post(path), false); err != nil {
				t.Error(err)
				return
			}
			go st.Write([]byte(body), true)
			h, err := st.ReadHead()
			if err != nil || h.Status() != 201 {
				t.Error(h, err)
				return
			}
			if got := readAll(t, st); got != body {
				t.Errorf("got %d bytes of %d", len(got), len(body))
			}
			if end, _ := st.Trailers().Get("x-end"); end != path {
				t.Errorf("trailer: %q", end)
			}
		})
	}
	running.Wait()
	c.Shutdown()
	if err := <-ended; err != net.ErrClosed {
		t.Error(err)
	}
}

// The server's limit holds requests back, in order.
func TestStreamsWaitForRoom(t *testing.T) {
	s := newDialled(t, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
	s.open(t, "/1", true)
	second, err := s.NewStream()
	check(t, err)
	defer second.Close()
	written := make(chan error, 1)
	go func() { written <- second.WriteHead(get("/2"), true) }()
	eventually(t, "a stream that waits", func() bool {
		s.Conn.mu.Lock()
		defer s.Conn.mu.Unlock()
		return len(s.opening.list) == 1
	})
	s.head(1, true, fields(":status", "204"))
	if f := want[*http2.HeadersFrame](s.peer); f.StreamID != 3 {
		t.Errorf("got %v", f)
	}
	check(t, <-written)

	third, err := s.NewStream()
	check(t, err)
	third.SetWriteDeadline(time.Now())
	if err := third.WriteHead(get("/3"), true); !isTimeout(err) {
		t.Errorf("a stream that waits too long: %v", err)
	}
	third.Close()
}

// What the server has not acted on can be told from what it may have.
func TestGoAwayTellsWhatWasNotProcessed(t *testing.T) {
	s := newDialled(t)
	first, second := s.open(t, "/1", true), s.open(t, "/2", true)
	s.fr.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, []byte("slow down"))
	var e *Error
	if _, err := second.ReadHead(); !errors.As(err, &e) || !e.Unprocessed || !e.Remote {
		t.Errorf("above the last: %v", err)
	}
	if s.Usable() {
		t.Error("it takes more requests")
	}
	if _, err := s.NewStream(); !errors.As(err, &e) || !e.Unprocessed {
		t.Errorf("one more: %v", err)
	}
	s.head(1, false, fields(":status", "200"))
	if _, err := first.ReadHead(); err != nil {
		t.Errorf("below the last: %v", err)
	}
	s.peer.nc.Close()
	if _, _, err := first.Next(); !errors.As(err, &e) || e.Unprocessed || e.Error() != "ENHANCE_YOUR_CALM: slow down" {
		t.Errorf("of the connection's end: %v", err)
	}
}

func TestAGracefulGoAwayEndsTheConnectionBehindItsStreams(t *testing.T) {
	s := newDialled(t)
	st := s.open(t, "/", true)
	s.fr.WriteGoAway(1, http2.ErrCodeNo, nil)
	s.head(1, false, fields(":status", "200"))
	s.fr.WriteData(1, true, []byte("all"))
	_, err := st.ReadHead()
	check(t, err)
	if got := readAll(t, st); got != "all" {
		t.Errorf("got %q", got)
	}
	s.wantEnd()
	s.peer.nc.Close()
	if err := s.wait(); err != net.ErrClosed {
		t.Error(err)
	}
}

// A reset comes behind what had come before it, with its code.
func TestResetsByTheServer(t *testing.T) {
	for _, c := range []struct {
		code        http2.ErrCode
		unprocessed bool
	}{
		{http2.ErrCodeCancel, false}, {http2.ErrCodeRefusedStream, true}, {http2.ErrCodeHTTP11Required, false}, {0xbeef, false},
	} {
		s := newDialled(t)
		st := s.open(t, "/", false)
		s.head(1, false, fields(":status", "200"))
		s.fr.WriteData(1, false, []byte("some"))
		s.fr.WriteRSTStream(1, c.code)
		_, err := st.ReadHead()
		check(t, err)
		var e *Error
		eventually(t, "the reset", func() bool { return st.Write([]byte("x"), false) != nil })
		piece, end, err := st.Next()
		if string(piece) != "some" || end || err != nil {
			t.Errorf("%q %v %v", piece, end, err)
		}
		st.Took(len(piece))
		if _, _, err := st.Next(); !errors.As(err, &e) || e.Code != c.code || !e.Remote || !e.Stream || e.Unprocessed != c.unprocessed {
			t.Errorf("%v: %+v", c.code, e)
		}
	}
}

// A server may end the request's upload behind a whole answer (RFC 9113 §8.1).
func TestAResetBehindAWholeAnswer(t *testing.T) {
	s := newDialled(t)
	st := s.open(t, "/", false)
	s.head(1, false, fields(":status", "413"))
	s.fr.WriteData(1, true, []byte("too large"))
	s.fr.WriteRSTStream(1, http2.ErrCodeNo)
	var e *Error
	eventually(t, "the reset", func() bool { return errors.As(st.Write([]byte("x"), false), &e) })
	if _, err := st.ReadHead(); err != nil || e.Code != http2.ErrCodeNo {
		t.Errorf("%v, %v", err, e)
	}
	if got := readAll(t, st); got != "too large" {
		t.Errorf("got %q", got)
	}
}

// What no server may do ends its stream or its connection, and nothing else.
// DATA of a stream that the server itself has ended is an error of that stream alone
// (RFC 9113 §6.1).
func TestDataBehindAnAnswer(t *testing.T) {
	s := newDialled(t)
	for i, end := range []func(id uint32){
		func(id uint32) { s.head(id, true, fields(":status", "204")) },
		func(id uint32) { s.fr.WriteRSTStream(id, http2.ErrCodeCancel) },
	} {
		id := uint32(2*i + 1)
		st := s.open(t, "/", true)
		end(id)
		st.ReadHead()
		s.fr.WriteData(id, true, []byte("more"))
		s.wantReset(id, http2.ErrCodeStreamClosed)
	}
	if !s.Usable() {
		t.Error("the connection has ended")
	}
}

func TestServersThatBreakTheProtocol(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(*peer)
		stream http2.ErrCode // that the stream is reset by; 0: the connection is ended
		conn   http2.ErrCode
	}{
		"no status":         {func(p *peer) { p.head(1, true, fields("a", "b")) }, http2.ErrCodeProtocol, 0},
		"a bad status":      {func(p *peer) { p.head(1, true, fields(":status", "20")) }, http2.ErrCodeProtocol, 0},
		"a 101":             {func(p *peer) { p.head(1, false, fields(":status", "101")) }, http2.ErrCodeProtocol, 0},
		"a 100 at the end":  {func(p *peer) { p.head(1, true, fields(":status", "100")) }, http2.ErrCodeProtocol, 0},
		"DATA first":        {func(p *peer) { p.fr.WriteData(1, true, []byte("x")) }, http2.ErrCodeProtocol, 0},
		"two heads":         {func(p *peer) { p.head(1, false, fields(":status", "200")); p.head(1, false, fields("a", "b")) }, http2.ErrCodeProtocol, 0},
		"an unasked answer": {func(p *peer) { p.head(3, true, fields(":status", "200")) }, 0, http2.ErrCodeProtocol},
		"a push": {func(p *peer) {
			p.fr.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
		}, 0, http2.ErrCodeProtocol},
		"a header bomb": {func(p *peer) { bomb(p, 1, fields(":status", "200")) }, http2.ErrCodeEnhanceYourCalm, 0},
		"push allowed":  {func(p *peer) { p.fr.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 1}) }, 0, http2.ErrCodeProtocol},
		"endless 103s": {func(p *peer) {
			for range maxHeads + 1 {
				p.head(1, false, fields(":status", "103"))
			}
		}, http2.ErrCodeEnhanceYourCalm, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDialled(t)
			st := s.open(t, "/", true)
			c.do(s.peer)
			if c.stream != 0 {
				s.wantReset(1, c.stream)
				s.open(t, "/more", true)
			} else {
				s.wantGoAway(c.conn)
			}
			var e *Error
			var err error
			for err == nil {
				_, err = st.ReadHead()
				if err == nil && name == "two heads" {
					_, _, err = st.Next()
				}
			}
			if !errors.As(err, &e) || e.Remote || e.Reason == "" {
				t.Errorf("the stream: %v", err)
			}
		})
	}
}

// bomb sends a header list that is small on the wire and large behind it.
func bomb(p *peer, id uint32, fs []Field) {
	fs = append(fs, Field{Name: "x", Value: strings.Repeat("x", 3900)})
	block := p.encode(fs)
	for range 1000 {
		block = append(block, 0x80|62) // the table's newest
	}
	p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: true})
}

func TestAServerThatDoesNotBeginWithSettings(t *testing.T) {
	near, far := sockets(t)
	s := serve(t, NewClient(near, Config{}), far)
	s.fr.WritePing(false, [8]byte{})
	io.ReadFull(far, make([]byte, len(http2.ClientPreface)))
	s.wantGoAway(http2.ErrCodeProtocol)
	near, far = sockets(t)
	s = serve(t, NewClient(near, Config{Timeouts: Timeouts{Preface: time.Millisecond}}), far)
	io.ReadFull(far, make([]byte, len(http2.ClientPreface)))
	s.wantGoAway(http2.ErrCodeProtocol)
	far.Close()
	var e *Error
	if err := s.wait(); !errors.As(err, &e) || !e.Late || e.Remote {
		t.Error("a silent one:", err)
	}
}
