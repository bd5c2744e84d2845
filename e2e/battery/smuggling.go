package battery

import (
	"strings"
)

// A refusal is a request that must not go up: two parties could read it as two
// different ones.
type refusal struct {
	name   string
	legs   Leg
	send   string // the request; one more is sent right behind it
	status int    // 0: 400
	url    string // "": {o}/r
	method string // "": POST
	sent   string // of the body, what the log has
}

// refusals makes cases of them: nothing goes up, the browser is told, its
// connection ends, and what it sent behind is never read as a request.
func refusals(group string, list []refusal) []Case {
	var cases []Case
	for _, r := range list {
		code := "bad_request 400"
		switch r.status {
		case 0:
			r.status = 400
		case 421:
			code = "misdirected 421"
		case 431:
			code = "head_too_long 431"
		case 501:
			code = "unknown_transfer_coding 501"
		}
		if r.url == "" {
			r.url = "{o}/r"
		}
		if r.method == "" {
			r.method = "POST"
		}
		cases = append(cases, Case{
			Group: group, Name: r.name, Legs: r.legs,
			talk: func(t *talk) {
				t.sendBeside(r.send + "GET {u}/smuggled HTTP/1.1\r\n" + host + "\r\n")
				t.refused(r.status)
				if t.leg == Plain {
					t.nobody()
				}
			},
			log: []entry{{method: r.method, url: r.url, refused: code, sent: r.sent}},
		})
	}
	return cases
}

// post is a request whose framing is in fields; it has a body that reads well both ways.
func post(fields string) string {
	return "POST {u}/r HTTP/1.1\r\n" + host + fields + "\r\n0\r\n\r\n"
}

// field is a request with a field line of any kind.
func field(line string) string {
	return "GET {u}/r HTTP/1.1\r\n" + host + "A: b\r\n" + line + "C: d\r\n\r\n"
}

func refusedHeads() []Case {
	const chunked = "Transfer-Encoding: chunked\r\n"
	list := []refusal{
		{name: "length and chunked", send: post("Content-Length: 5\r\n" + chunked)},
		{name: "chunked and length", send: post(chunked + "Content-Length: 5\r\n")},
		{name: "chunked and a length of 0", send: post(chunked + "Content-Length: 0\r\n")},
		{name: "chunked and an empty length", send: post(chunked + "Content-Length:\r\n")},
		{name: "length and a coding that is unknown", send: post("Content-Length: 5\r\nTransfer-Encoding: x\r\n")},
		{name: "space before the colon of a coding", send: post("Transfer-Encoding : chunked\r\n")},
		{name: "tab before the colon of a coding", send: post("Transfer-Encoding\t: chunked\r\n")},
		{name: "space before the colon, with a length", send: post("Transfer-Encoding : chunked\r\nContent-Length: 5\r\n")},
		{name: "space before a coding's name", send: post("Content-Length: 5\r\n Transfer-Encoding: chunked\r\n")},
		{name: "space before the first field", send: "POST {u}/r HTTP/1.1\r\n " + host + chunked + "\r\n0\r\n\r\n"},
		{name: "vertical tab before a coding", send: post("Transfer-Encoding: \vchunked\r\n")},
		{name: "form feed behind a coding", send: post("Transfer-Encoding: chunked\f\r\n")},
		{name: "NUL in a coding", send: post("Transfer-Encoding: chunked\x00\r\n")},
		{name: "folded coding", send: post("Transfer-Encoding:\r\n chunked\r\n")},
		{name: "coding folded with a tab", send: post("Transfer-Encoding: x\r\n\tchunked\r\n")},
		{name: "folded length", send: post("Content-Length: 5\r\n 0\r\n")},
		{name: "field folded over a coding", send: post("A: b\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")},
		{name: "chunked twice in a list", send: post("Transfer-Encoding: chunked, chunked\r\n")},
		{name: "chunked twice", send: post(chunked + chunked)},
		{name: "chunked, then identity", send: post("Transfer-Encoding: chunked, identity\r\n"), status: 501},
		{name: "chunked, then identity, in two fields", send: post(chunked + "Transfer-Encoding: identity\r\n"), status: 501},
		{name: "identity", send: post("Transfer-Encoding: identity\r\n"), status: 501},
		{name: "identity, then chunked", send: post("Transfer-Encoding: identity, chunked\r\n"), status: 501},
		{name: "identity and a length", send: post("Transfer-Encoding: identity\r\nContent-Length: 5\r\n")},
		{name: "xchunked", send: post("Transfer-Encoding: xchunked\r\n"), status: 501},
		{name: "chunkedx", send: post("Transfer-Encoding: chunkedx\r\n"), status: 501},
		{name: "an unknown coding, then chunked", send: post("Transfer-Encoding: br, chunked\r\n"), status: 501},
		{name: "gzip alone", send: post("Transfer-Encoding: gzip\r\n")},
		{name: "chunked, then gzip", send: post("Transfer-Encoding: chunked, gzip\r\n")},
		{name: "chunked with a parameter", send: post("Transfer-Encoding: chunked;q=1\r\n")},
		{name: "chunked in quotes", send: post("Transfer-Encoding: \"chunked\"\r\n")},
		{name: "chunked in single quotes", send: post("Transfer-Encoding: 'chunked'\r\n"), status: 501},
		{name: "chunked behind a comma", send: post("Transfer-Encoding: , chunked\r\n")},
		{name: "chunked before a comma", send: post("Transfer-Encoding: chunked,\r\n")},
		{name: "chunked and another word", send: post("Transfer-Encoding: chunked x\r\n")},
		{name: "empty coding", send: post("Transfer-Encoding:\r\n")},
		{name: "colon in a coding", send: post("Transfer-Encoding: :chunked\r\n")},
		{name: "chunked in non-ASCII letters", send: post("Transfer-Encoding: \xc3\xa7hunked\r\n")},
		{name: "chunked behind a non-breaking space", send: post("Transfer-Encoding: \xa0chunked\r\n")},
		{name: "chunked in HTTP/1.0", send: "POST {u}/r HTTP/1.0\r\n" + host + chunked + "\r\n0\r\n\r\n"},
		{name: "chunked in HTTP/1.0 with a length", send: "POST {u}/r HTTP/1.0\r\n" + host + chunked + "Content-Length: 5\r\n\r\n0\r\n\r\n"},

		{name: "list of equal lengths", send: post("Content-Length: 5, 5\r\n")},
		{name: "list of lengths", send: post("Content-Length: 5, 6\r\n")},
		{name: "two lengths that differ", send: post("Content-Length: 5\r\nContent-Length: 6\r\n")},
		{name: "two lengths that are spelled differently", send: post("Content-Length: 5\r\nContent-Length: 05\r\n")},
		{name: "two lengths, one of them empty", send: post("Content-Length: 5\r\nContent-Length:\r\n")},
		{name: "length with a plus", send: post("Content-Length: +5\r\n")},
		{name: "length with a minus", send: post("Content-Length: -5\r\n")},
		{name: "length of minus zero", send: post("Content-Length: -0\r\n")},
		{name: "hexadecimal length", send: post("Content-Length: 0x5\r\n")},
		{name: "hexadecimal digits as a length", send: post("Content-Length: a\r\n")},
		{name: "length with a fraction", send: post("Content-Length: 5.0\r\n")},
		{name: "length with an exponent", send: post("Content-Length: 5e0\r\n")},
		{name: "length with an underscore", send: post("Content-Length: 1_0\r\n")},
		{name: "length with a space within", send: post("Content-Length: 5 5\r\n")},
		{name: "length in quotes", send: post("Content-Length: \"5\"\r\n")},
		{name: "length in full-width digits", send: post("Content-Length: \xef\xbc\x95\r\n")},
		{name: "length with a NUL", send: post("Content-Length: 5\x00\r\n")},
		{name: "length with a vertical tab", send: post("Content-Length: 5\v\r\n")},
		{name: "empty length", send: post("Content-Length:\r\n")},
		{name: "length of 2^63", send: post("Content-Length: 9223372036854775808\r\n")},
		{name: "length of 2^64 + 5", send: post("Content-Length: 18446744073709551621\r\n")},
		{name: "length of 100 digits", send: post("Content-Length: " + strings.Repeat("9", 100) + "\r\n")},
		{name: "space before the colon of a length", send: post("Content-Length : 5\r\n")},
		{name: "tab before the colon of a length", send: post("Content-Length\t: 5\r\n")},

		{name: "NUL in a value", method: "GET", send: field("X: a\x00b\r\n")},
		{name: "NUL in a name", method: "GET", send: field("X\x00: a\r\n")},
		{name: "bare CR in a value", method: "GET", send: field("X: a\rb\r\n")},
		{name: "bare CR and a field in a value", method: "GET", send: field("X: a\rTransfer-Encoding: chunked\r\n")},
		{name: "bare CR in a name", method: "GET", send: field("X\rY: a\r\n")},
		{name: "CR CR LF", method: "GET", send: field("X: a\r\r\n")},
		{name: "bare LF behind a field", method: "GET", send: field("X: a\n")},
		{name: "bare LF and a coding", send: post("X: a\nTransfer-Encoding: chunked\r\n")},
		{name: "head that ends in LF LF", method: "GET", send: "GET {u}/r HTTP/1.1\r\n" + host + "A: b\n\n"},
		{name: "head that ends in CR LF LF", method: "GET", send: "GET {u}/r HTTP/1.1\r\n" + host + "A: b\r\n\n"},
		{name: "escape in a value", method: "GET", send: field("X: \x1b[31m\r\n")},
		{name: "DEL in a value", method: "GET", send: field("X: a\x7f\r\n")},
		{name: "folded line", method: "GET", send: field("X: a\r\n b\r\n")},
		{name: "line of spaces", method: "GET", send: field("  \r\n")},
		{name: "line without a colon", method: "GET", send: field("X\r\n")},
		{name: "line without a name", method: "GET", send: field(": x\r\n")},
		{name: "space in a name", method: "GET", send: field("X Y: a\r\n")},
		{name: "bracket in a name", method: "GET", send: field("X(Y): a\r\n")},
		{name: "name in quotes", method: "GET", send: field("\"X\": a\r\n")},
		{name: "non-ASCII byte in a name", method: "GET", send: field("X\xe9: a\r\n")},
		{name: "space before a colon", method: "GET", send: field("X : a\r\n")},
		{name: "33 connection options", method: "GET", send: field("Connection: " + strings.Repeat("a, ", 32) + "a\r\n")},
	}
	// A request line that can't be read has no URL; behind a CONNECT it makes a tunnel.
	for _, line := range []struct{ name, text string }{
		{"request line without a target", "GET\r\n"},
		{"request line without a version", "GET {u}/r\r\n"},
		{"two spaces before the target", "GET  {u}/r HTTP/1.1\r\n"},
		{"two spaces before the version", "GET {u}/r  HTTP/1.1\r\n"},
		{"space behind the version", "GET {u}/r HTTP/1.1 \r\n"},
		{"space in the target", "GET {u}/r r HTTP/1.1\r\n"},
		{"tabs in the request line", "GET\t{u}/r\tHTTP/1.1\r\n"},
		{"HTTP/1.2", "GET {u}/r HTTP/1.2\r\n"},
		{"HTTP/1.10", "GET {u}/r HTTP/1.10\r\n"},
		{"HTTP/01.1", "GET {u}/r HTTP/01.1\r\n"},
		{"HTTP/2.0", "GET {u}/r HTTP/2.0\r\n"},
		{"HTTP/0.9", "GET {u}/r HTTP/0.9\r\n"},
		{"version in lower case", "GET {u}/r http/1.1\r\n"},
		{"another protocol's version", "GET {u}/r ICY/1.1\r\n"},
		{"bracket in the method", "GE(T {u}/r HTTP/1.1\r\n"},
		{"colon in the method", "GET: {u}/r HTTP/1.1\r\n"},
		{"NUL in the target", "GET {u}/r\x00 HTTP/1.1\r\n"},
		{"bare CR in the target", "GET {u}/r\rx HTTP/1.1\r\n"},
		{"tab in the target", "GET {u}/r\tx HTTP/1.1\r\n"},
		{"DEL in the target", "GET {u}/r\x7f HTTP/1.1\r\n"},
		{"bare LF behind the request line", "GET {u}/r HTTP/1.1\n"},
		{"space before the request line", " GET {u}/r HTTP/1.1\r\n"},
		{"LF before the request line", "\nGET {u}/r HTTP/1.1\r\n"},
		{"nine empty lines before the request line", strings.Repeat("\r\n", 9) + "GET {u}/r HTTP/1.1\r\n"},
		{"an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	} {
		list = append(list, refusal{name: line.name, legs: Plain | TLS, method: "-", url: "-", send: line.text + host + "\r\n"})
	}
	cases := refusals("smuggling", list)
	for i, r := range list {
		if r.url == "-" {
			cases[i].log = unreadable()
		}
	}
	return cases
}

// unreadable is the entry of a request whose request line could not be read.
func unreadable() []entry {
	return []entry{{url: "{blame}/", refused: "bad_request 400"}}
}

// badChunks are chunked bodies that can't be followed. What comes with the head
// keeps the head from going up; what comes later ends both sides.
func badChunks() []Case {
	const head = "POST {u}/r HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n"
	const up = "POST /r HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n"
	const first = "3\r\nabc\r\n"
	var cases []Case
	for _, c := range []struct{ name, good, bad string }{
		{"size with a plus", "", "+5\r\nhello\r\n0\r\n\r\n"},
		{"size with a minus", "", "-5\r\nhello\r\n0\r\n\r\n"},
		{"size with 0x", "0", "x5\r\nhello\r\n0\r\n\r\n"},
		{"space before a size", "", " 5\r\nhello\r\n0\r\n\r\n"},
		{"space behind a size", "5", " \r\nhello\r\n0\r\n\r\n"},
		{"tab behind a size", "5", "\t\r\nhello\r\n0\r\n\r\n"},
		{"space before an extension", "5", " ;a=b\r\nhello\r\n0\r\n\r\n"},
		{"size with an underscore", "1", "_0\r\nhello\r\n0\r\n\r\n"},
		{"size in letters", "", "zz\r\nhello\r\n0\r\n\r\n"},
		{"no size", "", "\r\nhello\r\n0\r\n\r\n"},
		{"no size but an extension", "", ";a=b\r\nhello\r\n0\r\n\r\n"},
		{"size of 2^64 - 1", "FFFFFFFFFFFFFFF", "F\r\nhello\r\n0\r\n\r\n"},
		{"size of 2^63", "800000000000000", "0\r\nhello\r\n0\r\n\r\n"},
		{"size of 2^64 + 5", "1000000000000000", "5\r\nhello\r\n0\r\n\r\n"},
		{"size of 17 digits", "0000000000000000", "5\r\nhello\r\n0\r\n\r\n"},
		{"bare LF behind a size", "5", "\nhello\r\n0\r\n\r\n"},
		{"bare CR behind a size", "5\r", "xhello\r\n0\r\n\r\n"},
		{"bare LF in an extension", "5;a", "\nhello\r\n0\r\n\r\n"},
		{"NUL in an extension", "5;a", "\x00\r\nhello\r\n0\r\n\r\n"},
		{"bare CR in an extension", "5;a\r", "b\r\nhello\r\n0\r\n\r\n"},
		{"data longer than its size", "5\r\nhello", "x\r\n0\r\n\r\n"},
		{"no CRLF behind the data", "5\r\nhello", "0\r\n\r\n"},
		{"bare LF behind the data", "5\r\nhello", "\n0\r\n\r\n"},
		{"CR behind the data", "5\r\nhello\r", "0\r\n\r\n"},
		{"CR CR LF at the end", "0\r\n\r", "\r\n"},
		{"LF at the end", "0\r\n", "\n"},
	} {
		cases = append(cases, Case{
			Group: "chunks", Name: c.name + ", with the head",
			talk: func(t *talk) {
				t.send(head + c.good + c.bad + "GET {u}/smuggled HTTP/1.1\r\n" + host + "\r\n")
				t.refused(400)
			},
			log: []entry{{method: "POST", url: "{o}/r", refused: "bad_request 400", sent: content(c.good)}},
		}, Case{
			Group: "chunks", Name: c.name + ", behind the head",
			talk: func(t *talk) {
				t.send(head + first)
				t.gets(up + first)
				t.send(c.good)
				t.gets(c.good)
				t.send(c.bad + "GET {u}/smuggled HTTP/1.1\r\n" + host + "\r\n")
				t.serverEnds()
				t.dropped()
			},
			log: []entry{{method: "POST", url: "{o}/r", failed: "send bad_request", sent: "abc" + content(c.good)}},
		})
	}
	for _, c := range []struct{ name, trailer string }{
		{"folded trailer", "A: b\r\n c\r\n\r\n"},
		{"trailer with a space before its colon", "A : b\r\n\r\n"},
		{"trailer without a colon", "A\r\n\r\n"},
		{"trailer that ends in a bare LF", "A: b\n\r\n"},
		{"trailer with a bare CR", "A: b\rc\r\n\r\n"},
		{"trailer with a NUL", "A: b\x00\r\n\r\n"},
	} {
		cases = append(cases, Case{
			Group: "chunks", Name: c.name,
			talk: func(t *talk) {
				t.send(head + first + "0\r\n" + c.trailer + "GET {u}/smuggled HTTP/1.1\r\n" + host + "\r\n")
				t.refused(400)
			},
			log: []entry{{method: "POST", url: "{o}/r", refused: "bad_request 400", sent: "abc"}},
		})
	}
	for _, c := range []struct{ name, good, bad string }{
		{"an extension of 17 KiB", "1;a=", strings.Repeat("x", 17<<10)},
		{"trailers of 65 KiB", "0\r\n", strings.Repeat("A: "+strings.Repeat("x", 97)+"\r\n", 650)},
		{"a size of a million zeros", "", strings.Repeat("0", 1_000_000)},
	} {
		cases = append(cases, Case{
			Group: "chunks", Name: c.name,
			talk: func(t *talk) {
				t.send(head + first)
				t.gets(up + first)
				t.sendBeside(c.good + c.bad)
				if t.serves() {
					t.check(startsLike(t.s, c.good+c.bad))
				}
				t.dropped()
			},
			log: []entry{{method: "POST", url: "{o}/r", failed: "send bad_request", sent: "abc"}},
		})
	}
	return cases
}

// startsLike reads to the end, and is an error when what comes is not the
// beginning of whole, or is all of it.
func startsLike(p *party, whole string) error {
	s, end := p.rest()
	if len(s) >= len(whole) || whole[:len(s)] != s || end == silent {
		return oneOf(p.name+"'s part ("+end.String()+")", clip(s), "only the beginning of "+clip(whole))
	}
	return nil
}

// content is the data in a beginning of chunks of which only "5\r\nhello" has any.
func content(chunks string) string {
	if strings.Contains(chunks, "hello") {
		return "hello"
	}
	return ""
}
