package har

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// every writes a log with each row of the entry table.
func every(f *fixture) {
	yes := true
	notBefore := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	page := []byte("<!doctype html><title>Shop</title><p>žluť 🦊</p>")

	// A document over a new connection, gzip, cookies, a 103 before it.
	id := f.open(&netlog.Open{Request: &netlog.Request{
		Method: "GET", URL: "https://shop.example/?q=a+b&q=%C3%A9&bare", Version: "HTTP/1.1", HeaderBytes: 512,
		Headers: h("Host", "shop.example", "Accept", "text/html,*/*", "Sec-Fetch-Dest", "document", "Sec-Fetch-Mode", "navigate",
			"Cookie", "sid=\"x y\"; theme=dark", "X-Twice", "1", "x-twice", "2", "X-Latin", "caf\xe9"),
		Body: &netlog.Body{},
	}})
	f.end(id, &netlog.End{
		Response: &netlog.Response{
			Status: 200, Reason: "OK", Version: "HTTP/1.1", HeaderBytes: 300, Complete: true,
			Headers: h("Content-Type", "text/html; charset=utf-8", "Content-Encoding", "gzip",
				"Set-Cookie", "sid=\"x\\y\"; Path=/; HttpOnly; Secure; SameSite=lax; Max-Age=3600",
				"Set-Cookie", "theme=d%20k; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Domain=.shop.example"),
			Informational: []netlog.Informational{{Status: 103, Headers: h("Link", "</a.css>; rel=preload")}},
			Body:          kept(coders[0].encode(page)),
		},
		Server: &netlog.Server{Address: "[2001:db8::1]:443", Connection: 1,
			Dialled: &netlog.Dialled{Time: f.now, DNS: 1500, Connect: 25003, TLS: 15001},
			TLS: &netlog.TLS{Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", ALPN: "http/1.1", SNI: "shop.example",
				Subject: "CN=shop.example,O=Shop\\, Inc.", Issuer: "CN=Test CA", SANs: []string{"shop.example", "www.shop.example"},
				NotBefore: notBefore, NotAfter: notBefore.AddDate(0, 3, 0), Serial: "0a1b", SHA256: strings.Repeat("ab", 32), Verified: &yes}},
		ClientTLS: &netlog.TLS{Version: "TLS 1.3", Cipher: "TLS_AES_256_GCM_SHA384", ALPN: "http/1.1", SNI: "shop.example", Resumed: true},
		Timings:   netlog.Timings{Blocked: 7, DNS: 1500, Connect: 25003, TLS: 15001, Send: 40, Wait: 9999, Receive: 451, Total: 37000},
	})

	// A form, sent after the open line had to be written, and its redirect.
	id = f.open(&netlog.Open{Request: &netlog.Request{
		Method: "POST", URL: "https://shop.example/login", Version: "HTTP/1.1", HeaderBytes: 400,
		Headers: h("Content-Type", "application/x-www-form-urlencoded", "Referer", "https://shop.example/"),
	}})
	f.end(id, &netlog.End{
		Request: &netlog.Request{Body: kept([]byte("user=j%C3%A9&note=a+b%26c&user=2")), Trailers: h("X-Trailer", "t")},
		Response: &netlog.Response{Status: 302, Reason: "Found", Version: "HTTP/1.1", HeaderBytes: 90, Complete: true,
			Headers: h("Location", "/account#top"), Body: &netlog.Body{}, Trailers: h("Server-Timing", "db;dur=1")},
		Server:  &netlog.Server{Address: "[2001:db8::1]:443", Connection: 1, Reused: true},
		Timings: netlog.Timings{Blocked: 1, DNS: -1, Connect: -1, TLS: -1, Send: 2, Wait: 3, Receive: 4, Total: 10},
	})

	// An upload with a file, HTTP/2 with crumbs and pseudo headers.
	f.exchange(&netlog.Request{
		Method: "POST", URL: "https://shop.example/upload", Version: "HTTP/2", HeaderBytes: 200,
		Headers: h("cookie", "a=1", "x-mid", "m", "cookie", "b=2", "content-type", `multipart/form-data; Boundary="XX"`),
		Pseudo:  h(":method", "POST", ":authority", "shop.example"),
		Body:    kept([]byte(multipart)),
	}, &netlog.Response{Status: 201, Version: "HTTP/2", Pseudo: h(":status", "201"), Headers: h("content-type", "application/json"), Body: kept([]byte(`{"id":1}`))})

	// An image that was not kept, one kept, a body cut by the log.
	image := kept([]byte("\x89PNG\r\n\x1a\n"))
	image.Kept = nil
	f.exchange(get("https://shop.example/a.png"), &netlog.Response{Status: 200, Reason: "OK", Version: "HTTP/1.0", Headers: h("Content-Type", "image/png"), Body: image})
	f.exchange(get("https://shop.example/b.png"), ok("image/png", []byte("\x89PNG\r\n\x1a\n")))
	long := kept(bytes.Repeat([]byte("0123456789"), 20))
	long.Kept, long.Truncated = netlog.Bytes("0123456789012"), true
	f.exchange(get("https://shop.example/long.txt"), &netlog.Response{Status: 200, Version: "HTTP/1.1", Headers: h("Content-Type", "text/plain"), Body: long})
	f.exchange(get("https://shop.example/broken"), ok("text/html", []byte("no gzip"), netlog.Header{Name: "Content-Encoding", Value: "gzip"}))
	f.exchange(get("https://shop.example/latin1"), ok("text/plain; charset=iso-8859-1", []byte("caf\xe9")))

	// Answers without a body.
	head := get("https://shop.example/head")
	head.Method = "HEAD"
	f.exchange(head, ok("text/html", nil))
	f.exchange(get("https://shop.example/204"), &netlog.Response{Status: 204, Version: "HTTP/1.1", Body: &netlog.Body{}})
	f.exchange(get("https://shop.example/304"), &netlog.Response{Status: 304, Version: "HTTP/1.1", Headers: h("Content-Type", "text/css")})

	// An event stream with arrival times.
	events := kept([]byte("data: one\n\nid: 2\nevent: tick\ndata: two\n\n"))
	events.Chunks = []netlog.Chunk{{Offset: 0, Micros: 1000}, {Offset: 11, Micros: 250_000}}
	stream := ok("text/event-stream", nil)
	stream.Body = events
	f.exchange(&netlog.Request{Method: "GET", URL: "http://shop.example/events", Version: "HTTP/1.1", Headers: h("Accept", "text/event-stream")}, stream)

	// A WebSocket.
	upgrade := func(path string) *netlog.Request {
		return &netlog.Request{Method: "GET", URL: "https://shop.example" + path, Version: "HTTP/1.1", HeaderBytes: 300, Headers: h("Upgrade", "websocket", "Connection", "Upgrade")}
	}
	switched := &netlog.Response{Status: 101, Reason: "Switching Protocols", Version: "HTTP/1.1", HeaderBytes: 129, Headers: h("Upgrade", "websocket")}
	text, size := "hello", int64(5)
	id = f.open(&netlog.Open{Request: upgrade("/chat")})
	f.answer(id, switched)
	f.message(id, &netlog.Message{Dir: "send", Opcode: 1, Size: &size, WireSize: 5, Frames: 1, Text: &text})
	f.message(id, &netlog.Message{Dir: "receive", Opcode: 2, Size: &size, WireSize: 5, Frames: 2, Base64: []byte{0, 1, 2, 0xfe, 0xff}})
	f.message(id, &netlog.Message{Dir: "receive", Opcode: 1, Size: &size, WireSize: 5, Frames: 1, Base64: []byte("\xffbad"), More: true})
	recorded := int64(3)
	f.end(id, &netlog.End{Response: switched, Timings: netlog.Timings{Blocked: 1, DNS: -1, Connect: -1, TLS: -1, Send: 2, Wait: 3, Receive: 400, Total: 406},
		WebSocket: &netlog.WebSocket{Sent: netlog.Frames{Messages: 1, Bytes: 5, Frames: 1, Control: 1}, Received: netlog.Frames{Messages: 9, Bytes: 45, Frames: 10},
			Close: &netlog.Close{Code: 1000, Reason: "bye", By: "client"}, Subprotocol: "chat", Extensions: "permessage-deflate", Recorded: &recorded}})

	// Tunnels: one that went well, one that the browser refused, one refused.
	id = f.open(&netlog.Open{Kind: netlog.KindTunnel, Via: netlog.ViaTunnel, Target: "bank.example:443"})
	f.end(id, &netlog.End{Server: &netlog.Server{Address: "192.0.2.1:443", Connection: 2},
		Tunnel:  &netlog.Tunnel{Sent: 1000, Received: 20_000, SNI: "bank.example", ALPN: []string{"h2", "http/1.1"}, TLSVersions: []string{"TLS 1.3"}, TLSVersion: "TLS 1.3", Reason: "it is to be"},
		Timings: netlog.Timings{Blocked: 5, DNS: 6, Connect: 7, TLS: -1, Send: 0, Wait: 0, Receive: 1000, Total: 1018}})
	id = f.open(&netlog.Open{Kind: netlog.KindTunnel, Target: "pinned.example:443"})
	f.end(id, &netlog.End{Failed: &netlog.Failed{Phase: netlog.PhaseClientTLS, Code: netlog.CodeClientRefused, Reason: "the browser refused the certificate"}, Timings: netlog.NoTimings(3000)})
	id = f.open(&netlog.Open{Kind: netlog.KindTunnel, Target: "forbidden.example:443"})
	f.end(id, &netlog.End{Refused: &netlog.Refused{Code: netlog.RefusedPolicy, Reason: "the rules forbid it", Status: 403}, Timings: netlog.NoTimings(10)})

	id = f.open(&netlog.Open{Kind: netlog.KindTunnel, Via: netlog.ViaTunnel, Target: "reset.example:443"})
	f.end(id, &netlog.End{Server: &netlog.Server{Address: "192.0.2.2:443", Connection: 3}, Tunnel: &netlog.Tunnel{Sent: 1, Received: 2},
		Failed: &netlog.Failed{Phase: netlog.PhaseReceive, Code: netlog.CodeReset, Reason: "reset by the server"}, Timings: netlog.NoTimings(10)})
	id = f.open(&netlog.Open{Kind: netlog.KindTunnel, Via: netlog.ViaTunnel, Target: "dialling.example:443"})
	f.end(id, &netlog.End{Tunnel: &netlog.Tunnel{}, Failed: &netlog.Failed{Phase: netlog.PhaseProxy, Code: netlog.CodeStopped}, Timings: netlog.NoTimings(10)})

	// The stand-in's: a connection's bytes, and no bodies.
	id = f.open(&netlog.Open{Via: netlog.ViaStandIn, Request: &netlog.Request{Method: "POST", URL: "http://plain.example/form", Version: "HTTP/1.1", HeaderBytes: 200}})
	f.end(id, &netlog.End{Response: &netlog.Response{Status: 200, Reason: "OK", Version: "HTTP/1.1"}, Tunnel: &netlog.Tunnel{Sent: 400, Received: 9000}, Timings: netlog.NoTimings(10)})

	// HTTP/2: a gRPC call, and a WebSocket by an extended CONNECT.
	f.exchange(&netlog.Request{
		Method: "POST", URL: "https://api.example/shop.Cart/Add", Version: "HTTP/2", HeaderBytes: 120,
		Headers: h("content-type", "application/grpc", "te", "trailers"),
		Pseudo:  h(":method", "POST", ":scheme", "https", ":authority", "api.example", ":path", "/shop.Cart/Add"),
		Body:    kept(grpcFrame(0, "\x08\x01")),
	}, &netlog.Response{Status: 200, Version: "HTTP/2", HeaderBytes: 40, Pseudo: h(":status", "200"), Headers: h("content-type", "application/grpc"),
		Body: kept(grpcFrame(1, "zipped")), Trailers: h("grpc-status", "0")})
	id = f.open(&netlog.Open{Request: &netlog.Request{
		Method: "CONNECT", URL: "https://shop.example/chat2", Version: "HTTP/2",
		Pseudo: h(":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority", "shop.example", ":path", "/chat2"),
	}})
	f.message(id, &netlog.Message{Dir: "send", Opcode: 1, Size: &size, WireSize: 5, Frames: 1, Text: &text})
	f.end(id, &netlog.End{Response: &netlog.Response{Status: 200, Version: "HTTP/2", Pseudo: h(":status", "200"), Complete: true},
		WebSocket: &netlog.WebSocket{Sent: netlog.Frames{Messages: 1, Bytes: 5, Frames: 1}}, Timings: netlog.NoTimings(20)})

	// A refused request, one that failed, one that broke off, one that is no HTTP.
	id = f.open(&netlog.Open{Via: netlog.ViaPlain, Request: &netlog.Request{Method: "GET", URL: "h.example", Version: "HTTP/1.1"}})
	f.end(id, &netlog.End{Refused: &netlog.Refused{Code: netlog.RefusedBadRequest, Status: 400}, Timings: netlog.NoTimings(10)})
	id = f.open(&netlog.Open{Request: post("application/json", []byte(`{"qty":3}`))})
	f.end(id, &netlog.End{Failed: &netlog.Failed{Phase: netlog.PhaseConnect, Code: netlog.CodeRefused, Reason: "connection refused"},
		Timings: netlog.Timings{Blocked: 10, DNS: 300, Connect: 5, TLS: -1, Send: -1, Wait: -1, Receive: -1, Total: 315}})
	id = f.open(&netlog.Open{Request: get("https://shop.example/half")})
	f.end(id, &netlog.End{Response: ok("text/plain", []byte("half")), Failed: &netlog.Failed{Phase: netlog.PhaseReceive, Code: netlog.CodeReset},
		Timings: netlog.Timings{Blocked: 1, DNS: -1, Connect: -1, TLS: -1, Send: 1, Wait: 1, Receive: 1, Total: 4}})
	id = f.open(&netlog.Open{Request: get("http://old.example/")})
	raw := ok("", []byte("HTTP/1.1 200 OK\nno colon\n\nhi"))
	raw.Status, raw.Reason, raw.Version, raw.Headers, raw.HeaderBytes = 0, "", "", nil, 0
	f.end(id, &netlog.End{Unparsed: true, Response: raw, Timings: netlog.NoTimings(10)})

	// On a site's route, with an option's change, and a process that died.
	id = f.open(&netlog.Open{Via: netlog.ViaSite, Site: "shop", Request: get("https://site.example/")})
	f.end(id, &netlog.End{Response: ok("text/plain", []byte("x")), Changed: []string{"strip_conditionals"},
		Timings: netlog.Timings{Blocked: 1, DNS: -1, Connect: -1, TLS: -1, Send: 1, Wait: 1, Receive: 1, Total: 4}})
	id = f.open(&netlog.Open{Request: get("https://shop.example/slow")})
	f.answer(id, &netlog.Response{Status: 200, Reason: "OK", Version: "HTTP/1.1", HeaderBytes: 50, Headers: h("Content-Type", "text/plain")})
	f.end(id, &netlog.End{Failed: &netlog.Failed{Phase: netlog.PhaseProxy, Code: netlog.CodeRestarted, Reason: "the proxy died"}, Timings: netlog.NoTimings(99)})

	// Still going: nothing yet, an answer, a socket, a tunnel.
	f.open(&netlog.Open{Request: get("https://shop.example/pending")})
	id = f.open(&netlog.Open{Request: get("https://shop.example/streaming")})
	f.answer(id, &netlog.Response{Status: 200, Reason: "OK", Version: "HTTP/1.1", HeaderBytes: 50, Headers: h("Content-Type", "text/plain")})
	id = f.open(&netlog.Open{Request: upgrade("/live")})
	f.answer(id, switched)
	f.message(id, &netlog.Message{Dir: "send", Opcode: 1, Size: &size, WireSize: 5, Frames: 1, Text: &text})
	f.open(&netlog.Open{Kind: netlog.KindTunnel, Target: "open.example:443"})
}

// The whole table, as a file to read.
func TestGolden(t *testing.T) {
	f := newFixture(t)
	every(f)
	var out bytes.Buffer
	stats, err := Convert(f.log(), &out, Options{Version: "test", Title: "network.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults(out.Bytes()) {
		t.Error(fault)
	}
	want := Stats{Lines: f.n, Entries: 31, Open: 4, Failed: 6, Refused: 2, Truncated: 1, Undecoded: 1}
	if stats != want {
		t.Errorf("got %+v, want %+v", stats, want)
	}
	golden(t, "testdata/golden.har", out.Bytes())
	var again bytes.Buffer
	if _, err := Convert(f.log(), &again, Options{Version: "test", Title: "network.jsonl"}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), out.Bytes()) {
		t.Error("the same log gave other bytes")
	}
}

// golden compares a HAR with a file, which has one entry a line so that a
// difference can be read.
func golden(t *testing.T, path string, har []byte) {
	t.Helper()
	got := bytes.ReplaceAll(har, []byte(`,{"pageref"`), []byte(",\n{\"pageref\""))
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, held) {
		return
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(held, []byte("\n"))
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || !bytes.Equal(g[i], w[i]) {
			t.Fatalf("%s, line %d (run with -update after a wanted change)\n got %s\nwant %s", path, i+1, at(g, i), at(w, i))
		}
	}
}

func at(lines [][]byte, i int) []byte {
	if i < len(lines) {
		return lines[i]
	}
	return nil
}

// What a grader or a strict reader looks at in the entries of the table.
func TestEntries(t *testing.T) {
	f := newFixture(t)
	every(f)
	log, _ := f.convert()
	if log.Pages[0].Title != "https://shop.example/?q=a+b&q=%C3%A9&bare" {
		t.Errorf("the page's title is %q", log.Pages[0].Title)
	}
	byURL := map[string]*Entry{}
	for i := range log.Entries {
		byURL[log.Entries[i].Request.URL] = &log.Entries[i]
	}
	statuses := map[string]int{
		"https://shop.example/login":     302,
		"https://bank.example:443/":      200,
		"https://pinned.example:443/":    -1,
		"https://forbidden.example:443/": -1,
		"https://reset.example:443/":     200,
		"https://dialling.example:443/":  -1,
		"http://plain.example/form":      200,
		"https://open.example:443/":      -1,
		"http://h.example/":              -1,
		"https://shop.example/cart":      -1,
		"https://shop.example/half":      200,
		"http://old.example/":            -1,
		"https://shop.example/slow":      200,
		"https://shop.example/pending":   -1,
		"https://shop.example/streaming": 200,
		"wss://shop.example/chat":        101,
		"wss://shop.example/live":        101,
		"wss://shop.example/chat2":       200,
	}
	for url, status := range statuses {
		if e := byURL[url]; e == nil || e.Response.Status != status {
			t.Errorf("%s: %+v, want status %d", url, e, status)
		}
	}
	if t.Failed() {
		return
	}
	for url, want := range map[string]string{
		"https://pinned.example:443/": "the browser refused the certificate",
		"https://shop.example/cart":   "connection refused",
		"http://h.example/":           "refused: bad_request",
		"https://shop.example/half":   "receive: reset",
		"https://shop.example/slow":   "the proxy died",
	} {
		if got := byURL[url].Response.Error; got != want {
			t.Errorf("%s: _error %q, want %q", url, got, want)
		}
	}
	if e := byURL["http://plain.example/form"]; e.Request.BodySize != -1 || e.Request.PostData != nil || e.Response.BodySize != -1 ||
		e.Response.TransferSize != 9000 || e.Response.Content.Text != nil || e.Tunnel.Sent != 400 {
		t.Errorf("the stand-in's entry: %+v", e)
	}
	upload := byURL["https://shop.example/upload"].Request
	if c := upload.Headers[0]; c.Name != "cookie" || c.Value != "a=1; b=2" || len(upload.Headers) != 3 || len(upload.Cookies) != 2 {
		t.Errorf("crumbs: %+v, cookies %+v", upload.Headers, upload.Cookies)
	}
	if p := upload.PostData; p.MimeType != "multipart/form-data; boundary=XX" || len(p.Params) < 4 || p.Params[2].FileName != "naïve+.png" {
		t.Errorf("multipart: %q, %+v", p.MimeType, p.Params)
	}
	if b, err := base64.StdEncoding.DecodeString(upload.PostData.Base64); err != nil || string(b) != multipart {
		t.Errorf("the upload's exact bytes: %q (%v)", b, err)
	}
	login := byURL["https://shop.example/login"]
	if p := login.Request.PostData; p.Text != "user=j%C3%A9&note=a+b%26c&user=2" || p.Base64 != "" || p.Params[1].Value != "a b&c" {
		t.Errorf("the form: %+v", p)
	}
	if login.Initiator == nil || login.Initiator.URL != "https://shop.example/" || login.ConnectionID != "1-1" || login.Response.RedirectURL != "/account#top" {
		t.Errorf("the form's entry: %+v", login)
	}
	first := log.Entries[0]
	if first.ServerIPAddress != "2001:db8::1" || first.Connection != "443" || first.SecurityDetails.SubjectName != "shop.example" {
		t.Errorf("the server: %q, %q, %+v", first.ServerIPAddress, first.Connection, first.SecurityDetails)
	}
	if v := first.Request.Headers[7].ValueBase64; v != "Y2Fm6Q==" {
		t.Errorf("a header that is not UTF-8: %q", v)
	}
	if first.Time != 37000 || first.Timings.SSL != 15001 {
		t.Errorf("time %d µs, ssl %d", first.Time, first.Timings.SSL)
	}
	for _, url := range []string{"https://shop.example/head", "https://shop.example/204", "https://shop.example/304", "wss://shop.example/chat"} {
		if c := byURL[url].Response.Content; c.Text != nil || c.Size != 0 {
			t.Errorf("%s: content %+v", url, c)
		}
	}
	chat := byURL["wss://shop.example/chat"]
	if len(chat.WebSocketMessages) != 3 || chat.WebSocketMessages[0].Data != "hello" || chat.WebSocketMessages[1].Data != "AAEC/v8=" ||
		chat.WebSocketMessages[2].Encoding != "base64" || chat.WebSocketClose.By != "client" {
		t.Errorf("the socket: %+v", chat.WebSocketMessages)
	}
	if over2 := byURL["wss://shop.example/chat2"]; over2.Request.Method != "CONNECT" || over2.ResourceType != "websocket" || over2.Request.HeadersSize != -1 ||
		len(over2.Request.PseudoHeaders) != 5 || len(over2.WebSocketMessages) != 1 || over2.Response.Content.Text != nil || over2.Response.BodySize != 0 {
		t.Errorf("the socket over HTTP/2: %+v", over2)
	}
	if live := byURL["wss://shop.example/live"]; !live.Open || len(live.WebSocketMessages) != 1 || live.Time != 0 {
		t.Errorf("the open socket: %+v", live)
	}
	if tick := byURL["http://shop.example/events"].EventSourceMessages; len(tick) != 2 || tick[1].EventName != "tick" || tick[1].Time-tick[0].Time != 249_000 {
		t.Errorf("the events: %+v", tick)
	}
	if c := byURL["https://shop.example/latin1"].Response.Content; *c.Text != "café" || c.Charset != "windows-1252" {
		t.Errorf("Latin-1: %+v", c)
	}
}

// Events of a coded stream have the times at which they could be read, also of
// one whose coding has no end: pages close streams before it.
func TestCodedEventTimes(t *testing.T) {
	for _, c := range coders {
		events := [][]byte{[]byte("data: one\n\n"), []byte("data: two\n\ndata: three\n\n"), []byte("data: four\n\n")}
		var chunks []netlog.Chunk
		coded := c.encodeParts(func(offset int) {
			chunks = append(chunks, netlog.Chunk{Offset: int64(offset), Micros: int64(1000 * (len(chunks) + 1))})
		}, events...)
		for _, came := range [][]byte{coded, coded[:len(coded)-1]} {
			stream := ok("text/event-stream", nil, netlog.Header{Name: "Content-Encoding", Value: c.coding})
			stream.Body = kept(came)
			stream.Body.Chunks = chunks
			e := one(t, get("https://a.example/events"), stream)
			var got []int64
			for _, m := range e.EventSourceMessages {
				got = append(got, int64(m.Time-e.EventSourceMessages[0].Time))
			}
			if !slices.Equal(got, []int64{0, 1000, 1000, 2000}) {
				t.Errorf("%s, %d bytes of %d: events came at %v µs", c.name, len(came), len(coded), got)
			}
		}
	}
}

// Order is by process, then the open line's time, then its number.
func TestOrder(t *testing.T) {
	f := newFixture(t)
	base := f.now
	open := func(offset time.Duration, url string) int64 {
		return f.open(&netlog.Open{Time: base.Add(offset), Request: get(url)})
	}
	open(3*time.Second, "http://h/3")
	a := open(time.Second, "http://h/1a")
	b := open(time.Second, "http://h/1b")
	f.end(b, &netlog.End{Response: ok("", nil), Timings: netlog.NoTimings(0)})
	f.end(a, &netlog.End{Response: ok("", nil), Timings: netlog.NoTimings(0)})
	f.start(netlog.Limits{}) // a clock that was set back between two runs
	open(-time.Hour, "http://h/second process")
	log, _ := f.convert()
	var got []string
	for _, e := range log.Entries {
		got = append(got, e.Request.URL[len("http://h/"):])
	}
	if !slices.Equal(got, []string{"1a", "1b", "3", "second%20process"}) {
		t.Errorf("got %q", got)
	}
	if got := log.Entries[3].ID; got != 8 {
		t.Errorf("_id %d, want 8", got)
	}
}

// A body that the log has whole is decoded whole, up to 10 MiB or what its
// process keeps of one; a bomb costs the latter. Options.MaxBody bounds all.
func TestLimits(t *testing.T) {
	coded := func(c coder) netlog.Header { return netlog.Header{Name: "Content-Encoding", Value: c.coding} }
	gz, br := coders[0], coders[4]
	large := sample(11 << 20)
	bomb := zstdBomb(75) // 9.4 MiB in 309 bytes
	tests := []struct {
		name    string
		limits  netlog.Limits
		maxBody int64
		coder   coder
		body    []byte // of a request and of an answer
		want    int64  // decoded; of the request, when the answer's is another
		answer  int64
	}{
		{"past what the log keeps", netlog.Limits{RequestBody: 50, ResponseBody: 100}, 0, gz, gz.encode(large[:5000]), 5000, 5000},
		{"past what a log keeps by default", netlog.Limits{}, 0, br, br.encode(large[:2<<20]), 2 << 20, 2 << 20},
		{"past everything", netlog.Limits{RequestBody: 1 << 20, ResponseBody: 1 << 20}, 0, gz, gz.encode(large), wholeBody, wholeBody},
		{"by a log that keeps more", netlog.Limits{RequestBody: 64 << 20, ResponseBody: 12 << 20}, 0, gz, gz.encode(large), 11 << 20, 11 << 20},
		{"a bomb", netlog.Limits{RequestBody: 2 << 20, ResponseBody: 1 << 20}, 0, coders[5], bomb, 2 << 20, 1 << 20},
		{"a bomb, and no limits", netlog.Limits{}, 0, coders[5], bomb, 75 << 17, 1 << 20},
		{"asked for less", netlog.Limits{RequestBody: 100, ResponseBody: 100}, 10, gz, gz.encode(large[:5000]), 10, 10},
		{"asked for more", netlog.Limits{RequestBody: 100, ResponseBody: 100}, 10_000_000, coders[5], bomb, 75 << 17, 75 << 17},
	}
	for _, test := range tests {
		f := newFixture(t)
		f.start(test.limits)
		req := post("application/json", test.body)
		req.Headers = append(req.Headers, coded(test.coder))
		f.exchange(req, ok("application/json", test.body, coded(test.coder)))
		whole, _, err := new(decoder).decode([]string{test.coder.coding}, &source{data: test.body}, 64<<20, false)
		if err != nil {
			t.Fatal(err)
		}
		list, stats := entriesOf(t, f.log(), Options{MaxBody: test.maxBody})
		e := list[0]
		if n := int64(len(e.Request.PostData.Text)); n != test.want || e.Request.PostData.Truncated != (n < int64(len(whole))) {
			t.Errorf("%s: %d bytes of the request, want %d; truncated %v", test.name, n, test.want, e.Request.PostData.Truncated)
		}
		c := e.Response.Content
		cut := test.answer < int64(len(whole))
		if n := int64(len(*c.Text)); n != test.answer || c.Size != n {
			t.Errorf("%s: %d bytes of the answer, size %d, want %d", test.name, n, c.Size, test.answer)
		}
		if c.Truncated != cut || cut == (c.Compression != nil) {
			t.Errorf("%s: truncated %v, compression %v", test.name, c.Truncated, c.Compression)
		}
		if cut != (stats.Truncated == 1) {
			t.Errorf("%s: %d truncated", test.name, stats.Truncated)
		}
	}
}

// All 256 byte values can be had back from a header, an answer and an upload.
func TestAllBytes(t *testing.T) {
	var all []byte
	for c := range 256 {
		all = append(all, byte(c))
	}
	req := post("application/octet-stream", all)
	field := strings.NewReplacer("\x00", "", "\r", "", "\n", "").Replace(string(all))
	req.Headers = append(req.Headers, netlog.Header{Name: "X-All", Value: field})
	e := one(t, req, ok("application/octet-stream", all))
	exact := func(name, in64, want string) {
		if b, err := base64.StdEncoding.DecodeString(in64); err != nil || string(b) != want {
			t.Errorf("%s: got %q (%v)", name, b, err)
		}
	}
	exact("the header", e.Request.Headers[2].ValueBase64, field)
	exact("the answer", *e.Response.Content.Text, string(all))
	exact("the upload", e.Request.PostData.Base64, string(all))
	if want := strings.ToValidUTF8(string(all[:128]), ""); !strings.HasPrefix(e.Request.PostData.Text, want+"\ufffd") {
		t.Errorf("the upload's text: %q", e.Request.PostData.Text)
	}
	for c := range 256 {
		body := []byte{'x', byte(c), 'y'}
		e := one(t, get("http://h/"), ok("text/plain", body))
		got := *e.Response.Content.Text
		if e.Response.Content.Encoding == "base64" {
			exact(fmt.Sprintf("byte %#x", c), got, string(body))
		} else if got != string(body) {
			t.Errorf("byte %#x: got %q", c, got)
		}
	}
}

func TestBadLines(t *testing.T) {
	f := newFixture(t)
	raw := func(s string) { f.buf.WriteString(s + "\n") }
	good := f.exchange(get("http://h/1"), ok("text/plain", []byte("a")))
	f.end(good, &netlog.End{Timings: netlog.NoTimings(0)}) // a second end
	raw("garbage")
	raw("")
	raw("{}")
	f.n++
	raw(fmt.Sprintf(`{"n":%d,"event":"novelty","id":1,"t":"2026-03-04T05:06:07.000000Z","x":1}`, f.n)) // skipped
	f.n++
	raw(fmt.Sprintf(`{"n":%d,"event":"open","id":%d,"t":"2026-03-04T05:06:07.000000Z","kind":"exchange","request":{"body":{"size":3,"base64":"!"}}}`, f.n, f.n))
	f.n++
	raw(fmt.Sprintf(`{"n":%d,"event":"open","id":3,"t":"2026-03-04T05:06:07.000000Z","kind":"exchange","request":{}}`, f.n)) // no id of its own
	f.n++
	raw(fmt.Sprintf(`{"n":%d,"event":"end","id":9999,"t":"2026-03-04T05:06:07.000000Z","lost":7,"timings":{"total":0}}`, f.n)) // an orphan
	f.message(9999, &netlog.Message{Dir: "send", Opcode: 1})
	id := f.open(&netlog.Open{Request: get("http://h/2")})
	f.n++
	raw(fmt.Sprintf(`{"n":%d,"event":"end","id":%d,"t":"2026-03-04T05:06:07.000000Z","timings":[]}`, f.n, id))
	f.exchange(get("http://h/3"), ok("text/plain", []byte("b")))
	raw(`{"n":1`)
	log, stats := f.convert()
	var got []string
	for _, e := range log.Entries {
		got = append(got, e.Request.URL)
	}
	if !slices.Equal(got, []string{"http://h/1", "http://h/2", "http://h/3"}) {
		t.Errorf("got %q", got)
	}
	// The second end, three lines of garbage, the bad base64, the foreign id,
	// the message of nothing, the bad end, the cut line.
	want := Stats{Lines: f.n + 4, Entries: 3, Open: 1, Orphans: 1, Lost: 7, Unreadable: 9}
	if stats != want {
		t.Errorf("got %+v, want %+v", stats, want)
	}
}

// A log that begins in the middle, because its first file was deleted.
func TestOrphans(t *testing.T) {
	f := newFixture(t)
	f.buf.Reset()
	f.n = 1000
	f.start(netlog.Limits{})
	f.message(500, &netlog.Message{Dir: "send", Opcode: 1})
	f.end(500, &netlog.End{Timings: netlog.NoTimings(0)})
	f.exchange(get("http://h/"), ok("text/plain", []byte("a")))
	_, stats := f.convert()
	if stats.Orphans != 1 || stats.Unreadable != 0 || stats.Entries != 1 {
		t.Errorf("got %+v", stats)
	}
}

// Two logs put one behind the other: the numbers begin again.
func TestNumbersAgain(t *testing.T) {
	f := newFixture(t)
	f.exchange(get("http://h/1"), ok("text/plain", []byte("a")))
	f.open(&netlog.Open{Request: get("http://h/open")})
	f.n = 0
	f.start(netlog.Limits{})
	f.exchange(get("http://h/2"), ok("text/plain", []byte("b")))
	log, stats := f.convert()
	if len(log.Entries) != 3 || stats.Unreadable != 0 || stats.Open != 1 || *log.Entries[2].Response.Content.Text != "b" {
		t.Errorf("got %d entries, %+v", len(log.Entries), stats)
	}
}

// A log that ends anywhere converts, and each entry of a whole pair is there.
func TestCutLog(t *testing.T) {
	f := newFixture(t)
	f.exchange(get("http://h/1"), ok("text/plain", []byte("a")))
	f.exchange(post("application/json", []byte(`{"a":1}`)), ok("application/json", []byte(`{}`)))
	whole := f.buf.Bytes()
	path := filepath.Join(t.TempDir(), "network.jsonl")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	header := bytes.IndexByte(whole, '\n') + 1
	for cut := len(whole); cut >= header; cut-- {
		if err := os.Truncate(path, int64(cut)); err != nil {
			t.Fatal(err)
		}
		log, err := netlog.OpenLog(path)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		got, stats := convertLog(t, log, Options{})
		log.Close()
		opens := bytes.Count(whole[:cut], []byte(`"event":"open"`))
		if n := int64(len(got.Entries)); n > int64(opens) || n != stats.Entries || stats.Open > 1 {
			t.Fatalf("cut at %d: %+v", cut, stats)
		}
	}
}

func TestEmptyLog(t *testing.T) {
	for _, content := range []string{"", "start"} {
		f := newFixture(t)
		if content == "" {
			f.buf.Reset()
		}
		log, stats := f.convert()
		if len(log.Entries) != 0 || len(log.Pages) != 0 || stats.Entries != 0 {
			t.Errorf("%q: %+v", content, stats)
		}
	}
}

// The first pass takes some 50 bytes an entry, whatever the lines hold.
func TestIndexMemory(t *testing.T) {
	const n = 20_000
	f := newFixture(t)
	for i := range n {
		f.exchange(get(fmt.Sprintf("http://h/%d", i)), ok("text/plain", []byte("a")))
	}
	log := f.log()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	x, err := makeIndex(log, func(int64, int64) error { return nil })
	runtime.ReadMemStats(&after)
	if err != nil || x.items.n != n {
		t.Fatalf("%d items, %v", x.items.n, err)
	}
	if each := (after.TotalAlloc - before.TotalAlloc - 512<<10) / n; int64(each) > 64 {
		t.Errorf("%d bytes allocated an entry", each)
	}
}

// hasWrongDigest tells a log with a body of another digest than it says. A HAR
// says the same.
func hasWrongDigest(t *testing.T, log *netlog.Log) (yes bool) {
	_, err := netlog.Check(log, netlog.CheckOptions{Fault: func(f netlog.Fault) error {
		yes = yes || f.Rule == netlog.RuleBody && strings.HasSuffix(f.Field, ".sha256")
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

func FuzzConvert(f *testing.F) {
	for _, lines := range smallLogs(f) {
		f.Add([]byte(strings.Join(lines, "\n") + "\n"))
	}
	f.Add([]byte("\n\n{}\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, lines []byte) {
		path := filepath.Join(dir, "network.jsonl")
		if err := os.WriteFile(path, lines, 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := netlog.OpenLog(path)
		if err != nil {
			return // no log
		}
		defer log.Close()
		wrongDigest := hasWrongDigest(t, log)
		convert := func(o Options) (Log, Stats) {
			o.MaxBody = 64 << 10
			l, stats, found := convertAndCheck(t, log, o)
			for _, fault := range found {
				if !wrongDigest || !strings.Contains(fault, "._sha256: ") {
					t.Error(fault)
				}
			}
			return l, stats
		}
		whole, _ := convert(Options{})
		for _, p := range Profiles() {
			if p.Name == "devtools" { // whose versions are not those of the rules
				continue
			}
			if some, stats := convert(Options{Rewrite: p.Rewrite}); len(some.Entries)+int(stats.Filtered) != len(whole.Entries) {
				t.Errorf("%s: %d entries and %d left out of %d", p.Name, len(some.Entries), stats.Filtered, len(whole.Entries))
			}
		}
		var trace bytes.Buffer
		if _, err := Convert(log, &trace, Options{MaxBody: 64 << 10, Format: Trace, Rewrite: forDevTools}); err != nil {
			t.Fatal(err)
		}
		network := unzip(t, trace.Bytes())["trace.network"]
		if n := bytes.Count(network, []byte("\n")); n != len(whole.Entries) {
			t.Errorf("%d lines for %d entries", n, len(whole.Entries))
		}
		for line := range bytes.Lines(network) {
			if !json.Valid(line) {
				t.Errorf("no JSON: %s", line)
			}
		}
	})
}
