package wire

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadRequest(t *testing.T) {
	tests := []struct {
		name, head     string
		method, target string
		version        string
		fields         string
		framing        Framing
		close          bool
		skipped        int // empty lines' bytes, in no part of the request
	}{
		{name: "plain", head: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", method: "GET", target: "/", version: "HTTP/1.1", fields: "Host=a|"},
		{name: "HTTP/1.0", head: "GET / HTTP/1.0\r\n\r\n", method: "GET", target: "/", version: "HTTP/1.0", close: true},
		{name: "HTTP/1.0 kept alive", head: "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", method: "GET", target: "/", version: "HTTP/1.0", fields: "Connection=Keep-Alive|"},
		{name: "close", head: "GET / HTTP/1.1\r\nHost:\r\nConnection: x, CLOSE\r\n\r\n", method: "GET", target: "/", version: "HTTP/1.1", fields: "Host=|Connection=x, CLOSE|", close: true},
		{name: "lower-case method", head: "get /a?b=c HTTP/1.1\r\nhOST: a\r\n\r\n", method: "get", target: "/a?b=c", version: "HTTP/1.1", fields: "hOST=a|"},
		{name: "order, case and repeats", head: "GET / HTTP/1.1\r\nX-b: 2\r\nhost: a\r\nX-A:1\r\nx-b: \t2 3\t \r\nX-Empty:\r\n\r\n", method: "GET", target: "/", version: "HTTP/1.1", fields: "X-b=2|host=a|X-A=1|x-b=2 3|X-Empty=|"},
		{name: "obs-text and tab", head: "GET /\xff HTTP/1.1\r\nHost: b\xc3\xbccher.example\r\nA: \xe4\t\xff\r\n\r\n", method: "GET", target: "/\xff", version: "HTTP/1.1", fields: "Host=b\xc3\xbccher.example|A=\xe4\t\xff|"},
		{name: "odd token", head: "M-SEARCH!#$%&'*+.^_`|~ * HTTP/1.1\r\nHost: [::1]:8080\r\n!#$%&'*+-.^_`|~9: \r\n\r\n", method: "M-SEARCH!#$%&'*+.^_`|~", target: "*", version: "HTTP/1.1", fields: "Host=[::1]:8080|!#$%&'*+-.^_`|~9=|"},
		{name: "colon in value", head: "GET / HTTP/1.1\r\nHost: a:80\r\nA: b: c:\r\n\r\n", method: "GET", target: "/", version: "HTTP/1.1", fields: "Host=a:80|A=b: c:|"},
		{name: "empty lines before", head: "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", method: "GET", target: "/", version: "HTTP/1.1", fields: "Host=a|", skipped: 4},
		{name: "eight empty lines before", head: strings.Repeat("\r\n", 8) + "GET / HTTP/1.1\r\nHost: a\r\n\r\n", method: "GET", target: "/", version: "HTTP/1.1", fields: "Host=a|", skipped: 16},
		{name: "length", head: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", method: "POST", target: "/", version: "HTTP/1.1", fields: "Host=a|Content-Length=5|", framing: Framing{Length, 5}},
		{name: "length 0", head: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", method: "POST", target: "/", version: "HTTP/1.1", fields: "Host=a|Content-Length=0|", framing: Framing{Length, 0}},
		{name: "the longest length, with zeros", head: "POST / HTTP/1.0\r\nContent-Length: 00009223372036854775807\r\n\r\n", method: "POST", target: "/", version: "HTTP/1.0", fields: "Content-Length=00009223372036854775807|", framing: Framing{Length, 1<<63 - 1}, close: true},
		{name: "equal lengths", head: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\ncontent-length: 5 \r\n\r\n", method: "POST", target: "/", version: "HTTP/1.1", fields: "Host=a|Content-Length=5|content-length=5|", framing: Framing{Length, 5}},
		{name: "chunked", head: "POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n", method: "POST", target: "/", version: "HTTP/1.1", fields: "Host=a|transfer-encoding=Chunked|", framing: Framing{Kind: ByChunks}},
		{name: "gzip, chunked", head: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: X-Gzip\r\nTransfer-Encoding: deflate\t,chunked\r\n\r\n", method: "POST", target: "/", version: "HTTP/1.1", fields: "Host=a|Transfer-Encoding=X-Gzip|Transfer-Encoding=deflate\t,chunked|", framing: Framing{Kind: ByChunks}},
	}
	var r Request // one for all: nothing of a head may be left for the next
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const behind = "\r\nGET /next"
			for cut, br := range cuts(test.head + behind) {
				if err := ReadRequest(br, &r, testLimit); err != nil {
					t.Fatalf("%s: %v", cut, err)
				}
				if string(r.Method) != test.method || string(r.Target) != test.target || r.Version != test.version ||
					r.Minor != int(test.version[7]-'0') || pairs(r.Fields) != test.fields {
					t.Errorf("%s: %q %q %s %d %s", cut, r.Method, r.Target, r.Version, r.Minor, pairs(r.Fields))
				}
				if string(r.Raw) != test.head[test.skipped:] {
					t.Errorf("%s: Raw is %q", cut, r.Raw)
				}
				if got := string(r.Line) + joined(r.Fields) + "\r\n"; got != string(r.Raw) {
					t.Errorf("%s: the lines are %q", cut, got)
				}
				if framing, err := r.Framing(); framing != test.framing || err != nil {
					t.Errorf("%s: Framing is %+v, %v", cut, framing, err)
				}
				if r.KeepAlive() == test.close {
					t.Errorf("%s: KeepAlive is %t", cut, r.KeepAlive())
				}
				if got := rest(t, br); got != behind {
					t.Errorf("%s: left is %q", cut, got)
				}
			}
			for i := range len(test.head) {
				br := bufio.NewReader(strings.NewReader(test.head[:i]))
				want := io.ErrUnexpectedEOF
				if i <= test.skipped && i%2 == 0 {
					want = io.EOF
				}
				if err := ReadRequest(br, &r, testLimit); err != want {
					t.Errorf("%d bytes: %v, want %v", i, err, want)
				}
				br = bufio.NewReader(io.MultiReader(strings.NewReader(test.head[:i]), iotest.ErrReader(errBroken)))
				if err := ReadRequest(br, &r, testLimit); err != errBroken {
					t.Errorf("%d bytes, then an error: %v", i, err)
				}
				if i > test.skipped && string(r.Raw) != test.head[test.skipped:i] {
					t.Errorf("%d bytes: Raw is %q", i, r.Raw)
				}
			}
		})
	}
}

func TestReadRequestRefuses(t *testing.T) {
	const host = "Host: a\r\n"
	get := func(fields string) string { return "GET / HTTP/1.1\r\n" + fields + "\r\n" }
	post := func(fields string) string { return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" }
	tests := []struct{ name, head, want string }{
		{"a TLS record", "\x16\x03\x01\x02\x00\x01", "bad_request: a TLS record where a request line was due"},
		{"binary", "\x00\x01", "bad_request: no request line"},
		{"a space first", " GET / HTTP/1.1\r\n", "bad_request: no request line"},
		{"a bare LF first", "\nGET / HTTP/1.1\r\n", "bad_request: a bare LF before the request line"},
		{"a bare CR first", "\rGET / HTTP/1.1\r\n", "bad_request: a bare CR before the request line"},
		{"nine empty lines", strings.Repeat("\r\n", 9) + get(host), "bad_request: too many empty lines before the request line"},
		{"one word", "GET\r\n\r\n", "bad_request: no request line: it has no target"},
		{"HTTP/0.9", "GET /\r\n", "bad_request: the request line has no version: an HTTP/0.9 request"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "bad_request: an HTTP/2 preface where HTTP/1 was due"},
		{"HTTP/2.0", "GET / HTTP/2.0\r\n", "bad_request: the request line's version is neither HTTP/1.0 nor HTTP/1.1"},
		{"HTTP/1.2", "GET / HTTP/1.2\r\n", "bad_request: the request line's version is neither HTTP/1.0 nor HTTP/1.1"},
		{"HTTP/1.10", "GET / HTTP/1.10\r\n", "bad_request: the request line's version is neither HTTP/1.0 nor HTTP/1.1"},
		{"http/1.1", "GET / http/1.1\r\n", "bad_request: the request line's version is neither HTTP/1.0 nor HTTP/1.1"},
		{"two spaces before the target", "GET  / HTTP/1.1\r\n", "bad_request: the request line has no target, or more than one space before it"},
		{"two spaces behind the target", "GET /  HTTP/1.1\r\n", "bad_request: the request line has more than two spaces"},
		{"a space at the end", "GET / HTTP/1.1 \r\n", "bad_request: the request line has more than two spaces"},
		{"a space in the target", "GET /a b HTTP/1.1\r\n", "bad_request: the request line has more than two spaces"},
		{"a tab for a space", "GET\t/ HTTP/1.1\r\n", "bad_request: the request line has a control byte"},
		{"a control byte in the target", "GET /\x01 HTTP/1.1\r\n", "bad_request: the request line has a control byte"},
		{"a DEL in the target", "GET /\x7f HTTP/1.1\r\n", "bad_request: the request line has a control byte"},
		{"a NUL in the target", "GET /\x00 HTTP/1.1\r\n", "bad_request: the request line has a control byte"},
		{"a bare CR in the target", "GET /\r HTTP/1.1\r\n", "bad_request: the request line has a control byte"},
		{"a method that is none", "G(T / HTTP/1.1\r\n", "bad_request: the request line's method is no token"},
		{"a bare LF behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", "bad_request: the request line ends in a bare LF"},
		{"a space before the colon", get("Host : a\r\n"), `bad_request: the field "Host" has a space before its colon`},
		{"a tab before the colon", get(host + "A\t: a\r\n"), `bad_request: the field "A" has a space before its colon`},
		{"a name that is none", get(host + "A B: a\r\n"), `bad_request: the field "A B" has a name that is no token`},
		{"a name with obs-text", get(host + "A\xff: a\r\n"), `bad_request: the field "A\xff" has a name that is no token`},
		{"no name", get(host + ": a\r\n"), `bad_request: the field "" has a name that is no token`},
		{"a long name that is none", get(host + strings.Repeat("(", 1000) + ": a\r\n"), `bad_request: the field "` + strings.Repeat("(", 64) + `" has a name that is no token`},
		{"no colon", get(host + "A\r\n"), "bad_request: a field line without a colon"},
		{"folding", get(host + "A: a\r\n b\r\n"), "bad_request: a folded field line"},
		{"folding to nothing", get(host + "A: a\r\n\t\r\n"), "bad_request: a folded field line"},
		{"whitespace before the first field", get(" " + host), "bad_request: whitespace before the first field"},
		{"a bare LF", get(host + "A: a\nB: b\r\n"), "bad_request: a field line ends in a bare LF"},
		{"a bare LF for the blank line", "GET / HTTP/1.1\r\nHost: a\r\n\n", "bad_request: a field line ends in a bare LF"},
		{"a bare CR", get(host + "A: a\rB: b\r\n"), `bad_request: the field "A" has a control byte in its value`},
		{"a CR before the CRLF", get(host + "A: a\r\r\n"), `bad_request: the field "A" has a control byte in its value`},
		{"a NUL", get(host + "A: \x00\r\n"), `bad_request: the field "A" has a control byte in its value`},
		{"a DEL", get(host + "A: \x7f\r\n"), `bad_request: the field "A" has a control byte in its value`},
		{"no Host", get("A: a\r\n"), "bad_request: no Host field in an HTTP/1.1 request"},
		{"two Hosts", get(host + "hosT: a\r\n"), "bad_request: more than one Host field"},
		{"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", "bad_request: more than one Host field"},
		{"whitespace in Host", get("Host: a b\r\n"), "bad_request: the Host field is no host and port: the host has a byte that is none of a host's"},
		{"userinfo in Host", get("Host: a@b\r\n"), "bad_request: the Host field is no host and port: the host has a byte that is none of a host's"},
		{"a path in Host", get("Host: a/b\r\n"), "bad_request: the Host field is no host and port: the host has a byte that is none of a host's"},
		{"port 65536 in Host", get("Host: a:65536\r\n"), "bad_request: the Host field is no host and port: the port is not between 1 and 65535"},
		{"too many options", get(host + "Connection: " + strings.Repeat("a,", maxConnection+1) + "\r\n"), "bad_request: the Connection field names too many fields"},
		{"both framings", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), "bad_request: both a Content-Length and a Transfer-Encoding"},
		{"lengths that differ", post("Content-Length: 5\r\nContent-Length: 6\r\n"), "bad_request: two Content-Length fields that differ"},
		{"lengths spelled unlike", post("Content-Length: 5\r\nContent-Length: 05\r\n"), "bad_request: two Content-Length fields that differ"},
		{"a list of lengths", post("Content-Length: 5, 5\r\n"), "bad_request: the Content-Length is no length"},
		{"a signed length", post("Content-Length: +5\r\n"), "bad_request: the Content-Length is no length"},
		{"a negative length", post("Content-Length: -5\r\n"), "bad_request: the Content-Length is no length"},
		{"a length with a space", post("Content-Length: 5 5\r\n"), "bad_request: the Content-Length is no length"},
		{"a hexadecimal length", post("Content-Length: 0x5\r\n"), "bad_request: the Content-Length is no length"},
		{"an empty length", post("Content-Length:\r\n"), "bad_request: the Content-Length is no length"},
		{"a huge length", post("Content-Length: 9223372036854775808\r\n"), "bad_request: the Content-Length is no length"},
		{"a coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "bad_request: a Transfer-Encoding in an HTTP/1.0 request"},
		{"chunked twice", post("Transfer-Encoding: chunked, chunked\r\n"), "bad_request: the Transfer-Encoding has chunked twice"},
		{"chunked in two fields", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "bad_request: the Transfer-Encoding has chunked twice"},
		{"chunked first", post("Transfer-Encoding: chunked, gzip\r\n"), "bad_request: the Transfer-Encoding does not end in chunked"},
		{"not chunked", post("Transfer-Encoding: gzip\r\n"), "bad_request: the Transfer-Encoding does not end in chunked"},
		{"an empty coding", post("Transfer-Encoding:\r\n"), "bad_request: the Transfer-Encoding has an element that is no bare coding"},
		{"an empty element", post("Transfer-Encoding: ,chunked\r\n"), "bad_request: the Transfer-Encoding has an element that is no bare coding"},
		{"a parameter", post("Transfer-Encoding: chunked;q=1\r\n"), "bad_request: the Transfer-Encoding has an element that is no bare coding"},
		{"a quoted coding", post("Transfer-Encoding: \"chunked\"\r\n"), "bad_request: the Transfer-Encoding has an element that is no bare coding"},
		{"an unknown coding", post("Transfer-Encoding: br, chunked\r\n"), "unknown_transfer_coding: an unknown transfer coding"},
		{"an unknown coding last", post("Transfer-Encoding: xchunked\r\n"), "unknown_transfer_coding: an unknown transfer coding"},
		{"identity", post("Transfer-Encoding: identity\r\n"), "unknown_transfer_coding: an unknown transfer coding"},
		{"too many fields", "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("a:\r\n", maxFields) + "\r\n", "head_too_long: the head has too many fields"},
	}
	status := map[string]int{"bad_request": 400, "head_too_long": 431, "unknown_transfer_coding": 501}
	var r Request
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for cut, br := range cuts(test.head) {
				err := ReadRequest(br, &r, testLimit)
				if said(err) != test.want {
					t.Fatalf("%s: %v, want %s", cut, said(err), test.want)
				}
				if refusal := err.(*Refusal); refusal.Status != status[refusal.Code] {
					t.Errorf("%s: status %d with %s", cut, refusal.Status, refusal.Code)
				}
				if got := string(r.Raw) + rest(t, br); !strings.HasSuffix(test.head, got) {
					t.Errorf("%s: Raw and what is left: %q", cut, got)
				}
			}
		})
	}
}

// A refused request is recorded: what was good of it must be there.
func TestRefusedRequestIsSet(t *testing.T) {
	var r Request
	head := "GET /x HTTP/1.1\r\nHost: a\r\nA: b\r\nbad line\r\nC: d\r\n\r\n"
	br := bufio.NewReaderSize(strings.NewReader(head), 16)
	if err := ReadRequest(br, &r, testLimit); said(err) != "bad_request: a field line without a colon" {
		t.Fatal(err)
	}
	if string(r.Method) != "GET" || string(r.Target) != "/x" || r.Version != "HTTP/1.1" || pairs(r.Fields) != "Host=a|A=b|" {
		t.Errorf("%q %q %q %s", r.Method, r.Target, r.Version, pairs(r.Fields))
	}
	if want := head[:strings.Index(head, "C:")]; string(r.Raw) != want {
		t.Errorf("Raw: %q", r.Raw)
	}
}

func TestRequestLimit(t *testing.T) {
	head := "GET / HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("a", 500) + "\r\n\r\n"
	var r Request
	for limit := range len(head) {
		for cut, br := range cuts(head) {
			if err := ReadRequest(br, &r, limit); said(err) != "head_too_long: the head is too long" {
				t.Fatalf("limit %d, %s: %v", limit, cut, err)
			}
			if string(r.Raw) != head[:limit] || rest(t, br) != head[limit:] {
				t.Fatalf("limit %d, %s: took %d bytes", limit, cut, len(r.Raw))
			}
		}
	}
	for cut, br := range cuts(head) {
		if err := ReadRequest(br, &r, len(head)); err != nil {
			t.Errorf("at the limit, %s: %v", cut, err)
		}
	}
	// Nothing past the limit is waited for.
	br := bufio.NewReader(io.MultiReader(strings.NewReader(head[:100]), iotest.ErrReader(errBroken)))
	if err := ReadRequest(br, &r, 100); said(err) != "head_too_long: the head is too long" {
		t.Errorf("the limit's bytes and no more: %v", err)
	}
}

// A long head's buffers are not kept for the life of a connection.
func TestLongHeadIsGivenUp(t *testing.T) {
	var r Request
	long := "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A: "+strings.Repeat("a", 100)+"\r\n", 5000) + "\r\n"
	short := "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	br := bufio.NewReader(strings.NewReader(long + short))
	if err := ReadRequest(br, &r, testLimit); err != nil || len(r.Fields) != 5001 || !bytes.Equal(r.Raw, []byte(long)) {
		t.Fatalf("%v, %d fields", err, len(r.Fields))
	}
	if err := ReadRequest(br, &r, testLimit); err != nil || string(r.Raw) != short {
		t.Fatalf("%v, %q", err, r.Raw)
	}
	if cap(r.Raw) > keepRaw || cap(r.Fields) > keepFields {
		t.Errorf("kept %d bytes and %d fields", cap(r.Raw), cap(r.Fields))
	}
}
