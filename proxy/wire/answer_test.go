package wire

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadAnswer(t *testing.T) {
	tests := []struct {
		name, head string
		version    string
		minor      int
		status     int
		reason     string
		fields     string
		close      bool
		slop       int // empty lines' bytes before the status line
	}{
		{name: "plain", head: "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", version: "HTTP/1.1", minor: 1, status: 200, reason: "OK", fields: "A=b|"},
		{name: "HTTP/1.0", head: "HTTP/1.0 404 Not  Found \r\n\r\n", version: "HTTP/1.0", status: 404, reason: "Not  Found ", close: true},
		{name: "HTTP/1.2", head: "HTTP/1.2 200 OK\r\n\r\n", version: "HTTP/1.2", minor: 1, status: 200, reason: "OK"},
		{name: "empty reason", head: "HTTP/1.1 200 \r\n\r\n", version: "HTTP/1.1", minor: 1, status: 200},
		{name: "no space", head: "HTTP/1.1 200\r\n\r\n", version: "HTTP/1.1", minor: 1, status: 200},
		{name: "two spaces", head: "HTTP/1.1  200 OK\r\n\r\n", version: "HTTP/1.1", minor: 1, status: 200, reason: "OK"},
		{name: "any reason", head: "HTTP/1.1 299 \xe4\xff\t\x01: x\r\n\r\n", version: "HTTP/1.1", minor: 1, status: 299, reason: "\xe4\xff\t\x01: x"},
		{name: "any status", head: "HTTP/1.1 999 x\r\n\r\n", version: "HTTP/1.1", minor: 1, status: 999, reason: "x"},
		{name: "informational", head: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", version: "HTTP/1.1", minor: 1, status: 103, reason: "Early Hints", fields: "Link=</a>|"},
		{name: "odd names and values", head: "HTTP/1.1 200 OK\r\nA B(: \x01\x7f\xff\r\nSet-Cookie: a\r\nset-cookie: \r\n\r\n", version: "HTTP/1.1", minor: 1, status: 200, reason: "OK", fields: "A B(=\x01\x7f\xff|Set-Cookie=a|set-cookie=|"},
		{name: "folded", head: "HTTP/1.1 200 OK\r\nA: a \r\n  b\r\n\t\r\n \tc \r\nB:\r\n d: e\r\n\r\n", version: "HTTP/1.1", minor: 1, status: 200, reason: "OK", fields: "A=a b c|B=d: e|"},
		{name: "folded to nothing", head: "HTTP/1.1 200 OK\r\nA:\r\n \r\n\r\n", version: "HTTP/1.1", minor: 1, status: 200, reason: "OK", fields: "A=|"},
		{name: "close", head: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", version: "HTTP/1.1", minor: 1, status: 200, reason: "OK", fields: "Connection=close|", close: true},
		{name: "left behind a body", head: "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", version: "HTTP/1.1", minor: 1, status: 200, reason: "OK", slop: 4},
	}
	var a Answer
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const behind = "\r\nbody"
			for cut, br := range cuts(test.head + behind) {
				if err := ReadAnswer(br, &a, testLimit); err != nil {
					t.Fatalf("%s: %v", cut, err)
				}
				if a.Version != test.version || a.Minor != test.minor || a.Status != test.status ||
					string(a.Reason) != test.reason || pairs(a.Fields) != test.fields {
					t.Errorf("%s: %q %d %d %q %s", cut, a.Version, a.Minor, a.Status, a.Reason, pairs(a.Fields))
				}
				if string(a.Raw) != test.head {
					t.Errorf("%s: Raw is %q", cut, a.Raw)
				}
				if got := string(a.Line) + joined(a.Fields) + "\r\n"; got != test.head[test.slop:] {
					t.Errorf("%s: the lines are %q", cut, got)
				}
				if a.KeepAlive() == test.close {
					t.Errorf("%s: KeepAlive is %t", cut, a.KeepAlive())
				}
				if got := rest(t, br); got != behind {
					t.Errorf("%s: left is %q", cut, got)
				}
			}
			for i := range len(test.head) {
				want := io.ErrUnexpectedEOF
				if i == 0 {
					want = io.EOF
				}
				br := bufio.NewReader(strings.NewReader(test.head[:i]))
				if err := ReadAnswer(br, &a, testLimit); err != want || string(a.Raw) != test.head[:i] {
					t.Errorf("%d bytes: %v, want %v; Raw %q", i, err, want, a.Raw)
				}
				br = bufio.NewReader(io.MultiReader(strings.NewReader(test.head[:i]), iotest.ErrReader(errBroken)))
				if err := ReadAnswer(br, &a, testLimit); err != errBroken || string(a.Raw) != test.head[:i] {
					t.Errorf("%d bytes, then an error: %v; Raw %q", i, err, a.Raw)
				}
			}
		})
	}
}

func TestReadAnswerUnreadable(t *testing.T) {
	ok := func(fields string) string { return "HTTP/1.1 200 OK\r\n" + fields + "\r\nbody" }
	tests := []struct{ name, head, want string }{
		{"ssh", "SSH-2.0-x\r\n", "no HTTP/1 status line"},
		{"HTML", "<html>", "no HTTP/1 status line"},
		{"HTTP/2", "HTTP/2 200\r\n\r\n", "no HTTP/1 status line"},
		{"ICY", "ICY 200 OK\r\n\r\n", "no HTTP/1 status line"},
		{"lower case", "http/1.1 200 OK\r\n\r\n", "no HTTP/1 status line"},
		{"binary", "\x00\x00\x12\x04", "no HTTP/1 status line"},
		{"three empty lines", "\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "no HTTP/1 status line"},
		{"a bare CR first", "\rHTTP/1.1 200 OK\r\n\r\n", "a bare CR before the status line"},
		{"a bare LF first", "\nHTTP/1.1 200 OK\r\n\r\n", "no HTTP/1 status line"},
		{"HTTP/1.", "HTTP/1. 200 OK\r\n\r\n", "the status line has no HTTP/1 version"},
		{"HTTP/1.x", "HTTP/1.x 200 OK\r\n\r\n", "the status line has no HTTP/1 version"},
		{"HTTP/1.10", "HTTP/1.10 200 OK\r\n\r\n", "the status line has no HTTP/1 version"},
		{"no status", "HTTP/1.1\r\n\r\n", "the status line has no status of three digits"},
		{"short status", "HTTP/1.1 20 OK\r\n\r\n", "the status line has no status of three digits"},
		{"long status", "HTTP/1.1 2000 OK\r\n\r\n", "the status line has no status of three digits"},
		{"status with a letter", "HTTP/1.1 2x0 OK\r\n\r\n", "the status line has no status of three digits"},
		{"status below 100", "HTTP/1.1 099 OK\r\n\r\n", "the status line has no status of three digits"},
		{"bare LF in the status line", "HTTP/1.1 200 OK\nA: b\r\n\r\n", "a line ends in a bare LF"},
		{"bare CR in the status line", "HTTP/1.1 200 O\rK\r\n\r\n", "a line has a bare CR"},
		{"NUL in the status line", "HTTP/1.1 200 O\x00K\r\n\r\n", "a line has a NUL"},
		{"bare LF", ok("A: b\nB: c\r\n"), "a line ends in a bare LF"},
		{"bare LF for the blank line", "HTTP/1.1 200 OK\r\nA: b\r\n\nbody", "a line ends in a bare LF"},
		{"bare CR", ok("A: b\rB: c\r\n"), "a line has a bare CR"},
		{"NUL", ok("A: b\x00\r\n"), "a line has a NUL"},
		{"bare CR in a folded line", ok("A: b\r\n c\rd\r\n"), "a line has a bare CR"},
		{"no colon", ok("A: b\r\nA b\r\n"), "a field line has no colon"},
		{"no name", ok(": b\r\n"), "a field has no name"},
		{"a space before the colon", ok("A : b\r\n"), "a field has whitespace before its colon"},
		{"whitespace before the first field", ok(" A: b\r\n"), "whitespace before the first field"},
		{"too many fields", ok(strings.Repeat("a:\r\n", maxFields+1)), "the head has too many fields"},
		{"too many options", ok("Connection: a" + strings.Repeat(",a", maxConnection) + "\r\n"), "the Connection field names too many fields"},
	}
	var a Answer
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for cut, br := range cuts(test.head) {
				if err := ReadAnswer(br, &a, testLimit); said(err) != "unreadable: "+test.want {
					t.Fatalf("%s: %v, want %s", cut, said(err), test.want)
				}
				if got := string(a.Raw) + rest(t, br); got != test.head {
					t.Errorf("%s: Raw and what is left: %q", cut, got)
				}
			}
		})
	}
}

// What is no HTTP is not waited for: the relay passes it on at once.
func TestUnreadableAtOnce(t *testing.T) {
	var a Answer
	for _, begin := range []string{"S", "HTTX", "HTTP/2", "\r\n\x00"} {
		br := bufio.NewReader(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(errBroken)))
		if err := ReadAnswer(br, &a, testLimit); said(err) != "unreadable: no HTTP/1 status line" || string(a.Raw) != begin {
			t.Errorf("%q: %v, Raw %q", begin, err, a.Raw)
		}
	}
}

func TestAnswerLimit(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 500) + "\r\n\r\n"
	var a Answer
	for limit := len("HTTP/1."); limit < len(head); limit++ {
		for cut, br := range cuts(head + "body") {
			if err := ReadAnswer(br, &a, limit); said(err) != "unreadable: the head is too long" {
				t.Fatalf("limit %d, %s: %v", limit, cut, err)
			}
			if string(a.Raw) != head[:limit] || rest(t, br) != head[limit:]+"body" {
				t.Fatalf("limit %d, %s: took %d bytes", limit, cut, len(a.Raw))
			}
		}
	}
	for cut, br := range cuts(head) {
		if err := ReadAnswer(br, &a, len(head)); err != nil {
			t.Errorf("at the limit, %s: %v", cut, err)
		}
	}
}

func TestAnswerFraming(t *testing.T) {
	const chunked, both = "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
	tests := []struct {
		name, method, line, fields string
		want                       Framing
		err                        string
	}{
		{"length", "GET", "HTTP/1.1 200", "Content-Length: 5\r\n", Framing{Length, 5}, ""},
		{"length 0", "GET", "HTTP/1.1 200", "Content-Length: 0\r\n", Framing{Length, 0}, ""},
		{"neither", "GET", "HTTP/1.1 200", "", Framing{Kind: UntilClose}, ""},
		{"chunked", "GET", "HTTP/1.1 200", chunked, Framing{Kind: ByChunks}, ""},
		{"chunked in HTTP/1.2", "GET", "HTTP/1.2 200", chunked, Framing{Kind: ByChunks}, ""},
		{"chunked wins", "GET", "HTTP/1.1 200", both, Framing{Kind: ByChunks}, ""},
		{"chunked wins over a length that is none", "GET", "HTTP/1.1 200", "Content-Length: x\r\n" + chunked, Framing{Kind: ByChunks}, ""},
		{"chunked in HTTP/1.0", "GET", "HTTP/1.0 200", both, Framing{Kind: UntilClose}, ""},
		{"gzip, chunked", "GET", "HTTP/1.1 200", "Transfer-Encoding: gzip\r\nTransfer-Encoding: , CHUNKED ,\r\n", Framing{Kind: ByChunks}, ""},
		{"chunked first", "GET", "HTTP/1.1 200", "Transfer-Encoding: chunked, gzip\r\n", Framing{Kind: UntilClose}, ""},
		{"another coding", "GET", "HTTP/1.1 200", "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n", Framing{Kind: UntilClose}, ""},
		{"identity", "GET", "HTTP/1.1 200", "Transfer-Encoding: identity\r\nContent-Length: 5\r\n", Framing{Length, 5}, ""},
		{"no coding", "GET", "HTTP/1.1 200", "Transfer-Encoding:\r\nContent-Length: 5\r\n", Framing{Length, 5}, ""},
		{"equal lengths", "GET", "HTTP/1.1 200", "Content-Length: 5, 05\r\nContent-Length: 5\r\n", Framing{Length, 5}, ""},
		{"lengths that differ", "GET", "HTTP/1.1 200", "Content-Length: 5\r\nContent-Length: 6\r\n", Framing{}, "unreadable: two Content-Lengths that differ"},
		{"a list that differs", "GET", "HTTP/1.1 200", "Content-Length: 5, 6\r\n", Framing{}, "unreadable: two Content-Lengths that differ"},
		{"no length", "GET", "HTTP/1.1 200", "Content-Length: -5\r\n", Framing{}, "unreadable: the Content-Length is no length"},
		{"an empty length", "GET", "HTTP/1.1 200", "Content-Length:\r\n", Framing{}, "unreadable: the Content-Length is no length"},
		{"a huge length", "GET", "HTTP/1.1 200", "Content-Length: 9223372036854775808\r\n", Framing{}, "unreadable: the Content-Length is no length"},
		{"HEAD", "HEAD", "HTTP/1.1 200", both, Framing{}, ""},
		{"HEAD with a length that is none", "HEAD", "HTTP/1.1 200", "Content-Length: x\r\n", Framing{}, ""},
		{"head is another method", "head", "HTTP/1.1 200", chunked, Framing{Kind: ByChunks}, ""},
		{"100", "POST", "HTTP/1.1 100", chunked, Framing{}, ""},
		{"101", "GET", "HTTP/1.1 101", "", Framing{}, ""},
		{"204", "GET", "HTTP/1.1 204", chunked, Framing{}, ""},
		{"304", "GET", "HTTP/1.1 304", "Content-Length: 5\r\n", Framing{}, ""},
		{"205 is as any", "GET", "HTTP/1.1 205", "Content-Length: 5\r\n", Framing{Length, 5}, ""},
		{"CONNECT 200", "CONNECT", "HTTP/1.1 200", both, Framing{}, ""},
		{"CONNECT 407", "CONNECT", "HTTP/1.1 407", "Content-Length: 5\r\n", Framing{Length, 5}, ""},
	}
	var a Answer
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			head := test.line + "\r\n" + test.fields + "\r\n"
			if err := ReadAnswer(bufio.NewReader(strings.NewReader(head)), &a, testLimit); err != nil {
				t.Fatal(err)
			}
			if got, err := a.Framing(test.method); got != test.want || said(err) != test.err {
				t.Errorf("%+v, %v; want %+v, %s", got, err, test.want, test.err)
			}
		})
	}
}
