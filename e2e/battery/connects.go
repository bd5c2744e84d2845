package battery

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"github.com/agentenv/netlog/netlog"
)

const connect443 = "CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n\r\n"

// connects are what comes behind a CONNECT.
func connects() []Case {
	mitm := func(url string) entry {
		return entry{method: "GET", url: url, via: netlog.ViaMITM, status: 200, received: okBody}
	}
	tunnel := func(target, sent, received string) entry {
		return entry{tunnel: target, via: netlog.ViaTunnel, sent: sent, received: received}
	}
	cases := []Case{
		{
			Group: "connect", Name: "a ClientHello that does not wait for the grant",
			talk: func(t *talk) {
				t.bare()
				t.check(t.hello(func(flight string) {
					t.b.send(connect443 + flight)
					t.granted()
				}))
				t.exchange("origin.test")
			},
			log: []entry{mitm("https://origin.test/")},
		},
		{
			Group: "connect", Name: "a ClientHello in writes of one byte",
			talk: func(t *talk) {
				t.connect("origin.test:443")
				t.check(t.hello(func(flight string) { t.b.sendBytewise(flight) }))
				t.exchange("origin.test")
			},
			log: []entry{mitm("https://origin.test/")},
		},
		{
			Group: "connect", Name: "a ClientHello in records of one byte",
			talk: func(t *talk) {
				t.connect("origin.test:443")
				t.check(t.hello(func(flight string) {
					for i := range len(flight) - 5 {
						t.b.send(flight[:3] + "\x00\x01" + flight[5+i:6+i])
					}
				}))
				t.exchange("origin.test")
			},
			log: []entry{mitm("https://origin.test/")},
		},
		{
			Group: "connect", Name: "in HTTP/1.0, without a Host",
			talk: func(t *talk) {
				t.bare()
				t.send("CONNECT origin.test:443 HTTP/1.0\r\n\r\n")
				t.granted()
				t.handshake("origin.test")
				t.exchange("origin.test")
			},
			log: []entry{mitm("https://origin.test/")},
		},
		{
			Group: "connect", Name: "with a length and other fields",
			talk: func(t *talk) {
				t.bare()
				t.send("CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\nContent-Length: 0\r\nProxy-Connection: keep-alive\r\nUser-Agent: x\r\n\r\n")
				t.granted()
				t.handshake("origin.test")
				t.exchange("origin.test")
			},
			log: []entry{mitm("https://origin.test/")},
		},
		{
			Group: "connect", Name: "in upper case, with a final dot",
			talk: func(t *talk) {
				t.secure("ORIGIN.test.:443", "origin.test")
				t.exchange("origin.test")
				t.dials("origin.test:443")
			},
			log: []entry{mitm("https://origin.test/")},
		},
		{
			Group: "connect", Name: "to an address, with a name in the SNI",
			talk: func(t *talk) {
				t.secure(address4+":443", "origin.test")
				t.exchange("origin.test")
				t.dials(address4 + ":443")
			},
			log: []entry{mitm("https://origin.test/")},
		},
		{
			Group: "connect", Name: "to an address, without an SNI",
			talk: func(t *talk) {
				t.secure(address4+":443", address4)
				t.exchange(address4)
			},
			log: []entry{mitm("https://" + address4 + "/")},
		},
		{
			Group: "connect", Name: "to an IPv6 address",
			talk: func(t *talk) {
				t.secure("["+address6+"]:443", "origin.test")
				t.exchange("origin.test")
				t.dials("[" + address6 + "]:443")
			},
			log: []entry{mitm("https://origin.test/")},
		},
		{
			Group: "connect", Name: "to another port",
			talk: func(t *talk) {
				t.secure("origin.test:8443", "origin.test")
				t.exchange("origin.test:8443")
				t.dials("origin.test:8443")
			},
			log: []entry{mitm("https://origin.test:8443/")},
		},
		{
			Group: "connect", Name: "to a name of 250 bytes",
			talk: func(t *talk) {
				t.secure(longName+":443", longName)
				t.exchange(longName)
			},
			log: []entry{mitm("https://" + longName + "/")},
		},
		{
			Group: "connect", Name: "an SNI of another name",
			talk: func(t *talk) {
				t.connect("origin.test:443")
				t.noHandshake(t.authority, "other.test")
			},
			log: []entry{{tunnel: "origin.test:443", via: netlog.ViaMITM, refused: "misdirected 0"}},
		},
		{
			Group: "connect", Name: "a browser that does not trust us", Ours: true,
			talk: func(t *talk) {
				t.connect("origin.test:443")
				stranger, err := newAuthority("Another CA")
				t.check(err)
				t.noHandshake(stranger, "origin.test")
				t.hangsUp()
				t.browserLeft()
			},
			log: []entry{{tunnel: "origin.test:443", via: netlog.ViaMITM, failed: "client_tls client_refused_certificate"}},
		},
		{
			Group: "connect", Name: "a browser that leaves in its ClientHello",
			talk: func(t *talk) {
				t.connect("origin.test:443")
				t.send("\x16\x03\x01\x02\x00\x01")
				t.hangsUp()
				t.browserLeft()
			},
			log: []entry{{tunnel: "origin.test:443", via: netlog.ViaMITM, failed: "client_tls client_gone"}},
		},
		{
			Group: "connect", Name: "a TLS record that is no ClientHello", Ours: true,
			talk: func(t *talk) {
				t.connect("origin.test:443")
				t.send("\x16\x03\x01\x00\x04\x02\x00\x00\x00")
				t.whatever()
			},
			log: []entry{{tunnel: "origin.test:443", via: netlog.ViaMITM, failed: "client_tls bad_request"}},
		},
		{
			Group: "connect", Name: "nothing", // browsers connect in store
			talk: func(t *talk) {
				t.connect("origin.test:443")
				t.hangsUp()
				t.browserLeft()
			},
		},
		{
			Group: "connect", Name: "a reset", Ours: true,
			talk: func(t *talk) {
				t.connect("origin.test:443")
				t.hangsUpHard()
				t.browserLeft()
			},
		},
		{
			Group: "connect", Name: "a server that speaks first",
			talk: func(t *talk) {
				t.connect("origin.test:25")
				t.answer("220 origin.test ESMTP\r\n")
				t.sees("220 origin.test ESMTP\r\n")
				t.send("EHLO x\r\n")
				t.gets("EHLO x\r\n")
				t.answer("250 x\r\n")
				t.sees("250 x\r\n")
				t.finishesSending()
				t.serverEnds(clean)
				t.answer("221\r\n")
				t.sees("221\r\n")
				t.finishes()
				t.browserEnds(clean)
			},
			log: []entry{tunnel("origin.test:25", "EHLO x\r\n", "220 origin.test ESMTP\r\n250 x\r\n221\r\n")},
		},
		{
			Group: "connect", Name: "a server that speaks first and closes",
			talk: func(t *talk) {
				t.connect("origin.test:25")
				t.answer("554 no\r\n")
				t.finishes()
				t.sees("554 no\r\n")
				t.browserEnds(clean)
				t.finishesSending()
				t.serverEnds()
			},
			log: []entry{tunnel("origin.test:25", "", "554 no\r\n")},
		},
		{
			Group: "connect", Name: "first bytes of another kind, before a dial that is refused", Ours: true,
			talk: func(t *talk) {
				t.connect("closed.test:22")
				t.send("SSH-2.0-x\r\n")
				t.browserEnds()
			},
			log: []entry{{tunnel: "closed.test:22", via: netlog.ViaTunnel, failed: "connect refused"}},
		},
		{
			Group: "connect", Name: "pieces of a request line, then its head", Legs: Inside,
			talk: func(t *talk) {
				for _, piece := range []string{"G", "ET ", "/ HT", "TP/1.1\r", "\n", host, "\r", "\n"} {
					t.send(piece)
				}
				t.gets(getUp)
				t.answer(ok)
				t.sees(ok)
			},
			log: []entry{got()},
		},
		{
			Group: "connect", Name: "an http:// request that does not wait for the grant",
			talk: func(t *talk) {
				t.bare()
				t.send("CONNECT origin.test:80 HTTP/1.1\r\nHost: origin.test:80\r\n\r\n" + getUp)
				t.granted()
				t.gets(getUp)
				t.answer(ok)
				t.sees(ok)
			},
			log: []entry{{method: "GET", url: "http://origin.test/", via: netlog.ViaPlain, status: 200, received: okBody}},
		},
		{
			Group: "connect", Name: "http:// to port 443 and a port of its own",
			talk: func(t *talk) {
				t.connect("origin.test:8080")
				t.send("GET / HTTP/1.1\r\nHost: origin.test:8080\r\n\r\n")
				t.gets("GET / HTTP/1.1\r\nHost: origin.test:8080\r\n\r\n")
				t.answer(ok)
				t.sees(ok)
			},
			log: []entry{{method: "GET", url: "http://origin.test:8080/", via: netlog.ViaPlain, status: 200, received: okBody}},
		},
		{
			Group: "connect", Name: "http:// to an address, which the Host names",
			talk: func(t *talk) {
				t.connect(address4 + ":80")
				t.send(getUp)
				t.gets(getUp)
				t.answer(ok)
				t.sees(ok)
				t.send("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n")
				t.refused(421)
				t.dials(address4 + ":80")
			},
			log: []entry{
				{method: "GET", url: "http://origin.test/", via: netlog.ViaPlain, status: 200, received: okBody},
				{method: "GET", url: "http://origin.test/", via: netlog.ViaPlain, refused: "misdirected 421"},
			},
		},
	}
	for _, c := range []struct{ name, first string }{
		{"SSH", "SSH-2.0-OpenSSH_9\r\n"}, {"an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, {"NUL", "\x00"}, {"SSLv2", "\x80\x2e\x01\x00\x02"},
		{"a space", " GET / HTTP/1.1\r\n"}, {"a line without a version", "GET /\r\n"}, {"HTTP/1.2", "GET / HTTP/1.2\r\n"}, {"a word of 33 letters", strings.Repeat("x", 33)},
		{"every byte", every}, {"another protocol's line", "OPTIONS sip:x SIP/2.0\r\n"}, {"an LF", "\n"}, {"UTF-8", "\xc3\xa9"},
	} {
		cases = append(cases, Case{
			Group: "connect", Name: "first bytes: " + c.name,
			talk: func(t *talk) {
				t.connect("origin.test:80")
				t.send(c.first)
				t.gets(c.first)
				t.answer("x")
				t.sees("x")
				t.finishes()
				t.browserEnds(clean)
				t.finishesSending()
				t.serverEnds(clean)
			},
			log: []entry{tunnel("origin.test:80", c.first, "x")},
		})
	}
	// The unclear beginning of a protocol, and nothing more: an end settles it.
	cases = append(cases, Case{
		Group: "connect", Name: "first bytes: a word and no more",
		talk: func(t *talk) {
			t.connect("origin.test:80")
			t.send("HELO")
			t.finishesSending()
			t.gets("HELO")
			t.serverEnds(clean)
			t.answer("bye")
			t.finishes()
			t.sees("bye")
			t.browserEnds(clean)
		},
		log: []entry{tunnel("origin.test:80", "HELO", "bye")},
	})
	return append(cases, tunnels()...)
}

var longName = strings.Repeat("abcdefghi.", 24) + "zzzzz.test"

// exchange is get for a host in the session.
func (t *talk) exchange(host string) {
	request := "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
	t.send(request)
	t.gets(request)
	t.answer(ok)
	t.sees(ok)
}

// noHandshake is a browser that trusts a and is not to find what it wants.
func (t *talk) noHandshake(a *authority, sni string) {
	if !t.ready() {
		return
	}
	if _, err := t.b.handshake(a, sni, "http/1.1"); err == nil {
		t.fail("the handshake for %q went well", sni)
	}
}

// whatever reads what the browser gets, to its end.
func (t *talk) whatever() {
	if t.ready() {
		t.b.rest()
	}
}

// hello does a browser's handshake whose first flight is sent by send.
func (t *talk) hello(send func(flight string)) error {
	if t.err != nil {
		return t.err
	}
	t.b.wait()
	tape := &tape{Conn: t.b.Conn}
	first := &firstFlight{Conn: &buffered{tape, t.b.br}, send: send}
	session := tls.Client(first, &tls.Config{ServerName: "origin.test", RootCAs: t.authority.pool, NextProtos: []string{"http/1.1"}})
	if err := session.Handshake(); err != nil {
		return fmt.Errorf("the handshake: %w", err)
	}
	t.b = newParty("the browser", session, tape, t.o.Patience)
	t.sessions = append(t.sessions, t.b)
	return nil
}

// A firstFlight is a connection whose first write is made by send.
type firstFlight struct {
	net.Conn
	send func(string)
	sent bool
}

func (f *firstFlight) Write(p []byte) (int, error) {
	if f.sent {
		return f.Conn.Write(p)
	}
	f.sent = true
	f.send(string(p))
	return len(p), nil
}
