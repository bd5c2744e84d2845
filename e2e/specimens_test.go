package e2e

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A specimen is one exchange of a sort that a HAR can hold: what is asked and
// answered, byte for byte, and what a reader must show of it.
type specimen struct {
	path   string // with its query
	url    string // how that is written in the HAR, when not the same
	method string // "" is GET
	fields string // more of the request's head, a line each
	sent   string // the request's body
	shows  string // what is to be shown of that, when not the same

	head   string // the answer's status line and fields, a line each
	body   string // as it goes over the wire
	shown  string // the content
	status int    // -1 for none
	bare   bool   // the content is not there at all
}

// everyByte is each of the 256 once.
func everyByte() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

// specimens are the origin's under /specimen over http://, where one has the
// bytes in hand.
func specimens() []specimen {
	page := "<!doctype html><title>ř</title><p>žluť 🦊\u2028 \x7f"
	document := func(more string) string {
		return "HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\n" + more
	}
	in := func(charset string) string {
		return "HTTP/1.1 200 OK\nContent-Type: text/plain; charset=" + charset + "\n"
	}
	kept := "HTTP/1.1 200 OK\nContent-Type: text/plain\n"
	multipart := "--XX\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nA \"quoted\"\r\nvalue\r\n" +
		"--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"náïve 1.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n" + everyByte() + "\r\n" +
		"--XX\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--XX--\r\n"
	events := ": hello\n\nid: 1\nevent: count\ndata: one\n\ndata: two\ndata: lines\n\nretry: 10\nid\ndata:three ž\n\ndata: cut"

	return []specimen{
		// Codings.
		{path: "/gzip", head: document("Content-Encoding: gzip\n"), body: inCodings(page, "gzip"), shown: page, status: 200},
		{path: "/deflate", head: document("Content-Encoding: deflate\n"), body: inCodings(page, "deflate"), shown: page, status: 200},
		{path: "/deflate-raw", head: document("Content-Encoding: deflate\n"), body: inCodings(page, "deflate")[2 : len(inCodings(page, "deflate"))-4], shown: page, status: 200},
		{path: "/br", head: document("Content-Encoding: br\n"), body: inCodings(page, "br"), shown: page, status: 200},
		{path: "/zstd", head: document("Content-Encoding: zstd\n"), body: inCodings(page, "zstd"), shown: page, status: 200},
		{path: "/stacked", head: document("Content-Encoding: deflate, br\nContent-Encoding: gzip\n"), body: inCodings(page, "deflate", "br", "gzip"), shown: page, status: 200},
		{path: "/unknown-coding", head: document("Content-Encoding: sundial\n"), body: page, shown: page, status: 200},
		{path: "/no-gzip", head: document("Content-Encoding: gzip\n"), body: page, shown: page, status: 200},
		{path: "/bomb", head: document("Content-Encoding: gzip\n"), body: inCodings(strings.Repeat("bomb", 1<<19), "gzip"), shown: strings.Repeat("bomb", 1<<18), status: 200},
		// Charsets.
		{path: "/latin1", head: in("iso-8859-1"), body: "caf\xe9 \x80", shown: "café €", status: 200},
		{path: "/shift-jis", head: in("Shift_JIS"), body: "\x93\xfa\x96\x7b\x8c\xea", shown: "日本語", status: 200},
		{path: "/utf-16", head: "HTTP/1.1 200 OK\nContent-Type: text/plain\n", body: "\xff\xfeh\x00i\x00=\xd8\x00\xde", shown: "\ufeffhi😀", status: 200},
		{path: "/wrong-label", head: in("utf-8"), body: "caf\xe9", shown: "caf\xe9", status: 200},
		{path: "/unwitting-utf-8", head: in("iso-8859-1"), body: "café", shown: "café", status: 200},
		{path: "/meta", head: "HTTP/1.1 200 OK\nContent-Type: text/html\n", body: "<meta charset=windows-1251>\xcf\xf0\xe8\xe2\xe5\xf2", shown: "<meta charset=windows-1251>Привет", status: 200},
		{path: "/bom", head: kept, body: "\ufeffmarked", shown: "\ufeffmarked", status: 200},
		// Contents.
		{path: "/every-byte", head: kept, body: everyByte(), shown: everyByte(), status: 200},
		{path: "/controls", head: "HTTP/1.1 200 OK\nContent-Type: application/json\n", body: "{\"a\":\"\x00\x1b\\ud800\"}", shown: "{\"a\":\"\x00\x1b\\ud800\"}", status: 200},
		{path: "/image", head: "HTTP/1.1 200 OK\nContent-Type: image/png\n", body: everyByte(), bare: true, status: 200},
		{path: "/long", head: kept, body: string(pattern(1<<20 + 1)), shown: string(pattern(1 << 20)), status: 200},
		{path: "/untyped", head: "HTTP/1.1 200 OK\n", body: "whatever", shown: "whatever", status: 200},
		{path: "/empty", head: kept, status: 200},
		{path: "/until-close", head: "HTTP/1.0 200 OK\nContent-Type: text/plain\nConnection: close\n", body: "until the end", shown: "until the end", status: 200},
		{path: "/chunked", head: kept + "Transfer-Encoding: chunked\nTrailer: X-Sum\n", body: "4;x=y\r\nfour\r\n0\r\nX-Sum: 4\r\n\r\n", shown: "four", status: 200},
		{path: "/events", head: "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n", body: events, shown: events, status: 200},
		{path: "/grpc", head: "HTTP/1.1 200 OK\nContent-Type: application/grpc+proto\n", body: "\x00\x00\x00\x00\x02\x08\x01", bare: true, status: 200},
		// Heads.
		{path: "/cookies", head: kept + "Set-Cookie: a=\"q;uoted\\\"; Path=/; HttpOnly; SameSite=strict\nSet-Cookie: b=ž=%20; Max-Age=99999999999; Secure\n" +
			"Set-Cookie: c=; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Domain=.localhost\nSet-Cookie: d=1; Expires=Session\nSet-Cookie: nameless\nSet-Cookie: a=again; Partitioned; Secure; Path\n", body: "set", shown: "set", status: 200},
		{path: "/bytes", head: "HTTP/1.1 200 Tr\xe8s bien\nContent-Type: text/plain\nX-Bytes: caf\xe9\nX-Twice: 1\nx-twice: 2\nX-Empty:\n", body: "head", shown: "head", status: 200},
		{path: "/phraseless", head: "HTTP/1.1 299\nContent-Type: text/plain\n", body: "none", shown: "none", status: 299},
		{path: "/hints", head: "HTTP/1.1 103 Early Hints\nLink: </a.css>; rel=preload\n\n" + kept, body: "hinted", shown: "hinted", status: 200},
		{path: "/away", head: "HTTP/1.1 302 Found\nLocation: ../elsewhere?a=b#there\n", status: 302},
		{path: "/odd%2furl/%E9?q=a+b&q=%C3%A9&bare&=&x=%zz&y=100%25&[]{}|^", url: "/odd%2furl/%E9?q=a+b&q=%C3%A9&bare&=&x=%zz&y=100%25&[]%7B%7D%7C%5E", head: kept, body: "odd", shown: "odd", status: 200},
		{path: "/nothing", head: "HTTP/1.1 204 No Content\n", bare: true, status: 204},
		{path: "/same", head: "HTTP/1.1 304 Not Modified\nContent-Type: text/css\nContent-Length: 9\n", bare: true, status: 304},
		{path: "/head", method: "HEAD", head: kept + "Content-Length: 9\n", bare: true, status: 200},
		// Requests.
		{path: "/json", method: "POST", fields: "Content-Type: application/json\n", sent: `{"qty":3,"of":"žluť"}`, head: "HTTP/1.1 201 Created\nContent-Type: application/json\n", body: `{"id":1}`, shown: `{"id":1}`, status: 201},
		{path: "/form", method: "POST", fields: "Content-Type: application/x-www-form-urlencoded; charset=UTF-8\nCookie: sid=\"a b\"; t; sid=2\n", sent: "name=Ada+L%C3%B6&name=2&rate=100%25&bare&amp=%26", head: "HTTP/1.1 303 See Other\nLocation: /specimen/thanks\nContent-Length: 0\n", status: 303},
		{path: "/multipart", method: "POST", fields: "Content-Type: Multipart/Form-Data; Boundary=\"XX\"\n", sent: multipart, head: kept, body: "had", shown: "had", status: 200},
		{path: "/put", method: "PUT", fields: "Content-Type: application/octet-stream\n", sent: everyByte(), head: kept, body: "put", shown: "put", status: 200},
		{path: "/zipped", method: "POST", fields: "Content-Type: text/plain\nContent-Encoding: gzip\n", sent: inCodings("posted", "gzip"), shows: "posted", head: kept, body: "unzipped", shown: "unzipped", status: 200},
		{path: "/in-chunks", method: "POST", fields: "Content-Type: text/plain\nTransfer-Encoding: chunked\nTrailer: X-Sum\n", sent: "4\r\nfour\r\n1;x=y\r\n!\r\n0\r\nX-Sum: 5\r\n\r\n", shows: "four!", head: kept, body: "whole", shown: "whole", status: 200},
		{path: "/delete", method: "DELETE", sent: "untyped", head: kept, body: "gone", shown: "gone", status: 200},
		{path: "/patch", method: "PATCH", fields: "Content-Type: application/json-patch+json\nOrigin: null\nReferer: http://elsewhere.test/?a=b\n", sent: "[]", head: kept, body: "patched", shown: "patched", status: 200},
		{path: "/options", method: "OPTIONS", fields: "Origin: http://elsewhere.test\nAccess-Control-Request-Method: PUT\n", head: "HTTP/1.1 204 No Content\nAccess-Control-Allow-Methods: PUT\n", bare: true, status: 204},
		// Failures.
		{path: "/broken-off", head: kept + "Content-Length: 99\n", body: "half", shown: "half", status: 200},
		{path: "/cut-gzip", head: document("Content-Encoding: gzip\nContent-Length: 99999\n"), body: inCodings(page, "gzip")[:len(inCodings(page, "gzip"))-9], shown: page, status: 200},
		{path: "/no-http", head: "220 mail.test ESMTP\n", shown: "220 mail.test ESMTP\r\n\r\n", status: -1},
		{path: "/silent", bare: true, status: -1},
		{path: "/error", head: "HTTP/1.1 500 Internal Server Error\nContent-Type: application/problem+json\n", body: `{"title":"it broke"}`, shown: `{"title":"it broke"}`, status: 500},
	}
}

// inCodings puts a text into content codings, one after the other.
func inCodings(text string, codings ...string) string {
	b := []byte(text)
	for _, coding := range codings {
		var err error
		if b, err = encode(coding, b); err != nil {
			panic(err)
		}
	}
	return string(b)
}

// specimenHost answers with the specimens' own bytes, and closes.
func specimenHost(t *testing.T) http.Handler {
	bytesOf := map[string]string{}
	for _, s := range specimens() {
		head := strings.ReplaceAll(s.head, "\n", "\r\n")
		if head != "" {
			if !strings.Contains(head, "Content-Length:") && !strings.Contains(head, "chunked") && !strings.Contains(head, "HTTP/1.0") && s.status >= 200 && s.status != 204 && s.status != 304 {
				head += fmt.Sprintf("Content-Length: %d\r\n", len(s.body))
			}
			head += "\r\n"
		}
		bytesOf["/specimen"+s.path] = head + s.body
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		answer, ok := bytesOf[r.RequestURI]
		if !ok {
			http.NotFound(w, r)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("%s: %v", r.RequestURI, err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, answer)
	})
}

// ask sends a specimen's request through a proxy and reads until it closes.
func (s specimen) ask(t *testing.T, through, host string) {
	t.Helper()
	conn, err := net.Dial("tcp", through)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	w := bufio.NewWriter(conn)
	fmt.Fprintf(w, "%s http://%s/specimen%s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n", cmp.Or(s.method, "GET"), host, s.path, host, strings.ReplaceAll(s.fields, "\n", "\r\n"))
	if s.sent != "" && !strings.Contains(s.fields, "chunked") {
		fmt.Fprintf(w, "Content-Length: %d\r\n", len(s.sent))
	}
	io.WriteString(w, "\r\n"+s.sent)
	if err := w.Flush(); err != nil {
		t.Errorf("%s: %v", s.path, err)
	}
	io.Copy(io.Discard, conn)
}

// address is the specimen's URL in the HAR.
func (s specimen) address(host string) string {
	return "http://" + host + "/specimen" + cmp.Or(s.url, s.path)
}

// check compares an entry with what a specimen must be shown as.
func (s specimen) check(t *testing.T, e harEntry) {
	t.Helper()
	is(t, "the status", e.Response.Status, s.status)
	is(t, "what was sent", e.posted(), cmp.Or(s.shows, s.sent))
	if has := e.Response.Content.Text != nil; has == s.bare {
		t.Errorf("there is content: %v", has)
	}
	if got := e.body(t); got != s.shown {
		t.Errorf("the content is %.200q, want %.200q", got, s.shown)
	}
}
