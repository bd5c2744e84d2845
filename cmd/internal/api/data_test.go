package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// rpc holds what the data plane answers, byte for byte.
func (w *world) rpc(body, want string) {
	w.t.Helper()
	answer, b := w.call("POST", "/agentenv", body)
	if answer.StatusCode != 200 || string(b) != want {
		w.t.Errorf("%.200s\nis answered with %d %s\nwant %s", body, answer.StatusCode, b, want)
	}
	if got := answer.Header.Get("Content-Type"); want != "" && got != "application/json" {
		w.t.Errorf("%.200s: Content-Type %q", body, got)
	}
}

func invalid(id, detail string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid Request","data":{"detail":%s}}}`, id, quoted(detail))
}

func badParams(id, detail string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Invalid params","data":{"code":"invalid_request","detail":%s}}}`, id, quoted(detail))
}

func noJSON(detail string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":{"detail":%s}}}`, quoted(detail))
}

func noMethod(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestTheDataPlaneSpeaksJSONRPC(t *testing.T) {
	w := newWorld(t, "")
	const reset = `{"jsonrpc":"2.0","id":1,"result":{}}`
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":"data/reset","params":{}}`, reset)
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":"data/reset"}`, reset)
	w.rpc(` {"params":{"later":1},"method":"data/reset","extra":[],"id":1,"jsonrpc":"2.0"} `, reset)
	for _, id := range []string{`"a"`, `0`, `-1`, `1.5`, `null`, `"\u00e9"`, `12345678901234567890`} {
		w.rpc(`{"jsonrpc":"2.0","id":`+id+`,"method":"data/reset"}`, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
		w.rpc(`{"jsonrpc":"2.0","id":`+id+`,"method":"data/drop"}`, noMethod(id))
	}
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":"Data/Reset"}`, noMethod("1"))
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":""}`, noMethod("1"))

	w.rpc(``, noJSON("the body is not JSON"))
	w.rpc(`{`, noJSON("the body is not JSON"))
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":"data/reset"}x`, noJSON("the body is not JSON"))
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":"data/`+"\n"+`reset"}`, noJSON("the body is not JSON"))

	w.rpc(`1`, invalid("null", "a request is an object"))
	w.rpc(`"data/reset"`, invalid("null", "a request is an object"))
	w.rpc(`null`, invalid("null", "a request is an object"))
	w.rpc(`{}`, invalid("null", `jsonrpc is not "2.0"`))
	w.rpc(`{"id":1,"method":"data/reset"}`, invalid("1", `jsonrpc is not "2.0"`))
	w.rpc(`{"jsonrpc":"1.0","id":1,"method":"data/reset"}`, invalid("1", `jsonrpc is not "2.0"`))
	w.rpc(`{"jsonrpc":2.0,"id":1,"method":"data/reset"}`, invalid("1", `jsonrpc is not "2.0"`))
	w.rpc(`{"JSONRPC":"2.0","id":1,"method":"data/reset"}`, invalid("1", `jsonrpc is not "2.0"`))
	w.rpc(`{"jsonrpc":"2.0","id":1}`, invalid("1", "method is not a string"))
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":null}`, invalid("1", "method is not a string"))
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":["data/reset"]}`, invalid("1", "method is not a string"))
	w.rpc(`{"jsonrpc":"2.0","id":{},"method":"data/reset"}`, invalid("null", "id is neither a string nor a number"))
	w.rpc(`{"jsonrpc":"2.0","id":[1],"method":"data/reset"}`, invalid("null", "id is neither a string nor a number"))
	w.rpc(`{"jsonrpc":"2.0","id":true,"method":"data/reset"}`, invalid("null", "id is neither a string nor a number"))
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":"data/reset","params":"x"}`, invalid("1", "params are neither an object nor an array"))
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":"data/reset","params":null}`, invalid("1", "params are neither an object nor an array"))
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":"data/reset","params":[1]}`, badParams("1", "params are given by name"))
}

func TestTheDataPlaneAnswersNoNotification(t *testing.T) {
	w := newWorld(t, "")
	w.rpc(`{"jsonrpc":"2.0","method":"data/reset"}`, "")
	w.rpc(`{"jsonrpc":"2.0","method":"data/drop"}`, "")
	w.rpc(`{"jsonrpc":"2.0","method":"data/get"}`, "")
	w.rpc(`[{"jsonrpc":"2.0","method":"data/reset"},{"jsonrpc":"2.0","method":"data/reset"}]`, "")
	w.rpc(`{"jsonrpc":"2.0"}`, invalid("null", "method is not a string")) // that is none
}

func TestTheDataPlaneTakesBatches(t *testing.T) {
	w := newWorld(t, "")
	w.rpc(`[{"jsonrpc":"2.0","id":1,"method":"data/reset"}]`, `[{"jsonrpc":"2.0","id":1,"result":{}}]`)
	w.rpc(`[1,{"jsonrpc":"2.0","method":"data/reset"},{"jsonrpc":"2.0","id":"b","method":"data/get"},[],{"jsonrpc":"2.0","id":3,"method":"x"}]`,
		"["+invalid("null", "a request is an object")+`,{"jsonrpc":"2.0","id":"b","result":{"parts":[]}},`+invalid("null", "a request is an object")+","+noMethod("3")+"]")
	w.rpc(`[]`, invalid("null", "a batch has at least one request"))
	w.rpc(`[1,`, noJSON("the body is not JSON"))
	w.rpc("["+strings.Repeat("1,", maxBatch)+"1]", invalid("null", "the batch has too many requests"))
}

func TestDataAddPassesOverAnExportAndRefusesAllElse(t *testing.T) {
	w := newWorld(t, "")
	add := func(parts string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"data/add","params":{"parts":` + parts + `}}`
	}
	const added = `{"jsonrpc":"2.0","id":1,"result":{}}`
	const har, log = `{"kind":"file","file":{"name":"network.har","mimeType":"application/json","bytes":"e30="}}`, `{"kind":"file","file":{"name":"browser-log.jsonl","uri":"file:///x"},"metadata":{}}`
	w.rpc(add("["+har+"]"), added)
	w.rpc(add("["+har+","+log+"]"), added)

	other := func(i int) string {
		return badParams("1", fmt.Sprintf("parts[%d] is neither network.har nor browser-log.jsonl, and nothing else can be added", i))
	}
	w.rpc(add(`[`+har+`,{"kind":"file","file":{"name":"network.har.gz","bytes":""}}]`), other(1))
	for _, part := range []string{
		`{"kind":"file","file":{"name":"../network.har","bytes":""}}`, `{"kind":"file","file":{"bytes":""}}`, `{"kind":"file"}`, `{"kind":"data","data":{}}`,
		`{"kind":"text","text":"network.har"}`, `{"kind":1}`, `{}`, `[]`, `null`, `"network.har"`, `{"kind":"file","file":{"name":"NETWORK.HAR"}}`,
	} {
		w.rpc(add("["+part+"]"), other(0))
	}
	w.rpc(add(`[]`), badParams("1", "parts has no part"))
	for _, parts := range []string{`{}`, `null`, `"x"`} {
		w.rpc(add(parts), badParams("1", "parts is not an array"))
	}
	w.rpc(`{"jsonrpc":"2.0","id":1,"method":"data/add"}`, badParams("1", "parts is not an array"))
}

// An export can be loaded back, however large it is, and what is no call costs
// no memory either.
func TestTheDataPlaneTakesNoMemoryForALargeBody(t *testing.T) {
	w := newWorld(t, "")
	// What counts is what is held, and not how late the collector is on a busy machine.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	for _, c := range []struct {
		name, begin, fill, end, want string
	}{
		{"an export", `{"jsonrpc":"2.0","id":1,"method":"data/add","params":{"parts":[{"kind":"file","file":{"bytes":"`, "QUJD", `","name":"network.har"}}]}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"escapes", `{"jsonrpc":"2.0","id":1,"x":"`, `\"\u12aB`, `","method":"data/reset"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"brackets", "", "[", "", invalid("null", "the body is too large")},
		{"members", `{"a":1`, `,"a":1`, `}`, invalid("null", "the body is too large")},
		{"white space", "", " ", "1", invalid("null", "the body is too large")},
		{"garbage", "", "\x00", "", invalid("null", "the body is too large")},
		{"half a string", `{"a":"`, "xx", "", noJSON("the body is not JSON")},
	} {
		size := 20 << 20
		if c.name == "an export" || c.name == "brackets" {
			size = 100 << 20
		}
		before := peak(t)
		body := io.MultiReader(strings.NewReader(c.begin), &repeated{c.fill, size - size%len(c.fill)}, strings.NewReader(c.end))
		answer, b, err := w.try("POST", "/agentenv", body)
		if err != nil || answer.StatusCode != 200 || string(b) != c.want {
			t.Errorf("%s: %v, %s, %v", c.name, answer, b, err)
		}
		if grown := peak(t) - before; grown > 16<<20 {
			t.Errorf("%s took %d MiB", c.name, grown>>20)
		}
	}
}

// peak is how much memory the process has had from the system.
func peak(t *testing.T) int64 {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// repeated is a text again and again, so many bytes of it.
type repeated struct {
	text string
	left int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := 0
	for n+len(r.text) <= len(p) && r.left > 0 {
		n += copy(p[n:], r.text)
		r.left -= len(r.text)
	}
	return n, nil
}

// export is the HAR in an answer of data/get.
func export(t *testing.T, answer []byte) []byte {
	t.Helper()
	var got struct {
		Result struct {
			Parts []struct {
				Kind string
				File struct{ Name, MimeType, Bytes string }
			}
		}
	}
	if err := json.Unmarshal(answer, &got); err != nil || len(got.Result.Parts) != 1 {
		t.Fatalf("%.500s: %v", answer, err)
	}
	part := got.Result.Parts[0]
	if part.Kind != "file" || part.File.Name != "network.har" || part.File.MimeType != "application/json" {
		t.Errorf("%+v", part)
	}
	b, err := base64.StdEncoding.Strict().DecodeString(part.File.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDataGetExportsTheLogAsAHAR(t *testing.T) {
	w := newWorld(t, "")
	const get = `{"jsonrpc":"2.0","id":"x","method":"data/get","params":{}}`
	w.rpc(get, `{"jsonrpc":"2.0","id":"x","result":{"parts":[]}}`) // there is no log yet
	for _, n := range []int64{1, 2, 3, 4, 2000} {
		w.write(w.log, lines(1, n, 0))
		_, b := w.call("POST", "/agentenv", get)
		har := export(t, b)
		if _, plain := w.call("GET", "/network.har", ""); !bytes.Equal(har, plain) || !json.Valid(har) {
			t.Errorf("data/get of %d lines and /network.har differ", n)
		}
		// The log is a record: a reset leaves it.
		w.call("POST", "/agentenv", `{"jsonrpc":"2.0","id":1,"method":"data/reset"}`)
		if _, again := w.call("POST", "/agentenv", get); !bytes.Equal(again, b) {
			t.Errorf("data/reset changed what data/get gives of %d lines", n)
		}
		w.rpc(`{"jsonrpc":"2.0","id":1,"method":"data/add","params":`+strings.TrimSuffix(strings.TrimPrefix(string(b), `{"jsonrpc":"2.0","id":"x","result":`), "}")+`}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`)
	}
}

func TestDataGetOfWhatIsNoLog(t *testing.T) {
	w := newWorld(t, "")
	w.write(w.log, "something else\n")
	_, b := w.call("POST", "/agentenv", `{"jsonrpc":"2.0","id":1,"method":"data/get"}`)
	if !strings.HasPrefix(string(b), `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,`) || !strings.Contains(string(b), `"data":{"code":"get_failed"`) {
		t.Errorf("%s", b)
	}
	w.fails(500, "extension_failed", "GET", "/network.har", "")
	if err := os.Remove(w.log); err != nil {
		t.Fatal(err)
	}
	w.fails(404, "not_found", "GET", "/network.har", "")
}

func FuzzShortener(f *testing.F) {
	f.Add(`{"a":"b\"\u00e9","c":[1,"` + strings.Repeat("x", keptString-3) + `\u1234yz"]}`)
	f.Add(strings.Repeat(`"`, 3) + `\`)
	f.Fuzz(func(t *testing.T, text string) {
		// A long string somewhere, and everything cut where a read may end.
		for _, in := range []string{text, `["` + strings.Repeat("x", keptString-5) + text} {
			whole, err := io.ReadAll(newShortener(strings.NewReader(in)))
			if err != nil {
				t.Fatal(err)
			}
			cut, err := io.ReadAll(newShortener(&oneByte{in}))
			if err != nil || !bytes.Equal(whole, cut) {
				t.Fatalf("%q cut at every byte is %q, not %q", in, cut, whole)
			}
			if len(in) <= keptString && string(whole) != in {
				t.Fatalf("%q became %q", in, whole)
			}
			if json.Valid([]byte(in)) && !json.Valid(whole) {
				t.Fatalf("%q became %q", in, whole)
			}
		}
	})
}

type oneByte struct{ left string }

func (o *oneByte) Read(p []byte) (int, error) {
	if o.left == "" || len(p) == 0 {
		return 0, io.EOF
	}
	p[0], o.left = o.left[0], o.left[1:]
	return 1, nil
}
