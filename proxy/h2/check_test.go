package h2

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// What is no request of RFC 9113 §8 is seen, whatever else it holds.
func TestMalformedRequests(t *testing.T) {
	with := func(more ...string) []Field { return get("/", more...) }
	change := func(name, value string) []Field {
		fs := get("/")
		for i := range fs {
			if fs[i].Name == name {
				fs[i].Value = value
			}
		}
		return fs
	}
	without := func(name string) (kept []Field) {
		for _, f := range get("/") {
			if f.Name != name {
				kept = append(kept, f)
			}
		}
		return kept
	}
	for _, c := range []struct {
		name, why string // why begins the reason; "": it is none
		fields    []Field
	}{
		{"a plain one", "", get("/")},
		{"any order", "", fields(":path", "/", ":authority", "a", ":scheme", "https", ":method", "M-SEARCH")},
		{"no :authority", "", without(":authority")},
		{"OPTIONS *", "", fields(":method", "OPTIONS", ":scheme", "https", ":authority", "a", ":path", "*")},
		{"bytes beyond ASCII", "", with("x", "caf\xe9", "y", "ü\tz")},
		{"an empty value", "", with("x", "")},
		{"space around a value", "", with("x", " a\t")},
		{"space around a length", "a content-length", with("content-length", " 1")},
		{"trailers wanted", "", with("te", "trailers")},
		{"equal lengths", "", with("content-length", "0", "content-length", "0")},
		{"a path beyond ASCII", "", change(":path", "/\xe9")},
		{"a CONNECT", "", fields(":method", "CONNECT", ":authority", "a:1")},
		{"a WebSocket", "", fields(":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":path", "/", ":authority", "a")},

		{"no :method", "no :method", without(":method")},
		{"no :scheme", "no :scheme", without(":scheme")},
		{"no :path", "no :path", without(":path")},
		{"an empty :path", "a :path", change(":path", "")},
		{"a URL for a path", "a :path", change(":path", "https://b/")},
		{"a path with a space", "a :path", change(":path", "/ HTTP/1.1")},
		{"* of a GET", "a :path", change(":path", "*")},
		{"an empty method", "a :method", change(":method", "")},
		{"a method of two words", "a :method", change(":method", "GET /")},
		{"a user name", "an :authority", change(":authority", "u@a")},
		{"twice :path", "the pseudo-header field :path twice", append(fields(":path", "/x"), get("/")...)},
		{"a :status", "a pseudo-header field that no", append(fields(":status", "200"), get("/")...)},
		{"an unknown one", "a pseudo-header field that no", append(fields(":x", ""), get("/")...)},
		{"a late one", "a pseudo-header field behind", with("a", "b", ":path", "/")},
		{"a :protocol of a GET", "a :protocol", append(fields(":protocol", "websocket"), get("/")...)},
		{"a CONNECT with a path", "a CONNECT", fields(":method", "CONNECT", ":authority", "a", ":path", "/", ":scheme", "https")},
		{"a CONNECT to nobody", "a CONNECT", fields(":method", "CONNECT")},
		{"an upper case name", "a field's name", with("X-a", "")},
		{"a name with a space", "a field's name", with("x a", "")},
		{"a name with a colon", "a field's name", with("x:a", "")},
		{"a name beyond ASCII", "a field's name", with("\xe9", "")},
		{"no name", "a field's name", with("", "x")},
		{"a CR", "a control byte", with("x", "a\rb")},
		{"a LF", "a control byte", with("x", "a\nb")},
		{"a NUL", "a control byte", with("x", "a\x00b")},
		{"a LF in the authority", "a control byte", change(":authority", "a\nb")},
		{"connection", "the connection-specific field connection", with("connection", "x")},
		{"keep-alive", "the connection-specific field", with("keep-alive", "x")},
		{"proxy-connection", "the connection-specific field", with("proxy-connection", "x")},
		{"transfer-encoding", "the connection-specific field", with("transfer-encoding", "chunked")},
		{"upgrade", "the connection-specific field", with("upgrade", "x")},
		{"te of more", "a te", with("te", "trailers, gzip")},
		{"no length", "a content-length", with("content-length", "+1")},
		{"a list of lengths", "a content-length", with("content-length", "1, 1")},
		{"differing lengths", "two content-lengths", with("content-length", "1", "content-length", "2")},
		{"two hosts", "the field host twice", with("host", "a", "host", "a")},
	} {
		t.Run(c.name, func(t *testing.T) {
			why := checkRequest(&Head{Fields: c.fields}, true)
			if why == "" != (c.why == "") || !strings.HasPrefix(why, c.why) {
				t.Errorf("%q, want %q", why, c.why)
			}
		})
	}
	if why := checkRequest(&Head{Fields: fields(":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":path", "/", ":authority", "a")}, false); why == "" {
		t.Error("a WebSocket was not offered")
	}
}

// A malformed request reaches whoever records it; its stream is his to reset.
func TestAMalformedRequestIsGivenOn(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	for i, fs := range [][]Field{get("/", "X", ""), get("/", "content-length", "5"), get("/", "a", strings.Repeat("x", 70_000))} {
		id := uint32(2*i + 1)
		if i == 2 { // in one block that decodes to more than is taken
			bomb(s.peer, id, get("/"))
		} else {
			s.head(id, true, fs)
		}
		st := <-streams
		if h := st.Head(); h.Malformed == "" && !h.TooLong {
			t.Errorf("%v: %+v", fs, h)
		}
		st.Reset(http2.ErrCodeProtocol)
		st.Close()
		s.wantReset(id, http2.ErrCodeProtocol)
	}
	s.head(9, true, get("/")) // the connection goes on
	if st := <-streams; st.Head().Malformed != "" || len(st.Head().Fields) != 4 {
		t.Errorf("%+v", st.Head())
	}
}

// What no browser may do ends its stream or its connection, by the code of the RFC.
func TestBrowsersThatBreakTheProtocol(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(*peer) // stream 1 is open
		stream http2.ErrCode
		conn   http2.ErrCode
	}{
		"DATA of an idle stream":       {func(p *peer) { p.fr.WriteData(3, true, nil) }, 0, http2.ErrCodeProtocol},
		"RST_STREAM of an idle one":    {func(p *peer) { p.fr.WriteRSTStream(3, 0) }, 0, http2.ErrCodeProtocol},
		"WINDOW_UPDATE of an idle one": {func(p *peer) { p.fr.WriteWindowUpdate(3, 1) }, 0, http2.ErrCodeProtocol},
		"an even number":               {func(p *peer) { p.head(2, true, get("/")) }, 0, http2.ErrCodeProtocol},
		"a push": {func(p *peer) {
			p.fr.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
		}, 0, http2.ErrCodeProtocol},
		"a lower number":            {func(p *peer) { p.head(7, true, get("/")); p.head(5, true, get("/")) }, 0, http2.ErrCodeProtocol},
		"a CONTINUATION of nothing": {func(p *peer) { p.fr.WriteContinuation(1, true, nil) }, 0, http2.ErrCodeProtocol},
		"a block that is broken into": {func(p *peer) {
			p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: p.encode(get("/"))})
			p.fr.WritePing(false, [8]byte{})
		}, 0, http2.ErrCodeProtocol},
		"a block of another stream": {func(p *peer) {
			p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: p.encode(get("/"))})
			p.fr.WriteContinuation(5, true, nil)
		}, 0, http2.ErrCodeProtocol},
		"a block that is none": {func(p *peer) {
			p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0xff, 0xff}, EndHeaders: true})
		}, 0, http2.ErrCodeCompression},
		"a block that is cut": {func(p *peer) {
			p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x40, 5, 'a'}, EndHeaders: true})
		}, 0, http2.ErrCodeCompression},
		"padding that does not fit":   {func(p *peer) { p.fr.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersPadded|4, 3, []byte{9, 0}) }, 0, http2.ErrCodeProtocol},
		"padding of DATA":             {func(p *peer) { p.fr.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte{9, 0}) }, 0, http2.ErrCodeProtocol},
		"a frame too short":           {func(p *peer) { p.fr.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersPriority|4, 3, []byte{9}) }, 0, http2.ErrCodeFrameSize},
		"a frame too long":            {func(p *peer) { p.fr.WriteData(1, false, make([]byte, frameSize+1)) }, 0, http2.ErrCodeFrameSize},
		"a short PING":                {func(p *peer) { p.fr.WriteRawFrame(http2.FramePing, 0, 0, []byte{1}) }, 0, http2.ErrCodeFrameSize},
		"a PING of a stream":          {func(p *peer) { p.fr.WriteRawFrame(http2.FramePing, 0, 1, make([]byte, 8)) }, 0, http2.ErrCodeProtocol},
		"SETTINGS cut":                {func(p *peer) { p.fr.WriteRawFrame(http2.FrameSettings, 0, 0, make([]byte, 5)) }, 0, http2.ErrCodeFrameSize},
		"SETTINGS acknowledged oddly": {func(p *peer) { p.fr.WriteRawFrame(http2.FrameSettings, 1, 0, make([]byte, 6)) }, 0, http2.ErrCodeFrameSize},
		"a push setting of 2":         {func(p *peer) { p.fr.WriteSettings(http2.Setting{ID: 2, Val: 2}) }, 0, http2.ErrCodeProtocol},
		"a window setting too large":  {func(p *peer) { p.fr.WriteSettings(http2.Setting{ID: 4, Val: 1 << 31}) }, 0, http2.ErrCodeFlowControl},
		"a frame setting too small":   {func(p *peer) { p.fr.WriteSettings(http2.Setting{ID: 5, Val: 1}) }, 0, http2.ErrCodeProtocol},
		"a frame setting too large":   {func(p *peer) { p.fr.WriteSettings(http2.Setting{ID: 5, Val: 1 << 24}) }, 0, http2.ErrCodeProtocol},
		"streams' windows too large": {func(p *peer) {
			p.fr.WriteWindowUpdate(1, maxWindow-initialWindow)
			p.fr.WriteSettings(http2.Setting{ID: 4, Val: initialWindow + 1})
		}, 0, http2.ErrCodeFlowControl},
		"a window too large":         {func(p *peer) { p.fr.WriteWindowUpdate(0, maxWindow) }, 0, http2.ErrCodeFlowControl},
		"a window update of nothing": {func(p *peer) { p.fr.WriteWindowUpdate(0, 0) }, 0, http2.ErrCodeProtocol},
		"more than the conn's window": {func(p *peer) {
			for id := uint32(1); id <= 5; id += 2 {
				if id > 1 {
					p.head(id, false, post("/"))
				}
				for range 8 {
					p.fr.WriteData(id, false, make([]byte, frameSize))
				}
			}
		}, 0, http2.ErrCodeFlowControl},
		"a request past its end": {func(p *peer) {
			p.head(3, true, get("/"))
			p.head(3, true, fields("a", "b"))
		}, http2.ErrCodeStreamClosed, 0},

		"a stream's window too large": {func(p *peer) { p.fr.WriteWindowUpdate(1, maxWindow) }, http2.ErrCodeFlowControl, 0},
		"an update of nothing":        {func(p *peer) { p.fr.WriteWindowUpdate(1, 0) }, http2.ErrCodeProtocol, 0},
		"more than its window": {func(p *peer) {
			for range 9 {
				p.fr.WriteData(1, false, make([]byte, frameSize))
			}
		}, http2.ErrCodeFlowControl, 0},
		"more than its length":        {func(p *peer) { p.fr.WriteData(1, false, make([]byte, 11)) }, http2.ErrCodeProtocol, 0},
		"less than its length":        {func(p *peer) { p.fr.WriteData(1, true, make([]byte, 9)) }, http2.ErrCodeProtocol, 0},
		"trailers before its length":  {func(p *peer) { p.head(1, true, fields("a", "b")) }, http2.ErrCodeProtocol, 0},
		"trailers that do not end":    {func(p *peer) { p.head(1, false, fields("a", "b")) }, http2.ErrCodeProtocol, 0},
		"trailers with pseudo fields": {func(p *peer) { p.head(1, true, fields(":path", "/")) }, http2.ErrCodeProtocol, 0},
		"trailers of a connection":    {func(p *peer) { p.head(1, true, fields("connection", "x")) }, http2.ErrCodeProtocol, 0},
		"a stream on itself":          {func(p *peer) { p.fr.WritePriority(1, http2.PriorityParam{StreamDep: 1}) }, http2.ErrCodeProtocol, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, streams := newServed(t, func(c *Config) { c.Window = 1 << 18; c.StreamWindow = 1 << 17 })
			s.greet()
			length := "10"
			if strings.Contains(name, "window") {
				length = "1000000"
			}
			s.head(1, false, post("/", "content-length", length))
			st := <-streams
			defer st.Close()
			c.do(s.peer)
			if c.stream == 0 {
				s.wantGoAway(c.conn)
				return
			}
			id := uint32(1)
			if name == "a request past its end" {
				id = 3
			}
			s.wantReset(id, c.stream)
			s.head(99, true, get("/"))
			for st := range streams {
				if st.ID() == 99 {
					break
				}
			}
		})
	}
}

// Frames that were on their way when we ended a stream are no fault.
func TestFramesBehindOurReset(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	s.head(1, false, post("/"))
	st := <-streams
	st.Close()
	s.wantReset(1, http2.ErrCodeCancel)
	s.fr.WriteData(1, false, make([]byte, 1000))
	s.head(1, true, fields("a", "b"))
	s.fr.WriteWindowUpdate(1, 5)
	s.fr.WriteRSTStream(1, http2.ErrCodeCancel)
	s.fr.WriteRawFrame(0xfa, 0, 0, []byte("of a type that nobody knows"))
	s.fr.WritePing(false, [8]byte{1})
	if f := want[*http2.PingFrame](s.peer); !f.IsAck() || f.Data != [8]byte{1} {
		t.Errorf("got %v", f)
	}
	// Closed by both, it is one.
	s.head(3, true, get("/"))
	st = <-streams
	check(t, st.WriteHead(fields(":status", "204"), true))
	want[*http2.HeadersFrame](s.peer)
	s.fr.WriteData(3, false, nil)
	s.wantReset(3, http2.ErrCodeStreamClosed)
	st.Close()
}

func TestNoPreface(t *testing.T) {
	s, _ := newServed(t, nil)
	s.peer.nc.Write([]byte("GET / HTTP/1.1\r\n")) // shorter than a preface
	s.wantGoAway(http2.ErrCodeProtocol)
	s, _ = newServed(t, nil)
	s.peer.nc.Write([]byte(http2.ClientPreface))
	s.head(1, true, get("/"))
	s.wantGoAway(http2.ErrCodeProtocol)
}

// A header list may be long, but not by naming one long field again and again.
func TestHeaderListsThatAreMoreThanTheirBytes(t *testing.T) {
	s, streams := newServed(t, func(c *Config) { c.MaxHeaderList = 1 << 20 })
	s.greet()
	named := func(times int) []Field {
		fs := append(get("/"), Field{Name: "x", Value: strings.Repeat("\x01", 3900)})
		for range times {
			fs = append(fs, fs[4])
		}
		return fs
	}
	long := append(get("/"), Field{Name: "x", Value: strings.Repeat("long", 75_000)}, Field{Name: "y", Value: strings.Repeat("longer", 50_000)})
	for i, c := range []struct {
		fields []Field
		whole  bool
	}{
		{named(0), true},
		{named(10), true},   // 43 KB in 19 bytes: the first was named before
		{named(20), false},  // 83 KB
		{named(250), false}, // 983 KB
		{long, true},
	} {
		id, block := uint32(2*i+1), s.encode(c.fields)
		piece := block[:min(len(block), frameSize)]
		s.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: piece, EndHeaders: len(piece) == len(block), EndStream: true})
		for block = block[len(piece):]; len(block) > 0; block = block[len(piece):] {
			piece = block[:min(len(block), frameSize)]
			s.fr.WriteContinuation(id, len(piece) == len(block), piece)
		}
		h := (<-streams).Head()
		if h.TooLong == c.whole || c.whole && len(h.Fields) != len(c.fields) || h.ListSize() > max(freeList, maxRatio*h.Size)+4000 {
			t.Errorf("%d bytes: %d fields, %d long, too long: %v", h.Size, len(h.Fields), h.ListSize(), h.TooLong)
		}
	}
}

// What a server says before its answer is held up to the length of one header list.
func TestInformationalAnswersThatAreNotRead(t *testing.T) {
	s := newDialled(t)
	st := s.open(t, "/", true)
	long := strings.Repeat("x", 10_000)
	for range 8 {
		s.head(1, false, fields(":status", "103", "x", long))
	}
	s.wantReset(1, http2.ErrCodeEnhanceYourCalm)
	var e *Error
	for range 7 {
		if h, err := st.ReadHead(); err != nil || h.Status() != 103 {
			t.Errorf("%v %v", h, err)
		}
	}
	if _, err := st.ReadHead(); !errors.As(err, &e) || e.Code != http2.ErrCodeEnhanceYourCalm {
		t.Error(err)
	}
}
