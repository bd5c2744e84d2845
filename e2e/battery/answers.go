package battery

import (
	"fmt"
	"slices"
	"strings"
)

// answers are those whose heads and bodies have to pass.
func answers() []Case {
	// reply is an answer to get; the connections go on behind it.
	reply := func(name, answer, sees string, status int, received string) passing {
		return passing{
			name: name, send: get, gets: getUp, answer: answer, sees: sees,
			log: entry{method: "GET", url: "{o}/", status: status, received: received}, then: (*talk).again,
		}
	}
	same := func(name, answer string, status int, received string) passing {
		return reply(name, answer, answer, status, received)
	}
	list := []passing{
		same("order, case, repeats and reason", "HTTP/1.1 203 very  fine\xe9\r\nx-B: 1\r\nX-a:  2 \r\nx-b:3\r\nSet-Cookie: a\r\nSET-COOKIE: b\r\nContent-length: 5\r\n\r\nhello", 203, "hello"),
		same("no reason", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		same("no reason and no space", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		same("status 999", "HTTP/1.1 999 Odd\r\nContent-Length: 5\r\n\r\nhello", 999, "hello"),
		same("folded line", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		same("names that are no token", "HTTP/1.1 200 OK\r\nX Y(z): a\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		same("control bytes in a value", "HTTP/1.1 200 OK\r\nX: \x01\x1b\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		same("HTTP/1.9", "HTTP/1.9 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		same("empty line before the status line", "\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		same("bytes of all kinds", "HTTP/1.1 200 OK\r\nContent-Length: 256\r\n\r\n"+every, 200, every),
		same("what a browser would undo", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		same("9,990 fields", "HTTP/1.1 200 OK\r\n"+strings.Repeat("a:\r\n", 9_990)+"Content-Length: 5\r\n\r\nhello", 200, "hello"),
		same("redirect elsewhere", "HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n", 302, ""),
		same("a server's own 401 and 407", "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n", 401, ""),
		reply("hop-by-hop fields", "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\nProxy-Authenticate: Basic\r\nProxy-Connection: close\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nhello",
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		reply("Connection names the length", "HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 5\r\n\r\nhello",
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		reply("length and chunked", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, "hello"),
		reply("lengths alike", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		reply("list of lengths alike", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
		same("length of 0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""),
		same("204", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
		same("204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204, ""),
		same("204 that is chunked", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 204, ""),
		same("304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: \"x\"\r\n\r\n", 304, ""),
		same("304 that is chunked", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", 304, ""),
		same("205 with a body", "HTTP/1.1 205 Reset\r\nContent-Length: 5\r\n\r\nhello", 205, "hello"),
	}
	for _, c := range []struct{ name, coding, body, content string }{
		{"chunked", "chunked", "5\r\nhello\r\n0\r\n\r\n", "hello"},
		{"nothing in chunks", "chunked", "0\r\n\r\n", ""},
		{"chunks with extensions and trailers", "Chunked", "3;a=b\r\nhel\r\n002 \r\nlo\r\n0\r\nX: y\r\nContent-Length: 7\r\n\r\n", "hello"},
		{"gzip and chunked", "gzip, chunked", "5\r\nhello\r\n0\r\n\r\n", "hello"},
		{"chunk that looks like an answer", "chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(ok), ok), ok},
	} {
		list = append(list, same(c.name, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+c.coding+"\r\n\r\n"+c.body, 200, c.content))
	}
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\n",
	} {
		head := same("HEAD: "+strings.SplitN(answer, "\r\n", 2)[1], answer, 200, "")
		if strings.Contains(answer, "404") {
			head.log.status = 404
		}
		head.send, head.gets = strings.Replace(get, "GET", "HEAD", 1), strings.Replace(getUp, "GET", "HEAD", 1)
		head.log.method = "HEAD"
		list = append(list, head)
	}
	cases := passings("answers", list)
	for i := range list {
		cases[i].log = append(cases[i].log, got())
	}
	return append(slices.Concat(cases, untilClose(), brokenOff(), unreadables()), longAnswerHeads()...)
}

// untilClose are answers that end with the server's connection.
func untilClose() []Case {
	var cases []Case
	for _, c := range []struct{ name, head, sees string }{
		{"no length", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", ""},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nA: b\r\n\r\n", ""},
		{"HTTP/1.0 and chunked", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		{"coding that is not chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", ""},
		{"chunked, then gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", ""},
		{"a coding and a length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"},
		{"Connection: close and no length", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
	} {
		if c.sees == "" {
			c.sees = c.head
		}
		cases = append(cases, Case{
			Group: "until close", Name: c.name,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer(c.head + "hel")
				t.sees(closing(c.sees) + "hel")
				t.answer("lo, all")
				t.finishes()
				t.sees("lo, all")
				t.browserEnds(clean)
			},
			log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello, all"}},
		})
	}
	// With a length it is only the server's connection that ends; inside a CONNECT
	// that is the browser's.
	for _, head := range []string{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n"} {
		sees := strings.Replace(head, "Connection: close\r\n", "", 1)
		cases = append(cases, Case{
			Group: "until close", Name: "length with " + head, Legs: TLS | Inside,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer(head + "hello")
				t.sees(closing(sees) + "hello")
				t.browserEnds(clean)
			},
			log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello"}},
		}, Case{
			Group: "until close", Name: "length with " + head, Legs: Plain,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer(head + "hello")
				t.sees(sees + "hello")
				t.serverEnds()
				t.s = nil
				t.again()
			},
			log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello"}, got()},
		})
	}
	return cases
}

// brokenOff are answers that end before their end: so does the browser's connection.
func brokenOff() []Case {
	var cases []Case
	for _, c := range []struct{ name, answer, content string }{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello, all", "hello, all"},
		{"length, without a byte", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", ""},
		{"in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\nhello, all", "hello, all"},
		{"in a chunk's size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello, all\r\n1", "hello, all"},
		{"before the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello, all\r\n", "hello, all"},
		{"in the trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello, all\r\n0\r\nX: y\r\n", "hello, all"},
	} {
		for how, end := range map[string]func(*talk){"closed": (*talk).finishes, "reset": (*talk).resets} {
			cases = append(cases, Case{
				Group: "broken off", Name: c.name + ", " + how,
				talk: func(t *talk) {
					t.send(get)
					t.gets(getUp)
					t.answer(c.answer)
					t.sees(c.answer)
					end(t)
					if t.leg == TLS {
						t.browserEnds(broken...)
					}
					t.browserEnds()
				},
				log: []entry{{method: "GET", url: "{o}/", status: 200, received: c.content, broken: true, failed: "receive reset"}},
			})
		}
	}
	cases = append(cases, Case{
		Group: "broken off", Name: "until close, reset",
		talk: func(t *talk) {
			t.send(get)
			t.gets(getUp)
			t.answer("HTTP/1.1 200 OK\r\n\r\nhello, all")
			t.sees("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello, all")
			t.resets()
			t.browserEnds(broken...)
		},
		log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello, all", broken: true, failed: "receive reset"}},
	}, Case{
		Group: "broken off", Name: "until close, TLS cut without close_notify", Legs: TLS,
		talk: func(t *talk) {
			t.send(get)
			t.gets(getUp)
			t.answer("HTTP/1.1 200 OK\r\n\r\nhello, all")
			t.sees("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello, all")
			t.cuts()
			t.browserEnds(broken...)
		},
		log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello, all", broken: true}},
	})
	for _, c := range []struct{ name, good, bad, content string }{
		{"bad size", "a\r\nhello, all\r\n", "zz\r\nxx", "hello, all"},
		{"huge size", "a\r\nhello, all\r\nFFFFFFFFFFFFFFF", "F\r\nxx", "hello, all"},
		{"no CRLF behind the data", "a\r\nhello, all", "xx\r\n0\r\n\r\n", "hello, all"},
		{"bare LF behind a size", "a\r\nhello, all\r\n5", "\nhello\n0\n\n", "hello, all"},
	} {
		cases = append(cases, Case{
			Group: "broken off", Name: "chunks, " + c.name,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + c.good + c.bad)
				t.sees("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + c.good)
				t.browserEnds()
				t.serverEnds()
			},
			log: []entry{{method: "GET", url: "{o}/", status: 200, received: c.content, broken: true, failed: "receive bad_answer"}},
		})
	}
	for _, part := range []string{"H", "HTTP/1.", "HTTP/1.1 200 O", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "\r\n"} {
		for how, end := range map[string]func(*talk){"closed": (*talk).finishes, "reset": (*talk).resets} {
			cases = append(cases, Case{
				Group: "broken off", Name: fmt.Sprintf("head at %q, %s", part, how),
				talk: func(t *talk) {
					t.send(get)
					t.gets(getUp)
					t.answer(part)
					end(t)
					t.failedWith(502)
				},
				log: []entry{{method: "GET", url: "{o}/", failed: "wait reset"}},
			})
		}
	}
	return cases
}

// finishes ends what the server sends; resets resets its connection.
func (t *talk) finishes() {
	if t.serves() {
		t.s.finish()
	}
}

// cuts ends it as a process that dies does: in TLS, without close_notify.
func (t *talk) cuts() {
	if t.serves() {
		t.s.cut()
	}
}

func (t *talk) resets() {
	if t.serves() {
		t.s.reset()
	}
}

// unreadables are answers that are no HTTP/1: they pass as they came, until the
// server closes.
func unreadables() []Case {
	const hint = "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
	var cases []Case
	for name, answer := range map[string]string{
		"HTTP/0.9":                         "<html>old</html>",
		"another protocol":                 "SSH-2.0-OpenSSH\r\n",
		"ICY":                              "ICY 200 OK\r\nicy-name: x\r\n\r\n\xff\xfb",
		"HTTP/2.0":                         "HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/0.0":                         "HTTP/0.0 200 OK\r\n\r\n",
		"frames of HTTP/2":                 "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"version in lower case":            "http/1.1 200 OK\r\n\r\n",
		"status of two digits":             "HTTP/1.1 20 OK\r\n\r\n",
		"status of four digits":            "HTTP/1.1 2000 OK\r\n\r\n",
		"status 099":                       "HTTP/1.1 099 OK\r\n\r\n",
		"status of letters":                "HTTP/1.1 abc OK\r\n\r\n",
		"bare LF":                          "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
		"bare LF behind a field":           "HTTP/1.1 200 OK\r\nX: y\nContent-Length: 2\r\n\r\nhi",
		"bare CR":                          "HTTP/1.1 200 OK\r\nX: y\rZ: 1\r\n\r\n",
		"NUL":                              "HTTP/1.1 200 OK\r\nX: y\x00\r\n\r\n",
		"line without a colon":             "HTTP/1.1 200 OK\r\nX\r\n\r\n",
		"space before a colon":             "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi",
		"space before the first field":     "HTTP/1.1 200 OK\r\n X: y\r\n\r\n",
		"no name":                          "HTTP/1.1 200 OK\r\n: y\r\n\r\n",
		"two lengths":                      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
		"list of lengths":                  "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello!",
		"signed length":                    "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
		"hexadecimal length":               "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello",
		"length of 2^63":                   "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhello",
		"empty length":                     "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello",
		"nothing but an LF":                "\n",
		"five empty lines":                 "\r\n\r\n\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		"bad answer behind a 103":          hint + "HTTP/1.1 abc\r\n\r\n",
		"connection options without bound": "HTTP/1.1 200 OK\r\nConnection: " + strings.Repeat("a,", 40) + "\r\n\r\n",
	} {
		cases = append(cases, Case{
			Group: "unreadable", Name: name, Ours: true,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer(answer)
				t.sees(answer)
				t.answer("and on")
				t.sees("and on")
				t.finishes()
				t.browserEnds(clean)
			},
			log: []entry{{method: "GET", url: "{o}/", unparsed: true, received: strings.TrimPrefix(answer, hint) + "and on"}},
		})
	}
	slices.SortFunc(cases, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	return cases
}
