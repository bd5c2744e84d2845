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
	const head = "POST {u}/ HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n"
	const up = "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n"
	const answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: u\r\n\r\n"
	const n = streamed
	wanted := zebraSum()
	// hashed says that a body has passed whole, though little of it was kept.
	hashed := func(b func(*netlog.Open, *netlog.End) *netlog.Body) func(*netlog.Open, *netlog.End) error {
		return func(o *netlog.Open, e *netlog.End) error {
			if body := b(o, e); body.Size != n || body.SHA256 != wanted {
				return fmt.Errorf("the body is %d bytes of %s, and was to be %d of %s", body.Size, body.SHA256, n, wanted)
			}
			return nil
		}
	}
	long := fmt.Sprintf("Content-Length: %d\r\n\r\n", n)
	return []Case{
		{Group: "streams", Name: "all of it in writes of one byte", talk: func(t *talk) {
			t.sendSlowly(head + "3\r\nabc\r\n2;x\r\nde\r\n0\r\nA: b\r\n\r\n")
			t.gets(up + "3\r\nabc\r\n2;x\r\nde\r\n0\r\nA: b\r\n\r\n")
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
			t.gets(up)
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
		{Group: "streams", Name: "64 MiB up", talk: func(t *talk) {
			t.send("POST {u}/ HTTP/1.1\r\n" + host + long)
			t.gets("POST / HTTP/1.1\r\n" + host + long)
			t.beside(func() { io.Copy(t.b.Conn, io.LimitReader(&zebra{}, streamed)) })
			t.takes(t.s, n, wanted)
			t.answer(ok)
			t.sees(ok)
			t.again()
		}, log: []entry{{method: "POST", url: "{o}/", status: 200, anyBytes: true, received: okBody, check: hashed(func(o *netlog.Open, e *netlog.End) *netlog.Body {
			if e.Request != nil {
				return e.Request.Body
			}
			return o.Request.Body
		})}, got()}},
		{Group: "streams", Name: "64 MiB down", talk: func(t *talk) {
			t.send(get)
			t.gets(getUp)
			t.beside(func() {
				t.s.send("HTTP/1.1 200 OK\r\n" + long)
				io.Copy(t.s.Conn, io.LimitReader(&zebra{}, streamed))
			})
			t.sees("HTTP/1.1 200 OK\r\n" + long)
			t.takes(t.b, n, wanted)
			t.again()
		}, log: []entry{{method: "GET", url: "{o}/", status: 200, anyBytes: true, check: hashed(func(_ *netlog.Open, e *netlog.End) *netlog.Body { return e.Response.Body })}, got()}},
		{Group: "streams", Name: "a browser that reads late", talk: func(t *talk) {
			t.send(get)
			t.gets(getUp)
			text := "HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n" + strings.Repeat(every, 8388608/256)
			t.answerBeside(text)
			t.logged(`"event":"open"`)
			t.sees(text)
			t.again()
		}, log: []entry{{method: "GET", url: "{o}/", status: 200, received: strings.Repeat(every, 8388608/256)}, got()}},
		{Group: "streams", Name: "200 requests that are given up", talk: func(t *talk) {
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

// streamed is how long a long body is.
const streamed = 64 << 20

// A zebra is an endless stream of stripes.
type zebra struct{ at int }

func (z *zebra) Read(p []byte) (int, error) {
	for i := 0; i < len(p); {
		n := copy(p[i:], every[z.at:])
		i, z.at = i+n, (z.at+n)%len(every)
	}
	return len(p), nil
}

// zebraSum is the SHA-256 of what a zebra streams.
var zebraSum = sync.OnceValue(func() string {
	digest := sha256.New()
	io.Copy(digest, io.LimitReader(&zebra{}, streamed))
	return hex.EncodeToString(digest.Sum(nil))
})

// takes reads n bytes at p, whose SHA-256 must be sum.
func (t *talk) takes(p *party, n int64, sum string) {
	if t.err != nil {
		return
	}
	p.wait()
	digest := sha256.New()
	got, err := io.CopyN(digest, p.br, n)
	if s := hex.EncodeToString(digest.Sum(nil)); s != sum {
		t.fail("%s got %d bytes of %s (%v), and was to get %d of %s", p.name, got, s, err, n, sum)
	}
}
