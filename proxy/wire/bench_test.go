package wire

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

const benchRequest = "GET /assets/app.js?v=3 HTTP/1.1\r\nHost: notes.test\r\nConnection: keep-alive\r\n" +
	"sec-ch-ua: \"Chromium\";v=\"140\", \"Not=A?Brand\";v=\"24\"\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: \"Linux\"\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n" +
	"Accept: */*\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n" +
	"Referer: https://notes.test/\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n" +
	"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\r\n"

const benchAnswer = "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: text/javascript\r\n" +
	"Content-Length: 1024\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nConnection: keep-alive\r\nETag: \"65920080-400\"\r\n" +
	"Cache-Control: max-age=3600\r\nAccept-Ranges: bytes\r\n\r\n"

// TestNoAllocation: reading, framing and passing on a head of common size in the steady state.
func TestNoAllocation(t *testing.T) {
	var r Request
	var a Answer
	var out []byte
	src := strings.NewReader("")
	br := bufio.NewReader(src)
	if n := testing.AllocsPerRun(100, func() { oneRequest(t, src, br, &r, &out) }); n != 0 {
		t.Errorf("a request: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { oneAnswer(t, src, br, &a, &out) }); n != 0 {
		t.Errorf("an answer: %v allocations", n)
	}
}

func oneRequest(t testing.TB, src *strings.Reader, br *bufio.Reader, r *Request, out *[]byte) {
	src.Reset(benchRequest)
	br.Reset(src)
	if err := ReadRequest(br, r, testLimit); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Framing(); err != nil || !r.KeepAlive() {
		t.Fatal(err)
	}
	if _, err := ParseTarget(r.Method, r.Target); err != nil {
		t.Fatal(err)
	}
	*out = r.AppendForward((*out)[:0], ForwardOptions{})
}

func oneAnswer(t testing.TB, src *strings.Reader, br *bufio.Reader, a *Answer, out *[]byte) {
	src.Reset(benchAnswer)
	br.Reset(src)
	if err := ReadAnswer(br, a, testLimit); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Framing("GET"); err != nil || !a.KeepAlive() {
		t.Fatal(err)
	}
	*out = a.AppendForward((*out)[:0], ForwardOptions{})
}

func BenchmarkRequest(b *testing.B) {
	var r Request
	var out []byte
	src := strings.NewReader("")
	br := bufio.NewReader(src)
	b.SetBytes(int64(len(benchRequest)))
	b.ReportAllocs()
	for b.Loop() {
		oneRequest(b, src, br, &r, &out)
	}
}

func BenchmarkAnswer(b *testing.B) {
	var a Answer
	var out []byte
	src := strings.NewReader("")
	br := bufio.NewReader(src)
	b.SetBytes(int64(len(benchAnswer)))
	b.ReportAllocs()
	for b.Loop() {
		oneAnswer(b, src, br, &a, &out)
	}
}

// A head made to be slow: as many fields as may be, and as many options to look for among them.
func BenchmarkHostileRequest(b *testing.B) {
	head := "GET / HTTP/1.1\r\nHost: a\r\nConnection: " + strings.Repeat("aaaaaaaab,", maxConnection-1) + "x\r\n" + strings.Repeat("aaaaaaaaa: b\r\n", maxFields-2) + "\r\n"
	var r Request
	var out []byte
	b.SetBytes(int64(len(head)))
	b.ReportAllocs()
	for b.Loop() {
		if err := ReadRequest(bufio.NewReader(strings.NewReader(head)), &r, testLimit); err != nil {
			b.Fatal(err)
		}
		out = r.AppendForward(out[:0], ForwardOptions{})
	}
}

func BenchmarkChunked(b *testing.B) {
	body := bytes.Repeat([]byte("400\r\n"+strings.Repeat("x", 1024)+"\r\n"), 30)
	body = append(body, "0\r\n\r\n"...)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var c Chunked
		for p := body; len(p) > 0; {
			n, _, err := c.Next(p)
			if err != nil {
				b.Fatal(err)
			}
			p = p[n:]
		}
		if !c.Done() {
			b.Fatal("not done")
		}
	}
}
