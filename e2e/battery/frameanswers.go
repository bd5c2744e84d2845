package battery

import (
	"fmt"
	"strings"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
)

// passingFrames are requests and answers in frames that pass as they came.
func passingFrames() []Case {
	const group = "HTTP/2, passing"
	long := strings.Repeat("long ", 20_000)
	padded := func(f frame, n int) frame {
		f.flags |= http2.FlagDataPadded
		f.payload = append(append([]byte{byte(n)}, f.payload...), make([]byte, n)...)
		return f
	}
	var cases []Case
	for _, p := range []struct {
		name string
		// The parties' frames, on stream 1, and what the other side gets; nil: the same.
		asks, gets, answers, sees []frame
		log                       entry
	}{
		{name: "a GET", asks: []frame{getOn(1)}, log: entry{method: "GET", url: "{o}/"}},
		{name: "fields in any order and odd spelling", asks: []frame{last(head(1, ":path", "/a%7e//../?q=%zz&&", ":authority", "origin.test", ":method", "GET", ":scheme", "https",
			"z", "", "a", "1", "z", "caf\xe9", "a", " 2", "te", "trailers"))}, log: entry{method: "GET", url: "{o}/a%7e//../?q=%zz&&"}},
		{name: "cookies in crumbs", asks: []frame{getOn(1, "cookie", "a=1", "x", "y", "cookie", "b=2", "cookie", "a=3")}, log: entry{method: "GET", url: "{o}/",
			check: func(o *netlog.Open, _ *netlog.End) error {
				want := "[cookie=a=1 x=y cookie=b=2 cookie=a=3]"
				if got := fmt.Sprint(words(o.Request.Headers)); got != want {
					return fmt.Errorf("the headers are %s, and were to be %s", got, want)
				}
				return nil
			}}},
		{name: ":authority in upper case, with the port", asks: []frame{last(head(1, ":method", "GET", ":scheme", "https", ":authority", "ORIGIN.test:443", ":path", "/"))}, log: entry{method: "GET", url: "{o}/"}},
		{name: "host in place of :authority", asks: []frame{last(head(1, ":method", "GET", ":scheme", "https", ":path", "/", "host", "origin.test"))}, log: entry{method: "GET", url: "{o}/"}},
		{name: "OPTIONS *", asks: []frame{last(asked(1, "OPTIONS", "*"))}, log: entry{method: "OPTIONS", url: "{o}/"}},
		{name: "a method that nobody knows", asks: []frame{last(asked(1, "BREW", "/pot"))}, log: entry{method: "BREW", url: "{o}/pot"}},
		{name: "header block in CONTINUATIONs", asks: []frame{part(last(asked(1, "GET", "/"))), part(more(1, "a", "b")), more(1, "c", "d")}, gets: []frame{getOn(1, "a", "b", "c", "d")}, log: entry{method: "GET", url: "{o}/"}},
		{name: "header list of 100 KB", asks: []frame{getOn(1, "a", long)}, log: entry{method: "GET", url: "{o}/"}},
		{name: "a POST with its length", asks: []frame{asked(1, "POST", "/", "content-length", "4"), last(data(1, "body"))}, log: entry{method: "POST", url: "{o}/", sent: "body"}},
		{name: "a POST with an empty last frame", asks: []frame{asked(1, "POST", "/", "content-length", "4"), data(1, "body"), last(data(1, ""))},
			gets: []frame{asked(1, "POST", "/", "content-length", "4"), last(data(1, "body"))}, log: entry{method: "POST", url: "{o}/", sent: "body"}},
		{name: "a POST of nothing", asks: []frame{asked(1, "POST", "/"), last(data(1, ""))}, log: entry{method: "POST", url: "{o}/"}},
		{name: "padding", asks: []frame{asked(1, "POST", "/"), padded(data(1, "bo"), 255), last(padded(data(1, "dy"), 0))}, gets: []frame{asked(1, "POST", "/"), last(data(1, "body"))}, log: entry{method: "POST", url: "{o}/", sent: "body"}},
		{name: "trailers", asks: []frame{asked(1, "POST", "/", "trailer", "x-sum"), data(1, "body"), last(head(1, "x-sum", "1", "x-sum", "2"))}, log: entry{method: "POST", url: "{o}/", sent: "body",
			check: func(o *netlog.Open, _ *netlog.End) error {
				if got := fmt.Sprint(words(o.Request.Trailers)); got != "[x-sum=1 x-sum=2]" {
					return fmt.Errorf("the trailers are %s", got)
				}
				return nil
			}}},
		{name: "trailers alone", asks: []frame{asked(1, "POST", "/"), last(head(1, "a", "b"))}, log: entry{method: "POST", url: "{o}/"}},
		{name: "unknown frames and flags", asks: []frame{odd(0xfe, 0xff, 1, "what?"), odd(http2.FramePing, 0xfe, 0, "12345678"), getOn(1)}, gets: []frame{getOn(1)}, log: entry{method: "GET", url: "{o}/"}},

		{name: "informational answers", answers: append([]frame{head(1, ":status", "100"), head(1, ":status", "103", "link", "</x>", "link", "</y>"), head(1, ":status", "199")}, fine(1)...),
			log: entry{received: okBody, check: func(_ *netlog.Open, e *netlog.End) error {
				if got := e.Response.Informational; len(got) != 3 || got[1].Status != 103 || fmt.Sprint(words(got[1].Headers)) != "[link=</x> link=</y>]" {
					return fmt.Errorf("the informational answers are %+v", got)
				}
				return nil
			}}},
		{name: "204", answers: []frame{last(head(1, ":status", "204"))}, log: entry{status: 204}},
		{name: "304 with a content-length", answers: []frame{last(head(1, ":status", "304", "content-length", "4"))}, log: entry{status: 304}},
		{name: "answer to HEAD", asks: []frame{last(asked(1, "HEAD", "/"))}, answers: []frame{last(head(1, ":status", "200", "content-length", "4"))}, log: entry{method: "HEAD", url: "{o}/"}},
		{name: "answer of nothing", answers: []frame{head(1, ":status", "200"), last(data(1, ""))}, log: entry{}},
		{name: "answer with trailers", answers: []frame{head(1, ":status", "200", "content-type", "application/grpc"), data(1, "\x00"), last(head(1, "grpc-status", "0", "grpc-message", ""))}, log: entry{received: "\x00",
			check: func(_ *netlog.Open, e *netlog.End) error {
				if got := fmt.Sprint(words(e.Response.Trailers)); got != "[grpc-status=0 grpc-message=]" {
					return fmt.Errorf("the trailers are %s", got)
				}
				return nil
			}}},
		{name: "answer of trailers alone", answers: []frame{last(head(1, ":status", "200", "grpc-status", "12"))}, log: entry{}},
		{name: "status that nobody knows", answers: []frame{last(head(1, ":status", "999"))}, log: entry{status: 999}},
		{name: "answer's head of 100 KB", answers: []frame{head(1, ":status", "200", "a", long), last(data(1, ""))}, log: entry{}},
		{name: "answer with padding", answers: []frame{head(1, ":status", "200"), padded(data(1, "fi"), 100), last(padded(data(1, "ne"), 0))}, sees: []frame{head(1, ":status", "200"), last(data(1, "fine"))}, log: entry{received: "fine"}},

		// What no server may answer, and what browsers make sense of, each in its way.
		{name: "answer longer than its content-length", answers: []frame{head(1, ":status", "200", "content-length", "2"), last(data(1, "fine"))}, log: entry{received: "fine"}},
		{name: "answer shorter than its content-length", answers: []frame{head(1, ":status", "200", "content-length", "9"), last(data(1, "fine"))}, log: entry{received: "fine"}},
		{name: "content-length of an answer that is none", answers: []frame{head(1, ":status", "200", "content-length", "-1"), last(data(1, "fine"))}, log: entry{received: "fine"}},
		{name: "204 with content", answers: []frame{head(1, ":status", "204"), last(data(1, "fine"))}, log: entry{status: 204, received: "fine"}},
		{name: "304 with content", answers: []frame{head(1, ":status", "304"), last(data(1, "fine"))}, log: entry{status: 304, received: "fine"}},
		{name: "content in the answer to HEAD", asks: []frame{last(asked(1, "HEAD", "/"))}, answers: []frame{head(1, ":status", "200"), last(data(1, "fine"))}, log: entry{method: "HEAD", url: "{o}/", received: "fine"}},
		{name: "upper case in an answer", answers: []frame{last(head(1, ":status", "200", "X-Upper", "x"))}, log: entry{}},
		{name: "connection fields in an answer", answers: []frame{last(head(1, ":status", "200", "connection", "close", "transfer-encoding", "chunked"))}, log: entry{}},
		{name: "line break in an answer's value", answers: []frame{last(head(1, ":status", "200", "a", "b\r\nc: d"))}, log: entry{}},
		{name: "field without a name in an answer", answers: []frame{last(head(1, ":status", "200", "", "x"))}, log: entry{}},
		{name: "pseudo field behind others in an answer", answers: []frame{last(head(1, ":status", "200", "a", "b", ":c", "d"))}, log: entry{}},
		{name: "pseudo field in an answer's trailers", answers: []frame{head(1, ":status", "200"), data(1, "fine"), last(head(1, ":status", "200"))}, log: entry{received: "fine"}},
	} {
		if p.asks == nil {
			p.asks, p.log.method, p.log.url = []frame{getOn(1)}, "GET", "{o}/"
		}
		if p.gets == nil {
			p.gets = p.asks
		}
		if p.answers == nil {
			p.answers, p.log.received = fine(1), okBody
		}
		if p.sees == nil {
			p.sees = p.answers
		}
		if p.log.status == 0 {
			p.log.status = 200
		}
		cases = append(cases, Case{Group: group, Name: p.name, talk: func(t *talk) {
			t.asks(p.asks...)
			t.getsFrames(p.gets...)
			t.answers(p.answers...)
			t.seesFrames(p.sees...)
			t.exchanges(3, 3)
		}, log: []entry{p.log, got()}})
	}
	return inFrames(append(cases, badAnswers()...))
}

func words(list []netlog.Header) (words []string) {
	for _, h := range list {
		words = append(words, h.Name+"="+h.Value)
	}
	return words
}

// badAnswers are answers in frames that can't be passed on.
func badAnswers() []Case {
	const group = "HTTP/2, bad answers"
	ok := head(1, ":status", "200")
	entered := entry{method: "GET", url: "{o}/"}
	var cases []Case
	for _, b := range []struct {
		name    string
		answers []frame
		code    http2.ErrCode // that the server is told
		conn    bool          // by the connection's end, else by the stream's
		seen    int           // how many of them pass before that
		got     string        // what has passed of the answer; "": nothing has, and there is a page
	}{
		{name: "no status", answers: []frame{last(head(1, "a", "b"))}, code: http2.ErrCodeProtocol},
		{name: "status of two digits", answers: []frame{last(head(1, ":status", "20"))}, code: http2.ErrCodeProtocol},
		{name: "status of letters", answers: []frame{last(head(1, ":status", "abc"))}, code: http2.ErrCodeProtocol},
		{name: "status below 100", answers: []frame{last(head(1, ":status", "099"))}, code: http2.ErrCodeProtocol},
		{name: "101", answers: []frame{head(1, ":status", "101")}, code: http2.ErrCodeProtocol},
		{name: "100 that is the last", answers: []frame{last(head(1, ":status", "100"))}, code: http2.ErrCodeProtocol},
		{name: "DATA first", answers: []frame{data(1, "x")}, code: http2.ErrCodeProtocol},
		{name: "DATA behind a 103", answers: []frame{head(1, ":status", "103"), data(1, "x")}, code: http2.ErrCodeProtocol, seen: 1},
		{name: "a field of 4 KB, 200 times", answers: []frame{last(head(1, append([]string{":status", "200"}, strings.Split(strings.Repeat("x "+strings.Repeat("y", 3900)+" ", 200)+"x", " ")...)...))}, code: http2.ErrCodeEnhanceYourCalm},
		{name: "head longer than 1 MiB", answers: []frame{last(head(1, append([]string{":status", "200"}, strings.Split(strings.Repeat("x "+strings.Repeat("y", 60_000)+" ", 18)+"x", " ")...)...))}, code: http2.ErrCodeEnhanceYourCalm},
		{name: "two heads", answers: []frame{ok, data(1, "some"), head(1, "a", "b")}, code: http2.ErrCodeProtocol, got: "some"},
		{name: "WINDOW_UPDATE of nothing", answers: []frame{ok, data(1, "some"), odd(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x00")}, code: http2.ErrCodeProtocol, got: "some"},

		{name: "no HPACK", answers: []frame{block(http2.FrameHeaders, 1, "\xff\xff\xff\xff\xff\xff")}, code: http2.ErrCodeCompression, conn: true},
		{name: "push", answers: []frame{odd(http2.FramePushPromise, 4, 1, "\x00\x00\x00\x02\x82")}, code: http2.ErrCodeProtocol, conn: true},
		{name: "an answer to nothing", answers: []frame{last(head(3, ":status", "200"))}, code: http2.ErrCodeProtocol, conn: true},
		{name: "frame larger than is taken", answers: []frame{ok, data(1, strings.Repeat("x", 16<<10+1))}, code: http2.ErrCodeFrameSize, conn: true, got: "-"},
		{name: "PING within a head", answers: []frame{part(ok), odd(http2.FramePing, 0, 0, "12345678")}, code: http2.ErrCodeProtocol, conn: true},
		{name: "push allowed", answers: []frame{odd(http2.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x01")}, code: http2.ErrCodeProtocol, conn: true},
		{name: "window beyond the largest", answers: []frame{ok, data(1, "some"), odd(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff")}, code: http2.ErrCodeFlowControl, conn: true, got: "some"},
	} {
		e := entered
		e.reason = b.code.String() + ": "
		if e.failed = "wait bad_answer"; b.got != "" {
			e.status, e.failed, e.broken, e.received = 200, "receive bad_answer", true, strings.Trim(b.got, "-")
		}
		cases = append(cases, Case{Group: group, Name: b.name, talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.answers(b.answers...)
			t.seesFrames(b.answers[:b.seen]...)
			switch b.got {
			case "":
				t.pageFrames(502, "failed")
			case "-":
				t.seesFrames(ok, rst(1, http2.ErrCodeInternal))
			default:
				t.seesFrames(ok, data(1, b.got), rst(1, http2.ErrCodeInternal))
			}
			if b.conn {
				t.getsFrames(goAway(0, b.code))
				t.finishes()
				t.serverGoes()
				t.s = nil
				t.exchanges(3, 1) // on a new one
			} else {
				t.getsFrames(rst(1, b.code))
				t.exchanges(3, 3)
			}
		}, log: []entry{e, got()}})
	}
	early := head(1, ":status", "103", "x", strings.Repeat("y", 20_000))
	return append(cases, Case{Group: group, Name: "informational answers of more than 1 MiB", talk: func(t *talk) {
		t.asks(getOn(1))
		t.getsFrames(getOn(1))
		for range mebibyte / 20_100 {
			t.answers(early)
			t.seesFrames(early)
		}
		t.answers(early)
		t.pageFrames(502, "failed")
		t.getsFrames(rst(1, http2.ErrCodeCancel))
		t.exchanges(3, 3)
	}, log: []entry{{method: "GET", url: "{o}/", failed: "wait bad_answer", reason: "the server sent too many informational answers"}, got()}})
}
