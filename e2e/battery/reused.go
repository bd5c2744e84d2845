package battery

import (
	"fmt"

	"github.com/agentenv/netlog/netlog"
)

// onConnection checks which connection to a server an exchange was on.
func onConnection(n int64, reused bool) func(*netlog.Open, *netlog.End) error {
	return func(_ *netlog.Open, e *netlog.End) error {
		if e.Server == nil || e.Server.Connection != n || e.Server.Reused != reused {
			return fmt.Errorf("the server is %+v, and was to be connection %d, reused %t", e.Server, n, reused)
		}
		return nil
	}
}

// reused are connections that serve more than one request.
func reused() []Case {
	const post = "POST {u}/ HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello"
	const postUp = "POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello"
	const stray = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nSMUGGLE"
	on := func(e entry, n int64, reused bool) entry {
		e.check = onConnection(n, reused)
		return e
	}
	var cases []Case
	// A request that can be repeated and whose connection dies goes once more.
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		for how, leave := range map[string]func(*talk){"closed": (*talk).finishes, "reset": (*talk).resets} {
			answer := ok
			log := entry{method: method, url: "{o}/", status: 200, received: okBody}
			if method == "HEAD" {
				answer, log.received = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", ""
			}
			cases = append(cases, Case{
				Group: "reused", Name: method + " on a connection that is " + how, Ours: method == "OPTIONS",
				talk: func(t *talk) {
					t.again()
					t.send(method + get[3:])
					t.gets(method + getUp[3:])
					leave(t)
					t.next()
					t.gets(method + getUp[3:])
					t.answer(answer)
					t.sees(answer)
				},
				log: []entry{on(got(), 1, false), on(log, 2, false)},
			})
		}
	}
	for how, leave := range map[string]func(*talk){"closed": (*talk).finishes, "reset": (*talk).resets} {
		cases = append(cases, Case{
			Group: "reused", Name: "GET is repeated once only, " + how,
			talk: func(t *talk) {
				t.again()
				t.send(get)
				t.gets(getUp)
				leave(t)
				t.next()
				t.gets(getUp)
				leave(t)
				t.failedWith(502)
			},
			log: []entry{got(), {method: "GET", url: "{o}/", failed: "wait reset"}},
		}, Case{
			Group: "reused", Name: "GET whose answer has begun is not repeated, " + how,
			talk: func(t *talk) {
				t.again()
				t.send(get)
				t.gets(getUp)
				t.answer("HTTP/1.1 200")
				leave(t)
				t.failedWith(502)
			},
			log: []entry{got(), {method: "GET", url: "{o}/", failed: "wait reset"}},
		}, Case{
			Group: "reused", Name: "POST on a connection that is " + how, Ours: true,
			talk: func(t *talk) {
				t.again()
				t.send(post)
				t.gets(postUp)
				leave(t)
				t.browserEnds() // without a byte: it does what it would do without us
			},
			log: []entry{got(), {method: "POST", url: "{o}/", sent: "hello", failed: "wait reset"}},
		}, Case{
			Group: "reused", Name: "POST on a connection that is " + how + " was sent once",
			talk: func(t *talk) {
				t.again()
				t.send(post)
				t.gets(postUp)
				leave(t)
				t.whatever()
			},
			log: []entry{got(), {method: "POST", url: "{o}/", sent: "hello", failed: "wait reset"}},
		}, Case{
			Group: "reused", Name: "GET with a body is not repeated, " + how,
			talk: func(t *talk) {
				t.again()
				t.send("GET" + post[4:])
				t.gets("GET" + postUp[4:])
				leave(t)
				t.whatever()
			},
			log: []entry{got(), {method: "GET", url: "{o}/", sent: "hello", failed: "wait reset"}},
		})
	}
	return append(cases,
		Case{
			Group: "reused", Name: "many requests over one connection",
			talk: func(t *talk) {
				for range 100 {
					t.again()
				}
			},
			log: func() (es []entry) {
				for i := range 100 {
					es = append(es, on(got(), 1, i > 0))
				}
				return es
			}(),
		},
		Case{
			Group: "reused", Name: "bytes behind an answer are no answer to the next request", Legs: TLS | Inside,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer(ok + stray)
				t.sees(ok)
				t.browserEnds()
			},
			log: []entry{got()},
		},
		Case{
			Group: "reused", Name: "bytes behind an answer are no answer to the next request", Legs: Plain,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer(ok + stray)
				t.sees(ok)
				t.serverEnds()
				t.s = nil
				t.again()
			},
			log: []entry{got(), got()},
		},
		Case{
			Group: "reused", Name: "bytes on an idle connection are no answer either", Legs: TLS | Inside,
			talk: func(t *talk) {
				t.again()
				t.answer(stray)
				t.serverEnds()
				t.browserEnds()
			},
			log: []entry{got()},
		},
		Case{
			Group: "reused", Name: "bytes on an idle connection are no answer either", Legs: Plain,
			talk: func(t *talk) {
				t.again()
				t.answer(stray)
				t.serverEnds()
				t.s = nil
				t.again()
			},
			log: []entry{got(), got()},
		},
		Case{
			Group: "reused", Name: "an answer before any request is none", Legs: TLS,
			talk: func(t *talk) {
				t.fresh()
				t.answer(stray)
				t.serverEnds()
				t.browserEnds()
			},
		},
		Case{
			Group: "reused", Name: "a browser that says close",
			talk: func(t *talk) {
				t.send("GET {u}/ HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n" + get)
				t.gets(getUp)
				t.answer(ok)
				t.sees(closing(ok))
				t.browserEnds(clean)
			},
			log: []entry{got()},
		},
		Case{
			Group: "reused", Name: "pipelined requests, in order",
			talk: func(t *talk) {
				t.send(get + post + get)
				t.gets(getUp)
				t.answer(ok)
				t.gets(postUp)
				t.answer("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
				t.gets(getUp)
				t.answer(ok)
				t.sees(ok + "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + ok)
			},
			log: []entry{got(), {method: "POST", url: "{o}/", status: 201, sent: "hello", received: "hi"}, got()},
		},
		Case{
			Group: "reused", Name: "pipelined requests do not go up before their turn",
			talk: func(t *talk) {
				t.send(get + get)
				t.gets(getUp)
				t.answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfi")
				t.sees("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfi")
				if t.serves() && t.s.br.Buffered() > 0 {
					t.fail("the second request went up before the first answer's end")
				}
				t.answer("ne")
				t.sees("ne")
				t.gets(getUp)
				t.answer(ok)
				t.sees(ok)
			},
			log: []entry{got(), got()},
		},
		Case{
			Group: "reused", Name: "hosts in turn over one connection", Legs: Plain,
			talk: func(t *talk) {
				var servers []*party
				for range 2 {
					for i, name := range []string{"a.test", "b.test", "c.test"} {
						t.send("GET http://" + name + "/ HTTP/1.1\r\nHost: " + name + "\r\n\r\n")
						if len(servers) == i {
							t.next()
							servers = append(servers, t.s)
						}
						t.s = servers[i]
						t.gets("GET / HTTP/1.1\r\nHost: " + name + "\r\n\r\n")
						t.answer(ok)
						t.sees(ok)
						if t.err != nil {
							return
						}
					}
				}
				t.dials("a.test:80", "b.test:80", "c.test:80")
			},
			log: func() (es []entry) {
				for i, name := range []string{"a", "b", "c", "a", "b", "c"} {
					es = append(es, on(entry{method: "GET", url: "http://" + name + ".test/", status: 200, received: okBody}, int64(i%3+1), i > 2))
				}
				return es
			}(),
		},
		Case{
			Group: "reused", Name: "the ninth host's connection closes the first's", Legs: Plain, Ours: true,
			talk: func(t *talk) {
				var first *party
				for i := range 9 {
					name := fmt.Sprintf("h%d.test", i)
					t.send("GET http://" + name + "/ HTTP/1.1\r\nHost: " + name + "\r\n\r\n")
					t.next()
					t.gets("GET / HTTP/1.1\r\nHost: " + name + "\r\n\r\n")
					t.answer(ok)
					t.sees(ok)
					if i == 0 {
						first = t.s
					}
				}
				t.s = first
				t.serverEnds()
			},
			log: func() (es []entry) {
				for i := range 9 {
					es = append(es, entry{method: "GET", url: fmt.Sprintf("http://h%d.test/", i), status: 200, received: okBody})
				}
				return es
			}(),
		},
	)
}
