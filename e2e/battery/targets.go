package battery

import (
	"fmt"
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// hasTarget checks the exact target that the log keeps beside the URL. {u} at
// its beginning is nothing or the origin.
func hasTarget(want string) func(*netlog.Open, *netlog.End) error {
	path, either := strings.CutPrefix(want, "{u}")
	return func(o *netlog.Open, _ *netlog.End) error {
		if either {
			return oneOf("the target", o.Request.Target, path, "http://origin.test"+path)
		}
		return oneOf("the target", o.Request.Target, want)
	}
}

// targets are request-targets that are passed on.
func targets() []Case {
	var list []passing
	// Paths go up and into the log as they are spelled.
	for _, path := range []string{
		"/", "//", "//other.test/x", "/..", "/../x", "/a/./b/../c", "/%2e%2E/%2f", "/%7Euser/~user",
		"/%zz%", "/%00%0d%0a", "/a;b=c,d", "/?", "/?q", "/?a=b&&c==d?e", "/a+b", "/:80", "/@", "/user@other.test",
		"/http://other.test/", "/*", "/'!$&()", "/[]", "/a%20b",
	} {
		list = append(list, passing{
			name: "path " + path,
			send: "GET {u}" + path + " HTTP/1.1\r\n" + host + "\r\n", gets: "GET " + path + " HTTP/1.1\r\n" + host + "\r\n",
			log: entry{method: "GET", url: "{o}" + path, check: hasTarget("")},
		})
	}
	// Bytes that a URL can't have are percent-encoded in it; the target is kept.
	for _, p := range []struct{ path, url string }{
		{"/caf\xc3\xa9", "/caf%C3%A9"}, {"/\xff\xfe", "/%FF%FE"}, {"/\"<>\\^`{|}", "/%22%3C%3E%5C%5E%60%7B%7C%7D"},
		{"/a#b", "/a"}, {"/a?b#c?d#e", "/a?b"}, {"/#", "/"},
	} {
		list = append(list, passing{
			name: "path " + p.path,
			send: "GET {u}" + p.path + " HTTP/1.1\r\n" + host + "\r\n", gets: "GET " + p.path + " HTTP/1.1\r\n" + host + "\r\n",
			log: entry{method: "GET", url: "{o}" + p.url, check: hasTarget("{u}" + p.path)},
		})
	}
	long := "/" + strings.Repeat("x", 100_000)
	list = append(list, passing{
		name: "path of 100,000 bytes", legs: Plain | TLS,
		send: "GET {u}" + long + " HTTP/1.1\r\n" + host + "\r\n", gets: "GET " + long + " HTTP/1.1\r\n" + host + "\r\n",
		log: entry{method: "GET", url: "{o}" + long},
	})
	for _, method := range []string{"get", "M-SEARCH", "X_Y", "VERSION-CONTROL", "G"} {
		list = append(list, passing{
			name: "method " + method,
			send: method + " {u}/ HTTP/1.1\r\n" + host + "\r\n", gets: method + " / HTTP/1.1\r\n" + host + "\r\n",
			log: entry{method: method, url: "{o}/"},
		})
	}
	list = append(list, passing{
		name: "method of every token character", legs: Plain | TLS,
		send: "!#$%&'*+-.^_`|~0aZ {u}/ HTTP/1.1\r\n" + host + "\r\n", gets: "!#$%&'*+-.^_`|~0aZ / HTTP/1.1\r\n" + host + "\r\n",
		log: entry{method: "!#$%&'*+-.^_`|~0aZ", url: "{o}/"},
	})
	// The absolute form, of which only the path goes up. For the origin in the
	// target the log has the canonical one.
	for _, a := range []struct{ target, path, url, target2 string }{
		{"http://origin.test", "/", "/", "http://origin.test"},
		{"http://origin.test?q", "/?q", "/?q", "http://origin.test?q"},
		{"http://origin.test#f", "/#f", "/", "http://origin.test#f"},
		{"HTTP://origin.test/x", "/x", "/x", "HTTP://origin.test/x"},
		{"hTtP://ORIGIN.Test/X", "/X", "/X", "hTtP://ORIGIN.Test/X"},
		{"http://origin.test:80/x", "/x", "/x", "http://origin.test:80/x"},
		{"http://origin.test:/x", "/x", "/x", "http://origin.test:/x"},
		{"http://origin.test:0080/x", "/x", "/x", "http://origin.test:0080/x"},
		{"http://origin.test./x", "/x", "/x", "http://origin.test./x"},
		// A user name and password are neither sent on nor logged.
		{"http://user:secret@origin.test/x", "/x", "/x", ""},
		{"http://user@origin.test", "/", "/", "/"},
		{"http://@origin.test/x", "/x", "/x", ""},
		{"http://a%40b:c@origin.test/x", "/x", "/x", ""},
		{"http://user:secret@origin.test/caf\xc3\xa9", "/caf\xc3\xa9", "/caf%C3%A9", "/caf\xc3\xa9"},
	} {
		log := entry{method: "GET", url: "{o}" + a.url, check: func(o *netlog.Open, _ *netlog.End) error {
			if s := fmt.Sprintf("%+v", o.Request); strings.Contains(s, "secret") || strings.Contains(s, "user") {
				return fmt.Errorf("the user's name is in %s", s)
			}
			if a.target2 == "/" {
				return nil
			}
			return oneOf("the target", o.Request.Target, a.target2)
		}}
		list = append(list, passing{
			name: "target " + a.target, legs: Plain,
			send: "GET " + a.target + " HTTP/1.1\r\n" + host + "\r\n", gets: "GET " + a.path + " HTTP/1.1\r\n" + host + "\r\n",
			log: log,
		})
	}
	list = append(list,
		passing{
			name: "OPTIONS of the whole server", legs: Plain,
			send: "OPTIONS http://origin.test HTTP/1.1\r\n" + host + "\r\n", gets: "OPTIONS * HTTP/1.1\r\n" + host + "\r\n",
			log: entry{method: "OPTIONS", url: "{o}/"},
		},
		passing{
			name: "OPTIONS *", legs: TLS | Inside,
			send: "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", gets: "OPTIONS * HTTP/1.1\r\n" + host + "\r\n",
			log: entry{method: "OPTIONS", url: "{o}/", check: hasTarget("*")},
		},
		passing{
			name: "absolute target inside TLS", legs: TLS,
			send: "GET https://origin.test/x HTTP/1.1\r\n" + host + "\r\n", gets: "GET https://origin.test/x HTTP/1.1\r\n" + host + "\r\n",
			log: entry{method: "GET", url: "{o}/x"},
		},
		passing{
			name: "absolute target inside a CONNECT", legs: Inside,
			send: "GET http://origin.test/x HTTP/1.1\r\n" + host + "\r\n", gets: "GET http://origin.test/x HTTP/1.1\r\n" + host + "\r\n",
			log: entry{method: "GET", url: "{o}/x"},
		},
		passing{
			name: "other port", legs: Plain,
			send: "GET http://origin.test:8080/x HTTP/1.1\r\nHost: origin.test:8080\r\n\r\n", gets: "GET /x HTTP/1.1\r\nHost: origin.test:8080\r\n\r\n",
			log:  entry{method: "GET", url: "http://origin.test:8080/x"},
			then: func(t *talk) { t.dials("origin.test:8080") },
		},
		passing{
			name: "port 65535", legs: Plain,
			send: "GET http://origin.test:65535/ HTTP/1.1\r\nHost: origin.test:65535\r\n\r\n", gets: "GET / HTTP/1.1\r\nHost: origin.test:65535\r\n\r\n",
			log:  entry{method: "GET", url: "http://origin.test:65535/"},
			then: func(t *talk) { t.dials("origin.test:65535") },
		},
		passing{
			name: "IPv4 address", legs: Plain,
			send: "GET http://192.0.2.1/ HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", gets: "GET / HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n",
			log:  entry{method: "GET", url: "http://192.0.2.1/"},
			then: func(t *talk) { t.dials("192.0.2.1:80") },
		},
		passing{
			name: "IPv6 address", legs: Plain,
			send: "GET http://[2001:db8::1]/ HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n", gets: "GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n",
			log:  entry{method: "GET", url: "http://[2001:db8::1]/"},
			then: func(t *talk) { t.dials("[2001:db8::1]:80") },
		},
		passing{
			name: "IPv6 address in another spelling, with a port", legs: Plain,
			send: "GET http://[2001:DB8:0::0001]:8080/ HTTP/1.1\r\nHost: [2001:db8:0:0::1]:8080\r\n\r\n", gets: "GET / HTTP/1.1\r\nHost: [2001:db8:0:0::1]:8080\r\n\r\n",
			log:  entry{method: "GET", url: "http://[2001:db8::1]:8080/"},
			then: func(t *talk) { t.dials("[2001:db8::1]:8080") },
		},
		passing{
			name: "name in UTF-8", legs: Plain,
			send: "GET http://b\xc3\xbccher.test/ HTTP/1.1\r\nHost: b\xc3\xbccher.test\r\n\r\n", gets: "GET / HTTP/1.1\r\nHost: b\xc3\xbccher.test\r\n\r\n",
			log:  entry{method: "GET", url: "http://xn--bcher-kva.test/"},
			then: func(t *talk) { t.dials("xn--bcher-kva.test:80") },
		},
		passing{
			name: "name in UTF-8 in the target, its ASCII form in the Host", legs: Plain,
			send: "GET http://B\xc3\xbccher.test/ HTTP/1.1\r\nHost: XN--BCHER-kva.test\r\n\r\n", gets: "GET / HTTP/1.1\r\nHost: XN--BCHER-kva.test\r\n\r\n",
			log: entry{method: "GET", url: "http://xn--bcher-kva.test/"},
		},
		passing{
			name: "ws://", legs: Plain,
			send: "GET WS://origin.test/x HTTP/1.1\r\n" + host + "\r\n", gets: "GET /x HTTP/1.1\r\n" + host + "\r\n",
			log: entry{method: "GET", url: "{o}/x", check: hasTarget("WS://origin.test/x")},
		},
		passing{
			name: "name with an underscore", legs: Plain,
			send: "GET http://a_b.test/ HTTP/1.1\r\nHost: a_b.test\r\n\r\n", gets: "GET / HTTP/1.1\r\nHost: a_b.test\r\n\r\n",
			log: entry{method: "GET", url: "http://a_b.test/"},
		},
	)
	return passings("targets", list)
}

// refusedTargets are request-targets that are not.
func refusedTargets() []Case {
	var list []refusal
	for _, target := range []string{
		"origin.test", "origin.test:80", "r", "?q", "#f", "./r", "*", "**", "http:", "http:/", "http://", "http:///r", "http://?q", "http:origin.test/r",
		"http:/origin.test/r", "http:\\\\origin.test/r", "ftp://origin.test/r", "file:///etc/passwd",
		"javascript:alert(1)", "mailto:x@origin.test", "://origin.test/r", "1http://origin.test/r",
		"http://origin.test:0/r", "http://origin.test:65536/r", "http://origin.test:99999999999/r", "http://origin.test:-1/r", "http://origin.test:+80/r",
		"http://origin.test:8a/r", "http://origin.test:80:80/r", "http://:80/r", "http://:/r", "http://./r", "http://../r", "http://.origin.test/r",
		"http://origin..test/r", "http://origin.test../r", "http://origin%2etest/r", "http://origin.test%00/r", "http://[::1/r", "http://::1/r", "http://[]/r",
		"http://[127.0.0.1]/r", "http://[::1]x/r", "http://[::1%25lo]/r", "http://[::1%lo]/r", "http://[origin.test]/r", "http://user@/r", "http://a@b@origin.test/r", "http://other.test@@origin.test/r", "http://a<b@origin.test/r", "http://origin.test\\@other.test/r",
		"http://ori<gin.test/r", "http://ori\"gin.test/r", "http://" + strings.Repeat("a", 1100) + "/r", "http://\xff\xfe.test/r", "http://xn--a\xc3\xbc..test/r",
		"http://127.1/r", "http://2130706433/r", "http://0x7f.1/r", "http://0177.0.0.1/r",
	} {
		url := "{blame}/"
		if strings.Contains(target, "\xff") {
			url = "{blame}/r" // read well, but for what the name is
		}
		list = append(list, refusal{
			name: "target " + target[:min(len(target), 60)], legs: Plain, method: "GET", url: url,
			send: "GET " + target + " HTTP/1.1\r\n" + host + "\r\n",
		})
	}
	for _, target := range []string{"origin.test:443", "443", ":443", "origin.test:0"} {
		list = append(list, refusal{
			name: "target " + target, legs: TLS | Inside, method: "GET",
			url: "{o}/", send: "GET " + target + " HTTP/1.1\r\n" + host + "\r\n",
		})
	}
	for _, target := range []string{
		"origin.test", "origin.test:", "origin.test:0", "origin.test:65536", "origin.test:https", ":443", "443", "/", "*", "http://origin.test/", "https://origin.test:443",
		"origin.test:443/", "user@origin.test:443", "[::1:443", "::1:443", "[::1]", "origin.test:443:443", "origin..test:443", "origin.test:-1", "origin.test:+443", "origin.test:443\xff",
		"127.1:443", "2130706433:443", "0x7f.1:443", "0177.0.0.1:443",
	} {
		list = append(list, refusal{
			name: "CONNECT " + target, legs: Plain, method: "CONNECT", url: "{blame}/",
			send: "CONNECT " + target + " HTTP/1.1\r\n" + host + "\r\n",
		})
	}
	list = append(list,
		refusal{name: "https:// without a CONNECT", legs: Plain, method: "GET", url: "https://origin.test/r", send: "GET https://origin.test/r HTTP/1.1\r\n" + host + "\r\n"},
		refusal{name: "wss:// without a CONNECT", legs: Plain, method: "GET", url: "https://origin.test/r", send: "GET wss://origin.test/r HTTP/1.1\r\n" + host + "\r\n"},
		refusal{name: "CONNECT inside", legs: TLS | Inside, method: "CONNECT", url: "{o}/", send: "CONNECT origin.test:443 HTTP/1.1\r\n" + host + "\r\n"},
		refusal{name: "user name inside", legs: TLS, method: "GET", send: "GET https://user:secret@origin.test/r HTTP/1.1\r\n" + host + "\r\n"},
		refusal{name: "user name inside a CONNECT", legs: Inside, method: "GET", send: "GET http://user:secret@origin.test/r HTTP/1.1\r\n" + host + "\r\n"},
	)
	cases := refusals("targets", list)
	for i := range cases {
		// What can't be read is logged as it came, but never with a password in it.
		cases[i].log[0].check = func(o *netlog.Open, _ *netlog.End) error {
			if s := fmt.Sprintf("%+v", *o.Request); strings.Contains(s, "secret") {
				return fmt.Errorf("the password is in %s", s)
			}
			return nil
		}
	}
	return cases
}

// hosts are Host fields that are passed on, as they are spelled.
func hosts() []Case {
	var list []passing
	for _, value := range []string{"origin.test", "ORIGIN.test", "origin.test.", "Origin.Test.:{default}", "origin.test:{default}", "origin.test:", "origin.test:00{default}"} {
		list = append(list, passing{
			name: "Host " + value,
			send: "GET {u}/ HTTP/1.1\r\nHost: " + value + "\r\n\r\n", gets: "GET / HTTP/1.1\r\nHost: " + value + "\r\n\r\n",
			log: entry{method: "GET", url: "{o}/"},
		})
	}
	list = append(list,
		passing{
			name: "Host in odd white space",
			send: "GET {u}/ HTTP/1.1\r\nhOsT:\t origin.test \t\r\n\r\n", gets: "GET / HTTP/1.1\r\nhOsT:\t origin.test \t\r\n\r\n",
			log: entry{method: "GET", url: "{o}/"},
		},
		passing{
			name: "Host without a space, behind others",
			send: "GET {u}/ HTTP/1.1\r\nA: 1\r\nB: 2\r\nHost:origin.test\r\n\r\n", gets: "GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nHost:origin.test\r\n\r\n",
			log: entry{method: "GET", url: "{o}/"},
		},
		passing{
			name: "HTTP/1.0 without a Host", legs: Plain,
			send: "GET {u}/ HTTP/1.0\r\nA: b\r\n\r\n", gets: "GET / HTTP/1.0\r\nHost: origin.test\r\nA: b\r\n\r\n",
			sees: closing(ok), log: entry{method: "GET", url: "{o}/", received: okBody},
			then: func(t *talk) { t.browserEnds(clean) },
		},
		passing{
			name: "HTTP/1.0 without a Host, at another port", legs: Plain,
			send: "GET http://origin.test:8080/ HTTP/1.0\r\n\r\n", gets: "GET / HTTP/1.0\r\nHost: origin.test:8080\r\n\r\n",
			sees: closing(ok), log: entry{method: "GET", url: "http://origin.test:8080/", received: okBody},
			then: func(t *talk) { t.browserEnds(clean) },
		},
		passing{
			name: "HTTP/1.0 inside, without a Host", legs: TLS | Inside,
			send: "GET / HTTP/1.0\r\n\r\n", gets: "GET / HTTP/1.0\r\n\r\n",
			sees: closing(ok), log: entry{method: "GET", url: "{o}/", received: okBody},
			then: func(t *talk) { t.browserEnds(clean) },
		},
	)
	return passings("hosts", list)
}

// closing is an answer as a browser gets it whose connection ends behind it.
func closing(answer string) string {
	return strings.Replace(answer, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)
}

// refusedHosts are Host fields that can't be, or that could name somebody else.
func refusedHosts() []Case {
	list := []refusal{
		{name: "no Host", send: "GET {u}/r HTTP/1.1\r\nA: b\r\n\r\n"},
		{name: "two Hosts alike", send: "GET {u}/r HTTP/1.1\r\n" + host + host + "\r\n"},
		{name: "two Hosts", send: "GET {u}/r HTTP/1.1\r\n" + host + "Host: other.test\r\n\r\n"},
		{name: "two Hosts in HTTP/1.0", send: "GET {u}/r HTTP/1.0\r\n" + host + host + "\r\n"},
	}
	for _, value := range []string{
		"", " ", "origin.test, other.test", "origin.test other.test", "origin.test/r", "http://origin.test", "user@origin.test", "origin.test:0", "origin.test:65536",
		"origin.test:x", "origin.test:80:80", ":80", "[::1", "::1", "origin.test?x", "origin.test#x", "origin..test", "origin%2etest", "origin.test\\x", "127.1",
	} {
		list = append(list, refusal{name: "Host " + fmt.Sprintf("%q", value), send: "GET {u}/r HTTP/1.1\r\nHost:" + value + "\r\n\r\n"})
	}
	for i := range list {
		list[i].method = "GET"
	}
	return refusals("hosts", list)
}

// otherNames are requests for another name than their connection's or target's.
func otherNames() []Case {
	var list []refusal
	for _, name := range []string{"other.test", "origin.test.other.test", "sub.origin.test", "origin.test:8080", "origin.tes", "192.0.2.1", "xn--origin.test", "localhost", "{proxy}"} {
		list = append(list, refusal{name: "Host of another: " + name, method: "GET", status: 421, send: "GET {u}/r HTTP/1.1\r\nHost: " + name + "\r\n\r\n"})
	}
	for _, target := range []string{"https://other.test/r", "https://origin.test:8443/r", "http://origin.test/r", "http://origin.test:443/r", "HTTPS://other.test"} {
		list = append(list, refusal{name: "target of another: " + target, legs: TLS, method: "GET", status: 421, url: "*",
			send: "GET " + target + " HTTP/1.1\r\n" + host + "\r\n"})
	}
	for _, target := range []string{"http://other.test/r", "https://origin.test/r", "http://origin.test:81/r"} {
		list = append(list, refusal{name: "target of another: " + target, legs: Inside, method: "GET", status: 421, url: "*",
			send: "GET " + target + " HTTP/1.1\r\n" + host + "\r\n"})
	}
	list = append(list,
		refusal{name: "port of the other scheme in the Host", legs: TLS, method: "GET", status: 421, send: "GET /r HTTP/1.1\r\nHost: origin.test:80\r\n\r\n"},
		refusal{name: "port of the other scheme in the Host", legs: Plain | Inside, method: "GET", status: 421, send: "GET {u}/r HTTP/1.1\r\nHost: origin.test:443\r\n\r\n"},
		refusal{name: "body of a request for another", status: 421, sent: "hello", send: "POST {u}/r HTTP/1.1\r\nHost: other.test\r\nContent-Length: 5\r\n\r\nhello"},
		refusal{name: "path of a Host that is not ours", legs: Plain, method: "GET", status: 421, url: "*", send: "GET /r HTTP/1.1\r\n" + host + "\r\n"},
		refusal{name: "OPTIONS * to the proxy with a Host that is not its own", legs: Plain, method: "OPTIONS", status: 421, url: "*", send: "OPTIONS * HTTP/1.1\r\n" + host + "\r\n"},
	)
	cases := refusals("names", list)
	for i, r := range list {
		if r.url != "*" {
			continue
		}
		switch {
		case strings.HasPrefix(r.name, "path"):
			cases[i].log[0].url = "{blame}/r"
		case strings.HasPrefix(r.name, "OPTIONS"):
			cases[i].log[0].url = "{blame}/"
		default:
			target := strings.Fields(r.send)[1]
			path := target[strings.Index(target, "://")+3:]
			if slash := strings.IndexByte(path, '/'); slash >= 0 {
				path = path[slash:]
			} else {
				path = "/"
			}
			cases[i].log[0].url = "{o}" + path
			cases[i].log[0].check = hasTarget(target)
		}
	}
	return cases
}
