package battery

import (
	"fmt"
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// upgrades are requests for another protocol.
func upgrades() []Case {
	// ask is a request for one, as it is sent and as it goes up.
	ask := func(fields string) (string, string) {
		return "GET {u}/ HTTP/1.1\r\n" + host + fields + "\r\n", "GET / HTTP/1.1\r\n" + host + fields + "\r\n"
	}
	chat, chatUp := ask("Upgrade: chat\r\nConnection: upgrade\r\n")
	const switched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\nConnection: upgrade\r\n\r\n"
	ws, wsUp := ask("Connection: Upgrade\r\nPragma: no-cache\r\nUpgrade: websocket\r\nOrigin: {o}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: a, b\r\nCookie: a=b\r\n")
	const wsSwitched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: a\r\n\r\n"
	entered := entry{method: "GET", url: "{o}/", status: 101}
	passes := func(t *talk) {
		t.send("up 1\n")
		t.gets("up 1\n")
		t.answer("down 1\n" + every)
		t.sees("down 1\n" + every)
		t.send("GET / HTTP/1.1\r\n\r\n")
		t.gets("GET / HTTP/1.1\r\n\r\n")
	}
	return []Case{
		{
			Group: "upgrade", Name: "both ways, ended by the browser",
			talk: func(t *talk) {
				t.send(chat)
				t.gets(chatUp)
				t.answer(switched)
				t.sees(switched)
				passes(t)
				t.finishesSending()
				t.serverEnds(clean)
				t.answer("last")
				t.sees("last")
				t.finishes()
				t.browserEnds(clean)
			},
			log: []entry{entered},
		},
		{
			Group: "upgrade", Name: "both ways, ended by the server",
			talk: func(t *talk) {
				t.send(chat)
				t.gets(chatUp)
				t.answer(switched)
				t.sees(switched)
				passes(t)
				t.finishes()
				t.browserEnds(clean)
				t.send("last")
				t.gets("last")
				t.finishesSending()
				t.serverEnds(clean)
			},
			log: []entry{entered},
		},
		{
			Group: "upgrade", Name: "bytes right behind the request and the 101",
			talk: func(t *talk) {
				t.send(chat + "early")
				t.gets(chatUp)
				t.answer(switched + "hello")
				t.sees(switched + "hello")
				t.gets("early")
				t.finishes()
				t.browserEnds(clean)
				t.finishesSending()
				t.serverEnds(clean)
			},
			log: []entry{entered},
		},
		{
			Group: "upgrade", Name: "refused, with a request right behind",
			talk: func(t *talk) {
				t.send(chat + get)
				t.gets(chatUp)
				t.answer(ok)
				t.sees(ok)
				t.gets(getUp)
				t.answer(ok)
				t.sees(ok)
			},
			log: []entry{got(), got()},
		},
		{
			Group: "upgrade", Name: "refused, and the connection goes on",
			talk: func(t *talk) {
				t.send(chat)
				t.gets(chatUp)
				t.answer("HTTP/1.1 426 No\r\nUpgrade: other\r\nContent-Length: 0\r\n\r\n")
				t.sees("HTTP/1.1 426 No\r\nContent-Length: 0\r\n\r\n")
				t.again()
			},
			log: []entry{{method: "GET", url: "{o}/", status: 426}, got()},
		},
		{
			Group: "upgrade", Name: "of a POST with a body",
			talk: func(t *talk) {
				t.send("POST {u}/ HTTP/1.1\r\n" + host + "Upgrade: chat\r\nConnection: upgrade\r\nContent-Length: 5\r\n\r\nhello")
				t.gets("POST / HTTP/1.1\r\n" + host + "Upgrade: chat\r\nConnection: upgrade\r\nContent-Length: 5\r\n\r\nhello")
				t.answer(switched)
				t.sees(switched)
				passes(t)
				t.resets()
				t.browserEnds(reset)
			},
			log: []entry{{method: "POST", url: "{o}/", status: 101, sent: "hello", failed: "receive reset"}},
		},
		{
			Group: "upgrade", Name: "with other connection options",
			talk: func(t *talk) {
				t.send("GET {u}/ HTTP/1.1\r\n" + host + "Connection: keep-alive, Upgrade, x\r\nX: 1\r\nUpgrade: chat/2, x\r\n\r\n")
				t.gets("GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: chat/2, x\r\n\r\n")
				t.answer(ok)
				t.sees(ok)
			},
			log: []entry{got()},
		},
		{
			Group: "upgrade", Name: "h2c",
			talk: func(t *talk) {
				t.send("GET {u}/ HTTP/1.1\r\n" + host + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n")
				t.gets(getUp)
				t.answer(ok)
				t.sees(ok)
				t.again()
			},
			log: []entry{got(), got()},
		},
		{
			Group: "upgrade", Name: "h2c and a 101 for it",
			talk: func(t *talk) {
				t.send("GET {u}/ HTTP/1.1\r\n" + host + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n")
				t.gets(getUp)
				t.answer("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
				t.failedWith(502)
			},
			log: []entry{{method: "GET", url: "{o}/", failed: "wait bad_answer"}},
		},
		{
			Group: "upgrade", Name: "in HTTP/1.0",
			talk: func(t *talk) {
				t.send("GET {u}/ HTTP/1.0\r\n" + host + "Connection: upgrade\r\nUpgrade: chat\r\n\r\n")
				t.gets("GET / HTTP/1.0\r\n" + host + "\r\n")
				t.answer(ok)
				t.sees(closing(ok))
			},
			log: []entry{got()},
		},
		{
			Group: "websocket", Name: "the handshake's fields, frames, and the close",
			talk: func(t *talk) {
				t.send(ws)
				t.gets(wsUp)
				t.answer(wsSwitched)
				t.sees(wsSwitched)
				t.sendSlowly("\x81\x85\x01\x02\x03\x04igohn") // "hello", masked
				t.gets("\x81\x85\x01\x02\x03\x04igohn")
				t.answer("\x01\x02he\x89\x00\x80\x03llo") // in two frames, a ping between
				t.sees("\x01\x02he\x89\x00\x80\x03llo")
				t.answer("\x88\x02\x03\xe8")
				t.sees("\x88\x02\x03\xe8")
				t.send("\x88\x82\x00\x00\x00\x00\x03\xe8")
				t.gets("\x88\x82\x00\x00\x00\x00\x03\xe8")
				t.finishes()
				t.browserEnds(clean)
				t.finishesSending()
				t.serverEnds(clean)
			},
			log: []entry{{method: "GET", url: "{o}/", status: 101, check: func(_ *netlog.Open, e *netlog.End) error {
				w := e.WebSocket
				if w == nil || w.Sent != (netlog.Frames{Messages: 1, Bytes: 5, Frames: 1, Control: 1}) ||
					w.Received != (netlog.Frames{Messages: 1, Bytes: 5, Frames: 2, Control: 2}) ||
					w.Close == nil || w.Close.Code != 1000 || w.Close.By != "server" || w.Subprotocol != "a" {
					return fmt.Errorf("the WebSocket is %+v", w)
				}
				return nil
			}}},
		},
		{
			Group: "websocket", Name: "that is no WebSocket but says so",
			talk: func(t *talk) {
				t.send(ws)
				t.gets(wsUp)
				t.answer(wsSwitched)
				t.sees(wsSwitched)
				junk := strings.Repeat("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 100)
				t.send(junk)
				t.gets(junk)
				t.answer(junk)
				t.sees(junk)
				t.finishesSending()
				t.serverEnds(clean)
				t.finishes()
				t.browserEnds(clean)
			},
			log: []entry{{method: "GET", url: "{o}/", status: 101, failed: "websocket client_gone"}},
		},
		{
			Group: "websocket", Name: "refused with a body",
			talk: func(t *talk) {
				t.send(ws)
				t.gets(wsUp)
				t.answer("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
				t.sees("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
			},
			log: []entry{{method: "GET", url: "{o}/", status: 403, received: "no"}},
		},
	}
}

// finishesSending ends what the browser sends.
func (t *talk) finishesSending() {
	if t.ready() {
		t.b.finish()
	}
}
