package battery

import (
	"strings"
	"time"
)

// breaks are connections that end in each phase, from each side.
func breaks() []Case {
	const slow = "POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n"
	const slowUp = "POST / HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n"
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"
	var cases []Case
	for how, leave := range map[string]func(*talk){
		"closes":      (*talk).hangsUp,
		"resets":      (*talk).hangsUpHard,
		"half-closes": (*talk).finishesSending, // nobody can tell it from closing
	} {
		ours := how == "half-closes"
		cases = append(cases,
			Case{Group: "browser " + how, Name: "before a request", talk: func(t *talk) {
				t.fresh()
				leave(t)
				t.upstreamEnds()
				t.browserLeft()
			}},
			Case{Group: "browser " + how, Name: "in a head", talk: func(t *talk) {
				t.send("GET {u}/ HTTP/1.1\r\nHos")
				leave(t)
				t.upstreamEnds()
				t.browserLeft()
			}},
			Case{Group: "browser " + how, Name: "in the dial", Legs: Plain, talk: func(t *talk) {
				t.send("GET http://silent.test/ HTTP/1.1\r\nHost: silent.test\r\n\r\n")
				t.check(poll(t.o.Patience, "a dial", func() bool { return len(t.network.asked()) > 0 }))
				leave(t)
				t.browserLeft()
			}, Ours: ours, log: []entry{{method: "GET", url: "http://silent.test/", failed: "connect client_gone"}}},
			Case{Group: "browser " + how, Name: "in an upload", Ours: ours, talk: func(t *talk) {
				t.send(slow + "half")
				t.gets(slowUp + "half")
				leave(t)
				t.serverEnds()
				t.browserLeft()
			}, log: []entry{{method: "POST", url: "{o}/", sent: "half", failed: "send client_gone"}}},
			Case{Group: "browser " + how, Name: "waiting for the answer", Ours: ours, talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				leave(t)
				t.serverEnds()
				t.browserLeft()
			}, log: []entry{{method: "GET", url: "{o}/", failed: "wait client_gone"}}},
			Case{Group: "browser " + how, Name: "behind a 103", Ours: ours, talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer("HTTP/1.1 103 Early Hints\r\n\r\n")
				t.sees("HTTP/1.1 103 Early Hints\r\n\r\n")
				leave(t)
				t.serverEnds()
				t.browserLeft()
			}, log: []entry{{method: "GET", url: "{o}/", failed: "wait client_gone"}}},
			Case{Group: "browser " + how, Name: "in the answer", Ours: ours, talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer(half)
				t.sees(half)
				leave(t)
				t.serverEnds()
				t.browserLeft()
			}, log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello", broken: true, failed: "receive client_gone"}}},
			Case{Group: "browser " + how, Name: "in an answer that nothing more comes of", Ours: ours, talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
				t.sees("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n")
				leave(t)
				t.serverEnds()
				t.browserLeft()
			}, log: []entry{{method: "GET", url: "{o}/", status: 200, received: "data: 1\n\n", broken: true, failed: "receive client_gone"}}},
			Case{Group: "browser " + how, Name: "between requests", talk: func(t *talk) {
				t.again()
				leave(t)
				t.serverEnds()
				t.browserLeft()
			}, log: []entry{got()}},
		)
	}
	for how, leave := range map[string]func(*talk){"closes": (*talk).finishes, "resets": (*talk).resets} {
		cases = append(cases,
			Case{Group: "server " + how, Name: "before the request", Legs: Plain, talk: func(t *talk) {
				t.send(slow + "hello")
				t.serves()
				leave(t)
				t.send(", all")
				t.failedWith(502)
				t.discard(t.s) // what was on its way
			}, log: []entry{{method: "POST", url: "{o}/", sent: "hello, all", failed: anyFailure}}},
			Case{Group: "server " + how, Name: "in an upload", talk: func(t *talk) {
				t.send(slow + "half")
				t.gets(slowUp + "half")
				leave(t)
				t.send("-there")
				t.failedWith(502)
				t.discard(t.s)
			}, log: []entry{{method: "POST", url: "{o}/", sent: "half-there", failed: anyFailure}}},
			Case{Group: "server " + how, Name: "waiting for its answer", talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				leave(t)
				t.failedWith(502)
			}, log: []entry{{method: "GET", url: "{o}/", failed: "wait reset"}}},
			Case{Group: "server " + how, Name: "behind a 103", talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer("HTTP/1.1 103 Early Hints\r\n\r\n")
				t.sees("HTTP/1.1 103 Early Hints\r\n\r\n")
				leave(t)
				t.failedWith(502)
			}, log: []entry{{method: "GET", url: "{o}/", failed: "wait reset"}}},
			Case{Group: "server " + how, Name: "between requests", Legs: TLS | Inside, talk: func(t *talk) {
				t.again()
				leave(t)
				t.browserEnds()
			}, log: []entry{got()}},
			Case{Group: "server " + how, Name: "between requests", Legs: Plain, talk: func(t *talk) {
				t.again()
				leave(t)
				t.discard(t.s) // the next may still have gone to it
				t.s = nil
				t.again()
			}, log: []entry{got(), got()}},
		)
	}
	return append(cases,
		Case{Group: "server", Name: "refuses the connection", Legs: Plain, talk: func(t *talk) {
			t.send("POST http://closed.test/ HTTP/1.1\r\nHost: closed.test\r\nContent-Length: 5\r\n\r\nhello")
			t.failedWith(502)
		}, log: []entry{{method: "POST", url: "http://closed.test/", sent: "hello", failed: "connect refused"}}},
		Case{Group: "server", Name: "has no address", Legs: Plain, talk: func(t *talk) {
			t.send("GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\n\r\n")
			t.failedWith(502)
		}, log: []entry{{method: "GET", url: "http://nowhere.test/", failed: "dns not_found"}}},
		Case{Group: "server", Name: "refuses the connection, in TLS", Legs: TLS, talk: func(t *talk) {
			t.secure("closed.test:443", "closed.test")
			t.send("POST / HTTP/1.1\r\nHost: closed.test\r\nContent-Length: 5\r\n\r\nhello")
			t.failedWith(502)
		}, log: []entry{{method: "POST", url: "https://closed.test/", sent: "hello", failed: "connect refused"}}},
		Case{Group: "server", Name: "has a certificate that nobody knows", Legs: TLS, talk: func(t *talk) {
			t.network.untrusted.Store(true)
			t.send(get)
			t.failedWith(502)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "server_tls bad_certificate"}}},
		Case{Group: "server", Name: "closes in its handshake", Legs: TLS, talk: func(t *talk) {
			t.network.raw.Store(true)
			t.connect("origin.test:443")
			t.next()
			t.beside(func() {
				t.s.br.Peek(1) // before the ClientHello it would be asked once more
				t.s.Close()
			})
			t.handshake("origin.test")
			t.send(get)
			t.failedWith(502)
			t.network.raw.Store(false)
			t.discard(t.s)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "server_tls reset"}}},
		Case{Group: "server", Name: "speaks no TLS", Legs: TLS, talk: func(t *talk) {
			t.network.raw.Store(true)
			t.connect("origin.test:443")
			t.next()
			t.beside(func() {
				if _, err := t.s.br.Peek(1); err == nil {
					t.s.send("HTTP/1.1 400 Bad Request\r\n\r\n")
				}
			})
			t.handshake("origin.test")
			t.send(get)
			t.failedWith(502)
			t.discard(t.s)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "server_tls bad_answer"}}},
		Case{Group: "server", Name: "closes behind its handshake", Legs: TLS, Ours: true, talk: func(t *talk) {
			t.fresh()
			t.finishes()
			t.browserEnds() // as without us, the browser tries again
		}},
		Case{Group: "server", Name: "stops reading", Limits: Limits{Answer: time.Second}, Ours: true, talk: func(t *talk) {
			t.sendBeside("POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 16000000\r\n\r\n" + strings.Repeat("x", 16_000_000))
			t.serves()
			t.page(504, "failed")
			t.discard(t.s)
		}, log: []entry{{method: "POST", url: "{o}/", anyBytes: true, failed: anyFailure}}},
	)
}

// upstreamEnds waits for the end of the connection that a CONNECT made.
func (t *talk) upstreamEnds() {
	if t.leg != Plain {
		t.serverEnds()
	}
}

// browserLeft says that nothing more is to be looked for at the browser's.
func (t *talk) browserLeft() {
	if t.b != nil {
		t.discard(t.b)
	}
}

// discard says that what still comes to p does not matter.
func (t *talk) discard(p *party) { t.gone = append(t.gone, p) }

// beside does something beside the conversation.
func (t *talk) beside(do func()) {
	if t.err == nil {
		t.busy.Go(do)
	}
}
