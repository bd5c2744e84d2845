package battery

import (
	"fmt"
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// requests are those whose fields and bodies have to pass.
func requests() []Case {
	// with is a request with field lines, some of which go no further.
	with := func(name, fields, up string) passing {
		return passing{
			name: name,
			send: "GET {u}/ HTTP/1.1\r\n" + host + fields + "\r\n", gets: "GET / HTTP/1.1\r\n" + host + up + "\r\n",
			log:  entry{method: "GET", url: "{o}/"},
			then: (*talk).again,
		}
	}
	same := func(name, fields string) passing { return with(name, fields, fields) }
	list := []passing{
		same("order, case and repeats", "zz: 1\r\nAccept:*/*\r\nZZ:  2 \r\nX-a: \r\nx-A:\r\naccept: b\r\nZz: 3\r\n"),
		same("values in Latin 1 and UTF-8", "A: caf\xe9\r\nB: \xc3\xa9\r\nC: \x80\xff\r\nD: \xf0\x9f\x8d\xba\r\n"),
		same("tabs and spaces in values", "A:\tb\tc \t\r\nB: \t\r\nC:  a  b  \r\n"),
		same("every character of a name", "!#$%&'*+-.^_`|~09azAZ: v\r\n"),
		same("punctuation in values", "A: \"\\\"(),/:;<=>?@[]{}\"\r\nCookie: a=b; c=\"d e\"; f={}; f={}\r\n"),
		same("names that look like framing", "Content_Length: 3\r\nTransfer_Encoding: chunked\r\nX-Content-Length: 3\r\nContent-Length-X: 3\r\nTransferEncoding: chunked\r\n"),
		same("no field but Host", ""),
		same("what caches and proxies say", "Via: 1.1 x\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nMax-Forwards: 0\r\nCache-Control: only-if-cached\r\nIf-None-Match: \"x\"\r\n"),
		same("Accept-Encoding of every kind", "Accept-Encoding: gzip;q=0, br, zstd , *;q=0.1\r\n"),
		same("Sec- and client hints", "sec-ch-ua: \"Chromium\";v=\"1\"\r\nSec-Fetch-Mode: navigate\r\nPriority: u=0, i\r\nDNT: 1\r\n"),
		same("9,990 fields", strings.Repeat("a:\r\n", 9_990)),
		same("value of 100,000 bytes", "A: "+strings.Repeat("x", 100_000)+"\r\n"),
		with("Connection: keep-alive", "Connection: keep-alive\r\n", ""),
		with("Connection of nothing", "Connection:\r\nA: b\r\n", "A: b\r\n"),
		with("Keep-Alive", "Keep-Alive: timeout=5\r\nConnection: Keep-Alive\r\nA: b\r\n", "A: b\r\n"),
		with("Proxy-Connection", "Proxy-Connection: keep-alive\r\nA: b\r\n", "A: b\r\n"),
		with("fields that Connection names", "X-Hop: 1\r\nConnection: x-hop, Y-hop\r\nA: b\r\ny-HOP: 2\r\nX-Hop: 3\r\n", "A: b\r\n"),
		with("two Connections", "Connection: a\r\nA: 1\r\nB: 2\r\nC: 3\r\nConnection: b\r\n", "C: 3\r\n"),
		with("Connection names Host and framing", "Connection: host, content-length, transfer-encoding, trailer\r\nA: b\r\n", "A: b\r\n"),
		with("Connection names what is not there", "Connection: nothing, , ,\r\n", ""),
		with("TE", "TE: gzip, deflate;q=0.5\r\nA: b\r\n", "A: b\r\n"),
		with("TE: trailers", "TE: trailers\r\nConnection: TE\r\nA: b\r\n", "TE: trailers\r\nA: b\r\n"),
		with("TE: trailers among others", "te: gzip, Trailers ,x\r\nA: b\r\n", "te: Trailers\r\nA: b\r\n"),
		with("Upgrade without Connection", "Upgrade: websocket\r\nA: b\r\n", "A: b\r\n"),
		with("Connection: upgrade without Upgrade", "Connection: upgrade\r\nA: b\r\n", "A: b\r\n"),
		{
			name: "Proxy- fields",
			send: "GET {u}/ HTTP/1.1\r\n" + host + "Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Authenticate: x\r\nProxy-Foo: bar\r\nAuthorization: Basic a2VwdA==\r\n\r\n",
			gets: "GET / HTTP/1.1\r\n" + host + "Proxy-Foo: bar\r\nAuthorization: Basic a2VwdA==\r\n\r\n",
			log: entry{method: "GET", url: "{o}/", check: func(o *netlog.Open, _ *netlog.End) error {
				if s := fmt.Sprintf("%+v", *o.Request); strings.Contains(s, "c2VjcmV0") || !strings.Contains(s, "a2VwdA==") {
					return fmt.Errorf("the headers are %s", s)
				}
				return nil
			}},
		},
		{
			name: "obs-text in the log",
			send: "GET {u}/ HTTP/1.1\r\n" + host + "A: caf\xe9 \r\n\r\n", gets: "GET / HTTP/1.1\r\n" + host + "A: caf\xe9 \r\n\r\n",
			log: entry{method: "GET", url: "{o}/", check: func(o *netlog.Open, _ *netlog.End) error {
				if h := o.Request.Headers; len(h) != 2 || h[1] != (netlog.Header{Name: "A", Value: "caf\xe9"}) {
					return fmt.Errorf("the headers are %q", h)
				}
				return nil
			}},
		},
		{
			name: "eight empty lines before the request line", legs: Plain | TLS,
			send: strings.Repeat("\r\n", 8) + get, gets: getUp, log: got(),
		},
		{
			name: "length",
			send: "POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello", gets: "POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello",
			log: entry{method: "POST", url: "{o}/", sent: "hello"}, then: (*talk).again,
		},
		{
			name: "length of 0",
			send: "POST {u}/ HTTP/1.1\r\n" + host + "content-length:0\r\n\r\n", gets: "POST / HTTP/1.1\r\n" + host + "content-length:0\r\n\r\n",
			log: entry{method: "POST", url: "{o}/"}, then: (*talk).again,
		},
		{
			name: "length with leading zeros",
			send: "POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 0005\r\n\r\nhello", gets: "POST / HTTP/1.1\r\n" + host + "Content-Length: 0005\r\n\r\nhello",
			log: entry{method: "POST", url: "{o}/", sent: "hello"}, then: (*talk).again,
		},
		{
			name: "two lengths alike become one",
			send: "POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 5\r\nA: b\r\nContent-Length: 5\r\n\r\nhello", gets: "POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\nA: b\r\n\r\nhello",
			log: entry{method: "POST", url: "{o}/", sent: "hello"}, then: (*talk).again,
		},
		{
			name: "body of a GET",
			send: "GET {u}/ HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello", gets: "GET / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello",
			log: entry{method: "GET", url: "{o}/", sent: "hello"}, then: (*talk).again,
		},
		{
			name: "body that looks like a request",
			send: "POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 37\r\n\r\n" + getUp, gets: "POST / HTTP/1.1\r\n" + host + "Content-Length: 37\r\n\r\n" + getUp,
			log: entry{method: "POST", url: "{o}/", sent: getUp}, then: (*talk).again,
		},
		{
			name: "body of bytes of all kinds",
			send: "POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 256\r\n\r\n" + every, gets: "POST / HTTP/1.1\r\n" + host + "Content-Length: 256\r\n\r\n" + every,
			log: entry{method: "POST", url: "{o}/", sent: every}, then: (*talk).again,
		},
		{
			name: "no length and not chunked",
			send: "POST {u}/ HTTP/1.1\r\n" + host + "\r\n", gets: "POST / HTTP/1.1\r\n" + host + "\r\n",
			log: entry{method: "POST", url: "{o}/"}, then: (*talk).again,
		},
	}
	for _, c := range []struct{ name, coding, body, content string }{
		{"chunked", "chunked", "5\r\nhello\r\n0\r\n\r\n", "hello"},
		{"chunked in another case", "CHUNKED", "5\r\nhello\r\n0\r\n\r\n", "hello"},
		{"nothing in chunks", "chunked", "0\r\n\r\n", ""},
		{"chunks with extensions", "chunked", "3;a=b;c=\"d;e\"\r\nhel\r\n2;x\r\nlo\r\n0;last\r\n\r\n", "hello"},
		{"chunk sizes with zeros and in both cases", "chunked", "00000000000000aA\r\n" + strings.Repeat("x", 170) + "\r\n0000000000000000\r\n\r\n", strings.Repeat("x", 170)},
		{"chunks of one byte", "chunked", "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n", "hello"},
		{"chunks with trailers", "chunked", "5\r\nhello\r\n0\r\nX: y\r\nx:  Z \r\n\r\n", "hello"},
		{"trailers with framing fields", "chunked", "5\r\nhello\r\n0\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\nHost: other.test\r\n\r\n", "hello"},
		{"gzip and chunked", "gzip, chunked", "5\r\nhello\r\n0\r\n\r\n", "hello"},
		{"gzip and chunked in two fields", "gzip\r\nTransfer-Encoding:chunked", "5\r\nhello\r\n0\r\n\r\n", "hello"},
		{"chunk that looks like a request", "chunked", "25\r\n" + getUp + "\r\n0\r\n\r\n", getUp},
		{"chunk that looks like the last", "chunked", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"},
	} {
		head := host + "Transfer-Encoding: " + c.coding + "\r\nTrailer: X\r\n\r\n"
		list = append(list, passing{
			name: c.name,
			send: "POST {u}/ HTTP/1.1\r\n" + head + c.body, gets: "POST / HTTP/1.1\r\n" + head + c.body,
			log: entry{method: "POST", url: "{o}/", sent: c.content, check: trailers(c.body)}, then: (*talk).again,
		})
	}
	cases := passings("requests", list)
	for i, p := range list {
		if p.then != nil {
			cases[i].log = append(cases[i].log, got())
		}
	}
	return cases
}

// trailers says that the log has a chunked body's.
func trailers(body string) func(*netlog.Open, *netlog.End) error {
	section := body[strings.LastIndex("\r\n"+body, "\r\n0"):]
	want := strings.Count(section, ": ")
	return func(o *netlog.Open, e *netlog.End) error {
		got := o.Request.Trailers
		if e.Request != nil {
			got = e.Request.Trailers
		}
		if len(got) != want {
			return fmt.Errorf("the trailers are %q, and were to be %d", got, want)
		}
		return nil
	}
}

// every is each byte once.
var every = func() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()
