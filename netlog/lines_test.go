package netlog

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 890123000, time.UTC)

// everyLine is a log that has each field of the format.
func everyLine() []*Line {
	session := &TLS{Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", ALPN: "http/1.1", SNI: "a.test", Resumed: true}
	server := *session
	server.Subject, server.Issuer = "CN=a.test", "CN=authority,O=\"quoted\""
	server.SANs = []string{"a.test", "127.0.0.1"}
	server.NotBefore, server.NotAfter = at.Truncate(time.Second), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	server.Serial, server.SHA256, server.Verified = "0a", strings.Repeat("ab", 32), new(false)
	server.Unverified = "x509: certificate signed by unknown authority"
	digest := strings.Repeat("0f", 32)
	odd := []Header{{"Host", "a.test"}, {"X-Odd", "\xff\x00\"\\\r\n\t\x1f\x7f é 😀 \u2028"}, {"x-odd", ""}}

	return []*Line{
		{Head: Head{1, EventStart, 0, at, 0}, Start: &Start{at, 1, "agentenv-netlog", "v1", 99, "proxy", Limits{10 << 20, 1 << 20, "text"}, nil}},
		{Head: Head{2, EventOpen, 2, at, 3}, Open: &Open{at, KindExchange, ViaSite, "shop", "[::1]:50000", 4, 9, "", &Request{
			"POST", "https://a.test/%FF?q=<é>", "/\xff", "HTTP/1.1", odd, 321, []Header{{":method", "POST"}}, []Header{{"X-Sum", "1"}},
			&Body{7, digest, Bytes("\x00\x01\xff"), true, nil},
		}}},
		{Head: Head{3, EventAnswer, 2, at, 0}, Answer: &Answer{at, &Response{
			Status: 101, Reason: "Switching Protocols", Version: "HTTP/1.1", Headers: odd, HeaderBytes: 5, Pseudo: []Header{{":status", "101"}},
			Informational: []Informational{{103, odd}, {100, nil}},
		}}},
		{Head: Head{4, EventMessage, 2, at, 0}, Message: &Message{at, "send", 1, new(int64(2)), 8, 1, new("h\n"), nil, false}},
		{Head: Head{5, EventMessage, 2, at, 0}, Message: &Message{at, "receive", 2, nil, 8, 3, nil, []byte{0, 1}, true}},
		{Head: Head{6, EventEnd, 2, at, 0}, End: &End{
			Time:    at,
			Request: &Request{Trailers: []Header{{"T", "1"}}, Body: &Body{}},
			Response: &Response{200, "OK", "HTTP/1.1", odd, 5, []Header{{":status", "200"}}, []Informational{{103, odd}}, odd,
				&Body{9, digest, Bytes("data: 1\n\n"), false, []Chunk{{0, 5}, {4, 900}}}, true},
			Server:    &Server{"192.0.2.1:443", 3, 11, false, &Dialled{at, 1, 20, 5}, &server},
			ClientTLS: session,
			Timings:   Timings{1, 2, 20, 5, 3, 4, 10, 40},
			WebSocket: &WebSocket{Frames{1, 2, 3, 4}, Frames{5, 6, 7, 8}, &Close{1000, "bye", "client"}, "chat", "permessage-deflate", new(int64(2))},
			Changed:   []string{"strip_conditionals"},
			Unparsed:  true,
		}},
		{Head: Head{7, EventOpen, 7, at, 0}, Open: &Open{at, KindTunnel, ViaTunnel, "", "127.0.0.1:1", 1, 0, "b.test:443", nil}},
		{Head: Head{8, EventEnd, 7, at, 0}, End: &End{
			Time:    at,
			Server:  &Server{Address: "192.0.2.1:443", Dialled: &Dialled{at, Absent, 0, Absent}},
			Timings: NoTimings(12),
			Tunnel:  &Tunnel{1, 2, "b.test", []string{"h2", ""}, []string{"TLS 1.3"}, "TLS 1.3", "b pins"},
			Failed:  &Failed{PhaseConnect, CodeTimeout, "no answer"},
		}},
		{Head: Head{9, EventOpen, 9, at, 0}, Open: &Open{at, KindExchange, ViaPlain, "", "127.0.0.1:1", 0, 0, "", &Request{Method: "GET", URL: "http://c/", Version: "HTTP/1.0"}}},
		{Head: Head{10, EventEnd, 9, at, 0}, End: &End{Time: at, Timings: NoTimings(0), Refused: &Refused{RefusedPolicy, "no", 403}}},
		{Head: Head{11, EventStart, 0, at, 0}, Start: &Start{at, 1, "p", "v", 1, "record", Limits{}, []int64{2, 7}}},
	}
}

func encode(t testing.TB, l *Line) []byte {
	t.Helper()
	b, err := AppendLine(nil, l)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestLinesRoundTrip(t *testing.T) {
	for _, l := range everyLine() {
		b := encode(t, l)
		got, err := ParseLine(b)
		if err != nil {
			t.Errorf("%v: %s", err, b)
			continue
		}
		if !reflect.DeepEqual(got, l) {
			t.Errorf("line %d came back as another:\n%s\n%s", l.N, b, encode(t, got))
		}
	}
}

func TestLinesGolden(t *testing.T) {
	var got []byte
	for _, l := range everyLine() {
		got = append(got, encode(t, l)...)
	}
	golden(t, filepath.Join("testdata", "every.jsonl"), got)
}

func TestLinesMatchSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("netlog:schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("netlog:schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range everyLine() {
		if l.N == 11 {
			l.Start.Limits.Types = "all"
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(encode(t, l)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("line %d: %v", l.N, err)
		}
		// A field that the schema does not know is none of the format.
		doc.(map[string]any)["more_than_that"] = true
		if schema.Validate(doc) == nil {
			t.Errorf("line %d may have any field", l.N)
		}
	}
}

// TestClosedLists compares the schema's lists with the package's constants.
func TestClosedLists(t *testing.T) {
	var schema struct {
		Defs map[string]struct{ Enum []string } `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("types.go")
	if err != nil {
		t.Fatal(err)
	}
	for def, kind := range map[string]string{"kind": "Kind", "via": "Via", "phase": "Phase", "code": "Code", "refused_code": "RefusedCode"} {
		var want []string
		for line := range strings.Lines(string(source)) {
			if f := strings.Fields(line); len(f) > 3 && f[1] == kind && f[2] == "=" {
				want = append(want, strings.Trim(f[3], `"`))
			}
		}
		slices.Sort(want)
		got := slices.Sorted(slices.Values(schema.Defs[def].Enum))
		if len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("schema.json has %q as %s, types.go %q", got, def, want)
		}
	}
}

func TestHeaderValuesAreExact(t *testing.T) {
	for c := range 256 {
		for _, value := range []string{string([]byte{byte(c)}), "a" + string([]byte{byte(c)}) + "z", string([]byte{byte(c), 0x80})} {
			l := everyLine()[8]
			l.Open.Request.Headers = []Header{{"X", value}}
			l.Open.Request.Target = value
			b := encode(t, l)
			if !json.Valid(b) {
				t.Errorf("%q is no JSON: %s", value, b)
			}
			got, err := ParseLine(b)
			if err != nil {
				t.Fatalf("%q: %v", value, err)
			}
			if v := got.Open.Request.Headers[0].Value; v != value {
				t.Errorf("%q came back as %q", value, v)
			}
			if v := got.Open.Request.Target; v != value {
				t.Errorf("target %q came back as %q", value, v)
			}
		}
	}
}
