package h2

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// A request above what was offered is reset, and given on so that it is recorded.
func TestARequestAboveTheOffer(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	s.fr.WriteSettingsAck()
	var open []*Stream
	for id := uint32(1); len(open) < 100; id += 2 {
		s.head(id, false, post("/"))
		open = append(open, <-streams)
	}
	s.head(201, true, get("/more"))
	s.wantReset(201, http2.ErrCodeRefusedStream)
	more := <-streams
	if e := more.Head().Refused; e == nil || e.Code != http2.ErrCodeRefusedStream || more.ID() != 201 || len(more.Head().Fields) != 4 {
		t.Errorf("%d: %+v", more.ID(), more.Head())
	}
	if err := more.WriteHead(fields(":status", "200"), true); err == nil {
		t.Error("it can be answered")
	}
	if _, _, err := more.Next(); err == nil {
		t.Error("it can be read")
	}
	more.OnGone(func(error) { t.Error("it goes once more") })
	more.Close()
	for _, st := range open {
		st.Close()
	}
	s.head(203, true, get("/"))
	if st := <-streams; st.Head().Refused != nil {
		t.Error("there was room again")
	}
}

// A request whose header block ends its connection is given on with what could be read.
func TestARequestThatEndsItsConnection(t *testing.T) {
	begin := func(p *peer, id uint32, fs []Field) {
		p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(fs)})
	}
	for name, c := range map[string]struct {
		do      func(*peer)
		code    http2.ErrCode
		fields  int // that are known
		late    bool
		tooLong bool
	}{
		"broken into":    {func(p *peer) { begin(p, 3, get("/")); p.fr.WritePing(false, [8]byte{}) }, http2.ErrCodeProtocol, 4, false, false},
		"updated within": {func(p *peer) { begin(p, 3, get("/")); p.fr.WriteWindowUpdate(3, 0) }, http2.ErrCodeProtocol, 4, false, false},
		"stops":          {func(p *peer) { begin(p, 3, get("/")) }, http2.ErrCodeEnhanceYourCalm, 4, true, false},
		"stops at once":  {func(p *peer) { begin(p, 3, nil) }, http2.ErrCodeEnhanceYourCalm, 0, true, false},
		"no HPACK": {func(p *peer) {
			begin(p, 3, get("/"))
			p.fr.WriteContinuation(3, true, []byte{0xff, 0xff, 0xff, 0xff, 0xff})
		}, http2.ErrCodeCompression, 4, false, false},
		"cut": {func(p *peer) {
			begin(p, 3, get("/"))
			p.fr.WriteContinuation(3, true, []byte{0x40, 5, 'a'})
		}, http2.ErrCodeCompression, 4, false, false},
		"a table larger than its limit": {func(p *peer) {
			p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x3f, 0xe2, 0x1f}, EndHeaders: true}) // 4097
		}, http2.ErrCodeCompression, 0, false, false},
		"a long field": {func(p *peer) {
			begin(p, 3, get("/"))
			block := p.encode(fields("x", strings.Repeat("\x01", 70_000)))
			for ; len(block) > frameSize; block = block[frameSize:] {
				p.fr.WriteContinuation(3, false, block[:frameSize])
			}
			p.fr.WriteContinuation(3, true, block)
		}, http2.ErrCodeEnhanceYourCalm, 4, false, true},
		"without end": {func(p *peer) {
			begin(p, 3, get("/"))
			for range maxContinuations {
				p.fr.WriteContinuation(3, false, nil)
			}
		}, http2.ErrCodeEnhanceYourCalm, 4, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, streams := newServed(t, func(c *Config) {
				if strings.HasPrefix(name, "stops") {
					c.Timeouts.Head = time.Millisecond
				}
			})
			s.greet()
			s.head(1, false, post("/"))
			gone := make(chan error, 1)
			first := <-streams
			first.OnGone(func(err error) { gone <- err })
			c.do(s.peer)
			if away := s.wantGoAway(c.code); c.code != http2.ErrCodeProtocol && away.LastStreamID != 3 {
				t.Errorf("the last stream is %d", away.LastStreamID)
			}
			st := <-streams
			h := st.Head()
			if h.Refused == nil || h.Refused.Code != c.code || h.Refused.Late != c.late || h.TooLong != c.tooLong || len(h.Fields) != c.fields || st.ID() != 3 {
				t.Errorf("%d: %+v", st.ID(), h)
			}
			var e *Error
			if err := <-gone; !errors.As(err, &e) || e.Code != c.code || e.Late != c.late {
				t.Errorf("the other one ended with %v", err)
			}
			first.Close()
			st.Close()
		})
	}
}

// A browser that was offered one request at once may make the next when it has the
// answer, however long the end of the one before takes here.
func TestARequestBehindAnEndThatTakesLong(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	s.Offer(Offer{MaxStreams: 1})
	s.fr.WriteSettingsAck()
	s.fr.WriteSettingsAck()
	var open []*Stream
	for i := range uint32(20) {
		s.head(2*i+1, true, get("/"))
		st := <-streams
		if h := st.Head(); h.Refused != nil {
			t.Fatalf("request %d: %v", i, h.Refused)
		}
		check(t, st.WriteHead(fields(":status", "204"), true))
		want[*http2.HeadersFrame](s.peer)
		open = append(open, st)
	}
	for _, st := range open {
		st.Close()
	}
}

// SETTINGS are to be acknowledged, each in its time (RFC 9113 §6.5.3).
func TestSettingsThatAreNotAcknowledged(t *testing.T) {
	const long = time.Hour
	s, _ := newServed(t, func(c *Config) { c.Timeouts.Settings = time.Millisecond })
	s.greet()
	s.wantGoAway(http2.ErrCodeSettingsTimeout)
	s.peer.nc.Close()
	var e *Error
	if err := s.wait(); !errors.As(err, &e) || !e.Late {
		t.Error(err)
	}

	s, _ = newServed(t, func(c *Config) { c.Timeouts.Settings = long })
	s.greet()
	running := func(want bool) func() bool {
		return func() bool {
			s.Conn.mu.Lock()
			defer s.Conn.mu.Unlock()
			return (s.hearing != nil) == want
		}
	}
	eventually(t, "the limit", running(true))
	s.fr.WriteSettingsAck()
	eventually(t, "the end of the limit", running(false))
	s.Offer(Offer{MaxStreams: 7})
	s.Offer(Offer{MaxStreams: 8})
	s.fr.WriteSettingsAck() // of the first
	eventually(t, "what is still to be heard", func() bool {
		s.Conn.mu.Lock()
		defer s.Conn.mu.Unlock()
		return s.unheard == 1
	})
	if !running(true)() {
		t.Error("there is no time limit for the last")
	}
	s.fr.WriteSettingsAck()
	eventually(t, "the end of that limit", running(false))
	s.fr.WriteSettingsAck() // of nothing
	s.fr.WritePing(false, [8]byte{})
	want[*http2.PingFrame](s.peer)
	if !running(false)() {
		t.Error("what was not waited for has begun another limit")
	}
}
