package battery

import "strings"

// mebibyte is what a head may take (design: 431 past it).
const mebibyte = 1 << 20

// padded is a head, begun so, with a field that makes it n bytes long.
func padded(head string, n int) string {
	const name, end = "X-Pad: ", "\r\n\r\n"
	return head + name + strings.Repeat("x", n-len(head)-len(name)-len(end)) + end
}

// longHeads are requests' heads around the limits of their size.
func longHeads() []Case {
	const line = "GET /r HTTP/1.1\r\n"
	sized := func(name string, n int) Case {
		head := padded(line+host, n)
		return Case{
			Group: "long heads", Name: name, Legs: TLS | Inside, Ours: true,
			talk: func(t *talk) {
				t.sendBeside(head)
				t.gets(head)
				t.answer(ok)
				t.sees(ok)
				t.again()
			},
			log: []entry{{method: "GET", url: "{o}/r", status: 200, received: okBody}, got()},
		}
	}
	cases := []Case{sized("1 MiB less one byte", mebibyte-1), sized("1 MiB", mebibyte)}
	tooLong := []refusal{
		{name: "1 MiB and a byte", method: "GET", status: 431, send: padded("GET {u}/r HTTP/1.1\r\n"+host, mebibyte+200)},
		{name: "16 MiB", method: "GET", status: 431, send: padded("GET {u}/r HTTP/1.1\r\n"+host, 16*mebibyte)},
		{name: "request line of 1 MiB", legs: Plain | TLS, method: "-", url: "-", status: 431, send: "GET {u}/" + strings.Repeat("x", mebibyte) + " HTTP/1.1\r\n" + host + "\r\n"},
		{name: "method of 1 MiB", legs: Plain | TLS, method: "-", url: "-", status: 431, send: strings.Repeat("X", mebibyte) + " {u}/ HTTP/1.1\r\n" + host + "\r\n"},
		{name: "10,001 fields", method: "GET", status: 431, send: "GET {u}/r HTTP/1.1\r\n" + host + strings.Repeat("a:\r\n", 10_000) + "\r\n"},
		{name: "200,000 fields", method: "GET", status: 431, send: "GET {u}/r HTTP/1.1\r\n" + host + strings.Repeat("a:\r\n", 200_000) + "\r\n"},
	}
	long := refusals("long heads", tooLong)
	for i, r := range tooLong {
		long[i].Ours = r.name != "16 MiB" // where the limit is, is our affair
		if r.url == "-" {
			long[i].log = []entry{{url: "{blame}/", refused: "head_too_long 431"}}
		}
	}
	return append(cases, long...)
}

// longAnswerHeads are servers' heads around them: past the limit they pass unread.
func longAnswerHeads() []Case {
	sized := func(name string, n int) Case {
		head := padded("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n", n)
		return Case{
			Group: "long heads", Name: name, Ours: true,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answerBeside(head + okBody)
				t.sees(head + okBody)
				t.again()
			},
			log: []entry{got(), got()},
		}
	}
	unread := func(name, answer string) Case {
		return Case{
			Group: "long heads", Name: name, Ours: true,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answerBeside(answer)
				t.sees(answer)
				t.finishes()
				t.browserEnds(clean)
			},
			log: []entry{{method: "GET", url: "{o}/", unparsed: true, received: answer}},
		}
	}
	return []Case{
		sized("answer of 1 MiB less one byte", mebibyte-1),
		sized("answer of 1 MiB", mebibyte),
		unread("answer of 1 MiB and a byte", padded("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n", mebibyte+1)+okBody),
		unread("answer of 4 MiB", padded("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n", 4*mebibyte)+okBody),
		unread("answer with 10,001 fields", "HTTP/1.1 200 OK\r\n"+strings.Repeat("a:\r\n", 10_000)+"Content-Length: 4\r\n\r\n"+okBody),
		unread("status line of 1 MiB", "HTTP/1.1 200 "+strings.Repeat("x", mebibyte)+"\r\nContent-Length: 4\r\n\r\n"+okBody),
	}
}
