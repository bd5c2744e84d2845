package battery

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/agentenv/netlog/netlog"
)

// streams are long, slow and many.
func streams() []Case {
	long := longStreams(32 << 20)
	up, down := long["up"], long["down"]
	const head = "POST {u}/ HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n"
	const headUp = "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n"
	const answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: u\r\n\r\n"
	return []Case{
		up, down,
		{Group: "streams", Name: "all of it in writes of one byte", talk: func(t *talk) {
			t.sendSlowly(head + "3\r\nabc\r\n2;x\r\nde\r\n0\r\nA: b\r\n\r\n")
			t.gets(headUp + "3\r\nabc\r\n2;x\r\nde\r\n0\r\nA: b\r\n\r\n")
			t.answerSlowly("HTTP/1.1 103 Early Hints\r\n\r\n" + answer)
			t.sees("HTTP/1.1 103 Early Hints\r\n\r\n" + answer)
			t.again()
		}, log: []entry{{method: "POST", url: "{o}/", status: 200, sent: "abcde", received: "hello"}, got()}},
		{Group: "streams", Name: "chunks for an HTTP/1.0 browser, in writes of one byte", talk: func(t *talk) {
			t.send("GET {u}/ HTTP/1.0\r\n" + host + "\r\n")
			t.gets("GET / HTTP/1.0\r\n" + host + "\r\n")
			t.answerSlowly(answer)
			t.sees("HTTP/1.1 200 OK\r\nX: y\r\nConnection: close\r\n\r\nhello")
			t.browserEnds(clean)
		}, log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello"}}},
		{Group: "streams", Name: "each piece as it comes", talk: func(t *talk) {
			t.send(head)
			t.gets(headUp)
			for _, piece := range []string{"1", "\r", "\n", "a", "\r", "\n1\r\nb", "\r\n", "0\r\n\r", "\n"} {
				t.send(piece)
				t.gets(piece)
			}
			t.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			t.sees("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			for _, piece := range []string{"1", "\r", "\n", "a", "\r", "\n1\r\nb", "\r\n", "0\r\n\r", "\n"} {
				t.answer(piece)
				t.sees(piece)
			}
			t.again()
		}, log: []entry{{method: "POST", url: "{o}/", status: 200, sent: "ab", received: "ab"}, got()}},
		{Group: "streams", Name: "a browser that reads late", talk: func(t *talk) {
			t.send(get)
			t.gets(getUp)
			text := "HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n" + strings.Repeat(every, 8388608/256)
			t.answerBeside(text)
			t.logged(`"event":"open"`)
			t.sees(text)
			t.again()
		}, log: []entry{{method: "GET", url: "{o}/", status: 200, received: strings.Repeat(every, 8388608/256)}, got()}},
		{Group: "streams", Name: givenUp, Legs: Plain | TLS, talk: func(t *talk) {
			for range 200 {
				t.b, t.s = nil, nil
				t.send(get)
				t.gets(getUp)
				t.hangsUp()
				t.browserLeft()
			}
			for _, s := range t.servers {
				t.ends(s, nil)
			}
		}, log: func() (es []entry) {
			for range 200 {
				es = append(es, entry{method: "GET", url: "{o}/", failed: "wait client_gone"})
			}
			return es
		}()},
	}
}

// givenUp is the name of the case whose requests must leave nothing behind.
const givenUp = "200 requests that are given up"

// longStreams are bodies of n bytes, up and down, of which the log has the hash.
func longStreams(n int64) map[string]Case {
	length := fmt.Sprintf("Content-Length: %d\r\n\r\n", n)
	sum := sync.OnceValue(func() string {
		digest := sha256.New()
		io.Copy(digest, io.LimitReader(&zebra{}, n))
		return hex.EncodeToString(digest.Sum(nil))
	})
	whole := func(b *netlog.Body) error {
		if b == nil || b.Size != n || b.SHA256 != sum() {
			return fmt.Errorf("the body is %+v, and was to be %d bytes of %s", b, n, sum())
		}
		return nil
	}
	return map[string]Case{
		"up": {
			Group: "streams", Name: "long, up", Legs: Plain | TLS,
			talk: func(t *talk) {
				t.send("POST {u}/ HTTP/1.1\r\n" + host + length)
				t.gets("POST / HTTP/1.1\r\n" + host + length)
				t.streams(t.b, n)
				t.takes(t.s, n, sum)
				t.answer(ok)
				t.sees(ok)
				t.again()
			},
			log: []entry{{method: "POST", url: "{o}/", status: 200, anyBytes: true, check: func(o *netlog.Open, e *netlog.End) error {
				if e.Request != nil {
					return whole(e.Request.Body)
				}
				return whole(o.Request.Body)
			}}, got()},
		},
		"down": {
			Group: "streams", Name: "long, down", Legs: Plain | TLS,
			talk: func(t *talk) {
				t.send(get)
				t.gets(getUp)
				t.answer("HTTP/1.1 200 OK\r\n" + length)
				t.sees("HTTP/1.1 200 OK\r\n" + length)
				t.streams(t.s, n)
				t.takes(t.b, n, sum)
				t.again()
			},
			log: []entry{{method: "GET", url: "{o}/", status: 200, anyBytes: true, check: func(_ *netlog.Open, e *netlog.End) error {
				return whole(e.Response.Body)
			}}, got()},
		},
	}
}

// A zebra is an endless stream of stripes.
type zebra struct{ at int }

func (z *zebra) Read(p []byte) (int, error) {
	for i := 0; i < len(p); {
		n := copy(p[i:], stripes[z.at:])
		i, z.at = i+n, (z.at+n)%len(stripes)
	}
	return len(p), nil
}

// stripes are long, so that copying them is quick, and of a length that no
// buffer has.
var stripes = strings.Repeat(every, 127)

// streams sends n bytes of a zebra from p, beside.
func (t *talk) streams(p *party, n int64) {
	t.beside(func() {
		for z := (&zebra{}); n > 0; {
			p.wait()
			m, err := io.CopyN(p.Conn, z, min(n, 64<<20))
			if n -= m; err != nil {
				return
			}
		}
	})
}

// takes reads n bytes at p, whose SHA-256 must be sum.
func (t *talk) takes(p *party, n int64, sum func() string) {
	if t.err != nil {
		return
	}
	digest := sha256.New()
	for left := n; left > 0; {
		p.wait()
		m, err := io.CopyN(digest, p.br, min(left, 64<<20))
		if left -= m; err != nil {
			t.fail("%s got %d bytes (%v), and was to get %d", p.name, n-left, err, n)
			return
		}
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != sum() {
		t.fail("%s got bytes of the hash %s, and was to get %s", p.name, got, sum())
	}
}
