package har

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(r io.Reader) ([]*Entry, error) {
	reader := NewReader(r)
	var list []*Entry
	for reader.Next() {
		list = append(list, reader.Entry())
	}
	return list, reader.Err()
}

// everyHAR is the archive of a log with each row of the entry table.
func everyHAR(t testing.TB) []byte {
	t.Helper()
	f := newFixture(t)
	every(f)
	var out bytes.Buffer
	if _, err := Convert(f.log(), &out, Options{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A HAR of ours is read back as it was written, indented and behind a byte
// order mark too.
func TestReader(t *testing.T) {
	b := everyHAR(t)
	var h HAR
	if err := json.Unmarshal(b, &h); err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, b, "", "\t"); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{string(b), "\ufeff" + string(b), indented.String()} {
		got, err := readAll(strings.NewReader(in))
		if err != nil || len(got) != len(h.Log.Entries) {
			t.Fatalf("%d entries, %v; want %d", len(got), err, len(h.Log.Entries))
		}
		for i := range got {
			if !sameEntry(t, got[i], &h.Log.Entries[i]) {
				t.Errorf("entry %d is not what was written", i)
			}
		}
	}
}

// Without bodies an entry is what it is with all of them empty.
func TestWithoutBodies(t *testing.T) {
	b := everyHAR(t)
	var indented bytes.Buffer
	if err := json.Indent(&indented, b, "", "\t"); err != nil {
		t.Fatal(err)
	}
	want, err := readAll(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	dropped := 0
	for _, e := range want {
		if e.Response.Content.Text != nil {
			dropped += len(*e.Response.Content.Text)
			*e.Response.Content.Text = ""
		}
		if e.Request.PostData != nil {
			e.Request.PostData.Text, e.Request.PostData.Base64 = "", ""
		}
		for i := range e.WebSocketMessages {
			e.WebSocketMessages[i].Data = ""
		}
		for i := range e.EventSourceMessages {
			e.EventSourceMessages[i].Data = ""
		}
		for i := range e.GRPCMessages {
			e.GRPCMessages[i].Data = ""
		}
	}
	if dropped == 0 {
		t.Fatal("no entry has a body")
	}
	for name, in := range map[string]io.Reader{
		"whole": bytes.NewReader(b), "byte by byte": iotest.OneByteReader(bytes.NewReader(b)), "indented": &indented,
	} {
		got, err := readAll(WithoutBodies(in))
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %d entries, %v; want %d", name, len(got), err, len(want))
		}
		for i := range got {
			if !sameEntry(t, got[i], want[i]) {
				t.Errorf("%s: entry %d is another", name, i)
			}
		}
	}
}

func TestWithoutBodiesBytes(t *testing.T) {
	long := strings.Repeat("a", longestString)
	for _, c := range []struct{ in, want string }{
		{`{"text":"a\"b\\","x":"text"}`, `{"text":"","x":"text"}`},
		{`{"text" : "{\"a\":1}", "text2":"b"}`, `{"text" : "", "text2":"b"}`},
		{`{"_base64":"AA","data":"d","_base64s":"AA"}`, `{"_base64":"","data":"","_base64s":"AA"}`},
		{`{"text":["a"],"a":{"text":5}}`, `{"text":["a"],"a":{"text":5}}`},
		{`{"a":"text","b":"c"}["text","d"]`, `{"a":"text","b":"c"}["text","d"]`},
		{`{"text":"cut`, `{"text":"`},
		{`{"text":"\u00e9\"","x":"\u00e9\""}`, `{"text":"","x":"\u00e9\""}`},
		{`{"text":"\u","x":1}`, `{"text":"","x":1}`},
		{`{"comment":"` + long + `","x":1}`, `{"comment":"` + long + `","x":1}`},
		{`{"comment":"` + long + `b","x":1}`, `{"comment":"` + long + `","x":1}`},
		{`{"comment":"` + long[1:] + `\u00e9\"b\\","x":1}`, `{"comment":"` + long[1:] + `\u00e9","x":1}`},
		{`{"comment":"` + long[1:] + `\"\"","x":1}`, `{"comment":"` + long[1:] + `\"","x":1}`},
		{`{"` + long + `b":"c"}`, `{"` + long + `":"c"}`},
	} {
		got, err := io.ReadAll(WithoutBodies(strings.NewReader(c.in)))
		if string(got) != c.want || err != nil {
			t.Errorf("%.100s: got %.100s, %v", c.in, got, err)
		}
		got, err = io.ReadAll(WithoutBodies(iotest.OneByteReader(strings.NewReader(c.in))))
		if string(got) != c.want || err != nil {
			t.Errorf("%.100s, byte by byte: got %.100s, %v", c.in, got, err)
		}
	}
	if _, err := io.ReadAll(WithoutBodies(broken{})); err != errBroken {
		t.Errorf("a file that can't be read: %v", err)
	}
}

// A body is never held, nor is what nobody knows: reading 64 MiB of it allocates
// a part of that.
func TestWithoutBodiesAllocates(t *testing.T) {
	for _, around := range [][2]string{
		{`{"log":{"entries":[{"response":{"content":{"text":"`, `"}}}]}}`},
		{`{"log":{"entries":[{"comment":"`, `"}]}}`},
		{`{"log":{"comment":"`, `","entries":[{}]}}`},
	} {
		long := io.LimitReader(endless{}, 64<<20)
		in := io.MultiReader(strings.NewReader(around[0]), long, strings.NewReader(around[1]))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := readAll(WithoutBodies(in))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; err != nil || len(got) != 1 || n > 16<<20 {
			t.Errorf("%s: %d entries, %v, %d bytes allocated", around[0], len(got), err, n)
		}
	}
}

// Each entry has the bound for itself, and so has what stands before them.
func TestReaderMaxEntry(t *testing.T) {
	entry := func(size int) string { return `{"comment":"` + strings.Repeat("a", size) + `"}` }
	many := strings.Repeat(entry(600)+",", 200)
	for _, c := range []struct {
		in      string
		entries int
		long    bool
	}{
		{`{"log":{"entries":[` + many + entry(1) + `]}}`, 201, false},
		{`{"log":{"pages":[` + many + `1],"entries":[` + entry(1) + `],"x":[` + many + `1]}}`, 1, false},
		{`{"log":{"entries":[` + entry(1) + `,` + entry(3000) + `,` + entry(1) + `]}}`, 1, true},
		{`{"log":{"entries":[{"request":{"headers":[` + many + `1]}}]}}`, 0, true},
		{`{"log":{"creator":` + entry(3000) + `,"entries":[{}]}}`, 0, true},
	} {
		r := NewReader(strings.NewReader(c.in))
		r.MaxEntry = 2000
		n := 0
		for r.Next() {
			n++
		}
		if err := r.Err(); n != c.entries || errors.Is(err, ErrTooLong) != c.long || errors.Is(err, ErrNotHAR) || !c.long && err != nil {
			t.Errorf("%.60s: %d entries, %v", c.in, n, err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// What is cut gives the entries that are whole, and never passes for whole.
func TestReaderCut(t *testing.T) {
	f := newFixture(t)
	for range 3 {
		f.exchange(get("http://h/"), ok("text/plain", []byte("é")))
	}
	var out bytes.Buffer
	if _, err := Convert(f.log(), &out, Options{}); err != nil {
		t.Fatal(err)
	}
	b := bytes.TrimSpace(out.Bytes())
	seen := 0
	for i := range b {
		got, err := readAll(bytes.NewReader(b[:i]))
		if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrNotHAR) && len(got) > 0 {
			t.Fatalf("cut at %d: %d entries, %v", i, len(got), err)
		}
		if len(got) < seen {
			t.Fatalf("cut at %d: %d entries, fewer than before", i, len(got))
		}
		seen = len(got)
	}
	if seen != 3 {
		t.Errorf("%d entries were seen", seen)
	}
}

func TestReaderRefuses(t *testing.T) {
	for _, in := range []string{
		``, ` `, `null`, `[]`, `"log"`, `{}`, `{"log":1}`, `{"log":[]}`, `{"log":{}}`, `{"log":{"entries":{}}}`, `{"log":{"entries":null}}`,
		`{"entries":[]}`, `{"Log":{"entries":[]}}`, `Milk, bread.`, "\x7fELF", `{"a":{"log":{"entries":[]}}}`, `{"log":{"a":[{"entries":[]}]}}`,
	} {
		if got, err := readAll(strings.NewReader(in)); !errors.Is(err, ErrNotHAR) || len(got) > 0 {
			t.Errorf("%s: %d entries, %v", in, len(got), err)
		}
	}
	_, err := readAll(io.MultiReader(strings.NewReader(`{"log":`), broken{}))
	if err == nil || errors.Is(err, ErrNotHAR) || !errors.Is(err, errBroken) {
		t.Errorf("a file that can't be read: %v", err)
	}
	got, err := readAll(strings.NewReader(`{"log":{"entries":[{},{"a":}]}}`))
	if len(got) != 1 || err == nil || errors.Is(err, ErrNotHAR) || !strings.Contains(err.Error(), "after entry 1: ") {
		t.Errorf("broken in the middle: %d entries, %v", len(got), err)
	}
}

var errBroken = errors.New("input/output error")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// What another program leaves out, or writes as something else, costs no more
// than itself.
func TestReaderTakesWhatItCan(t *testing.T) {
	got, err := readAll(strings.NewReader(`{"x":{"log":[1,{}]},"log":{"pages":[{"a":[[]]}],"entries":[
		{},
		null, 7, "x", [{}],
		{"_id":"abc","startedDateTime":5,"time":"12","request":{"method":"GET","url":"http://a/","headers":null,"cookies":{},"bodySize":1.5},
		 "response":{"status":"200","headers":[null,{"name":"A","value":1},{"name":"B","value":"b"}],"content":null,"_failureText":"net::ERR"},
		 "timings":{"wait":"x","send":1.25,"dns":null},"_webSocketMessages":[{"time":"q","data":"a"}],"_initiator":"parser","connection":443},
		{"_id":70,"time":1e400,"request":[],"response":{"_error":"reset","_failureText":"other"},"timings":7}
	],"after":{}}} trailing`))
	if err != nil || len(got) != 7 {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	for i, want := range []int64{1, 2, 3, 4, 5, 6, 70} {
		if got[i].ID != want {
			t.Errorf("entry %d is %d, want %d", i, got[i].ID, want)
		}
	}
	empty := got[0]
	if empty.Time != None || empty.Request.BodySize != -1 || empty.Response.BodySize != -1 || empty.Timings.Wait != None {
		t.Errorf("of an empty entry: %+v", empty)
	}
	e := got[5]
	if e.Request.URL != "http://a/" || e.Response.Status != 0 || e.Response.Error != "net::ERR" || e.Timings.Send != 1250 || e.Timings.DNS != None {
		t.Errorf("%+v", e)
	}
	if n := len(e.Response.Headers); n != 3 || e.Response.Headers[2] != (Header{Name: "B", Value: "b"}) {
		t.Errorf("headers %+v", e.Response.Headers)
	}
	if got[6].Response.Error != "reset" {
		t.Errorf("error %q", got[6].Response.Error)
	}
}

// Whatever comes, entries are numbered and the end is told from a cut.
func FuzzReader(f *testing.F) {
	f.Add(everyHAR(f))
	f.Add([]byte(`{"log":{"entries":[{"time":"x","timings":{"wait":[]},"_webSocketMessages":[{"time":{}}]},null]}}`))
	f.Add([]byte("\ufeff{\"log\":{\"version\":{\"a\":[]},\"entries\":["))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readAll(bytes.NewReader(b))
		for _, e := range got {
			if e.ID <= 0 {
				t.Errorf("entry %d", e.ID)
			}
		}
		var whole struct {
			Log struct{ Entries []json.RawMessage }
		}
		decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte("\ufeff"))))
		if err == nil && decoder.Decode(&whole) != nil {
			t.Error("what encoding/json refuses was read")
		}
		if err != nil {
			return
		}
		// What was read, written and read again, is the same.
		var out bytes.Buffer
		enc := newEncoder(&out)
		enc.raw(`{"log":{"entries":[`)
		for _, e := range got {
			enc.entry(e)
		}
		enc.raw(`]}}`)
		if err := enc.flush(); err != nil {
			t.Fatal(err)
		}
		again, err := readAll(&out)
		if err != nil || len(again) != len(got) {
			t.Fatalf("%d entries, %v; want %d", len(again), err, len(got))
		}
		for i := range got {
			if !sameEntry(t, again[i], got[i]) {
				t.Errorf("entry %d changed", i)
			}
		}
	})
}
