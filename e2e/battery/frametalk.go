package battery

import (
	"strconv"

	"golang.org/x/net/http2"
)

// What the parties of a talk do in HTTP/2.

// alpn is the protocol that is agreed on in TLS.
func (l Leg) alpn() string {
	if l == HTTP2 {
		return "h2"
	}
	return "http/1.1"
}

// sessionFrames is a browser that has agreed on HTTP/2 and has said nothing yet.
func (t *talk) sessionFrames() {
	if t.secure("origin.test:443", "origin.test"); t.err == nil {
		t.b.h2()
	}
}

// freshFrames is a browser and its server that have greeted each other.
func (t *talk) freshFrames() {
	if t.sessionFrames(); t.err == nil {
		t.b.greet()
	}
	t.servesFrames()
}

// servesFrames waits for the server's connection and greets.
func (t *talk) servesFrames(settings ...http2.Setting) bool {
	if t.serves() && !t.s.h2().greets {
		t.check(t.s.greeted(settings...))
	}
	return t.err == nil
}

// asks is the browser's sending.
func (t *talk) asks(frames ...frame) {
	if t.ready() {
		t.b.sends(frames...)
	}
}

// answers is the server's.
func (t *talk) answers(frames ...frame) {
	if t.servesFrames() {
		t.s.sends(frames...)
	}
}

// getsFrames says what the server gets next.
func (t *talk) getsFrames(want ...frame) {
	if t.servesFrames() {
		t.check(t.s.getsFrames(want...))
	}
}

// seesFrames says what the browser gets next.
func (t *talk) seesFrames(want ...frame) {
	if t.ready() {
		t.check(t.b.getsFrames(want...))
	}
}

// browserGoes and serverGoes say that nothing comes any more, and the connection ends.
func (t *talk) browserGoes() {
	if t.err == nil {
		t.check(t.b.goes())
	}
}

func (t *talk) serverGoes() {
	if t.servesFrames() {
		t.check(t.s.goes())
	}
}

// goneWith says that the browser gets its connection's end, with that code.
func (t *talk) goneWith(code http2.ErrCode) {
	t.seesFrames(goAway(0, code))
	t.browserGoes()
}

// pageFrames says that the browser gets the proxy's own answer on stream 1.
func (t *talk) pageFrames(status int, mark string) {
	if t.err != nil {
		return
	}
	f, err := t.b.frame()
	if t.check(err); err != nil {
		return
	}
	ours := f.kind == http2.FrameHeaders && f.stream == 1
	for name, value := range map[string]string{":status": strconv.Itoa(status), "x-agentenv-proxy": mark} {
		ours = ours && f.field(name) == value
	}
	if !ours {
		t.fail("the browser got %v, and was to get our %d", f, status)
	}
	size, _ := strconv.Atoi(f.field("content-length"))
	for !f.ends() && t.err == nil {
		f, err = t.b.frame()
		if t.check(err); err == nil && (f.kind != http2.FrameData || f.stream != 1) {
			t.fail("the browser got %v in our %d", f, status)
		}
		size -= len(f.payload)
	}
	if t.err == nil && size != 0 {
		t.fail("our %d has another length than it says, by %d", status, size)
	}
}

// field is the value of a header list's field of that name; "" when there is none.
func (f frame) field(name string) string {
	for _, field := range f.fields {
		if field.Name == name {
			return field.Value
		}
	}
	return ""
}

// getOn is a request of HTTP/2 that needs no looking at, and fine its answer.
func getOn(stream uint32, pairs ...string) frame {
	return last(asked(stream, "GET", "/", pairs...))
}

// asked is a request's head, behind which more may come.
func asked(stream uint32, method, path string, pairs ...string) frame {
	return head(stream, append([]string{":method", method, ":scheme", "https", ":authority", "origin.test", ":path", path}, pairs...)...)
}

func fine(stream uint32) []frame {
	return []frame{head(stream, ":status", "200", "content-length", "4"), last(data(stream, okBody))}
}

// exchanges has a request of the browser's stream go to the server's, and its answer back.
func (t *talk) exchanges(browsers, servers uint32) {
	t.asks(getOn(browsers))
	t.getsFrames(getOn(servers))
	t.answers(fine(servers)...)
	t.seesFrames(fine(browsers)...)
}
