package h2

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// Frames that only cost work end the connection, and leave nothing behind; another
// connection does not notice.
func TestFloods(t *testing.T) {
	const flood = 100_000
	block := func(p *peer) []byte { return p.encode(get("/")) }
	for name, c := range map[string]struct {
		frame func(p *peer, i int) error
		code  http2.ErrCode
	}{
		"SETTINGS":            {func(p *peer, _ int) error { return p.fr.WriteSettings() }, http2.ErrCodeEnhanceYourCalm},
		"acknowledgements":    {func(p *peer, _ int) error { return p.fr.WriteSettingsAck() }, http2.ErrCodeEnhanceYourCalm},
		"PING":                {func(p *peer, _ int) error { return p.fr.WritePing(false, [8]byte{}) }, http2.ErrCodeEnhanceYourCalm},
		"PRIORITY":            {func(p *peer, i int) error { return p.fr.WritePriority(uint32(i)|1, http2.PriorityParam{}) }, http2.ErrCodeEnhanceYourCalm},
		"PRIORITY_UPDATE":     {func(p *peer, i int) error { return p.fr.WritePriorityUpdate(1, "u=1") }, http2.ErrCodeEnhanceYourCalm},
		"WINDOW_UPDATE":       {func(p *peer, _ int) error { return p.fr.WriteWindowUpdate(1, 1) }, http2.ErrCodeEnhanceYourCalm},
		"connection's":        {func(p *peer, _ int) error { return p.fr.WriteWindowUpdate(0, 1) }, http2.ErrCodeEnhanceYourCalm},
		"empty DATA":          {func(p *peer, _ int) error { return p.fr.WriteData(1, false, nil) }, http2.ErrCodeEnhanceYourCalm},
		"padding alone":       {func(p *peer, _ int) error { return p.fr.WriteDataPadded(1, false, nil, []byte{0}) }, http2.ErrCodeEnhanceYourCalm},
		"GOAWAY":              {func(p *peer, _ int) error { return p.fr.WriteGoAway(0, 0, nil) }, http2.ErrCodeEnhanceYourCalm},
		"unknown frames":      {func(p *peer, _ int) error { return p.fr.WriteRawFrame(0xee, 0, 0, nil) }, http2.ErrCodeEnhanceYourCalm},
		"DATA of the closed":  {func(p *peer, i int) error { return closedData(p, i) }, http2.ErrCodeEnhanceYourCalm},
		"empty CONTINUATION":  {func(p *peer, i int) error { return continuation(p, i, nil) }, http2.ErrCodeEnhanceYourCalm},
		"large CONTINUATION":  {func(p *peer, i int) error { return continuation(p, i, make([]byte, frameSize)) }, http2.ErrCodeEnhanceYourCalm},
		"fields without end":  {func(p *peer, i int) error { return continuation(p, i, block(p)) }, http2.ErrCodeEnhanceYourCalm},
		"requests given up":   {rapidReset, http2.ErrCodeEnhanceYourCalm},
		"malformed trailers":  {malformedTrailers, http2.ErrCodeEnhanceYourCalm},
		"requests above all":  {func(p *peer, i int) error { return request(p, 2*i+3) }, http2.ErrCodeEnhanceYourCalm},
		"streams on themself": {func(p *peer, i int) error { return p.fr.WritePriority(1, http2.PriorityParam{StreamDep: 1}) }, http2.ErrCodeEnhanceYourCalm},
	} {
		t.Run(name, func(t *testing.T) {
			var begun, open, most atomic.Int64
			quit := make(chan bool)
			defer close(quit)
			s, _ := newServed(t, func(cfg *Config) {
				cfg.Stream = func(st *Stream) {
					begun.Add(1)
					if st.Head().Refused != nil {
						st.Close()
						return
					}
					most.Store(max(most.Load(), open.Add(1)))
					gone := make(chan bool)
					st.OnGone(func(error) { close(gone) })
					go func() {
						select {
						case <-gone:
						case <-quit:
						}
						open.Add(-1)
						st.Close()
					}()
				}
			})
			s.greet()
			s.head(1, false, post("/"))
			go func() {
				for i := range flood {
					if c.frame(s.peer, i) != nil {
						return
					}
				}
			}()
			s.wantGoAway(c.code)
			s.peer.nc.Close()
			if err := s.wait(); err == nil {
				t.Error("it ended without an error")
			}
			if n := begun.Load(); n > 2_000 {
				t.Errorf("%d requests were begun", n)
			}
			if n := most.Load(); n > 200 {
				t.Errorf("%d requests at once", n)
			}
			eventually(t, "the end of all", func() bool {
				s.Conn.mu.Lock()
				defer s.Conn.mu.Unlock()
				return len(s.streams)+s.active == 0
			})
		})
	}
}

func request(p *peer, id int) error {
	return p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(id), BlockFragment: p.encode(get("/")), EndHeaders: true, EndStream: true})
}

func rapidReset(p *peer, i int) error {
	if err := request(p, 2*i+3); err != nil {
		return err
	}
	return p.fr.WriteRSTStream(uint32(2*i+3), http2.ErrCodeCancel)
}

func malformedTrailers(p *peer, i int) error {
	id := uint32(2*i + 3)
	if err := p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(get("/")), EndHeaders: true}); err != nil {
		return err
	}
	return p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(get("/")), EndHeaders: true, EndStream: true})
}

// closedData sends DATA of a stream that its own reset has closed.
func closedData(p *peer, i int) error {
	if i == 0 {
		p.fr.WriteRSTStream(1, http2.ErrCodeCancel)
	}
	return p.fr.WriteData(1, false, []byte("x"))
}

func continuation(p *peer, i int, piece []byte) error {
	if i == 0 {
		return p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: p.encode(get("/"))})
	}
	return p.fr.WriteContinuation(3, false, piece)
}

// A browser that does what brings something may do any number of it.
func TestWorkIsNoFlood(t *testing.T) {
	s, _ := newServed(t, func(c *Config) { c.Stream = func(st *Stream) { go echo(st) } })
	s.calm.left, s.calm.rate, s.resets.left, s.resets.rate = 100, 0, 10, 0
	s.greet()
	turns := make(chan bool, 20)
	go func() {
		for i := range 300 {
			turns <- true
			id := uint32(2*i + 1)
			s.head(id, false, post("/"))
			s.fr.WriteData(id, true, []byte("x"))
			s.fr.WriteWindowUpdate(id, 1)
			s.fr.WriteWindowUpdate(0, 1)
			s.fr.WritePing(false, [8]byte{})
		}
	}()
	for ended := 0; ended < 300; {
		if f, ok := s.peer.next().(*http2.DataFrame); ok && f.StreamEnded() {
			ended++
			<-turns
		}
	}
}

func TestABudgetIsRefilled(t *testing.T) {
	b := budget{most: 3, rate: 1, left: 1}
	if !b.spend() || b.spend() {
		t.Error("it held more, or less")
	}
	b.at = time.Now().Add(-time.Hour)
	for i := range 4 {
		if got := b.spend(); got != (i < 3) {
			t.Errorf("%d: %v", i, got)
		}
	}
	b.earn(1)
	if !b.spend() || b.spend() {
		t.Error("it earned more, or less")
	}
}

// Nothing is queued without bound for a browser that does not read the answers to
// its frames.
func TestAnswersThatAreNotRead(t *testing.T) {
	s, _ := newServed(t, nil)
	s.calm.left = 1 << 30
	s.greet()
	var pings bytes.Buffer
	many := http2.NewFramer(&pings, nil)
	for range 10_000 {
		many.WritePing(false, [8]byte{})
	}
	for {
		if _, err := s.peer.nc.Write(pings.Bytes()); err != nil {
			break
		}
	}
	if err := s.wait(); err == nil {
		t.Error("it ended without an error")
	}
	if n := len(s.out); n > 17*maxAnswers+outRoom {
		t.Errorf("%d bytes were queued", n)
	}
}

// Idle frames do not keep a connection: it ends when it has had no stream for the time.
func TestAnIdleConnectionEnds(t *testing.T) {
	s, streams := newServed(t, func(c *Config) { c.Idle = time.Second })
	s.greet()
	s.head(1, true, get("/"))
	st := <-streams
	check(t, st.WriteHead(fields(":status", "204"), true))
	st.Close()
	want[*http2.HeadersFrame](s.peer)
	if f := s.wantGoAway(http2.ErrCodeNo); f.LastStreamID != 1 {
		t.Errorf("got %v", f)
	}
	s.wantEnd()
}

// Shutdown lets what has begun end, and takes nothing new.
func TestShutdown(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	s.head(1, false, post("/"))
	st := <-streams
	s.Shutdown()
	if f := s.wantGoAway(http2.ErrCodeNo); f.LastStreamID != 1 {
		t.Errorf("got %v", f)
	}
	s.head(3, true, get("/"))
	s.head(5, false, post("/"))
	check(t, s.fr.WriteData(5, false, []byte("on its way")))
	check(t, s.fr.WriteWindowUpdate(5, 1))
	check(t, s.fr.WriteRSTStream(5, http2.ErrCodeCancel))
	s.fr.WriteData(1, true, []byte("x"))
	if got := readAll(t, st); got != "x" {
		t.Errorf("got %q", got)
	}
	check(t, st.WriteHead(fields(":status", "200"), false))
	check(t, st.Write([]byte("all"), true))
	st.Close()
	want[*http2.HeadersFrame](s.peer)
	want[*http2.DataFrame](s.peer)
	s.wantEnd()
	if len(streams) > 0 {
		t.Error("a request was taken behind the GOAWAY")
	}
	s.peer.nc.Close()
	if err := s.wait(); err == nil {
		t.Error("no error")
	}
}

// What a browser may do can change, and is first among what it is told.
func TestOffers(t *testing.T) {
	near, far := sockets(t)
	c := NewServer(near, Config{Stream: func(st *Stream) { st.Close() }, StreamWindow: 1 << 17, MaxHeaderList: 1 << 20})
	s := serve(t, c, far)
	s.greet()
	s.fr.WritePing(false, [8]byte{9})
	c.Offer(Offer{MaxStreams: 7, MaxHeaderList: 1000, NoPriorities: true})
	c.Offer(Offer{MaxStreams: 7})
	c.Offer(Offer{MaxStreams: 9, Connect: true})
	var got []string
	for len(got) < 6 {
		f, err := s.fr.ReadFrame()
		check(t, err)
		if f, ok := f.(*http2.SettingsFrame); ok && !f.IsAck() {
			f.ForeachSetting(func(s http2.Setting) error { got = append(got, s.String()); return nil })
		} else if len(got) == 0 {
			t.Fatalf("the first frame is %v", f)
		}
	}
	for i, wanted := range []string{
		"[MAX_CONCURRENT_STREAMS = 7]", "[INITIAL_WINDOW_SIZE = 131072]", "[MAX_HEADER_LIST_SIZE = 1000]", "[NO_RFC7540_PRIORITIES = 1]",
		"[MAX_CONCURRENT_STREAMS = 9]", "[ENABLE_CONNECT_PROTOCOL = 1]",
	} {
		if got[i] != wanted {
			t.Errorf("%d: %s, want %s", i, got[i], wanted)
		}
	}
}

// Priorities are hints: what a server does not read does not pile up.
func TestPrioritiesThatAreNotRead(t *testing.T) {
	s := newDialled(t)
	st := s.open(t, "/", false)
	long := strings.Repeat("u=1, ", 3000)
	most := 0
	for range 2000 {
		st.reprioritize(func(framer *http2.Framer, _ *Settings) { framer.WritePriorityUpdate(1, long) })
		s.Conn.mu.Lock()
		most = max(most, len(s.out))
		s.Conn.mu.Unlock()
	}
	if most > outRoom+2*frameSize {
		t.Errorf("%d bytes wait", most)
	}
}

// What a peer's GOAWAY says is for people, and may not be for long.
func TestAGoAwayThatSaysALot(t *testing.T) {
	s := newDialled(t)
	st := s.open(t, "/", true)
	s.fr.WriteGoAway(1, http2.ErrCodeInternal, []byte(strings.Repeat("far too much \xff", 1000)))
	s.peer.nc.Close()
	var e *Error
	if _, err := st.ReadHead(); !errors.As(err, &e) || e.Code != http2.ErrCodeInternal || len(e.Reason) > maxSaid || !strings.HasPrefix(e.Reason, "far too much far") {
		t.Errorf("%v", err)
	}
}

// Acknowledgements of our own SETTINGS cost their sender nothing, however often a
// server has them change.
func TestAcknowledgementsThatAreAskedFor(t *testing.T) {
	s, _ := newServed(t, nil)
	s.calm.left, s.calm.rate = 50, 0
	s.greet()
	for i := range 200 {
		s.Offer(Offer{MaxStreams: uint32(i)})
	}
	for range 200 {
		s.fr.WriteSettingsAck()
	}
	s.fr.WritePing(false, [8]byte{7})
	want[*http2.PingFrame](s.peer)
}
