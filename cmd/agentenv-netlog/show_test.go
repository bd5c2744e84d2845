package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentenv/netlog/har"
)

// writeHAR writes a HAR of entries.
func writeHAR(t testing.TB, entries ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "some.har")
	text := `{"log":{"version":"1.2","entries":[` + strings.Join(entries, ",\n") + `]}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func entryJSON(url string, status int) string {
	return fmt.Sprintf(`{"startedDateTime":"2026-03-04T05:06:07.089Z","time":12.5,"request":{"method":"GET","url":%s},"response":{"status":%d,"bodySize":1234,"content":{"mimeType":"text/html"}}}`, url, status)
}

func showBytes(t testing.TB, b []byte, s screen, whole, asJSON bool) (string, error) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err = showArchive(&harArchive{f}, &har.Filter{}, s, whole, asJSON, &out)
	return out.String(), err
}

// Whatever a HAR holds, nothing that steers a terminal comes out, and a line of
// the table is as wide as the terminal at most.
func FuzzShowHAR(f *testing.F) {
	f.Add([]byte(`{"log":{"entries":[` + entryJSON(`"http://a/\u001b[31m\u009b\u202e\r\n"`, 200) + `]}}`))
	f.Add([]byte(`{"log":{"entries":[{"startedDateTime":"2026-03-04T05:06:07Z","time":1e300,"request":{"method":"\u0007POST","url":"x","headers":[{"name":"\u001b","value":"\n","_valueBase64":"/w=="}],
		"postData":{"mimeType":"a\u001b/b","text":"a\u001bb\r\nc","params":[{"name":"n"}]}},"response":{"status":-1,"content":{"text":"G1szMW0=","encoding":"base64"},"_error":"e\u001b"},
		"_tunnel":{"sent":-1},"_websocket":{},"_webSocketMessages":[{"type":"send","opcode":1,"data":"\u001b"},{"opcode":2,"data":"/w=="}],"_webSocketClose":{"reason":"\u001b"},
		"_securityDetails":{"validFrom":9e18,"sanList":["\u001b"]},"_failed":{"code":"\u001b"},"_refused":{"code":"\u001b"}}]}}`))
	f.Add([]byte(`{"log":{"entries":[null,{"time":-1,"timings":{"dns":9e15}},{"_via":"\u001b","_resourceType":"\u001b"`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range []screen{{}, {columns: 80, blocks: true}} {
			for _, whole := range []bool{false, true} {
				out, _ := showBytes(t, b, s, whole, false)
				if !harmless(out) {
					t.Fatalf("%q", out)
				}
				for line := range strings.Lines(out) {
					if line = strings.TrimSuffix(line, "\n"); !whole && s.columns > 0 && cells(line) > s.columns {
						t.Errorf("%d columns: %q", cells(line), line)
					}
				}
			}
		}
		out, _ := showBytes(t, b, screen{}, false, true)
		for line := range strings.Lines(out) {
			if !harmless(line) || !json.Valid([]byte(line)) || strings.ContainsFunc(line, func(r rune) bool { return r > 0x7e }) {
				t.Errorf("%q", line)
			}
		}
	})
}

// A table is aligned, says when each entry was, and is of the same form in ASCII.
func TestShowTable(t *testing.T) {
	at := func(second int, millis string, rest string) string {
		return fmt.Sprintf(`{"startedDateTime":"2026-03-04T05:06:%02d.000Z","time":%s,%s}`, second, millis, rest)
	}
	b := []byte(`{"log":{"entries":[` + strings.Join([]string{
		at(0, "5000", `"request":{"method":"GET","url":"https://a.example/"},"response":{"status":200,"bodySize":2500,"content":{"mimeType":"text/html; charset=utf-8"}},"_resourceType":"document"`),
		at(5, "5000", `"request":{"method":"POST","url":"https://a.example/x?y"},"response":{"status":404,"bodySize":0,"content":{"mimeType":"application/json"}}`),
		at(9, "0", `"request":{"method":"GET","url":"https://b.example/"},"response":{"status":-1,"_error":"gone","bodySize":-1},"_failed":{"phase":"connect","code":"refused","reason":"gone"}`),
		at(9, "0", `"_open":true,"request":{"method":"GET","url":"wss://b.example/"},"response":{"status":101},"_resourceType":"websocket"`),
		at(9, "0", `"request":{"method":"CONNECT","url":"https://c.example:443/"},"response":{"status":200,"bodySize":0},"_via":"tunnel","_tunnel":{"sent":1,"received":1234567}`),
	}, ",") + `]}}`)
	want := `
#  method  status           type                size    time              url
1  GET     200              document          2.5 kB  5.00 s  =====       https://a.example/
2  POST    404              application/json     0 B  5.00 s       =====  https://a.example/x?y
3  GET     failed: refused  -                      -  0.0 ms           =  https://b.example/
4  GET     101 open         websocket              -       -           =  wss://b.example/
5  CONNECT 200              tunnel            1.2 MB  0.0 ms           =  https://c.example:443/
`
	got, err := showBytes(t, b, screen{}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	want = strings.ReplaceAll(want[1:], "CONNECT 200", "CONNECT  200")
	for i, line := range strings.Split(got, "\n") {
		w := strings.Split(want, "\n")
		if i >= len(w) || strings.Join(strings.Fields(line), " ") != strings.Join(strings.Fields(w[i]), " ") {
			t.Errorf("line %d: %q", i+1, line)
		}
	}
	// The columns before the URL are of one width, whatever is in them.
	for _, s := range []screen{{}, {columns: 90}, {columns: 90, blocks: true}} {
		got, err := showBytes(t, b, s, false, false)
		if err != nil {
			t.Fatal(err)
		}
		var starts []int
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			if s.columns > 0 && cells(line) > s.columns {
				t.Errorf("%d columns: %q", cells(line), line)
			}
			fields := strings.Fields(line)
			starts = append(starts, cells(line)-cells(fields[len(fields)-1]))
		}
		if len(starts) != 6 || slices.Min(starts) != slices.Max(starts) {
			t.Errorf("%+v: URLs begin at %v\n%s", s, starts, got)
		}
	}
}

func TestSizesAndTimes(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "-", 0: "0 B", 999: "999 B", 1000: "1.0 kB", 1234567: "1.2 MB", 999949: "999.9 kB", 999950: "1.0 MB", 5e12: "5.0 TB", 5e15: "5000.0 TB",
	} {
		if got := sizeText(n); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
	for m, want := range map[har.Millis]string{
		0: "0.0 ms", 9949: "9.9 ms", 9950: "10 ms", 999499: "999 ms", 999500: "1.00 s", 99994999: "99.99 s", 3600e6: "3600 s",
	} {
		if got := millisText(m); got != want {
			t.Errorf("%d µs: %s, want %s", m, got, want)
		}
	}
}

// A compressed HAR that is broken is told from the start, one that is cut behind
// its entries.
func TestShowBrokenGzip(t *testing.T) {
	path := writeHAR(t, entryJSON(`"http://h/"`, 200), entryJSON(`"http://h/2"`, 200))
	plain, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(plain)
	z.Close()
	for _, test := range []struct {
		in   []byte
		want string
	}{
		{packed.Bytes(), ""},
		{[]byte("\x1f\x8bnonsense"), "neither a network log nor a HAR: decompress: gzip: invalid header"},
		{packed.Bytes()[:packed.Len()-20], "unexpected EOF"},
	} {
		if err := os.WriteFile(path, test.in, 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := runShow(t.Context(), path, showFlags{color: "never"}, &out, &out)
		if got := fmt.Sprint(err); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(got, test.want)) {
			t.Errorf("%d bytes: got %v, want %q", len(test.in), err, test.want)
		}
	}
}
