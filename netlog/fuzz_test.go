package netlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// FuzzParseLine checks that what is taken for a line is one: it is JSON, its head
// is what a scan sees, and its canonical form says the same.
func FuzzParseLine(f *testing.F) {
	for _, l := range everyLine() {
		b, _ := AppendLine(nil, l)
		f.Add(b)
	}
	head := `{"n":7,"event":"end","id":2,"t":"2026-01-02T03:04:05.678901Z"`
	for _, rest := range []string{
		``, `}`, `,}`, `}}`, `} x`, "}\n", ` , "x" : null }`, `,"x":{"y":[1,-2.5e+3,true,"\ud83d\ude00\/"]}}`, `,"unparsed":1}`,
		`,"timings":{"total":99999999999999999999}}`, `,"timings":{"total":01}}`, `,"response":{"headers":[["a"]]}}`, `,"response":{"headers":[["a","b","!"]]}}`,
		`,"response":{"body":{"base64":"YQ=="}}}`, `,"response":{"body":{"base64":"YR=="}}}`, `,"response":{"body":{"chunks":[[1]]}}}`, `,"request":{"target":["a","YQ=="]}}`,
	} {
		f.Add([]byte(head + rest))
	}
	var parser Parser
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLine(b)
		parser.Release()
		same, errSame := parser.ParseLine(b)
		if (err == nil) != (errSame == nil) || !reflect.DeepEqual(l, same) {
			t.Fatalf("got %+v, %v and %+v, %v", l, err, same, errSame)
		}
		valid := json.Valid(b)
		if validLine(b) && !valid {
			t.Fatalf("taken for JSON: %q", b)
		}
		if err != nil {
			return
		}
		if !valid || !validLine(b) {
			t.Fatalf("taken for a line: %q", b)
		}
		if h, _, ok := parseHead(b); !ok || h != l.Head {
			t.Fatalf("the head is %+v, the line's %+v", h, l.Head)
		}
		again, err := AppendLine(nil, l)
		if err != nil {
			t.Fatal(err)
		}
		l2, err := ParseLine(again)
		if err != nil {
			t.Fatalf("%v: %q", err, again)
		}
		third, err := AppendLine(nil, l2)
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%q became\n%q and then\n%q, %v", b, again, third, err)
		}
	})
}

// FuzzScan checks that a scan, a page and a line by line reading of any file agree.
func FuzzScan(f *testing.F) {
	f.Add([]byte(tunnelLines(1, 3, 0)))
	f.Add([]byte(tunnelLine(1, 0, 0) + "x\n" + tunnelLine(2, 0, 0)[:90] + "}\n" + tunnelLine(2, 0, 0) + "{"))
	path := filepath.Join(f.TempDir(), LiveName)
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := openSet(path)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		s := log.Scan()
		scanned := int64(0)
		for s.Next() {
			scanned++
			b, err := log.ReadLine(s.Pos(), nil)
			if err != nil || !bytes.Contains(content, append(b, '\n')) {
				t.Fatalf("%v: at %+v of %q", err, s.Pos(), content)
			}
			if h, _, ok := parseHead(b[:len(b):len(b)]); !ok || h != s.Head() {
				t.Fatalf("the head of %q is %+v", b, s.Head())
			}
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		if lines := int64(bytes.Count(content, []byte("\n"))); scanned+s.Unreadable() != lines {
			t.Fatalf("%d lines and %d unreadable of %d in %q", scanned, s.Unreadable(), lines, content)
		}
		p, err := NewReader(path).Page(0, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(p.Lines))+p.Unreadable > scanned+s.Unreadable() {
			t.Fatalf("a page has %s of %q", brief(p), content)
		}
		for n := range int64(5) {
			if _, err := log.seek(n); err != nil {
				t.Fatal(err)
			}
			if _, err := log.bisect(0, n); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzEncode fills lines with any bytes and reads them back.
func FuzzEncode(f *testing.F) {
	f.Add([]byte("\x01\x02abc\xff\xfe\x00\"\\"))
	f.Add(bytes.Repeat([]byte("GET / \x80\u2028"), 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := pieces{b}
		for _, l := range p.lines() {
			text, err := AppendLine(nil, l)
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(text) || bytes.IndexByte(text, '\n') != len(text)-1 {
				t.Fatalf("not a line: %q", text)
			}
			got, err := ParseLine(text)
			if err != nil {
				t.Fatalf("%v: %q", err, text)
			}
			again, err := AppendLine(nil, got)
			if err != nil || !bytes.Equal(text, again) {
				t.Fatalf("%q became\n%q, %v", text, again, err)
			}
			if got.Open != nil {
				sameExactly(t, l.Open.Request, got.Open.Request)
			}
		}
	})
}

// sameExactly compares what has to survive to the byte.
func sameExactly(t *testing.T, want, got *Request) {
	t.Helper()
	if want.Target != got.Target || len(want.Headers) != len(got.Headers) {
		t.Fatalf("target %q became %q, %d headers %d", want.Target, got.Target, len(want.Headers), len(got.Headers))
	}
	for i, h := range want.Headers {
		if got.Headers[i].Value != h.Value {
			t.Fatalf("%q became %q", h.Value, got.Headers[i].Value)
		}
	}
	kept, _ := got.Body.Kept.(Bytes)
	if sent := want.Body.Kept.(Bytes); want.Body.Size > 0 && !bytes.Equal(kept, sent) {
		t.Fatalf("%x became %x", sent, kept)
	}
}

// pieces cuts values out of bytes.
type pieces struct{ b []byte }

func (p *pieces) int() int64 {
	var n [8]byte
	p.b = p.b[copy(n[:], p.b):]
	return int64(binary.LittleEndian.Uint64(n[:]) >> 1)
}

func (p *pieces) string() string {
	if len(p.b) == 0 {
		return ""
	}
	n := min(int(p.b[0])%32, len(p.b)-1)
	s := string(p.b[1 : 1+n])
	p.b = p.b[1+n:]
	return s
}

func (p *pieces) strings() (list []string) {
	for range p.int() % 3 {
		list = append(list, p.string())
	}
	return list
}

func (p *pieces) headers() (list []Header) {
	for range p.int() % 4 {
		list = append(list, Header{p.string(), p.string()})
	}
	return list
}

func (p *pieces) time() time.Time {
	return at.Add(time.Duration(p.int()%1e6) * time.Hour)
}

func (p *pieces) body() *Body {
	return &Body{p.int(), p.string(), Bytes(p.string()), p.int()%2 == 0, []Chunk{{p.int(), p.int()}}}
}

func (p *pieces) tls() *TLS {
	return &TLS{p.string(), p.string(), p.string(), p.string(), p.int()%2 == 0, p.string(), p.string(), p.strings(), p.time(), p.time(), p.string(), p.string(), new(p.int()%2 == 0), p.string()}
}

func (p *pieces) lines() []*Line {
	head := func(e Event) Head {
		return Head{N: 1 + p.int()%1e15, Event: e, ID: p.int() % 1e15, Time: p.time(), Lost: p.int() % 1e15}
	}
	response := func() *Response {
		return &Response{int(p.int()), p.string(), p.string(), p.headers(), p.int(), p.headers(), []Informational{{int(p.int()), p.headers()}}, p.headers(), p.body(), p.int()%2 == 0}
	}
	return []*Line{
		{Head: head(EventStart), Start: &Start{Format: int(p.int()), Program: p.string(), Version: p.string(), Mode: p.string(), Limits: Limits{p.int(), p.int(), p.string()}, Open: []int64{p.int()}}},
		{Head: head(EventOpen), Open: &Open{Kind: Kind(p.string()), Via: Via(p.string()), Site: p.string(), Client: p.string(), Connection: p.int(), Stream: p.int(), Target: p.string(), Request: &Request{
			p.string(), p.string(), p.string(), p.string(), p.headers(), p.int(), p.headers(), p.headers(), p.body(),
		}}},
		{Head: head(EventAnswer), Answer: &Answer{Response: response()}},
		{Head: head(EventMessage), Message: &Message{Dir: p.string(), Opcode: int(p.int()), Size: new(p.int()), Text: new(p.string()), Base64: []byte(p.string())}},
		{Head: head(EventEnd), End: &End{
			Request: &Request{Trailers: p.headers(), Body: p.body()}, Response: response(),
			Server: &Server{p.string(), p.int(), p.int(), p.int()%2 == 0, &Dialled{p.time(), p.int(), p.int(), p.int()}, p.tls()}, ClientTLS: p.tls(),
			Timings: Timings{p.int(), p.int(), p.int(), p.int(), p.int(), p.int(), p.int(), p.int()},
			Tunnel:  &Tunnel{p.int(), p.int(), p.string(), p.strings(), p.strings(), p.string(), p.string()},
			WebSocket: &WebSocket{Frames{p.int(), p.int(), p.int(), p.int()}, Frames{p.int(), p.int(), p.int(), p.int()},
				&Close{int(p.int()), p.string(), p.string()}, p.string(), p.string(), new(p.int())},
			Failed: &Failed{Phase(p.string()), Code(p.string()), p.string()}, Refused: &Refused{RefusedCode(p.string()), p.string(), int(p.int())},
			Changed: p.strings(), Unparsed: p.int()%2 == 0,
		}},
	}
}
