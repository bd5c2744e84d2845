package battery

import (
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// own are requests for the proxy itself, and through it to itself.
func own() []Case {
	var cases []Case
	// Addresses, and names that a name server or libc give its address, reach no
	// proxy through itself, by any way.
	for _, name := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "x.localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::]",
	} {
		cases = append(cases, ownCases(name, true)...)
	}
	for _, name := range []string{"own.test", "127.0.0.1", "0.0.0.0", "localhost"} {
		cases = append(cases, ownCases(name, false)...)
	}
	for _, c := range []struct{ name, request string }{
		{"its page, by its address", "GET / HTTP/1.1\r\nHost: {proxy}\r\n\r\n"},
		{"its page, by localhost", "GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"},
		{"its page, in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n"},
	} {
		cases = append(cases, Case{
			Group: "own address", Name: c.name, Legs: Plain, Ours: true,
			talk: func(t *talk) {
				t.send(c.request)
				if t.err != nil {
					return
				}
				s, end := t.b.rest()
				if status(s) != "200" || end != clean {
					t.fail("the browser got %s (%v), and was to get the proxy's page", clip(s), end)
				}
			},
		})
	}
	return cases
}

// ownCases are those for one spelling of the proxy's host.
func ownCases(name string, system bool) []Case {
	how := ", by a resolver"
	if system {
		how = ""
	}
	logged := strings.TrimSuffix(strings.ToLower(name), ".")
	switch logged {
	case "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]":
		logged = "[::ffff:127.0.0.1]"
	}
	deny := func(url string, via netlog.Via) []entry {
		return []entry{{method: "GET", url: url, via: via, refused: "own_address 403"}}
	}
	at := "http://" + name + ":{port}"
	cases := []Case{
		{
			Name: name + how, Legs: Plain,
			talk: func(t *talk) {
				t.send("GET " + at + "/ HTTP/1.1\r\nHost: " + name + ":{port}\r\n\r\n")
				t.refused(403)
			},
			log: deny("http://"+logged+":{port}/", ""),
		},
		{
			Name: name + how + ", http:// in a CONNECT", Legs: Inside,
			talk: func(t *talk) {
				t.connect(name + ":{port}")
				t.send("GET / HTTP/1.1\r\nHost: " + name + ":{port}\r\n\r\n")
				t.refused(403)
			},
			log: deny("http://"+logged+":{port}/", ""),
		},
		{
			Name: name + how + ", a tunnel", Legs: Inside, Tunnel: true,
			talk: func(t *talk) {
				t.bare()
				t.send("CONNECT " + name + ":{port} HTTP/1.1\r\nHost: " + name + ":{port}\r\n\r\n")
				t.refused(403)
			},
			log: []entry{{tunnel: logged + ":{port}", via: netlog.ViaTunnel, refused: "own_address 403"}},
		},
	}
	for i := range cases {
		cases[i].Group, cases[i].System, cases[i].Ours = "own address", system, true
	}
	return cases
}
