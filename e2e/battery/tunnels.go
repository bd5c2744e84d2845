package battery

import (
	"fmt"
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// tunnels are CONNECTs of which nothing is decrypted.
func tunnels() []Case {
	const request = "CONNECT origin.test:80 HTTP/1.1\r\nHost: origin.test:80\r\n\r\n"
	entered := func(sent, received string) entry {
		return entry{tunnel: "origin.test:80", via: netlog.ViaTunnel, sent: sent, received: received}
	}
	withFailure := func(e entry, failed string) entry {
		e.failed = failed
		return e
	}
	mega := strings.Repeat(every, 4096)
	cases := []Case{
		{Name: "half-closed by the browser", talk: func(t *talk) {
			t.connect("origin.test:80")
			t.send("up" + every)
			t.finishesSending()
			t.gets("up" + every)
			t.serverEnds(clean)
			t.answer(every)
			t.sees(every)
			t.answer("more")
			t.finishes()
			t.sees("more")
			t.browserEnds(clean)
		}, log: []entry{entered("up"+every, every+"more")}},
		{Name: "half-closed by the server", talk: func(t *talk) {
			t.connect("origin.test:80")
			t.answer("down")
			t.finishes()
			t.sees("down")
			t.browserEnds(clean)
			t.send(every)
			t.gets(every)
			t.finishesSending()
			t.serverEnds(clean)
		}, log: []entry{entered(every, "down")}},
		{Name: "bytes right behind the CONNECT", talk: func(t *talk) {
			t.bare()
			t.send(request + "early" + every)
			t.granted()
			t.gets("early" + every)
			t.answer("down")
			t.sees("down")
			t.finishes()
			t.browserEnds(clean)
			t.finishesSending()
			t.serverEnds(clean)
		}, log: []entry{entered("early"+every, "down")}},
		{Name: "a MiB each way at once", talk: func(t *talk) {
			t.connect("origin.test:80")
			t.sendBeside(mega)
			t.answerBeside(mega)
			t.gets(mega)
			t.sees(mega)
			t.finishesSending()
			t.serverEnds(clean)
			t.finishes()
			t.browserEnds(clean)
		}, log: []entry{entered(mega, mega)}},
		{Name: "in writes of one byte", talk: func(t *talk) {
			t.connect("origin.test:80")
			t.sendSlowly(every)
			t.gets(every)
			t.answerSlowly(every)
			t.sees(every)
			t.finishesSending()
			t.serverEnds(clean)
			t.finishes()
			t.browserEnds(clean)
		}, log: []entry{entered(every, every)}},
		{Name: "reset by the browser", talk: func(t *talk) {
			t.connect("origin.test:80")
			t.send("up")
			t.gets("up")
			t.hangsUpHard()
			t.serverEnds(reset)
			t.browserLeft()
		}, log: []entry{entered("up", "")}},
		{Name: "reset by the server", talk: func(t *talk) {
			t.connect("origin.test:80")
			t.send("up")
			t.gets("up")
			t.answer("down")
			t.sees("down")
			t.resets()
			t.browserEnds(reset)
		}, log: []entry{withFailure(entered("up", "down"), "receive reset")}},
		{Name: "half-closed by the browser, reset by the server", talk: func(t *talk) {
			t.connect("origin.test:80")
			t.send("up")
			t.finishesSending()
			t.gets("up")
			t.serverEnds(clean)
			t.resets()
			t.browserEnds(reset)
		}, log: []entry{entered("up", "")}}, // it had said all: nothing broke
		{Name: "the server refuses", talk: func(t *talk) {
			t.bare()
			t.send("CONNECT closed.test:80 HTTP/1.1\r\nHost: closed.test:80\r\n\r\n")
			t.failedWith(502)
		}, log: []entry{{tunnel: "closed.test:80", via: netlog.ViaTunnel, failed: "connect refused"}}},
		{Name: "the browser leaves in the dial", talk: func(t *talk) {
			t.bare()
			t.send("CONNECT silent.test:80 HTTP/1.1\r\nHost: silent.test:80\r\n\r\n")
			t.check(poll(t.o.Patience, "a dial", func() bool { return len(t.network.asked()) > 0 }))
			t.hangsUp()
			t.browserLeft()
		}, log: []entry{{tunnel: "silent.test:80", via: netlog.ViaTunnel, failed: "connect client_gone"}}},
		{Name: "TLS, whose names the log has", talk: func(t *talk) {
			t.secure("origin.test:443", "origin.test")
			t.exchange("origin.test")
			t.finishesSending()
			t.serverEnds(clean)
			t.finishes()
			t.browserEnds(clean)
		}, log: []entry{{tunnel: "origin.test:443", via: netlog.ViaTunnel, anyBytes: true, check: func(_ *netlog.Open, e *netlog.End) error {
			if u := e.Tunnel; u.SNI != "origin.test" || strings.Join(u.ALPN, " ") != "http/1.1" || u.TLSVersion != "TLS 1.3" {
				return fmt.Errorf("the tunnel is %+v", u)
			}
			return nil
		}}}},
	}
	for i := range cases {
		cases[i].Group, cases[i].Tunnel = "tunnel", true
	}
	return cases
}
