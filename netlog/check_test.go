package netlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkedLog has each event and most fields, and no fault.
const checkedLog = `{"n":1,"event":"start","t":"2026-01-02T03:04:05.000000Z","format":1,"program":"p","version":"1","pid":7,"mode":"proxy","limits":{"request_body":100,"response_body":200,"types":"text"}}
{"n":2,"event":"open","id":2,"t":"2026-01-02T03:04:05.000100Z","kind":"exchange","via":"mitm","client":"[::1]:50000","connection":1,"request":{"method":"GET","url":"https://a.test/%FF","target":["/�","L/8="],"version":"HTTP/1.1","headers":[["Host","a.test"],["X","�","/w=="]],"header_bytes":9,"body":{"size":0}}}
{"n":3,"event":"answer","id":2,"t":"2026-01-02T03:04:05.000120Z","response":{"status":101,"reason":"Switching Protocols","version":"HTTP/1.1","headers":[["A","b"]],"header_bytes":5,"informational":[{"status":103}]}}
{"n":4,"event":"message","id":2,"t":"2026-01-02T03:04:05.000121Z","dir":"send","opcode":1,"size":2,"wire_size":8,"frames":1,"text":"hi"}
{"n":5,"event":"message","id":2,"t":"2026-01-02T03:04:05.000122Z","dir":"receive","opcode":2,"wire_size":8,"frames":3,"base64":"AAE=","more":true}
{"n":6,"event":"end","id":2,"t":"2026-01-02T03:04:05.000140Z","response":{"status":101,"version":"HTTP/1.1","complete":true},"server":{"address":"192.0.2.1:443","connection":1,"reused":false,"dialled":{"t":"2026-01-02T03:04:05.000101Z","dns":1,"connect":20,"tls":5},"tls":{"version":"TLS 1.3","subject":"CN=a.test","sans":["a.test"],"not_before":"2026-01-01T00:00:00Z","serial":"0a","sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","verified":true}},"client_tls":{"version":"TLS 1.3"},"timings":{"blocked":1,"dns":1,"connect":20,"tls":5,"send":3,"wait":5,"receive":10,"total":40},"websocket":{"sent":{"messages":1,"bytes":2,"frames":1,"control":0},"received":{"messages":4,"bytes":9,"frames":5,"control":0},"close":{"code":1000,"by":"client"},"recorded":2}}
{"n":7,"event":"open","id":7,"t":"2026-01-02T03:04:05.000150Z","kind":"tunnel","via":"tunnel","client":"127.0.0.1:1","target":"b.test:443"}
{"n":8,"event":"open","id":8,"t":"2026-01-02T03:04:05.000160Z","kind":"exchange","via":"plain","client":"127.0.0.1:2","request":{"method":"POST","url":"http://a.test/","version":"HTTP/1.1"}}
{"n":9,"event":"end","id":7,"t":"2026-01-02T03:04:05.000170Z","timings":{"total":20},"tunnel":{"sent":1,"received":2,"alpn":["h2"]},"failed":{"phase":"receive","code":"reset","reason":"r"}}
{"n":10,"event":"end","id":8,"t":"2026-01-02T03:04:05.000200Z","request":{"trailers":[["T","1"]],"body":{"size":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","base64":"YWJj"}},"response":{"status":200,"body":{"size":5,"base64":"YWJj","truncated":true,"chunks":[[0,5],[3,9]]},"complete":false},"timings":{"send":40,"total":40},"changed":["strip_conditionals"]}
{"n":11,"event":"open","id":11,"t":"2026-01-02T03:04:05.000300Z","kind":"exchange","via":"plain","client":"127.0.0.1:2","request":{"url":"http://a.test/"}}
{"n":12,"event":"end","id":11,"t":"2026-01-02T03:04:05.000300Z","timings":{"total":0},"refused":{"code":"bad_request","reason":"r","status":400}}
`

// found is a fault in brief: "6 schema server.connection".
func found(f Fault) string {
	s := fmt.Sprintf("%d %s %s", f.N, f.Rule, f.Field)
	if f.Warning {
		s += " warning"
	}
	return strings.TrimSpace(strings.Replace(s, "  ", " ", 1))
}

func checkFile(t testing.TB, path string) ([]Fault, CheckStats) {
	t.Helper()
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var faults []Fault
	stats, err := Check(log, CheckOptions{Fault: func(f Fault) error {
		faults = append(faults, f)
		if f.File == "" || !printableASCII(f.Text+f.Field) || len(f.Text) > 400 {
			t.Errorf("a fault that can't be told: %+v", f)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return faults, stats
}

func printableASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f }) < 0
}

func checkText(t testing.TB, text string) ([]Fault, CheckStats) {
	t.Helper()
	path := filepath.Join(t.TempDir(), LiveName)
	write(t, path, text)
	return checkFile(t, path)
}

func lineSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	const name = "netlog:line.json" // no name of a file, whose folder may have spaces
	c := jsonschema.NewCompiler()
	c.AssertContent()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile(name)
}

// TestCheck breaks one rule at a time. schema.json forbids what Check calls a
// fault of a line's fields, and takes what it does not, but for some rows.
func TestCheck(t *testing.T) {
	schema := lineSchema(t)
	const stricter = "the schema takes it" // or forbids what is only a warning
	for _, c := range []struct {
		name, old, new, want, note string
	}{
		{name: "no fault"},
		{name: "gap", old: `{"n":12,`, new: `{"n":13,`, want: "13 number n"},
		{name: "back", old: `{"n":12,`, new: `{"n":10,`, want: "10 number n"},

		{name: "no start", old: checkedLog[:strings.IndexByte(checkedLog, '\n')+1], want: "2 start event"},
		{name: "start with an id", old: `"start",`, new: `"start","id":1,`, want: "1 schema id"},
		{name: "format", old: `"format":1`, new: `"format":2`, want: "1 schema format"},
		{name: "no program", old: `"program":"p",`, want: "1 schema program"},
		{name: "pid", old: `"pid":7`, new: `"pid":0`, want: "1 schema pid"},
		{name: "mode", old: `"mode":"proxy"`, new: `"mode":"x"`, want: "1 schema mode"},
		{name: "limit", old: `"request_body":100`, new: `"request_body":-1`, want: "1 schema limits.request_body"},
		{name: "types", old: `"types":"text"`, new: `"types":"image"`, want: "1 schema limits.types"},
		{name: "no limits", old: `,"limits":{"request_body":100,"response_body":200,"types":"text"}`, want: "1 schema limits.types"},
		{name: "what is not open", old: `"types":"text"}`, new: `"types":"text"},"open":[9]`, want: "1 start open[0]"},
		{name: "empty open", old: `"types":"text"}`, new: `"types":"text"},"open":[]`, want: "1 form open"},

		{name: "no id", old: `"open","id":7,`, new: `"open",`, want: "7 schema id"},
		{name: "another's id", old: `"open","id":7,`, new: `"open","id":6,`, want: "7 pair id,9 pair id,6 end warning", note: stricter},
		{name: "kind", old: `"kind":"tunnel"`, new: `"kind":"pipe"`, want: "7 schema kind"},
		{name: "no kind", old: `"kind":"tunnel",`, want: "7 schema kind"},
		{name: "via", old: `"via":"plain","client":"127.0.0.1:2","request":{"method"`, new: `"via":"x","client":"127.0.0.1:2","request":{"method"`, want: "8 schema via"},
		{name: "client", old: `"[::1]:50000"`, new: `"::1:50000"`, want: "2 schema client"},
		{name: "no client", old: `"client":"127.0.0.1:1",`, want: "7 schema client"},
		{name: "connection", old: `"connection":1,"request"`, new: `"connection":-1,"request"`, want: "2 schema connection"},
		{name: "connection 0", old: `"connection":1,"request"`, new: `"connection":0,"request"`, want: "2 form connection"},
		{name: "exchange without a request", old: `,"request":{"url":"http://a.test/"}`, want: "11 schema request"},
		{name: "exchange with a target", old: `"client":"127.0.0.1:2","request":{"url"`, new: `"client":"127.0.0.1:2","target":"a:1","request":{"url"`, want: "11 schema target"},
		{name: "tunnel without a target", old: `,"target":"b.test:443"`, want: "7 schema target"},
		{name: "tunnel with a request", old: `"target":"b.test:443"`, new: `"target":"b.test:443","request":{"url":"http://a/"}`, want: "7 schema request"},
		{name: "relative url", old: `"url":"http://a.test/","version"`, new: `"url":"/","version"`, want: "8 schema request.url"},
		{name: "fragment", old: `"url":"http://a.test/","version"`, new: `"url":"http://a.test/#x","version"`, want: "8 schema request.url"},
		{name: "no url", old: `"url":"http://a.test/","version"`, new: `"version"`, want: "8 schema request.url"},
		{name: "version", old: `"http://a.test/","version":"HTTP/1.1"`, new: `"http://a.test/","version":"h2"`, want: "8 schema request.version"},
		{name: "no version", old: `"http://a.test/","version":"HTTP/1.1"`, new: `"http://a.test/"`, want: "10 pair refused", note: stricter},
		{name: "header without a name", old: `["Host","a.test"]`, new: `["","a.test"]`, want: "2 schema request.headers[0]"},
		{name: "header without a value", old: `["Host","a.test"]`, new: `["Host"]`, want: "2 line request.headers[0]"},
		{name: "header bytes", old: `"header_bytes":9`, new: `"header_bytes":-9`, want: "2 schema request.header_bytes"},
		{name: "exact bytes of UTF-8", old: `["Host","a.test"]`, new: `["Host","a.test","YS50ZXN0"]`, want: "2 form request.headers[0][2]", note: stricter},
		{name: "target of one", old: `["/�","L/8="]`, new: `["/�"]`, want: "2 line request.target"},
		{name: "bad base64", old: `"L/8="`, new: `"L/9="`, want: "2 line request.target[1]", note: stricter},

		{name: "no answer", old: `"event":"answer","id":2,"t":"2026-01-02T03:04:05.000120Z","response":{"status":101,"reason":"Switching Protocols","version":"HTTP/1.1","headers":[["A","b"]],"header_bytes":5,"informational":[{"status":103}]}`,
			new: `"event":"answer","id":2,"t":"2026-01-02T03:04:05.000120Z"`, want: "3 schema response"},
		{name: "answer with a body", old: `"informational":[{"status":103}]`, new: `"informational":[{"status":103}],"body":{"size":0}`, want: "3 form response.body"},
		{name: "answer to a tunnel", old: `"event":"end","id":7,"t":"2026-01-02T03:04:05.000170Z","timings":{"total":20},"tunnel":{"sent":1,"received":2,"alpn":["h2"]},"failed":{"phase":"receive","code":"reset","reason":"r"}}`,
			new: `"event":"answer","id":7,"t":"2026-01-02T03:04:05.000165Z","response":{"status":200}}`, want: "9 pair event,7 end warning", note: stricter},
		{name: "informational", old: `{"status":103}`, new: `{"status":200}`, want: "3 schema response.informational[0].status"},
		{name: "early", old: `000120Z`, new: `000099Z`, want: "3 timings t", note: stricter},
		{name: "dir", old: `"dir":"send"`, new: `"dir":"up"`, want: "4 schema dir"},
		{name: "opcode", old: `"opcode":1`, new: `"opcode":9`, want: "4 schema opcode"},
		{name: "no opcode", old: `"opcode":1,`, want: "4 schema opcode"},
		{name: "frames", old: `"frames":1,"text"`, new: `"frames":0,"text"`, want: "4 schema frames"},
		{name: "wire size", old: `"wire_size":8,"frames":1`, new: `"wire_size":-8,"frames":1`, want: "4 schema wire_size"},
		{name: "text and base64", old: `"text":"hi"`, new: `"text":"hi","base64":"AA=="`, want: "4 schema base64"},
		{name: "more kept than there was", old: `"size":2,"wire`, new: `"size":1,"wire`, want: "4 body size", note: stricter},
		{name: "after the last", old: `"text":"hi"`, new: `"text":"hi","more":true`, want: "5 messages", note: stricter},
		{name: "recorded", old: `"recorded":2`, new: `"recorded":3`, want: "6 messages websocket.recorded", note: stricter},
		{name: "all recorded", old: `"messages":4`, new: `"messages":1`, want: "6 messages websocket.recorded", note: stricter},
		{name: "not recorded", old: `,"recorded":2`, want: "6 messages websocket", note: stricter},

		{name: "never opened", old: `"id":8,"t":"2026-01-02T03:04:05.000200Z"`, new: `"id":5,"t":"2026-01-02T03:04:05.000200Z"`, want: "10 pair id,8 end warning", note: stricter},
		{name: "ended before", old: `"id":8,"t":"2026-01-02T03:04:05.000200Z"`, new: `"id":7,"t":"2026-01-02T03:04:05.000200Z"`, want: "10 pair id,8 end warning", note: stricter},
		{name: "another answer", old: `"response":{"status":101,"version"`, new: `"response":{"status":200,"version"`, want: "6 pair response.status", note: stricter},
		{name: "no status", old: `"response":{"status":200,`, new: `"response":{"status":0,`, want: "10 schema response.status", note: stricter},
		{name: "unparsed", old: `"changed":["strip_conditionals"]`, new: `"changed":["strip_conditionals"],"unparsed":true`},
		{name: "not unparsed", old: `"changed":["strip_conditionals"]`, new: `"changed":["strip_conditionals"],"unparsed":false`, want: "10 form unparsed"},
		{name: "status", old: `"response":{"status":200,`, new: `"response":{"status":20,`, want: "10 schema response.status"},
		{name: "status as text", old: `"response":{"status":200,`, new: `"response":{"status":"200",`, want: "10 line response.status"},
		{name: "null", old: `"response":{"status":200,`, new: `"response":{"status":200,"reason":null,`, want: "10 line response.reason"},
		{name: "no complete", old: `,"complete":false`, want: "10 form response"},
		{name: "response to a tunnel", old: `"id":7,"t":"2026-01-02T03:04:05.000170Z"`, new: `"id":7,"t":"2026-01-02T03:04:05.000170Z","response":{"status":200,"complete":true}`, want: "9 pair response", note: stricter},
		{name: "empty request", old: `"request":{"trailers":[["T","1"]],"body":{"size":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","base64":"YWJj"}}`, new: `"request":{}`, want: "10 schema request"},
		{name: "request in the end", old: `"request":{"trailers"`, new: `"request":{"method":"GET","trailers"`, want: "10 schema request"},
		{name: "the body twice", old: `"version":"HTTP/1.1"}}` + "\n" + `{"n":9`, new: `"version":"HTTP/1.1","body":{"size":0}}}` + "\n" + `{"n":9`, want: "10 body request.body", note: stricter},

		{name: "digest", old: `"size":3,"sha256":"ba78`, new: `"size":3,"sha256":"aa78`, want: "10 body request.body.sha256", note: stricter},
		{name: "digest of another form", old: `"size":3,"sha256":"ba78`, new: `"size":3,"sha256":"BA78`, want: "10 schema request.body.sha256,10 body request.body.sha256"},
		{name: "size", old: `"body":{"size":3,`, new: `"body":{"size":-3,`, want: "10 schema request.body.size,10 body request.body.size"},
		{name: "more kept", old: `"body":{"size":3,`, new: `"body":{"size":2,`, want: "10 body request.body.size", note: stricter},
		{name: "less kept", old: `"body":{"size":3,`, new: `"body":{"size":4,`, want: "10 body request.body.truncated", note: stricter},
		{name: "all kept", old: `"body":{"size":5,"base64":"YWJj","truncated":true,"chunks":[[0,5],[3,9]]}`, new: `"body":{"size":3,"base64":"YWJj","truncated":true}`, want: "10 body response.body.truncated", note: stricter},
		{name: "kept of nothing", old: `"body":{"size":5,"base64":"YWJj","truncated":true,"chunks":[[0,5],[3,9]]}`, new: `"body":{"size":0,"chunks":[[0,5]]}`, want: "10 schema response.body"},
		{name: "no size", old: `"body":{"size":0}`, new: `"body":{}`, want: "2 form request.body"},
		{name: "base64 that is not canonical", old: `"YWJj"}},`, new: `"YWJ="}},`, want: "10 line request.body.base64", note: stricter},
		{name: "base64", old: `"YWJj"}},`, new: `"YW*j"}},`, want: "10 line request.body.base64"},
		{name: "chunks", old: `[3,9]]`, new: `[3,4]]`, want: "10 body response.body.chunks[1]", note: stricter},
		{name: "chunk", old: `[3,9]]`, new: `[3]]`, want: "10 line response.body.chunks[1]"},

		{name: "server", old: `"192.0.2.1:443"`, new: `"192.0.2.1"`, want: "6 schema server.address"},
		{name: "server connection", old: `"connection":1,"reused"`, new: `"connection":-1,"reused"`, want: "6 schema server.connection"},
		{name: "no reused", old: `"reused":false,`, want: "6 form server.dialled"},
		{name: "reused and dialled", old: `"reused":false,`, new: `"reused":true,`, want: "6 schema server.dialled", note: stricter},
		{name: "serial", old: `"serial":"0a"`, new: `"serial":"0A"`, want: "6 schema server.tls.serial"},
		{name: "fingerprint", old: `"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","verified"`, new: `"sha256":"ba","verified"`, want: "6 schema server.tls.sha256"},
		{name: "date", old: `"2026-01-01T00:00:00Z"`, new: `"yesterday"`, want: "6 line server.tls.not_before"},
		{name: "client certificate", old: `"client_tls":{`, new: `"client_tls":{"subject":"x",`, want: "6 schema client_tls"},
		{name: "tls without connect", old: `"timings":{"send":40,`, new: `"timings":{"tls":1,"send":40,`, want: "10 schema timings.tls,10 timings timings.tls"},
		{name: "tls longer than connect", old: `"connect":20,"tls":5,"send"`, new: `"connect":20,"tls":21,"send"`, want: "6 timings timings.tls", note: stricter},
		{name: "sum", old: `"wait":5`, new: `"wait":6`, want: "6 timings timings.total", note: stricter},
		{name: "total", old: `000300Z","timings"`, new: `000301Z","timings"`, want: "12 timings timings.total", note: stricter},
		{name: "no total", old: `"timings":{"total":0}`, new: `"timings":{}`, want: "12 form timings"},
		{name: "negative phase", old: `"wait":5`, new: `"wait":-5`, want: "6 form timings.wait,6 timings timings.total"},
		{name: "tunnel", old: `"tunnel":{"sent":1`, new: `"tunnel":{"sent":-1`, want: "9 schema tunnel.sent"},
		{name: "frame counts", old: `"control":0},"received"`, new: `"control":-1},"received"`, want: "6 schema websocket.sent.control"},
		{name: "close by", old: `"by":"client"`, new: `"by":"me"`, want: "6 schema websocket.close.by"},
		{name: "close code", old: `"code":1000`, new: `"code":65536`, want: "6 schema websocket.close.code"},
		{name: "phase", old: `"phase":"receive"`, new: `"phase":"later"`, want: "9 schema failed.phase"},
		{name: "code", old: `"code":"reset"`, new: `"code":"bored"`, want: "9 schema failed.code"},
		{name: "no reason", old: `"reset","reason":"r"`, new: `"reset","reason":""`, want: "9 schema failed.reason"},
		{name: "refused code", old: `"code":"bad_request"`, new: `"code":"bored"`, want: "12 schema refused.code"},
		{name: "refused status", old: `"status":400`, new: `"status":4`, want: "12 schema refused.status"},
		{name: "refused and failed", old: `"refused":{"code"`, new: `"failed":{"phase":"send","code":"reset","reason":"r"},"refused":{"code"`, want: "12 schema failed"},
		{name: "refused and answered", old: `"timings":{"total":0}`, new: `"response":{"status":200,"complete":true},"timings":{"total":0}`, want: "12 schema response"},
		{name: "changed", old: `"strip_conditionals"`, new: `"x"`, want: "10 schema changed[0]"},
		{name: "changed twice", old: `"strip_conditionals"`, new: `"strip_conditionals","strip_conditionals"`, want: "10 schema changed[1]"},

		{name: "unknown event", old: `{"n":12,`, new: `{"n":12,"event":"party","t":"2026-01-02T03:04:05.000000Z","x":{"y":1}}` + "\n" + `{"n":13,`, want: "12 schema event warning", note: stricter},
		{name: "unknown field", old: `"pid":7,`, new: `"pid":7,"x":{"y":[1]},`, want: "1 schema x warning", note: stricter},
		{name: "unknown field with a strange name", old: `"wait":5`, new: `"wait":5,"\u001b[2J":[]`, want: `6 schema timings.\x1b[2J warning`, note: stricter},
		{name: "unrotated", old: `{"n":12,`, new: `{"n":12,"event":"unrotated","t":"2026-01-02T03:04:05.000000Z"}` + "\n" + `{"n":13,`},
		{name: "unrotated with an id", old: `{"n":12,`, new: `{"n":12,"event":"unrotated","id":2,"t":"2026-01-02T03:04:05.000000Z"}` + "\n" + `{"n":13,`, want: "12 schema id"},

		{name: "order", old: `"client":"[::1]:50000","connection":1`, new: `"connection":1,"client":"[::1]:50000"`, want: "2 form connection", note: stricter},
		{name: "white space", old: `"connection":1,"request"`, new: `"connection": 1,"request"`, want: "2 form connection", note: stricter},
		{name: "an escape too many", old: `"method":"GET"`, new: `"method":"\u0047ET"`, want: "2 form request.method", note: stricter},
		{name: "a field twice", old: `"method":"GET"`, new: `"method":"PUT","method":"GET"`, want: "2 form request.method", note: stricter},
		{name: "an empty field", old: `"reason":"Switching Protocols"`, new: `"reason":""`, want: "3 form response.reason"},

		{name: "no line", old: "{\"n\":12,", new: "Milk, bread.\n{\"n\":12,", want: "0 line", note: "shifted"},
		{name: "cut line", old: "{\"n\":12,", new: "{\"n\":12,\"event\":\"end\",\"id\":11,\"t\":\"20\n{\"n\":12,", want: "0 line", note: "shifted"},
		{name: "cut line that looks whole", old: "{\"n\":12,", new: checkedLog[strings.LastIndex(checkedLog, "\n{")+1:len(checkedLog)-3] + "\n{\"n\":12,", want: "0 line", note: "shifted"},
		{name: "cut by a process that was killed", old: "{\"n\":12,", new: "{\"n\":12,\"event\":\"end\",\"id\":11,\"t\":\"20#\n" + strings.Replace(checkedLog[:strings.IndexByte(checkedLog, '\n')+1], `"n":1,`, `"n":12,`, 1) + "{\"n\":13,", want: "0 line warning", note: "shifted"},
		{name: "last line not whole", old: `"status":400}}` + "\n", new: `"status":400}}` + "\n" + `{"n":13,`, want: "0 line warning"},
		{name: "going on", old: checkedLog[strings.LastIndex(checkedLog, "\n{")+1:], want: "11 end warning"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.old != "" && !strings.Contains(checkedLog, c.old) {
				t.Fatalf("the log has no %s", c.old)
			}
			text := strings.Replace(checkedLog, c.old, c.new, 1)
			faults, stats := checkText(t, text)
			var got []string
			told := map[int64]bool{} // of a line's fields
			for _, f := range faults {
				got = append(got, found(f))
				told[f.N] = told[f.N] || !f.Warning && (f.Rule == RuleSchema || f.Rule == RuleForm || f.Rule == RuleLine)
			}
			if s := strings.Join(got, ","); s != c.want {
				t.Errorf("got  %s\nwant %s\n%+v", s, c.want, faults)
			}
			warnings := int64(strings.Count(c.want, " warning"))
			if stats.Warnings != warnings || stats.Faults != int64(len(faults))-warnings {
				t.Errorf("%+v", stats)
			}
			if c.note != "" {
				return
			}
			for line := range strings.Lines(text) {
				h, _, ok := parseHead([]byte(line))
				if !ok {
					continue
				}
				doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
				if err == nil {
					err = schema.Validate(doc)
				}
				if (err != nil) != told[h.N] {
					t.Errorf("line %d: the schema says %v", h.N, err)
				}
			}
		})
	}
}

// The files of a set are one log.
func TestCheckSet(t *testing.T) {
	lines := strings.SplitAfter(checkedLog, "\n")
	start := func(n int, open string) string {
		s := strings.Replace(lines[0], `"n":1,`, fmt.Sprintf(`"n":%d,`, n), 1)
		if open != "" {
			s = strings.Replace(s, "}}\n", "},\"open\":["+open+"]}\n", 1)
		}
		return s
	}
	renumber := func(from int, by int64) string {
		var b strings.Builder
		for _, line := range lines[from : len(lines)-1] {
			l, err := ParseLine([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			l.N += by
			if l.Open != nil {
				l.ID = l.N
			} else if l.ID > int64(from) {
				l.ID += by
			}
			again, _ := AppendLine(nil, l)
			b.Write(again)
		}
		return b.String()
	}
	older := strings.Join(lines[:8], "")
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"rotated", map[string]string{"network.1.jsonl": older, LiveName: start(9, "7,8") + renumber(8, 1)}, ""},
		{"one that is not named", map[string]string{"network.1.jsonl": older, LiveName: start(9, "7") + renumber(8, 1)}, "network.jsonl 9 start open"},
		{"one that has ended", map[string]string{"network.1.jsonl": older, LiveName: start(9, "2,7,8") + renumber(8, 1)}, "network.jsonl 9 start open[0]"},
		{"without the older file", map[string]string{LiveName: start(9, "7,8") + renumber(8, 1)}, ""},
		{"cut to nothing", map[string]string{LiveName: start(8, "7,8") + renumber(8, 0)}, ""},
		{"no start", map[string]string{"network.1.jsonl": older, LiveName: renumber(8, 0)}, "network.jsonl 9 start event"},
		{"a file between is gone", map[string]string{"network.1.jsonl": strings.Join(lines[:2], ""), "network.9.jsonl": start(9, "2,7,8") + renumber(8, 1)},
			"network.9.jsonl 9 number n,network.1.jsonl 2 end warning"},
		{"an older file that is cut", map[string]string{"network.1.jsonl": older[:len(older)-3], LiveName: start(8, "7") + renumber(7, 1)}, "network.1.jsonl 0 line warning"},
		{"begun again", map[string]string{LiveName: strings.Join(lines[:2], "") + checkedLog}, "network.jsonl 1 number n,network.jsonl 2 end warning"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				write(t, filepath.Join(dir, name), text)
			}
			faults, _ := checkFile(t, filepath.Join(dir, LiveName))
			var got []string
			for _, f := range faults {
				got = append(got, f.File+" "+found(f))
			}
			if s := strings.Join(got, ","); s != c.want {
				t.Errorf("got  %s\nwant %s\n%+v", s, c.want, faults)
			}
		})
	}
}

// A line of 100 MB is checked in the memory of one.
func TestCheckLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 100 MB")
	}
	path := filepath.Join(t.TempDir(), LiveName)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := strings.SplitAfter(checkedLog, "\n")
	const size = 75 << 20
	parts := []io.Reader{strings.NewReader(lines[0]),
		strings.NewReader(`{"n":2,"event":"open","id":2,"t":"2026-01-02T03:04:05.000100Z","kind":"exchange","via":"plain","client":"127.0.0.1:2","request":{"method":"POST","url":"http://a.test/","version":"HTTP/1.1","body":{"size":` + fmt.Sprint(size) + `,"base64":"`),
		io.LimitReader(endlessA{}, size/3*4),
		strings.NewReader("\"}}}\nx" + strings.Repeat("y", 1<<20) + "\n"),
		strings.NewReader(strings.ReplaceAll(strings.Replace(lines[11], `"n":12`, `"n":3`, 1), `"id":11,"t":"2026-01-02T03:04:05.000300Z"`, `"id":2,"t":"2026-01-02T03:04:05.000100Z"`))}
	if _, err := io.Copy(f, io.MultiReader(parts...)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	faults, stats := checkFile(t, path)
	runtime.ReadMemStats(&after)
	if len(faults) != 1 || faults[0].Rule != RuleLine || stats.Lines != 3 || stats.Unreadable != 1 {
		t.Errorf("%+v %+v", stats, faults)
	}
	limit := uint64(size*4/3 + 16<<20)
	if raceEnabled {
		limit += size * 4 / 3 // with it append makes what slices.Grow only makes room for
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > limit {
		t.Errorf("%d bytes were allocated", n)
	}
}

type endlessA struct{}

func (endlessA) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("A"), len(p))), nil }

// Lines that are none of a log's are told of one by one, and not held.
func TestCheckGarbage(t *testing.T) {
	text := checkedLog + strings.Repeat("\n", 1000)
	faults, stats := checkText(t, text)
	if len(faults) != 1000 || stats.Unreadable != 1000 || stats.Faults != 1000 {
		t.Errorf("%d faults, %+v", len(faults), stats)
	}
	offsets := slices.IsSortedFunc(faults, func(a, b Fault) int { return int(a.Offset - b.Offset) })
	if !offsets || faults[0].Offset != int64(len(checkedLog)) {
		t.Errorf("they are at %d …", faults[0].Offset)
	}
}

func TestCheckEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), LiveName)
	write(t, path, strings.ReplaceAll(checkedLog, `"pid":7`, `"pid":0`)+"x\ny\n")
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	stop := errors.New("enough")
	seen := 0
	_, err = Check(log, CheckOptions{Fault: func(Fault) error { seen++; return stop }})
	if err != stop || seen != 1 {
		t.Errorf("%v after %d faults", err, seen)
	}
	var total int64
	_, err = Check(log, CheckOptions{Progress: func(done, of int64) error { total = of; return context.Canceled }})
	if info, _ := os.Stat(path); err != context.Canceled || total != info.Size() {
		t.Errorf("%v, %d bytes in all", err, total)
	}
}

// FuzzCheck checks files of any bytes: what can be told is told, and a log that
// has no fault is made of lines.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(checkedLog))
	for _, l := range everyLine() {
		b, _ := AppendLine(nil, l)
		f.Add(append([]byte(checkedLog[:strings.IndexByte(checkedLog, '\n')+1]), b...))
	}
	f.Add([]byte(strings.ReplaceAll(checkedLog, "\"", "'")))
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
		var told int64
		stats, err := Check(log, CheckOptions{Fault: func(f Fault) error {
			told++
			if f.Rule == "" || f.Text == "" || len(f.Text) > 500 || !printableASCII(f.Text+f.Field) || f.Offset > int64(len(content)) {
				t.Fatalf("%+v", f)
			}
			return nil
		}})
		if err != nil || told != stats.Faults+stats.Warnings {
			t.Fatalf("%v, %d told of %+v", err, told, stats)
		}
		if lines := int64(bytes.Count(content, []byte("\n"))); stats.Lines+stats.Unreadable != lines {
			t.Fatalf("%d lines and %d unreadable of %d", stats.Lines, stats.Unreadable, lines)
		}
		if told > 0 {
			return
		}
		for line := range bytes.Lines(content) {
			if _, err := ParseLine(line); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// BenchmarkCheck checks a log of small lines and one of long bodies.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []int{3 << 10, 3 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), LiveName)
			body := Bytes(bytes.Repeat([]byte("abc"), size/3))
			var log bytes.Buffer
			log.WriteString(checkedLog[:strings.IndexByte(checkedLog, '\n')+1])
			for n := int64(2); log.Len() < 32<<20; n += 2 {
				open := &Open{Kind: KindExchange, Via: ViaPlain, Client: "127.0.0.1:2", Request: everyLine()[1].Open.Request}
				end := &End{Response: &Response{Status: 200, Version: "HTTP/1.1", Headers: open.Request.Headers, Complete: true,
					Body: &Body{Size: int64(len(body)), Kept: body}}, Timings: NoTimings(0)}
				o, _ := AppendLine(nil, &Line{Head: Head{N: n, ID: n, Event: EventOpen, Time: at}, Open: open})
				e, _ := AppendLine(nil, &Line{Head: Head{N: n + 1, ID: n, Event: EventEnd, Time: at}, End: end})
				log.Write(o)
				log.Write(e)
			}
			write(b, path, log.String())
			b.SetBytes(int64(log.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if faults, _ := checkFile(b, path); len(faults) > 0 {
					b.Fatal(faults[0])
				}
			}
		})
	}
}
