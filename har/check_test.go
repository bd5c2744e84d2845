package har

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"

	"github.com/agentenv/netlog/har/hartest"
)

// found is a fault in brief: "2 request.url k6".
func found(f Fault) string {
	s := ""
	if f.Entry > 0 {
		s = fmt.Sprint(f.Entry, " ")
	}
	if f.Field != "" {
		s += f.Field + " "
	}
	s += f.Rule
	if f.Warning {
		s += " warning"
	}
	return s
}

func checkString(t testing.TB, text string, readers ...string) ([]Fault, CheckStats) {
	t.Helper()
	var list []Fault
	stats, err := Check(strings.NewReader(text), CheckOptions{Readers: readers, Fault: func(f Fault) error {
		list = append(list, f)
		if f.Rule == "" || f.Text == "" || len(f.Text) > 500 || !isPlain(f.Field+f.Text+f.ID) || f.Offset < 0 || f.Offset > int64(len(text)) && text[0] != '\x1f' {
			t.Errorf("a fault that can't be told: %+v", f)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	warnings := int64(0)
	for _, f := range list {
		if f.Warning {
			warnings++
		}
	}
	if stats.Warnings != warnings || stats.Faults != int64(len(list))-warnings {
		t.Errorf("%d faults, %d of them warnings: %+v", len(list), warnings, stats)
	}
	return list, stats
}

func isPlain(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f }) < 0
}

// Each rule is broken once, and nothing else is found.
func TestCheck(t *testing.T) {
	for _, c := range hartest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			list, _ := checkString(t, c.HAR())
			var got []string
			for _, f := range list {
				got = append(got, found(f))
			}
			if s := strings.Join(got, ","); s != strings.TrimSpace(c.Faults) {
				t.Errorf("got  %s\nwant %s\n%+v", s, c.Faults, list)
			}
		})
	}
}

// What archives of ours promise.
func TestCheckOurs(t *testing.T) {
	golden := string(everyHAR(t))
	if list, stats := checkString(t, golden, "webarena", "devtools"); len(list) > 0 || !stats.Ours || stats.Entries < 20 {
		t.Fatalf("%+v %+v", stats, list)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"null", `"_via":"mitm"`, `"_via":null`, "1 _via agentenv-netlog"},
		{"null below", `"sanList":["shop.example"`, `"sanList":[null`, "1 _securityDetails.sanList[0] agentenv-netlog"},
		{"not ASCII", `"title":"https:`, `"title":"é https:`, "log webarena warning,log agentenv-netlog"},
		{"six digits", `"startedDateTime":"2026-03-04T05:06:07.091Z","time"`, `"startedDateTime":"2026-03-04T05:06:07.091000Z","time"`,
			"1 startedDateTime agentenv-netlog,log.pages[0].startedDateTime agentenv-netlog"},
		{"another page", `"pageref":"page_1"`, `"pageref":"page_2"`, "1 pageref agentenv-netlog"},
		{"no blocked", `"blocked":0.007,"dns":1.5`, `"dns":1.507`, "1 timings.blocked agentenv-netlog"},
		{"a microsecond", `"time":37,`, `"time":37.001,`, "1 time har"},
		{"ssl", `"ssl":15.001`, `"ssl":25.004`, "1 timings.ssl har"},
		{"no _id", `"_id":2,`, ``, "1 _id agentenv-netlog"},
		{"resource type", `"_resourceType":"document"`, `"_resourceType":"page"`, "1 _resourceType agentenv-netlog"},
		{"port", `"connection":"443"`, `"connection":"443000"`, "1 connection agentenv-netlog"},
		{"relative url", `"url":"https://shop.example/login"`, `"url":"//shop.example/login"`, "2 request.url har-validator,2 request.url agentenv-netlog"},
		{"fragment", `"url":"https://shop.example/login"`, `"url":"https://shop.example/login#x"`, "2 request.url har,2 request.url webarena warning"},
		{"version", `"httpVersion":"HTTP/1.1"`, `"httpVersion":"http/1.1"`, "1 request.httpVersion agentenv-netlog"},
		{"no text", `,"text":"user=j%C3%A9&note=a+b%26c&user=2"`, ``, "2 request.postData.text devtools warning,2 request.postData.text webarena warning,2 request.postData.text agentenv-netlog"},
		{"a byte of a form", `"text":"user=j`, `"text":"user=k`, "2 request.postData._sha256 agentenv-netlog"},
		{"a byte of a body", `"text":"{\"id\":1}"`, `"text":"{\"id\":2}"`, "3 response.content._sha256 agentenv-netlog"},
		{"a byte more of a body", `"text":"{\"id\":1}"`, `"text":"{\"id\":10}"`, "3 response.content.size agentenv-netlog"},
		{"size", `"content":{"size":8,"compression":0`, `"content":{"size":8,"compression":1`, "3 response.content.size har"},
		{"no transfer size", `"_transferSize":`, `"_transferSiz":`, "1 response._transferSize agentenv-netlog"},
		{"no error", `"_error":"the browser refused the certificate"`, `"_x":1`, "15 response._error agentenv-netlog"},
		{"a cookie's flags", `"httpOnly":true`, `"http":true`, "1 response.cookies[0] agentenv-netlog"},
		{"a cookie's time", `"expires":"2026-10-21T07:28:00.000Z"`, `"expires":"2026-10-21T07:28:00Z"`, "1 response.cookies[1].expires agentenv-netlog"},
		{"no type", `"mimeType":"text/html; charset=utf-8"`, `"mimeType":""`, "1 response.content.mimeType agentenv-netlog"},
		{"HAR 1.1", `"version":"1.2"`, `"version":"1.1"`, "log.version agentenv-netlog"},
		{"order", `"2026-03-04T05:06:07.093Z"`, `"2026-03-04T05:06:07.990Z"`, "3 startedDateTime har warning"},
		{"counts", `"_open":true`, `"_open":false`, "28 response._error agentenv-netlog,log._stats.open agentenv-netlog"},
		{"no counts", `"_stats":{`, `"_stat":{`, "log._stats.entries agentenv-netlog,log._stats.open agentenv-netlog,log._stats.failed agentenv-netlog,log._stats.refused agentenv-netlog"},
		{"two pages", `"pages":[`, `"pages":[{"startedDateTime":"2026-03-04T05:06:07.091Z","id":"x","title":"","pageTimings":{}},`, "log.pages agentenv-netlog"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(golden, c.old) {
				t.Fatalf("the HAR has no %s", c.old)
			}
			list, _ := checkString(t, strings.Replace(golden, c.old, c.new, 1), "webarena", "devtools")
			var got []string
			for _, f := range list {
				got = append(got, found(f))
			}
			if s := strings.Join(got, ","); s != c.want {
				t.Errorf("got  %s\nwant %s\n%+v", s, c.want, list)
			}
		})
	}
}

// A later process may have had another clock; within one times never step back.
func TestCheckOursOrder(t *testing.T) {
	entry := func(id, second int, connection string) string {
		return fmt.Sprintf(`{"startedDateTime":"2026-01-01T00:00:0%d.000Z","_id":%d,"_connectionId":%q}`, second, id, connection)
	}
	for _, c := range []struct {
		entries []string
		want    int // warnings, or -1 for a fault
	}{
		{[]string{entry(2, 1, "1-1"), entry(4, 2, "1-2"), entry(3, 3, "1-2")}, 0},
		{[]string{entry(2, 1, "1-1"), entry(4, 2, "1-2"), entry(9, 1, "8-1"), entry(10, 2, "8-1")}, 1},
		{[]string{entry(2, 1, "1-1"), entry(4, 2, ""), entry(9, 1, "")}, 1},
		{[]string{entry(2, 1, "1-1"), entry(4, 2, "1-2"), entry(5, 1, "1-1")}, -1},
		{[]string{entry(2, 1, "1-1"), entry(4, 2, ""), entry(3, 1, "")}, -1},
	} {
		got := 0
		_, err := Check(strings.NewReader(`{"log":{"creator":{"name":"agentenv-netlog","version":""},"entries":[`+strings.Join(c.entries, ",")+`]}}`),
			CheckOptions{Readers: []string{}, Fault: func(f Fault) error {
				if f.Field == "startedDateTime" && f.Rule == RuleHAR {
					got = map[bool]int{true: got + 1, false: -1}[f.Warning]
				}
				return nil
			}})
		if err != nil || got != c.want {
			t.Errorf("%s: got %d, %v, want %d", c.entries, got, err, c.want)
		}
	}
}

// The rules of some readers are left out; what holds for all is not.
func TestCheckReaders(t *testing.T) {
	for _, c := range hartest.Cases() {
		all, _ := checkString(t, c.HAR())
		for _, reader := range Readers() {
			some, _ := checkString(t, c.HAR(), reader)
			for _, f := range some {
				if f.Rule != reader && slices.Contains(Readers(), f.Rule) {
					t.Errorf("%s: for %s: %+v", c.Name, reader, f)
				}
			}
			want := 0
			for _, f := range all {
				if f.Rule == reader || !slices.Contains(Readers(), f.Rule) {
					want++
				}
			}
			if len(some) != want {
				t.Errorf("%s: for %s %d faults of %d, want %d", c.Name, reader, len(some), len(all), want)
			}
		}
	}
	told := map[string]bool{}
	for _, c := range hartest.Cases() {
		for _, f := range strings.FieldsFunc(c.Faults, func(r rune) bool { return r == ',' || r == ' ' }) {
			told[f] = true
		}
	}
	for _, rule := range append(Readers(), RuleJSON, RuleSchema, RuleHAR) {
		if !told[rule] && rule != "v8" {
			t.Errorf("no case is of %s", rule)
		}
	}
}

// A HAR that is read in pieces of any size is the same, and one that is packed.
func TestCheckPieces(t *testing.T) {
	for _, c := range append(hartest.Cases(), hartest.Case{Name: "ours", New: string(everyHAR(t))}) {
		text := c.New
		if c.Name != "ours" {
			text = c.HAR()
		}
		want, _ := checkString(t, text)
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		io.WriteString(w, text)
		w.Close()
		for name, r := range map[string]io.Reader{
			"byte by byte": iotest.OneByteReader(strings.NewReader(text)),
			"halves":       iotest.HalfReader(strings.NewReader(text)),
			"packed":       iotest.OneByteReader(&packed),
		} {
			var got []Fault
			if _, err := Check(r, CheckOptions{Fault: func(f Fault) error { got = append(got, f); return nil }}); err != nil {
				t.Errorf("%s: %s: %v", c.Name, name, err)
			}
			if name == "packed" {
				if len(got) == 0 || !got[0].Warning || got[0].Rule != RuleHAR {
					t.Errorf("%s: nothing says that it is packed: %+v", c.Name, got)
					continue
				}
				got = got[1:]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s:\n got %+v\nwant %+v", c.Name, name, got, want)
			}
		}
	}
}

// A file that ends too early has that fault, and it is the last.
func TestCheckCut(t *testing.T) {
	text := hartest.Sound()
	text = text[:strings.LastIndexByte(text, '}')]
	for i := range text {
		list, _ := checkString(t, text[:i])
		if n := len(list); n == 0 || list[n-1].Rule != RuleJSON || list[n-1].Warning || n > 1 && i > 0 && list[0].Rule == RuleJSON {
			t.Fatalf("cut at %d: %+v", i, list)
		}
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, text)
	w.Close()
	for i := range packed.Len() {
		list, _ := checkString(t, packed.String()[:i])
		if n := len(list); n == 0 || list[n-1].Rule != RuleJSON {
			t.Fatalf("packed, cut at %d: %+v", i, list)
		}
	}
	if list, _ := checkString(t, packed.String()[:20]+"xxxx"+packed.String()[24:]); list[len(list)-1].Rule != RuleJSON {
		t.Errorf("packed, damaged: %+v", list)
	}
}

func TestCheckEnds(t *testing.T) {
	text := strings.ReplaceAll(hartest.Sound(), `"bodySize"`, `"bodysize"`)
	stop := errors.New("enough")
	seen := 0
	if _, err := Check(strings.NewReader(text), CheckOptions{Fault: func(Fault) error { seen++; return stop }}); err != stop || seen != 1 {
		t.Errorf("%v after %d faults", err, seen)
	}
	var last int64
	late := func(done int64) error {
		if last = done; done > 0 {
			return stop
		}
		return nil
	}
	if _, err := Check(strings.NewReader(text), CheckOptions{Progress: late}); err != stop || last != int64(len(text)) {
		t.Errorf("%v after %d bytes", err, last)
	}
	if _, err := Check(io.MultiReader(strings.NewReader(text[:500]), broken{}), CheckOptions{}); err != errBroken {
		t.Errorf("a file that can't be read: %v", err)
	}
}

// A file longer than a string of V8's is one that its readers can't read.
func TestCheckLength(t *testing.T) {
	for extra, want := range map[int64]int64{0: 0, -1: 1} {
		c := newChecker(strings.NewReader(strings.Replace(hartest.Sound(), "Shop", "🦊é", 1)), CheckOptions{Readers: []string{"v8"}})
		// Three units for the six bytes, and the newline behind the end is not read.
		c.longest = int64(len(hartest.Sound())) - int64(len("Shop")) + 3 - int64(len("}\n")) + extra
		stats, err := c.check()
		if err != nil || stats.Faults != want {
			t.Errorf("%d units: %+v, %v", c.longest, stats, err)
		}
	}
}

// bigHAR is a HAR of so many bytes: many entries, of which one has half of them.
func bigHAR(size int64) io.Reader {
	sound := hartest.Sound()
	from := strings.Index(sound, `"entries": [`) + len(`"entries": [`)
	to := strings.LastIndex(sound, "]")
	entries := strings.Replace(sound[from:to], "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.250Z", 1)
	cut := strings.Index(entries, `"text": "AQID`) + len(`"text": "`)
	parts := []io.Reader{strings.NewReader(sound[:from]), strings.NewReader(entries[:cut]), io.LimitReader(endless{}, size/8*4), strings.NewReader(entries[cut:])}
	for n := size/2 - int64(len(entries)); n > 0; n -= int64(len(entries)) {
		parts = append(parts, strings.NewReader(","), strings.NewReader(entries))
	}
	return io.MultiReader(append(parts, strings.NewReader(sound[to:]))...)
}

// Memory does not grow with the file.
func TestCheckAllocates(t *testing.T) {
	var before, after runtime.MemStats
	used := func(size int64) uint64 {
		runtime.GC()
		runtime.ReadMemStats(&before)
		peak := uint64(0)
		stats, err := Check(bigHAR(size), CheckOptions{Progress: func(int64) error {
			runtime.ReadMemStats(&after)
			peak = max(peak, after.HeapInuse)
			return nil
		}})
		if err != nil || stats.Faults != 0 || stats.Entries < size/5000 {
			t.Fatalf("%+v, %v", stats, err)
		}
		return peak - min(peak, before.HeapInuse)
	}
	if n := used(16 << 20); n > 16<<20 {
		t.Errorf("16 MiB take %d bytes of memory", n)
	}
}

// FuzzCheckHAR checks any bytes. What json.Valid refuses has a fault, and what
// passes does so again when it is indented.
func FuzzCheckHAR(f *testing.F) {
	for _, c := range hartest.Cases() {
		if s := c.HAR(); len(s) < 8<<10 {
			f.Add([]byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, _ := checkString(t, string(b))
		wrong := slices.ContainsFunc(list, func(f Fault) bool { return !f.Warning })
		if !wrong && !bytes.HasPrefix(b, []byte("\x1f\x8b")) && !json.Valid(b) {
			t.Fatalf("no fault in what is no JSON: %q", b)
		}
		if len(list) > 0 {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, b); err != nil {
			t.Fatal(err)
		}
		if again, _ := checkString(t, compact.String()); len(again) > 0 {
			t.Fatalf("compact it has %+v", again)
		}
	})
}

// BenchmarkCheckHAR checks a HAR of 1 GiB, half of it in one body.
func BenchmarkCheckHAR(b *testing.B) {
	const size = 1 << 30
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if stats, err := Check(bigHAR(size), CheckOptions{Readers: []string{"k6", "devtools"}}); err != nil || stats.Faults > 0 {
			b.Fatalf("%+v, %v", stats, err)
		}
	}
}
