package main

import (
	"bytes"
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentenv/netlog/har"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each kind of entry in full.
func TestShowEntry(t *testing.T) {
	text := func(s string) *string { return &s }
	yes, kept := true, int64(5)
	none := har.Timings{Blocked: har.None, DNS: har.None, Connect: har.None, SSL: har.None}
	dump := make([]byte, mostDump+3)
	for i := range dump {
		dump[i] = byte(i)
	}
	entries := []*har.Entry{
		{
			ID: 2, StartedDateTime: "2026-03-04T05:06:07.089Z", Time: 37003, Via: "mitm", Site: "shop", ResourceType: "document",
			Request: har.Request{
				Method: "POST", URL: "https://shop.example/cart?q=1", HTTPVersion: "HTTP/1.1", HeadersSize: 120, BodySize: 9,
				Headers:  []har.Header{{Name: "Host", Value: "shop.example"}, {Name: "X-Twice", Value: "1"}, {Name: "x-twice", Value: "caf\ufffd", ValueBase64: "Y2Fm6Q=="}},
				PostData: &har.PostData{MimeType: "text/plain", Text: "a\r\nb\x1bc\n", BodyNote: har.BodyNote{Truncated: true, KeptSize: &kept}},
				Trailers: []har.Header{{Name: "X-Sum", Value: "1"}},
			},
			Response: har.Response{
				Status: 200, StatusText: "OK", HTTPVersion: "HTTP/1.1", HeadersSize: 90, BodySize: 300,
				Headers:       []har.Header{{Name: "Content-Type", Value: "text/html"}},
				Informational: []har.Informational{{Status: 103, Headers: []har.Header{{Name: "Link", Value: "</a.css>"}}}},
				Content:       har.Content{Size: 12, MimeType: "text/html", Text: text("<p>žluť 🦊"), BodyNote: har.BodyNote{SHA256: "ab12"}},
			},
			Timings:         har.Timings{Blocked: 7, DNS: 1500, Connect: 25003, SSL: 15001, Send: 40, Wait: 9999, Receive: 454},
			ServerIPAddress: "2001:db8::1", ServerPort: 443, ConnectionID: "1-1", Initiator: &har.Initiator{URL: "https://shop.example/"},
			SecurityDetails: &har.SecurityDetails{Protocol: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", SubjectName: "shop.example", Issuer: "Test CA", ValidFrom: 1767225600, ValidTo: 1775001600, SANList: []string{"shop.example", "www.shop.example"}, Verified: &yes, Serial: "0a", SHA256: "cd"},
			ClientTLS:       &har.ClientTLS{Protocol: "TLS 1.3", SNI: "shop.example", Resumed: true},
			Changed:         []string{"strip_conditionals"},
		},
		{
			ID: 4, Time: 5, Via: "plain", Timings: none, Request: har.Request{Method: "GET", URL: "http://h.example/", HTTPVersion: "HTTP/1.1", BodySize: 1024, PostData: &har.PostData{Base64: base64.StdEncoding.EncodeToString(dump)}},
			Response: har.Response{Status: -1, Error: "no such host"},
			Failed:   &har.Failed{Phase: "dns", Code: "not_found", Reason: "no such host"},
		},
		{
			ID: 6, Timings: none, Request: har.Request{Method: "CONNECT", URL: "https://h.example:8443/", HTTPVersion: "HTTP/1.1"},
			Response: har.Response{Status: -1, Error: "forbidden"},
			Refused:  &har.Refused{Code: "policy", Reason: "forbidden", Status: 403},
		},
		{
			ID: 8, Timings: none, Via: "tunnel", Request: har.Request{Method: "CONNECT", URL: "https://h.example:443/", HTTPVersion: "HTTP/1.1"},
			Response: har.Response{Status: 200},
			Tunnel:   &har.Tunnel{Sent: 517, Received: 4096, SNI: "h.example", ALPN: []string{"h2", "http/1.1"}, TLSVersions: []string{"TLS 1.3"}, TLSVersion: "TLS 1.3"},
		},
		{
			ID: 10, Timings: none, Open: true, ResourceType: "websocket", Request: har.Request{Method: "GET", URL: "wss://h.example/chat", HTTPVersion: "HTTP/1.1"},
			Response:  har.Response{Status: 101, StatusText: "Switching Protocols", HTTPVersion: "HTTP/1.1"},
			WebSocket: &har.WebSocket{Sent: har.Frames{Messages: 1, Bytes: 5}, Received: har.Frames{Messages: 1, Bytes: 2}, Subprotocol: "chat"},
			WebSocketMessages: []har.WebSocketMessage{
				{Type: "send", Time: 1772600767089012, Opcode: 1, Data: "hello\x1b\n"},
				{Type: "receive", Time: 1772600767090000, Opcode: 2, Data: "AAE=", Truncated: true},
			},
			WebSocketClose: &har.WebSocketClose{Code: 1000, Reason: "bye", By: "client"},
		},
		{
			ID: 12, Timings: none, Request: har.Request{Method: "GET", URL: "https://h.example"},
			Response: har.Response{Status: 200, BodySize: 7, Content: har.Content{Size: 7, Text: text("bm8gZ3ppcA=="), Encoding: "base64", BodyNote: har.BodyNote{Undecoded: "gzip: no header"}}},
		},
		{
			ID: 14, Timings: none, Request: har.Request{Method: "GET", URL: "https://h.example/big.png"},
			Response: har.Response{Status: 200, BodySize: 70000, Content: har.Content{Size: 70000, MimeType: "image/png"}},
		},
		{
			ID: 16, Timings: none, Unparsed: true, Request: har.Request{Method: "GET", URL: "https://h.example/smtp"},
			Response: har.Response{Status: -1, BodySize: 12, Content: har.Content{Size: 12, MimeType: "x-unknown", Text: text("220 ready\x1b\r\n")}, Error: "the answer is no HTTP"},
		},
		{
			ID: 18, Timings: none, Unparsed: true, Request: har.Request{Method: "GET", URL: "https://h.example/raw"},
			Response: har.Response{Status: 0, BodySize: 3, Content: har.Content{Size: 3, MimeType: "x-unknown", Text: text("AP8B"), Encoding: "base64"}},
		},
		{
			ID: 20, Timings: none, Request: har.Request{Method: "POST", URL: "https://h.example/shop.Cart/Add", HTTPVersion: "HTTP/2", PseudoHeaders: []har.Header{{Name: ":path", Value: "/shop.Cart/Add"}}},
			Response: har.Response{Status: 200, HTTPVersion: "HTTP/2", Trailers: []har.Header{{Name: "grpc-status", Value: "0"}}},
			GRPCMessages: []har.GRPCMessage{
				{Type: "send", Size: 2, Data: "CAE="},
				{Type: "receive", Compressed: true, Size: 9, Data: "emlwcGVk", Truncated: true},
				{Type: "receive", Trailers: true, Size: 15, Data: base64.StdEncoding.EncodeToString([]byte("grpc-status:0\r\n"))},
			},
		},
		{
			ID: 22, Timings: none, ResourceType: "websocket",
			Request:  har.Request{Method: "CONNECT", URL: "wss://h.example/chat?x", HTTPVersion: "HTTP/2", PseudoHeaders: []har.Header{{Name: ":protocol", Value: "websocket"}}},
			Response: har.Response{Status: 200, HTTPVersion: "HTTP/2"},
		},
	}
	var out bytes.Buffer
	for _, e := range entries {
		if err := printEntry(&out, screen{}, e); err != nil {
			t.Fatal(err)
		}
		out.WriteString(strings.Repeat("-", 20) + "\n")
	}
	golden := filepath.Join("testdata", "entries.golden")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("got\n%s", out.String())
	}
}
