package site

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/internal/webarena"
	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

var update = flag.Bool("update", false, "write the golden files")

// scripted is a gateway that answers each path of a site's route with what is
// written here, byte for byte.
func scripted(t *testing.T, answers map[string]string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	serve := func(conn net.Conn) {
		defer conn.Close()
		br := bufio.NewReader(conn)
		for {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			answer, ok := answers[r.Method+" "+r.URL.Path]
			if !ok {
				answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
			}
			io.WriteString(conn, answer)
			if strings.HasPrefix(answer, "HTTP/1.1 101") { // what comes behind is echoed
				io.Copy(conn, br)
				return
			}
		}
	}
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return l
}

// A talker sends requests as a browser would, byte for byte.
type talker struct {
	t    *testing.T
	d    *deployment
	done int // entries that have ended
}

// talk makes a connection, sends what is written, reads one answer and closes;
// the entry has ended then.
func (k *talker) talk(secure bool, port net.Listener, name, send string) {
	k.t.Helper()
	conn, err := net.Dial("tcp", port.Addr().String())
	if err != nil {
		k.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if secure {
		session := tls.Client(conn, &tls.Config{ServerName: name, RootCAs: k.d.roots, NextProtos: []string{"http/1.1"}})
		if err := session.Handshake(); err != nil {
			k.t.Fatal(err)
		}
		conn = session
	}
	io.WriteString(conn, send)
	method, _, _ := strings.Cut(send, " ")
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		k.t.Fatalf("%.40q: %v", send, err)
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		io.Copy(io.Discard, answer.Body)
	}
	answer.Body.Close()
	conn.Close()
	k.ended()
}

// tunnel has one request be answered through a CONNECT.
func (k *talker) tunnel(target, send string) {
	k.t.Helper()
	conn, err := net.Dial("tcp", k.d.ports.Forward.Addr().String())
	if err != nil {
		k.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	br := bufio.NewReader(conn)
	for _, ask := range []string{"CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n", send} {
		io.WriteString(conn, ask)
		method, _, _ := strings.Cut(ask, " ")
		answer, err := http.ReadResponse(br, &http.Request{Method: method})
		if err != nil || answer.StatusCode != 200 {
			k.t.Fatalf("%.40q: %v, %v", ask, answer, err)
		}
		if method != "CONNECT" {
			io.Copy(io.Discard, answer.Body)
		}
	}
	conn.Close()
	k.ended()
}

// ended waits for one more end line.
func (k *talker) ended() {
	k.t.Helper()
	k.done++
	deadline := time.Now().Add(2 * time.Minute)
	for tick := time.NewTicker(2 * time.Millisecond); ; <-tick.C {
		raw, err := os.ReadFile(k.d.log)
		if err == nil && bytes.Count(raw, []byte(`"event":"end"`)) >= k.done {
			tick.Stop()
			return
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("entry %d has no end", k.done)
		}
	}
}

const gzipped = "H4sIAAAAAAAC/6tWys9WsiopKk3VUcosSc0tVrKKNtQxiq0FALizaEUZAAAA" // {"ok":true,"items":[1,2]}

func ok(fields, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", fields, len(body), body)
}

// converse does everything that a browser does on sites, and gives the log.
func converse(t *testing.T) (path string, ports map[string]string) {
	t.Helper()
	zipped, err := base64.StdEncoding.DecodeString(gzipped)
	if err != nil {
		t.Fatal(err)
	}
	gw := scripted(t, map[string]string{
		"GET /website/notes/search":  ok("Content-Type: text/html; charset=utf-8\r\nAlt-Svc: h3=\":443\"\r\n", "<h1>found</h1>"),
		"POST /website/notes/login":  "HTTP/1.1 303 See Other\r\nLocation: /website/notes/home?from=login\r\nSet-Cookie: session=s1; Path=/website/notes/; HttpOnly\r\nSet-Cookie: theme=dark; path = /website/notes\r\nContent-Length: 0\r\n\r\n",
		"POST /website/notes/api":    fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", 10, zipped[:10], len(zipped)-10, zipped[10:]),
		"POST /website/notes/upload": ok("Content-Type: text/plain\r\n", "2 parts"),
		"GET /website/notes/long":    ok("Content-Type: text/plain\r\n", strings.Repeat("a line of text\n", 100_000)),
		"GET /website/notes/a.png":   ok("Content-Type: image/png\r\n", "\x89PNG\r\n\x1a\n an image"),
		"GET /website/notes/latin":   ok("Content-Type: text/html; charset=ISO-8859-1\r\nSet-Cookie: caf\xe9=1; Domain=127.0.0.1; Path=/website/notes/latin\r\n", "<title>caf\xe9</title>"),
		"GET /website/notes/socket":  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
		"GET /website/notes/broken":  "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"GET /plain":                 ok("Content-Type: text/plain\r\n", "let through"),
	})
	d := deployed(t, Config{
		AllowHosts: []string{"127.0.0.1", "missing.invalid"},
		Sites:      []Site{{Name: "notes", Upstream: "http://" + gw.Addr().String() + "/website/notes/", Domains: []string{"notes.test"}, SignInHeaders: []string{"X-Sign-In"}}},
	})
	k := &talker{t: t, d: d}
	site := func(send string) { k.t.Helper(); k.talk(true, d.ports.HTTPS, "notes.test", send) }
	site("GET /search?q=a%20b&lang=fr HTTP/1.1\r\nHost: notes.test\r\nCookie: seen=1; session=s0\r\nX-Sign-In: secret\r\nReferer: https://notes.test/\r\n" +
		"Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: same-origin\r\nAccept: text/html\r\nUser-Agent: golden\r\n\r\n")
	site("POST /login HTTP/1.1\r\nHost: notes.test\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 27\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n\r\nuser=ann&password=p+w%2B%26")
	site("POST /api HTTP/1.1\r\nHost: notes.test\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nAccept-Encoding: gzip\r\n\r\n7\r\n{\"a\":1,\r\n6\r\n\"b\":2}\r\n0\r\n\r\n")
	parts := "--x\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nfirst\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\xff\r\n--x--\r\n"
	site(fmt.Sprintf("POST /upload HTTP/1.1\r\nHost: notes.test\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n%s", len(parts), parts))
	site("GET /long HTTP/1.1\r\nHost: notes.test\r\n\r\n")
	site("GET /a.png HTTP/1.1\r\nHost: notes.test\r\nSec-Fetch-Dest: image\r\n\r\n")
	site("GET /latin HTTP/1.1\r\nHost: notes.test\r\n\r\n")
	k.talk(false, d.ports.HTTP, "", "GET /a?b HTTP/1.1\r\nHost: notes.test\r\n\r\n")
	site("GET /socket HTTP/1.1\r\nHost: notes.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
		"\x81\x82\x00\x00\x00\x00hi" + "\x88\x82\x00\x00\x00\x00\x03\xe8")
	k.tunnel(gw.Addr().String(), "GET /plain HTTP/1.1\r\nHost: let.through\r\n\r\n")
	k.talk(false, d.ports.Forward, "", "GET http://"+gw.Addr().String()+"/plain HTTP/1.1\r\nHost: "+gw.Addr().String()+"\r\n\r\n")
	k.talk(false, d.ports.Forward, "", "GET http://missing.invalid/ HTTP/1.1\r\nHost: missing.invalid\r\n\r\n")
	k.talk(false, d.ports.Forward, "", "GET http://unlisted.test/ HTTP/1.1\r\nHost: unlisted.test\r\n\r\n")
	site("GET /broken HTTP/1.1\r\nHost: notes.test\r\n\r\n")
	d.stop()
	netlogtest.Validate(t, d.log)
	return d.log, map[string]string{
		gw.Addr().String(): "127.0.0.1:8080",
		fmt.Sprintf("notes.test:%d", d.ports.HTTPSPort()): "notes.test:8443",
	}
}

// steadied is a log whose times, ports and the like are those of every run, with
// each entry's lines together.
func steadied(t *testing.T, path string, ports map[string]string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for port, steady := range ports {
		text = strings.ReplaceAll(text, port, steady)
	}
	for _, r := range []struct{ was, is string }{
		{`"pid":\d+`, `"pid":1`},
		{`"client":"127\.0\.0\.1:\d+"`, `"client":"127.0.0.1:50000"`},
		{`"cipher":"[^"]*"`, `"cipher":"TLS_AES_128_GCM_SHA256"`},
		{`"(dns|connect|tls)":\d+`, `"$1":1`},
		{`"failed":\{"phase":"dns"[^}]*\}`, `"failed":{"phase":"dns","code":"not_found","reason":"it does not resolve"}`},
		{`"sha256":"[0-9a-f]{64}","verified"`, `"sha256":"x","verified"`},
	} {
		text = regexp.MustCompile(r.was).ReplaceAllString(text, r.is)
	}
	phase := regexp.MustCompile(`"(blocked|dns|connect|tls|send|wait|receive)":\d+`)
	text = regexp.MustCompile(`"timings":\{[^}]*\}`).ReplaceAllStringFunc(text, func(timings string) string {
		total := 0
		for _, m := range phase.FindAllStringSubmatch(timings, -1) {
			if m[1] != "tls" {
				total++
			}
		}
		timings = phase.ReplaceAllString(timings, `"$1":1`)
		return regexp.MustCompile(`"total":\d+`).ReplaceAllString(timings, `"total":`+strconv.Itoa(max(total, 1)))
	})

	// One entry after the other, numbered anew.
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	id := regexp.MustCompile(`^\{"n":(\d+),"event":"(\w+)"(?:,"id":(\d+))?`)
	of := func(line string) int {
		n, _ := strconv.Atoi(id.FindStringSubmatch(line)[3])
		return n
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		if of(a) == of(b) && strings.Contains(a, `"event":"message"`) && strings.Contains(b, `"event":"message"`) {
			return strings.Compare(b[strings.Index(b, `"dir"`):][:10], a[strings.Index(a, `"dir"`):][:10]) // what is sent first
		}
		return of(a) - of(b)
	})
	var b bytes.Buffer
	opened := 0
	var at time.Time
	for i, line := range lines {
		m := id.FindStringSubmatch(line)
		head := fmt.Sprintf(`{"n":%d,"event":"%s"`, i+1, m[2])
		if m[2] == "open" {
			opened = i + 1
		}
		if m[3] != "" {
			head += fmt.Sprintf(`,"id":%d`, opened)
		}
		line = head + line[len(m[0]):]
		if m[2] == "open" || m[2] == "start" {
			at = time.Date(2026, 1, 31, 9, 30, 0, (i+1)*1e6, time.UTC)
		}
		if total := regexp.MustCompile(`"total":(\d+)`).FindStringSubmatch(line); m[2] == "end" && total != nil {
			micros, _ := strconv.Atoi(total[1])
			at = at.Add(time.Duration(micros) * time.Microsecond)
		}
		line = regexp.MustCompile(`"t":"[^"]*"`).ReplaceAllString(line, `"t":"`+at.Format("2006-01-02T15:04:05.000000Z")+`"`)
		b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.Bytes()
}

// shortened leaves of long bodies what tells them.
func shortened(b []byte) []byte {
	return regexp.MustCompile(`"(base64|text)":\s*"[^"]{1000}[^"]*"`).ReplaceAllFunc(b, func(m []byte) []byte {
		return fmt.Appendf(m[:60:60], `… %d characters"`, len(m))
	})
}

// hurried tells a log of a run in which something was so slow that its lines are
// others than at the usual speed.
func hurried(log []byte) bool {
	return !bytes.Contains(log, []byte(`"event":"end","id":`)) || regexp.MustCompile(`"event":"end"[^\n]*"request":`).Match(log) ||
		bytes.Count(log, []byte(`"event":"answer"`)) != 1
}

// One log, and the HAR of it, of everything that happens on sites.
func TestGolden(t *testing.T) {
	var log []byte
	for range 5 { // a run in which all is quick
		path, ports := converse(t)
		if log = steadied(t, path, ports); !hurried(log) {
			break
		}
	}
	dir := t.TempDir()
	steady := filepath.Join(dir, "network.jsonl")
	if err := os.WriteFile(steady, log, 0o600); err != nil {
		t.Fatal(err)
	}
	netlogtest.Validate(t, steady)
	read, err := netlog.OpenLog(steady)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var archive bytes.Buffer
	if _, err := har.Convert(read, &archive, har.Options{Version: "golden", Title: "network"}); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"sites.jsonl": shortened(log), "sites.har": shortened(archive.Bytes())} {
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs (-update writes it anew):\n%s", golden, difference(got, want))
		}
	}
	grade(t, archive.Bytes())
}

// difference is the first line that differs.
func difference(got, want []byte) string {
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// grade has a grader find in the HAR what the browser did.
func grade(t *testing.T, archive []byte) {
	t.Helper()
	file, err := os.ReadFile("testdata/tasks.json")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := webarena.LoadCases(file)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := webarena.Load(archive)
	if err != nil {
		t.Fatal(err)
	}
	sites := map[string]string{"NOTES": "https://notes.test"}
	for i, c := range cases {
		if v, err := trace.Grade(c.Task, sites); err != nil || !v.Success {
			t.Errorf("task %d: %+v, %v", i+1, v, err)
		}
		for j, wrong := range c.Wrong {
			if v, err := trace.Grade(wrong, sites); err == nil && v.Success {
				t.Errorf("task %d passes though it expects what is wrong (%d)", i+1, j+1)
			}
		}
	}
}
