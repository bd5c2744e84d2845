package battery

import (
	"time"

	"github.com/agentenv/netlog/netlog"
)

// timeLimits are silences that must end.
func timeLimits() []Case {
	// Long enough for what comes before the silence, on a machine that is busy.
	const soon = time.Second
	const slow = "POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n"
	const slowUp = "POST / HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n"
	switched := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\nConnection: upgrade\r\n\r\n"
	mitm := func(failed string) []entry {
		return []entry{{tunnel: "origin.test:443", via: netlog.ViaMITM, failed: failed}}
	}
	cases := []Case{
		{Name: "silent from the first", Legs: Plain, Limits: Limits{ClientHead: soon}, talk: func(t *talk) {
			t.bare()
			t.browserEnds()
		}},
		{Name: "silent behind a CONNECT", Legs: TLS, Limits: Limits{ClientHead: soon}, talk: func(t *talk) {
			t.network.raw.Store(true)
			t.connect("origin.test:443")
			t.browserEnds()
			t.serverEnds()
		}, log: mitm("client_tls timeout")},
		{Name: "silent in the ClientHello", Legs: TLS, Limits: Limits{TLS: soon}, talk: func(t *talk) {
			t.connect("origin.test:443")
			t.send("\x16\x03\x01\x02\x00\x01")
			t.browserEnds()
		}, log: mitm("client_tls timeout")},
		{Name: "silent in the handshake", Legs: TLS, Limits: Limits{TLS: soon}, talk: func(t *talk) {
			t.connect("origin.test:443")
			// The ClientHello alone: what answers it is thrown away.
			if err := t.hello(func(flight string) { t.b.send(flight); t.b.rest() }); err == nil {
				t.fail("the handshake was not ended")
			}
		}, log: mitm("client_tls timeout")},
		{Name: "silent behind the handshake", Legs: TLS, Limits: Limits{ClientHead: soon, Idle: soon}, talk: func(t *talk) {
			t.fresh()
			t.browserEnds()
			t.serverEnds()
		}},
		{Name: "silent in a head", Limits: Limits{ClientHead: soon}, talk: func(t *talk) {
			t.send("GET {u}/ HTTP/1.1\r\nHos")
			t.refused(408)
		}, log: []entry{{method: "GET", url: "{o}/", refused: "timeout 408"}}},
		{Name: "silent in a request line", Limits: Limits{ClientHead: soon}, Legs: Plain | TLS, talk: func(t *talk) {
			t.send("GET ")
			t.refused(408)
		}, log: []entry{{url: "{blame}/", refused: "timeout 408"}}},
		{Name: "between requests", Limits: Limits{Idle: soon}, talk: func(t *talk) {
			t.again()
			t.browserEnds()
			t.serverEnds()
		}, log: []entry{got()}},
		{Name: "in an upload", Limits: Limits{Idle: soon}, talk: func(t *talk) {
			t.send(slow + "half")
			t.gets(slowUp + "half")
			t.failedWith(504)
			t.serverEnds()
		}, log: []entry{{method: "POST", url: "{o}/", sent: "half", failed: "send timeout"}}},
		{Name: "no connection", Legs: Plain, Limits: Limits{Dial: soon}, talk: func(t *talk) {
			t.send("GET http://silent.test/ HTTP/1.1\r\nHost: silent.test\r\n\r\n")
			t.failedWith(504)
		}, log: []entry{{method: "GET", url: "http://silent.test/", failed: "connect timeout"}}},
		{Name: "no connection, in TLS", Legs: TLS, Limits: Limits{Dial: soon}, talk: func(t *talk) {
			t.secure("silent.test:443", "silent.test")
			t.send("GET / HTTP/1.1\r\nHost: silent.test\r\n\r\n")
			t.failedWith(504)
		}, log: []entry{{method: "GET", url: "https://silent.test/", failed: "connect timeout"}}},
		{Name: "no handshake of the server's", Legs: TLS, Limits: Limits{TLS: soon}, talk: func(t *talk) {
			t.network.raw.Store(true)
			t.fresh()
			t.send(get)
			t.failedWith(504)
			t.next()
			t.discard(t.s)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "server_tls timeout"}}},
		{Name: "no answer", Limits: Limits{Answer: soon}, talk: func(t *talk) {
			t.send(get)
			t.gets(getUp)
			t.failedWith(504)
			t.serverEnds()
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait timeout"}}},
		{Name: "no answer behind a 103", Limits: Limits{Answer: soon}, talk: func(t *talk) {
			t.send(get)
			t.gets(getUp)
			t.answer("HTTP/1.1 103 Early Hints\r\n\r\n")
			t.sees("HTTP/1.1 103 Early Hints\r\n\r\n")
			t.failedWith(504)
			t.serverEnds()
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait timeout"}}},
		{Name: "in the answer's head", Limits: Limits{Answer: soon}, talk: func(t *talk) {
			t.send(get)
			t.gets(getUp)
			t.answer("HTTP/1.1 200 OK\r\nCont")
			t.failedWith(504)
			t.serverEnds()
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait timeout"}}},
		{Name: "in the answer", Limits: Limits{TunnelIdle: soon}, talk: func(t *talk) {
			t.send(get)
			t.gets(getUp)
			t.answer("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello")
			t.sees("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello")
			t.browserEnds()
			t.serverEnds()
		}, log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello", broken: true, failed: "receive timeout"}}},
		{Name: "in an upgraded connection", Limits: Limits{TunnelIdle: soon}, talk: func(t *talk) {
			t.send("GET {u}/ HTTP/1.1\r\n" + host + "Upgrade: chat\r\nConnection: upgrade\r\n\r\n")
			t.gets("GET / HTTP/1.1\r\n" + host + "Upgrade: chat\r\nConnection: upgrade\r\n\r\n")
			t.answer(switched + "x")
			t.sees(switched + "x")
			t.browserEnds()
			t.serverEnds()
		}, log: []entry{{method: "GET", url: "{o}/", status: 101, failed: "receive timeout"}}},
		{Name: "in a tunnel", Legs: Inside, Tunnel: true, Limits: Limits{TunnelIdle: soon}, talk: func(t *talk) {
			t.connect("origin.test:80")
			t.send("x")
			t.gets("x")
			t.browserEnds()
			t.serverEnds()
		}, log: []entry{{tunnel: "origin.test:80", via: netlog.ViaTunnel, sent: "x", failed: "receive timeout"}}},
		{Name: "no connection for a tunnel", Legs: Inside, Tunnel: true, Limits: Limits{Dial: soon}, talk: func(t *talk) {
			t.bare()
			t.send("CONNECT silent.test:80 HTTP/1.1\r\nHost: silent.test:80\r\n\r\n")
			t.failedWith(504)
		}, log: []entry{{tunnel: "silent.test:80", via: netlog.ViaTunnel, failed: "connect timeout"}}},
		// What is slow but goes on is let be, however long all of it takes.
		{Name: "slower than the limits as a whole", Limits: Limits{Answer: 4 * soon, Idle: 4 * soon, TunnelIdle: 4 * soon}, talk: func(t *talk) {
			t.send("POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n")
			t.gets(slowUp)
			for i := range 10 {
				t.idle(soon / 2)
				t.send("0123456789"[i : i+1])
				t.gets("0123456789"[i : i+1])
			}
			t.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
			t.sees("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
			for i := range 10 {
				t.idle(soon / 2)
				t.answer("0123456789"[i : i+1])
				t.sees("0123456789"[i : i+1])
			}
		}, log: []entry{{method: "POST", url: "{o}/", status: 200, sent: "0123456789", received: "0123456789"}}},
	}
	for i := range cases {
		cases[i].Group, cases[i].Ours = "time limits", true
	}
	return cases
}

// idle lets time pass in which nothing happens: what the limits are about.
func (t *talk) idle(d time.Duration) {
	if t.err == nil {
		<-time.After(d)
	}
}
