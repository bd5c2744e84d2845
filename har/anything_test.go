package har

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// words are what a line's strings are made of: what browsers and servers send,
// what they should not, and what only damage leaves.
var words = []string{
	"", "a", "é", "漢字", "😀", "\xff\xfe", "\x00", "\u2028", "\"", "\\", "\n", "\ufeff", "\xed\xa0\xbd", "%", "%zz", "%ff", "a=b&c=%e9&&=&d", "${x}", "{{y}}", "<script>",
	"GET", "POST", "HEAD", "CONNECT", "OPTIONS", "get", "HTTP/1.1", "HTTP/2", "HTTP/1.0", "h3", "HTTP/9",
	"http://h/", "https://shop.example/a?b=c&d", "https://[::1]:8443/", "ws://h/x", "http://h:0/", "http://h:99999/", "//h", "http://", "http://h/#f", "about:blank", "http://h/ü?ü=ü", "h:443", "h", "[::1]:443", ":443", "*",
	"exchange", "tunnel", "mitm", "stand-in", "send", "receive", "client", "server", "dns", "connect", "refused", "reset",
	"Host", "Cookie", "Set-Cookie", "Content-Type", "content-type", "Content-Encoding", "Content-Length", "Location", "Upgrade", "websocket", "Accept", "Referer", "Sec-Fetch-Dest", "Sec-Fetch-User", "Transfer-Encoding", "chunked", ":protocol", ":path", ":status",
	"a=1; b=\"2\"; =3; c; a=4", "s=1; Path=/; Expires=Wed, 21 Oct 2099 07:28:00 GMT; Max-Age=99999999999; SameSite=None; Secure", "x; Expires=never; Max-Age=-1",
	"text/html; charset=utf-16", "text/plain; charset=windows-1252", "text/plain; charset=iso-2022-jp", "text/html", "application/json", "application/json; charset=latin1", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data", "text/event-stream", "application/grpc", "application/grpc-web-text", "image/png", "/", ";", "text/plain; charset=\"", "application/octet-stream",
	"gzip", "br", "zstd", "deflate", "gzip, br", "identity", "x-unknown, gzip", "gzip,gzip,gzip,gzip,gzip,gzip",
	"127.0.0.1:80", "[2001:db8::1]:443", "127.0.0.1", "999.0.0.1:80", "CN=a, O=b", "CN=\\22\\ff,O=x", "image", "empty", "document",
	"--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"\xff\"\r\n\r\nb\r\n--x--\r\n", "data: a\n\nid: \x00\nevent: b\rdata\r\n\r\n", "\x00\x00\x00\x00\x05hello\x01\x00\x00\x00\xff", "{\"a\":1}", "<meta charset=shift_jis>\x83\x65",
	"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xffKL\x04\x00\xf9X\x1a\x0e\x02\x00\x00\x00", "\x1f\x8b", "(\xb5/\xfd\x04\x00\x11\x00\x00aa",
}

var numbers = []int64{0, 0, 0, 1, 2, 3, 8, 100, 101, 103, 200, 204, 301, 304, 404, 599, 999, 1000, 4096, 1 << 31, 1 << 53, math.MaxInt64, -1, -2, math.MinInt64}

// A filler fills values with anything.
type filler struct{ *rand.Rand }

func (f filler) string() string {
	s := words[f.IntN(len(words))]
	for f.IntN(6) == 0 {
		s += words[f.IntN(len(words))]
	}
	if f.IntN(200) == 0 {
		s = strings.Repeat(s, 3000)
	}
	return s
}

func (f filler) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time0.Add(time.Duration(f.IntN(1e9)-5e8) * time.Microsecond)))
		return
	case netlog.Body:
		v.Set(reflect.ValueOf(f.body()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.string())
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(numbers[f.IntN(len(numbers))])
	case reflect.Uint8:
		v.SetUint(uint64(f.IntN(256)))
	case reflect.Pointer:
		if f.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if n := f.IntN(5); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				f.fill(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				f.fill(v.Field(i))
			}
		}
	default:
		panic(fmt.Sprint("nothing for a ", v.Type()))
	}
}

// body is one that does not contradict itself: then its content could not agree
// with both.
func (f filler) body() netlog.Body {
	b := *kept([]byte(f.string()))
	if b.Size == 0 {
		return b
	}
	switch f.IntN(4) {
	case 0:
		b.Truncated, b.SHA256 = true, strings.Repeat("0f", 32)
		b.Size += max(numbers[f.IntN(len(numbers))]/2, 1)
	case 1:
		b.Kept = nil
	case 2:
		b.SHA256 = ""
		for range f.IntN(3) {
			b.Chunks = append(b.Chunks, netlog.Chunk{Offset: numbers[f.IntN(len(numbers))], Micros: numbers[f.IntN(len(numbers))]})
		}
	}
	return b
}

// log is one of some lines, each of anything, in an order that no proxy writes and
// with ends that nobody asked for; some of them damaged.
func (f filler) log(damaged bool) []byte {
	var out []byte
	var opened []int64
	for n := int64(1); n < int64(2+f.IntN(25)); n++ {
		l := netlog.Line{Head: netlog.Head{N: n, Time: time0.Add(time.Duration(f.IntN(1e6)) * time.Microsecond)}}
		if len(opened) > 0 {
			l.ID = opened[f.IntN(len(opened))]
		} else {
			l.ID = 1
		}
		switch f.IntN(10) {
		case 0:
			l.Event, l.ID, l.Start = netlog.EventStart, 0, new(netlog.Start)
			f.fill(reflect.ValueOf(l.Start).Elem())
		case 1, 2, 3, 4:
			l.Event, l.ID, l.Open = netlog.EventOpen, n, new(netlog.Open)
			f.fill(reflect.ValueOf(l.Open).Elem())
			if f.IntN(3) > 0 {
				l.Open.Kind = netlog.KindExchange
			}
			opened = append(opened, n)
		case 5:
			l.Event, l.Answer = netlog.EventAnswer, new(netlog.Answer)
			f.fill(reflect.ValueOf(l.Answer).Elem())
		case 6:
			l.Event, l.Message = netlog.EventMessage, new(netlog.Message)
			f.fill(reflect.ValueOf(l.Message).Elem())
		default:
			l.Event, l.End = netlog.EventEnd, new(netlog.End)
			f.fill(reflect.ValueOf(l.End).Elem())
		}
		line, _ := netlog.AppendLine(nil, &l)
		damage := -1
		if damaged {
			damage = f.IntN(20)
		}
		switch damage {
		case 0:
			line = append(line[:f.IntN(len(line))], '\n')
		case 1:
			line[f.IntN(len(line)-1)] = "\x00\xff{}[]\",:9a"[f.IntN(11)]
		case 2:
			line = append(line, line...)
		}
		out = append(out, line...)
	}
	return out
}

// Whatever is in a log, its HAR is one that every reader takes, and says of each
// exchange what the log's lines say.
func TestConvertOfAnything(t *testing.T) {
	for seed := range uint64(150) {
		damaged := seed%2 == 0
		content := filler{rand.New(rand.NewPCG(seed, 0))}.log(damaged)
		log, err := openAnything(t, content)
		if err != nil {
			continue // its first line is damaged
		}
		l, stats, found := convertAndCheck(t, log, Options{MaxBody: 64 << 10})
		for _, fault := range found {
			if !strings.Contains(fault, "._sha256: ") { // a damaged one is told as it is
				t.Errorf("seed %d: %s", seed, fault)
			}
		}
		if int64(len(l.Entries)) != stats.Entries {
			t.Errorf("seed %d: %d entries, %+v", seed, len(l.Entries), stats)
		}
		if !damaged {
			saysWhat(t, &l, content)
		}
		var again bytes.Buffer
		if _, err := Convert(log, &again, Options{MaxBody: 64 << 10, NoBodies: true}); err != nil {
			t.Errorf("seed %d, without bodies: %v", seed, err)
		}
		for _, p := range Profiles() {
			if _, err := Convert(log, io.Discard, Options{MaxBody: 64 << 10, Rewrite: p.Rewrite, Format: Trace}); err != nil {
				t.Errorf("seed %d, for %s: %v", seed, p.Name, err)
			}
		}
	}
}

// saysWhat compares a HAR with the lines of its log.
func saysWhat(t *testing.T, l *Log, content []byte) {
	t.Helper()
	records := map[int64]*record{}
	for b := range bytes.Lines(content) {
		line, err := netlog.ParseLine(b)
		if err != nil {
			t.Fatal(err)
		}
		r := records[line.ID]
		switch {
		case line.Open != nil:
			records[line.ID] = &record{open: line.Open}
		case r == nil || r.end != nil:
		case line.Answer != nil:
			r.answer = line.Answer
		case line.Message != nil:
			r.messages = append(r.messages, line.Message)
		case line.End != nil:
			r.end = line.End
		}
	}
	if len(l.Entries) != len(records) {
		t.Errorf("%d entries for %d open lines", len(l.Entries), len(records))
	}
	for _, e := range l.Entries {
		r := records[e.ID]
		if r == nil {
			t.Errorf("entry %d is of no open line", e.ID)
			continue
		}
		delete(records, e.ID)
		if e.Open != (r.end == nil) || e.StartedDateTime != formatTime(r.open.Time) || len(e.WebSocketMessages) != len(r.messages) {
			t.Errorf("entry %d: open %v at %s, %d messages", e.ID, e.Open, e.StartedDateTime, len(e.WebSocketMessages))
		}
		if q := r.open.Request; q != nil {
			if e.Request.Method != q.Method {
				t.Errorf("entry %d: method %q, want %q", e.ID, e.Request.Method, q.Method)
			}
			sameFields(t, e.ID, e.Request.Headers, oneCookie(q))
			body := q.Body
			if r.end != nil && r.end.Request != nil && r.end.Request.Body != nil {
				body = r.end.Request.Body
			}
			if p := e.Request.PostData; p != nil && isWhole(body, q.Headers) && !bytes.Equal(postBytes(t, p), keptBytes(body)) {
				t.Errorf("entry %d: sent %q, want %q", e.ID, postBytes(t, p), keptBytes(body))
			}
		}
		var answer *netlog.Response
		if r.answer != nil {
			answer = r.answer.Response
		}
		if r.end != nil && r.end.Response != nil {
			answer = r.end.Response
		}
		if answer == nil {
			if len(e.Response.Headers) > 0 || e.Response.Content.Text != nil {
				t.Errorf("entry %d has an answer", e.ID)
			}
			continue
		}
		if n := answer.Status; n >= 100 && n < 1000 && e.Response.Status != n {
			t.Errorf("entry %d: status %d, want %d", e.ID, e.Response.Status, n)
		}
		sameFields(t, e.ID, e.Response.Headers, answer.Headers)
		if c := &e.Response.Content; c.Text != nil && isWhole(answer.Body, answer.Headers) && !bytes.Equal(contentBytes(t, c), keptBytes(answer.Body)) {
			t.Errorf("entry %d: received %q, want %q", e.ID, contentBytes(t, c), keptBytes(answer.Body))
		}
	}
}

// isWhole says whether a body is in a HAR as it came.
func isWhole(b *netlog.Body, headers []netlog.Header) bool {
	return b != nil && b.Kept != nil && !b.Truncated && b.Kept.Len() <= 64<<10 && len(codings(headers)) == 0
}

func openAnything(t *testing.T, content []byte) (*netlog.Log, error) {
	t.Helper()
	path := t.TempDir() + "/network.jsonl"
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := netlog.OpenLog(path)
	if err == nil {
		t.Cleanup(func() { log.Close() })
	}
	return log, err
}
