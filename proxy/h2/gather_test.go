package h2

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
)

// A recorded is a session that writes records of the largest size, in the clear.
type recorded struct{ net.Conn }

func (r recorded) NetConn() net.Conn { return r.Conn }

func (r recorded) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Conn.Write(p[n:min(n+recordSize, len(p))])
		n += m
	}
	return n, err
}

// A gauge tells the size of the largest write.
type gauge struct {
	net.Conn
	largest atomic.Int64
}

func (g *gauge) Write(p []byte) (int, error) {
	g.largest.Store(max(g.largest.Load(), int64(len(p))))
	return g.Conn.Write(p)
}

func TestRecordsAreWrittenTogether(t *testing.T) {
	near, far := sockets(t)
	under := &gauge{Conn: near}
	streams := make(chan *Stream, 1)
	buffers := new(Buffers)
	c := NewServer(recorded{Gather(under, buffers)}, Config{Stream: func(s *Stream) { streams <- s }, Buffers: buffers})
	c.Offer(Offer{MaxStreams: 1})
	s := serve(t, c, far)
	s.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: maxWindow})
	s.head(1, true, get("/"))
	st := <-streams
	defer st.Close()
	const size = 60_000 // which the window, the buffer and one turn take
	check(t, st.WriteHead(fields(":status", "200"), false))
	check(t, st.Write(make([]byte, size), true))
	want[*http2.HeadersFrame](s.peer)
	for got := 0; got < size; {
		got += len(want[*http2.DataFrame](s.peer).Data())
	}
	if n := under.largest.Load(); n < size {
		t.Errorf("the largest of the writes had %d bytes", n)
	}
}

// All are written by the last, within the session's own Write: its Close does not
// wait for that.
func TestTheLastOfGatheredWritesWritesAll(t *testing.T) {
	near, far := sockets(t)
	g := gatheredUnder(recorded{Gather(near, new(Buffers))})
	write := func(s string) {
		t.Helper()
		if n, err := g.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%q: %d %v", s, n, err)
		}
	}
	arrives := func(s string) {
		t.Helper()
		got := make([]byte, len(s))
		if _, err := io.ReadFull(far, got); string(got) != s || err != nil {
			t.Errorf("got %q %v, want %q", got, err, s)
		}
	}
	g.gather(2)
	write("one,")
	write("two,")
	arrives("one,two,")
	check(t, g.rest())
	write("three,")
	arrives("three,")
	g.gather(5)
	write("four")
	check(t, g.rest())
	arrives("four")

	g.gather(2)
	near.Close()
	write("held back")
	for range 2 {
		if _, err := g.Write([]byte("written")); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
}
