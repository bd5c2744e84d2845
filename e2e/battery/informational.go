package battery

import (
	"fmt"
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// informationalAre checks the 1xx that the log has.
func informationalAre(statuses ...int) func(*netlog.Open, *netlog.End) error {
	return func(_ *netlog.Open, e *netlog.End) error {
		var got []int
		for _, in := range e.Response.Informational {
			got = append(got, in.Status)
		}
		if fmt.Sprint(got) != fmt.Sprint(statuses) {
			return fmt.Errorf("the informational answers are %d, and were to be %d", got, statuses)
		}
		return nil
	}
}

// informational are 1xx answers, and what Expect asks for.
func informational() []Case {
	const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nlink: </b.js>\r\n\r\n"
	const put = "PUT {u}/ HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"
	const putUp = "PUT / HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"
	const created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
	const failure = "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"
	many := strings.Repeat(hints, 50)
	var list []passing
	for _, c := range []struct {
		name, before string
		statuses     []int
	}{
		{"103", hints, []int{103}},
		{"102", "HTTP/1.1 102 Processing\r\n\r\n", []int{102}},
		{"100 that nobody asked for", "HTTP/1.1 100 Continue\r\n\r\n", []int{100}},
		{"102, 103, 103", "HTTP/1.1 102 Processing\r\n\r\n" + hints + hints, []int{102, 103, 103}},
		{"199", "HTTP/1.1 199 What\r\nX: y\r\n\r\n", []int{199}},
		{"103 with a length", "HTTP/1.1 103 Early Hints\r\nContent-Length: 50\r\n\r\n", []int{103}},
		{"103 that is chunked", "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n", []int{103}},
		{"fifty", many, func() (s []int) {
			for range 50 {
				s = append(s, 103)
			}
			return s
		}()},
	} {
		list = append(list, passing{
			name: c.name, send: get, gets: getUp, answer: c.before + ok,
			log: entry{method: "GET", url: "{o}/", received: okBody, check: informationalAre(c.statuses...)}, then: (*talk).again,
		}, passing{
			name: c.name + ", for an HTTP/1.0 browser",
			send: "GET {u}/ HTTP/1.0\r\n" + host + "\r\n", gets: "GET / HTTP/1.0\r\n" + host + "\r\n", answer: c.before + ok, sees: closing(ok),
			log:  entry{method: "GET", url: "{o}/", received: okBody, check: informationalAre(c.statuses...)},
			then: func(t *talk) { t.browserEnds(clean) },
		})
	}
	cases := passings("informational", list)
	for i := 0; i < len(cases); i += 2 {
		cases[i].log = append(cases[i].log, got())
	}
	return append(cases,
		Case{
			Group: "informational", Name: "each at once, in time",
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				for range 3 {
					t.answer(hints)
					t.sees(hints)
				}
				t.answer(ok)
				t.sees(ok)
			},
			log: []entry{got()},
		},
		Case{
			Group: "informational", Name: "101 that nobody asked for",
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
				t.failedWith(502)
				t.serverEnds()
			},
			log: []entry{{method: "GET", url: "{o}/", failed: "wait bad_answer"}},
		},
		Case{
			Group: "informational", Name: "without end", Ours: true,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answerBeside(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 200))
				for range 100 {
					t.sees("HTTP/1.1 102 Processing\r\n\r\n")
				}
				t.failedWith(502)
			},
			log: []entry{{method: "GET", url: "{o}/", failed: "wait bad_answer"}},
		},
		Case{
			Group: "informational", Name: "more than 1 MiB", Ours: true,
			talk: func(t *talk) {
				early := "HTTP/1.1 103 Early Hints\r\nX: " + strings.Repeat("y", 100_000) + "\r\n\r\n"
				t.send(get)
				t.gets(getUp)
				for range mebibyte / len(early) {
					t.answer(early)
					t.sees(early)
				}
				t.answerBeside(early)
				t.failedWith(502)
			},
			log: []entry{{method: "GET", url: "{o}/", failed: "wait bad_answer"}},
		},
		Case{
			Group: "expect", Name: "100, then the body",
			talk: func(t *talk) {
				t.send(put)
				t.gets(putUp)
				t.answer("HTTP/1.1 100 Continue\r\nX: y\r\n\r\n")
				t.sees("HTTP/1.1 100 Continue\r\nX: y\r\n\r\n")
				t.send("hello")
				t.gets("hello")
				t.answer(created)
				t.sees(created)
				t.again()
			},
			log: []entry{{method: "PUT", url: "{o}/", status: 201, sent: "hello", check: informationalAre(100)}, got()},
		},
		Case{
			Group: "expect", Name: "a body that does not wait",
			talk: func(t *talk) {
				t.send(put + "hello")
				t.gets(putUp + "hello")
				t.answer(created)
				t.sees(created)
				t.again()
			},
			log: []entry{{method: "PUT", url: "{o}/", status: 201, sent: "hello"}, got()},
		},
		Case{
			Group: "expect", Name: "a body that comes without a 100",
			talk: func(t *talk) {
				t.send(put)
				t.gets(putUp)
				t.send("hello")
				t.gets("hello")
				t.answer("HTTP/1.1 100 Continue\r\n\r\n" + created)
				t.sees("HTTP/1.1 100 Continue\r\n\r\n" + created)
				t.again()
			},
			log: []entry{{method: "PUT", url: "{o}/", status: 201, sent: "hello"}, got()},
		},
		Case{
			Group: "expect", Name: "417, and no body",
			talk: func(t *talk) {
				t.send(put)
				t.gets(putUp)
				t.answer(failure)
				t.sees(failure)
				// The body is owed all the same, as the length has gone up.
				t.send("hello")
				t.gets("hello")
				t.again()
			},
			log: []entry{{method: "PUT", url: "{o}/", status: 417, sent: "hello"}, got()},
		},
		Case{
			Group: "expect", Name: "of something else",
			talk: func(t *talk) {
				t.send(strings.Replace(get, "\r\n\r\n", "\r\nExpect: the-unexpected\r\n\r\n", 1))
				t.gets(strings.Replace(getUp, "\r\n\r\n", "\r\nExpect: the-unexpected\r\n\r\n", 1))
				t.answer(failure)
				t.sees(failure)
			},
			log: []entry{{method: "GET", url: "{o}/", status: 417}},
		},
	)
}

// early are answers that begin before the request has ended.
func early() []Case {
	const head = "POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n"
	const up = "POST / HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n"
	const no = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"
	const noMore = "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"
	return []Case{
		{
			Group: "early", Name: "413, then the rest of the upload",
			talk: func(t *talk) {
				t.send(head + "hello")
				t.gets(up + "hello")
				t.answer(no)
				t.sees(no)
				t.send(", all")
				t.gets(", all")
				t.again()
			},
			log: []entry{{method: "POST", url: "{o}/", status: 413, sent: "hello, all", received: "no"}, got()},
		},
		{
			Group: "early", Name: "413 and close, the browser stops",
			talk: func(t *talk) {
				t.send(head + "hello")
				t.gets(up + "hello")
				t.answer(noMore)
				t.sees("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
				t.hangsUp()
				t.serverEnds()
			},
			log: []entry{{method: "POST", url: "{o}/", status: 413, sent: "hello", received: "no"}},
		},
		{
			Group: "early", Name: "413 and reset in the middle of a long upload",
			talk: func(t *talk) {
				t.send("POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 100000000\r\n\r\nhello")
				t.gets("POST / HTTP/1.1\r\n" + host + "Content-Length: 100000000\r\n\r\nhello")
				t.answer(noMore)
				t.sees("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
				t.resets()
				t.sendBeside(strings.Repeat("x", 1<<20))
				t.browserEnds()
			},
			log: []entry{{method: "POST", url: "{o}/", status: 413, anyBytes: true}},
		},
		{
			Group: "early", Name: "answer that streams while the upload does",
			talk: func(t *talk) {
				t.send("POST {u}/ HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n")
				t.gets("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n")
				t.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				t.sees("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				for _, piece := range []string{"1\r\na\r\n", "2\r\nbc\r\n", "0\r\n\r\n"} {
					t.send(piece)
					t.gets(piece)
					t.answer(piece)
					t.sees(piece)
				}
				t.again()
			},
			log: []entry{{method: "POST", url: "{o}/", status: 200, sent: "abc", received: "abc"}, got()},
		},
		{
			Group: "early", Name: "whole answer, and then a bad chunk",
			talk: func(t *talk) {
				t.send("POST {u}/ HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
				t.gets("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
				t.answer(ok)
				t.sees(ok)
				t.send("zz\r\n" + get)
				t.serverEnds()
				t.browserEnds()
			},
			log: []entry{{method: "POST", url: "{o}/", status: 200, sent: "a", received: okBody, failed: "send bad_request"}},
		},
	}
}

// hangsUpHard is hangsUp with a reset.
func (t *talk) hangsUpHard() {
	if t.ready() {
		t.b.reset()
	}
}

// hangsUp is the browser's going away.
func (t *talk) hangsUp() {
	if t.ready() {
		t.b.tcp().Close()
	}
}
