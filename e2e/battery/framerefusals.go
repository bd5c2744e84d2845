package battery

import (
	"fmt"
	"strings"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
)

// refusedFrames are requests of HTTP/2 that must not go up. Their streams are
// reset, or get a page; the connection goes on.
func refusedFrames() []Case {
	// A GET of /r in which some fields are others.
	but := func(pairs ...string) []string {
		list := []string{":method", "GET", ":scheme", "https", ":authority", "origin.test", ":path", "/r"}
		for i := 0; i < len(pairs); i += 2 {
			for j := 0; j < len(list); j += 2 {
				if list[j] == pairs[i] {
					list[j+1] = pairs[i+1]
				}
			}
		}
		return list
	}
	without := func(name string) (kept []string) {
		list := but()
		for i := 0; i < len(list); i += 2 {
			if list[i] != name {
				kept = append(kept, list[i], list[i+1])
			}
		}
		return kept
	}
	with := func(pairs ...string) []string { return append(but(), pairs...) }
	long := strings.Repeat("x", 60_000)

	var cases []Case
	for _, r := range []struct {
		name   string
		fields []string
		method string // that is logged; "": GET
		url    string // "": {o}/r
		status int    // of the page; 0: the stream is reset
	}{
		{name: "no :method", fields: without(":method"), method: "-"},
		{name: "no :scheme", fields: without(":scheme")},
		{name: "no :path", fields: without(":path"), url: "{o}/"},
		{name: "empty :method", fields: but(":method", ""), method: "-"},
		{name: "empty :path", fields: but(":path", ""), url: "{o}/"},
		{name: ":path without a slash", fields: but(":path", "r"), url: "{o}/"},
		{name: ":path that continues the authority", fields: but(":path", ".evil.test/r"), url: "{o}/"},
		{name: ":path that makes the authority a user", fields: but(":path", "@evil.test/r"), url: "{o}/"},
		{name: "absolute :path", fields: but(":path", "https://origin.test/r"), url: "{o}/"},
		{name: "* of a GET", fields: but(":path", "*"), url: "{o}/"},
		{name: "space in :path", fields: but(":path", "/r HTTP/1.1"), url: "{o}/r%20HTTP/1.1"},
		{name: "line break in :path", fields: but(":path", "/r\r\nx: y"), url: "{o}/r%0D%0Ax:%20y"},
		{name: "NUL in :path", fields: but(":path", "/r\x00"), url: "{o}/r%00"},
		{name: "space in :method", fields: but(":method", "GET /"), method: "GET /"},
		{name: "line break in :method", fields: but(":method", "GET\r\n"), method: "GET\r\n"},
		{name: ":method twice", fields: append([]string{":method", "GET"}, but()...)},
		{name: ":path twice", fields: append([]string{":path", "/r"}, but()...)},
		{name: ":authority twice", fields: append([]string{":authority", "origin.test"}, but()...)},
		{name: ":scheme twice", fields: append([]string{":scheme", "https"}, but()...)},
		{name: "an unknown pseudo field", fields: append([]string{":x", "y"}, but()...)},
		{name: "an answer's pseudo field", fields: append([]string{":status", "200"}, but()...)},
		{name: "pseudo fields behind others", fields: append([]string{"a", "b"}, but()...)},
		{name: "pseudo field that comes again behind others", fields: with("a", "b", ":path", "/smuggled")},
		{name: "user name in :authority", fields: but(":authority", "user@origin.test")},
		{name: "line break in :authority", fields: but(":authority", "origin.test\r\nx: y")},

		{name: "upper case in a name", fields: with("Accept", "x")},
		{name: "empty name", fields: with("", "x")},
		{name: "space in a name", fields: with("a b", "x")},
		{name: "colon in a name", fields: with("a:b", "x")},
		{name: "line break in a name", fields: with("a\r\nb", "x")},
		{name: "NUL in a name", fields: with("a\x00", "x")},
		{name: "bytes in a name that are no text", fields: with("\xff", "x")},
		{name: "letters beyond ASCII in a name", fields: with("caf\xc3\xa9", "x")},
		{name: "CR in a value", fields: with("a", "b\rc")},
		{name: "LF in a value", fields: with("a", "b\nc: d")},
		{name: "NUL in a value", fields: with("a", "b\x00c")},
		{name: "DEL in a value", fields: with("a", "b\x7f")},

		{name: "connection", fields: with("connection", "close")},
		{name: "connection that names a field", fields: with("connection", "a", "a", "b")},
		{name: "keep-alive", fields: with("keep-alive", "timeout=5")},
		{name: "proxy-connection", fields: with("proxy-connection", "keep-alive")},
		{name: "transfer-encoding", fields: with("transfer-encoding", "chunked")},
		{name: "upgrade", fields: with("upgrade", "h2c")},
		{name: "te of more than trailers", fields: with("te", "trailers, gzip")},

		{name: "content-length without content", fields: with("content-length", "5")},
		{name: "two content-lengths that differ", fields: with("content-length", "0", "content-length", "5")},
		{name: "list of content-lengths", fields: with("content-length", "0, 0")},
		{name: "content-length with a plus", fields: with("content-length", "+0")},
		{name: "negative content-length", fields: with("content-length", "-1")},
		{name: "hexadecimal content-length", fields: with("content-length", "0x0")},
		{name: "empty content-length", fields: with("content-length", "")},
		{name: "content-length beyond 64 bits", fields: with("content-length", "18446744073709551616")},
		{name: "two hosts", fields: with("host", "origin.test", "host", "origin.test")},

		{name: "CONNECT with a :path", fields: but(":method", "CONNECT"), method: "CONNECT"},
		{name: ":protocol that was not offered", fields: append([]string{":protocol", "websocket"}, but(":method", "CONNECT")...), method: "CONNECT"},
		{name: ":protocol of a GET", fields: append([]string{":protocol", "websocket"}, but()...)},

		{name: "another :authority", fields: but(":authority", "other.test"), status: 421},
		{name: "another port", fields: but(":authority", "origin.test:8443"), status: 421},
		{name: "an address for :authority", fields: but(":authority", "192.0.2.1"), status: 421},
		{name: "a name below ours", fields: but(":authority", "www.origin.test"), status: 421},
		{name: "another host", fields: with("host", "other.test"), status: 421},
		{name: "another host alone", fields: append(without(":authority"), "host", "other.test"), status: 421},
		{name: "another scheme", fields: but(":scheme", "http"), status: 421},
		{name: "no host", fields: without(":authority"), status: 400},
		{name: "empty :authority", fields: but(":authority", ""), status: 400},
		{name: ":authority that is none", fields: but(":authority", "a b"), status: 400},
		{name: "port that is none", fields: but(":authority", "origin.test:65536"), status: 400},
		{name: "CONNECT in a CONNECT", fields: []string{":method", "CONNECT", ":authority", "other.test:443"}, method: "CONNECT", url: "{o}/", status: 400},

		{name: "fields longer than 1 MiB", fields: with(strings.Split(strings.Repeat("x "+long+" ", 18)+"x", " ")...), status: 431},
		{name: "a field of 4 KB, 200 times", fields: with(strings.Split(strings.Repeat("x "+strings.Repeat("y", 3900)+" ", 200)+"x", " ")...), status: 431},
		{name: "10,001 fields", fields: with(strings.Split(strings.Repeat("a  ", 10_001)+"a", " ")...), status: 431},
	} {
		if r.method == "" {
			r.method = "GET"
		} else if r.method == "-" {
			r.method = ""
		}
		if r.url == "" {
			r.url = "{o}/r"
		}
		e := entry{method: r.method, url: r.url, refused: "bad_request 0", reason: "PROTOCOL_ERROR: ", check: discreet}
		switch r.status {
		case 400:
			e.refused, e.reason = "bad_request 400", ""
		case 421:
			e.refused, e.reason = "misdirected 421", ""
		case 431:
			e.refused, e.reason = "head_too_long 431", ""
		}
		cases = append(cases, Case{
			Group: "HTTP/2, refused", Name: r.name,
			talk: func(t *talk) {
				t.asks(last(head(1, r.fields...)))
				if r.status == 0 {
					t.seesFrames(rst(1, http2.ErrCodeProtocol))
				} else {
					t.pageFrames(r.status, "refused")
				}
				t.exchanges(3, 1) // nothing has gone up before it
			},
			log: []entry{e, got()},
		})
	}
	return inFrames(append(cases, refusedOtherwise()...))
}

// discreet holds the entry of a malformed request to what the log may say: pseudo
// fields where they belong, and no user name.
func discreet(o *netlog.Open, _ *netlog.End) error {
	for _, h := range o.Request.Headers {
		if strings.HasPrefix(h.Name, ":") {
			return fmt.Errorf("the header %q", h.Name)
		}
	}
	for _, h := range o.Request.Pseudo {
		if !strings.HasPrefix(h.Name, ":") || strings.Contains(h.Value, "@") {
			return fmt.Errorf("the pseudo header %q, %q", h.Name, h.Value)
		}
	}
	if strings.Contains(o.Request.URL+o.Request.Target, "@") {
		return fmt.Errorf("the target %q of %q", o.Request.Target, o.Request.URL)
	}
	return nil
}

// inFrames has cases run on the leg of HTTP/2. They are right by our design: how a
// stream is refused is the proxy's affair.
func inFrames(cases []Case) []Case {
	for i := range cases {
		cases[i].Legs, cases[i].Ours = HTTP2, true
	}
	return cases
}

// refusedOtherwise are requests that are refused for more than their heads.
func refusedOtherwise() []Case {
	const group = "HTTP/2, refused"
	dependent := last(asked(3, "GET", "/r"))
	dependent.flags |= http2.FlagHeadersPriority
	dependent.payload = append(word(3), 0)
	return []Case{
		{Group: group, Name: "body of a misdirected request", talk: func(t *talk) {
			t.asks(head(1, ":method", "POST", ":scheme", "https", ":authority", "other.test", ":path", "/r"), data(1, "ab"), last(data(1, "c")))
			t.pageFrames(421, "refused")
			t.exchanges(3, 1)
		}, log: []entry{{method: "POST", url: "{o}/r", refused: "misdirected 421", sent: "abc"}, got()}},
		{Group: group, Name: "stream that depends on itself", talk: func(t *talk) {
			t.exchanges(1, 1)
			t.asks(dependent)
			t.seesFrames(rst(3, http2.ErrCodeProtocol))
			t.exchanges(5, 3)
		}, log: []entry{got(), {method: "GET", url: "{o}/r", refused: "bad_request 0", reason: "PROTOCOL_ERROR: "}, got()}},
		{Group: group, Name: "more at once than is offered", talk: func(t *talk) {
			t.sessionFrames()
			if t.err != nil {
				return
			}
			t.b.greet()
			t.next()
			t.servesFrames(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
			t.offered(1)
			t.asks(last(asked(1, "GET", "/first")))
			t.getsFrames(last(asked(1, "GET", "/first")))
			t.asks(asked(3, "POST", "/r"), last(data(3, "body")), last(asked(5, "GET", "/r")))
			t.seesFrames(rst(3, http2.ErrCodeRefusedStream))
			t.seesFrames(rst(5, http2.ErrCodeRefusedStream))
			t.logged("REFUSED_STREAM")
			t.answers(fine(1)...)
			t.seesFrames(fine(1)...)
			t.exchanges(7, 3)
		}, log: []entry{
			{method: "GET", url: "{o}/first", status: 200, received: okBody},
			{method: "POST", url: "{o}/r", refused: "bad_request 0", reason: "REFUSED_STREAM: "},
			{method: "GET", url: "{o}/r", refused: "bad_request 0", reason: "REFUSED_STREAM: "},
			got(),
		}},
	}
}

// offered waits until the browser has acknowledged an offer of that many streams.
func (t *talk) offered(most uint32) {
	for t.err == nil {
		t.b.wait()
		f, err := t.b.h2().ReadFrame()
		if t.check(err); err != nil {
			return
		}
		if s, ok := f.(*http2.SettingsFrame); ok && !s.IsAck() {
			t.b.h2().WriteSettingsAck()
			if v, _ := s.Value(http2.SettingMaxConcurrentStreams); v == most {
				return
			}
		}
	}
}
