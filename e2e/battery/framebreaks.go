package battery

import (
	"strings"

	"golang.org/x/net/http2"
)

// brokenFrames are what no browser may send in frames (RFC 9113 §5 and §6): its
// connection ends by the right code, or the stream alone, and whatever was going on.
func brokenFrames() []Case {
	const (
		protocol    = http2.ErrCodeProtocol
		size        = http2.ErrCodeFrameSize
		flow        = http2.ErrCodeFlowControl
		compression = http2.ErrCodeCompression
		calm        = http2.ErrCodeEnhanceYourCalm
	)
	cut := part(asked(5, "GET", "/r"))
	var cases []Case
	for _, b := range []struct {
		name   string
		frames []frame
		code   http2.ErrCode
		// of the request that the frames are, if they are one
		refused string // "code status"
		unread  bool   // nothing could be read of its head
	}{
		{name: "no HPACK", frames: []frame{block(http2.FrameHeaders, 5, "\xff\xff\xff\xff\xff\xff")}, code: compression, refused: "bad_request 0", unread: true},
		{name: "index beyond the table", frames: []frame{block(http2.FrameHeaders, 5, "\xff\x00")}, code: compression, refused: "bad_request 0", unread: true},
		{name: "Huffman code that is none", frames: []frame{cut, block(http2.FrameContinuation, 5, "\x00\x81\xff\x81\xff")}, code: compression, refused: "bad_request 0"},
		{name: "string past its block", frames: []frame{cut, block(http2.FrameContinuation, 5, "\x00\x05a")}, code: compression, refused: "bad_request 0"},
		{name: "table size beyond its limit", frames: []frame{block(http2.FrameHeaders, 5, "\x3f\xe2\x1f")}, code: compression, refused: "bad_request 0", unread: true},
		{name: "PING in a header block", frames: []frame{cut, odd(http2.FramePing, 0, 0, "12345678")}, code: protocol, refused: "bad_request 0"},
		{name: "HEADERS in a header block", frames: []frame{cut, getOn(7)}, code: protocol, refused: "bad_request 0"},
		{name: "another stream's CONTINUATION", frames: []frame{cut, block(http2.FrameContinuation, 7, "")}, code: protocol, refused: "bad_request 0"},
		{name: "unknown frame in a header block", frames: []frame{cut, odd(0xfe, 0, 5, "")}, code: protocol, refused: "bad_request 0"},
		{name: "field longer than 1 MiB", frames: []frame{head(5, ":method", "GET", ":scheme", "https", ":authority", "origin.test", ":path", "/r", "x", strings.Repeat("\x01", mebibyte+1))}, code: calm, refused: "head_too_long 0"},
		{name: "CONTINUATION without end", frames: append([]frame{cut}, repeat(part(block(http2.FrameContinuation, 5, "")), 256)...), code: calm, refused: "head_too_long 0"},

		{name: "CONTINUATION of nothing", frames: []frame{block(http2.FrameContinuation, 5, "")}, code: protocol},
		{name: "request on an even stream", frames: []frame{getOn(6)}, code: protocol},
		{name: "request on stream 0", frames: []frame{getOn(0)}, code: protocol},
		{name: "request below an earlier one", frames: []frame{getOn(9), getOn(7)}, code: protocol, refused: "-"},
		{name: "DATA of an idle stream", frames: []frame{data(5, "x")}, code: protocol},
		{name: "DATA of stream 0", frames: []frame{data(0, "x")}, code: protocol},
		{name: "RST_STREAM of an idle stream", frames: []frame{rst(5, 0)}, code: protocol},
		{name: "RST_STREAM of stream 0", frames: []frame{rst(0, 0)}, code: protocol},
		{name: "RST_STREAM too short", frames: []frame{odd(http2.FrameRSTStream, 0, 3, "\x00")}, code: size},
		{name: "WINDOW_UPDATE of an idle stream", frames: []frame{odd(http2.FrameWindowUpdate, 0, 5, "\x00\x00\x00\x01")}, code: protocol},
		{name: "WINDOW_UPDATE of nothing for all", frames: []frame{odd(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00")}, code: protocol},
		{name: "WINDOW_UPDATE beyond the largest for all", frames: []frame{odd(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff")}, code: flow},
		{name: "PUSH_PROMISE", frames: []frame{odd(http2.FramePushPromise, 4, 3, "\x00\x00\x00\x02\x82")}, code: protocol},
		{name: "PING of a stream", frames: []frame{odd(http2.FramePing, 0, 3, "12345678")}, code: protocol},
		{name: "PING too short", frames: []frame{odd(http2.FramePing, 0, 0, "1234567")}, code: size},
		{name: "GOAWAY of a stream", frames: []frame{odd(http2.FrameGoAway, 0, 3, "\x00\x00\x00\x00\x00\x00\x00\x00")}, code: protocol},
		{name: "SETTINGS of a stream", frames: []frame{odd(http2.FrameSettings, 0, 3, "")}, code: protocol},
		{name: "SETTINGS cut", frames: []frame{odd(http2.FrameSettings, 0, 0, "12345")}, code: size},
		{name: "SETTINGS acknowledged with settings", frames: []frame{odd(http2.FrameSettings, 1, 0, "\x00\x04\x00\x00\x00\x01")}, code: size},
		{name: "push setting of 2", frames: []frame{odd(http2.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x02")}, code: protocol},
		{name: "window setting beyond the largest", frames: []frame{odd(http2.FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00")}, code: flow},
		{name: "frame size setting too small", frames: []frame{odd(http2.FrameSettings, 0, 0, "\x00\x05\x00\x00\x00\x01")}, code: protocol},
		{name: "frame larger than is taken", frames: []frame{data(3, strings.Repeat("x", 16<<10+1))}, code: size},
		{name: "padding longer than its frame", frames: []frame{odd(http2.FrameData, http2.FlagDataPadded, 3, "\x09x")}, code: protocol},
		{name: "HEADERS too short for its priority", frames: []frame{odd(http2.FrameHeaders, http2.FlagHeadersPriority|endHeaders, 5, "\x00")}, code: size},
	} {
		method, url := "GET", "{o}/r"
		if b.unread {
			method, url = "", "{o}/"
		}
		// What was going on: a request that waits, and one that is being sent.
		log := []entry{
			{method: "GET", url: "{o}/", failed: "wait bad_request", reason: b.code.String() + ": "},
			{method: "POST", url: "{o}/up", sent: "some", failed: "send bad_request", reason: b.code.String() + ": "},
		}
		switch b.refused {
		case "":
		case "-": // it was passed on
			log = append(log, entry{method: "GET", url: "{o}/", failed: anyFailure, reason: b.code.String() + ": "})
		default:
			log = append(log, entry{method: method, url: url, refused: b.refused, reason: b.code.String() + ": "})
		}
		cases = append(cases, Case{
			Group: "HTTP/2, broken", Name: b.name,
			talk: func(t *talk) {
				t.asks(getOn(1))
				t.getsFrames(getOn(1))
				t.asks(asked(3, "POST", "/up"), data(3, "some"))
				t.getsFrames(asked(3, "POST", "/up"), data(3, "some"))
				t.loggedTimes(`"event":"open"`, 2)
				t.asks(b.frames...)
				t.goneWith(b.code)
				t.hangsUp()
				t.abandoned()
			},
			log: log,
		})
	}
	return inFrames(append(cases, brokenStreams()...))
}

func repeat(f frame, n int) (frames []frame) {
	for range n {
		frames = append(frames, f)
	}
	return frames
}

// loggedTimes waits until the log, if there is one, has s so often.
func (t *talk) loggedTimes(s string, n int) {
	if t.err != nil || t.o.Dir == "" {
		return
	}
	t.check(poll(t.o.Patience, "lines of the log with "+s, func() bool { return strings.Count(t.o.Dump(), s) >= n }))
}

// abandoned says that the server is told that nothing more is wanted of it: each
// stream is reset, and the connection ends.
func (t *talk) abandoned() {
	if t.servesFrames() {
		t.check(t.s.abandoned())
	}
}

// brokenStreams are what ends a stream alone.
func brokenStreams() []Case {
	const group = "HTTP/2, broken stream"
	var cases []Case
	for _, b := range []struct {
		name   string
		head   []string // of a POST, besides
		frames []frame  // on stream 1, behind what has gone up: the head and "some"
		code   http2.ErrCode
		sent   string // besides
	}{
		{name: "more than its content-length", head: []string{"content-length", "5"}, frames: []frame{data(1, "xy")}, code: http2.ErrCodeProtocol},
		{name: "less than its content-length", head: []string{"content-length", "5"}, frames: []frame{last(data(1, ""))}, code: http2.ErrCodeProtocol},
		{name: "trailers before its content-length", head: []string{"content-length", "5"}, frames: []frame{last(head(1, "a", "b"))}, code: http2.ErrCodeProtocol},
		{name: "trailers with a pseudo field", frames: []frame{last(head(1, ":path", "/"))}, code: http2.ErrCodeProtocol},
		{name: "trailers in upper case", frames: []frame{last(head(1, "A", "b"))}, code: http2.ErrCodeProtocol},
		{name: "trailers of the connection", frames: []frame{last(head(1, "transfer-encoding", "chunked"))}, code: http2.ErrCodeProtocol},
		{name: "trailers with a line break", frames: []frame{last(head(1, "a", "b\r\nc: d"))}, code: http2.ErrCodeProtocol},
		{name: "trailers that do not end it", frames: []frame{head(1, "a", "b")}, code: http2.ErrCodeProtocol},
		{name: "WINDOW_UPDATE of nothing", frames: []frame{odd(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x00")}, code: http2.ErrCodeProtocol},
		{name: "WINDOW_UPDATE beyond the largest", frames: []frame{odd(http2.FrameWindowUpdate, 0, 1, "\x7f\xff\xff\xff")}, code: http2.ErrCodeFlowControl},
		{name: "PRIORITY on itself", frames: []frame{odd(http2.FramePriority, 0, 1, "\x00\x00\x00\x01\x00")}, code: http2.ErrCodeProtocol},
	} {
		request := asked(1, "POST", "/r", b.head...)
		cases = append(cases, Case{
			Group: group, Name: b.name,
			talk: func(t *talk) {
				t.asks(request, data(1, "some"))
				t.getsFrames(request, data(1, "some"))
				t.asks(b.frames...)
				t.seesFrames(rst(1, b.code))
				t.getsFrames(rst(1, http2.ErrCodeCancel))
				t.exchanges(3, 3)
			},
			log: []entry{{method: "POST", url: "{o}/r", sent: "some", failed: "send bad_request", reason: b.code.String() + ": "}, got()},
		})
	}
	return append(cases,
		Case{Group: group, Name: "DATA behind its end", talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.asks(data(1, "x"))
			t.seesFrames(rst(1, http2.ErrCodeStreamClosed))
			t.getsFrames(rst(1, http2.ErrCodeCancel))
			t.exchanges(3, 3)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait bad_request", reason: "STREAM_CLOSED: "}, got()}},
		Case{Group: group, Name: "HEADERS behind its end", talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.asks(last(head(1, "a", "b")))
			t.seesFrames(rst(1, http2.ErrCodeStreamClosed))
			t.getsFrames(rst(1, http2.ErrCodeCancel))
			t.exchanges(3, 3)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait bad_request", reason: "STREAM_CLOSED: "}, got()}},
		Case{Group: group, Name: "DATA of one that is closed", talk: func(t *talk) {
			t.exchanges(1, 1)
			t.asks(data(1, "x"))
			t.seesFrames(rst(1, http2.ErrCodeStreamClosed))
			t.exchanges(3, 3)
		}, log: []entry{got(), got()}},
		Case{Group: group, Name: "HEADERS of one that is closed", talk: func(t *talk) {
			t.exchanges(1, 1)
			t.asks(getOn(1))
			t.goneWith(http2.ErrCodeStreamClosed)
			t.hangsUp()
			t.abandoned()
		}, log: []entry{got()}},
		Case{Group: group, Name: "frames of one that the proxy has reset", talk: func(t *talk) {
			t.asks(asked(1, "POST", "/r", "Upper", "x"), data(1, "x"))
			t.seesFrames(rst(1, http2.ErrCodeProtocol))
			t.asks(data(1, "y"), last(head(1, "a", "b")), rst(1, http2.ErrCodeCancel))
			t.exchanges(3, 1)
		}, log: []entry{{method: "POST", url: "{o}/r", refused: "bad_request 0", reason: "PROTOCOL_ERROR: "}, got()}},
	)
}
