package har

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// A fixture is a log made line by line.
type fixture struct {
	t   testing.TB
	buf bytes.Buffer
	n   int64
	now time.Time
}

// time0 is when a fixture begins.
var time0 = time.Date(2026, 3, 4, 5, 6, 7, 89012000, time.UTC)

func newFixture(t testing.TB) *fixture {
	f := &fixture{t: t, now: time0}
	f.start(netlog.Limits{RequestBody: 10 << 20, ResponseBody: 1 << 20, Types: "text"})
	return f
}

func (f *fixture) line(l netlog.Line) int64 {
	f.t.Helper()
	f.n++
	f.now = f.now.Add(1234 * time.Microsecond)
	l.N = f.n
	if l.Time.IsZero() {
		l.Time = f.now
	}
	if l.Event == netlog.EventOpen {
		l.ID = f.n
	}
	b, err := netlog.AppendLine(nil, &l)
	if err != nil {
		f.t.Fatal(err)
	}
	f.buf.Write(bytes.TrimSuffix(b, []byte("\n")))
	f.buf.WriteByte('\n')
	return f.n
}

func (f *fixture) start(limits netlog.Limits) {
	f.line(netlog.Line{Head: netlog.Head{Event: netlog.EventStart}, Start: &netlog.Start{
		Format: netlog.Format, Program: "agentenv-netlog", Version: "test", PID: 100 + int(f.n), Mode: "proxy", Limits: limits,
	}})
}

func (f *fixture) open(o *netlog.Open) int64 {
	if o.Kind == "" {
		o.Kind = netlog.KindExchange
	}
	if o.Via == "" {
		o.Via = netlog.ViaMITM
	}
	if o.Client == "" {
		o.Client = "127.0.0.1:50000"
	}
	o.Connection = 1
	return f.line(netlog.Line{Head: netlog.Head{Event: netlog.EventOpen, Time: o.Time}, Open: o})
}

func (f *fixture) answer(id int64, r *netlog.Response) {
	f.line(netlog.Line{Head: netlog.Head{Event: netlog.EventAnswer, ID: id}, Answer: &netlog.Answer{Response: r}})
}

func (f *fixture) message(id int64, m *netlog.Message) {
	f.line(netlog.Line{Head: netlog.Head{Event: netlog.EventMessage, ID: id}, Message: m})
}

func (f *fixture) end(id int64, e *netlog.End) {
	f.line(netlog.Line{Head: netlog.Head{Event: netlog.EventEnd, ID: id}, End: e})
}

// exchange writes a whole exchange.
func (f *fixture) exchange(req *netlog.Request, resp *netlog.Response) int64 {
	if resp != nil {
		resp.Complete = true
	}
	id := f.open(&netlog.Open{Request: req})
	f.end(id, &netlog.End{Response: resp, Timings: netlog.Timings{
		Blocked: 100, DNS: netlog.Absent, Connect: netlog.Absent, TLS: netlog.Absent, Send: 20, Wait: 3003, Receive: 456, Total: 3579,
	}})
	return id
}

// log writes the lines to a file and opens it.
func (f *fixture) log() *netlog.Log {
	f.t.Helper()
	return openBytes(f.t, f.buf.Bytes())
}

func openBytes(t testing.TB, b []byte) *netlog.Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "network.jsonl")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := netlog.OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// convert makes the HAR, checks it, and reads it back.
func (f *fixture) convert() (Log, Stats) {
	f.t.Helper()
	return convertLog(f.t, f.log(), Options{Version: "test"})
}

func convertLog(t testing.TB, log *netlog.Log, o Options) (Log, Stats) {
	t.Helper()
	l, stats, found := convertAndCheck(t, log, o)
	for _, fault := range found {
		t.Error(fault)
	}
	return l, stats
}

// convertAndCheck converts a log and gives what faults the HAR has.
func convertAndCheck(t testing.TB, log *netlog.Log, o Options) (Log, Stats, []string) {
	t.Helper()
	var out bytes.Buffer
	stats, err := Convert(log, &out, o)
	if err != nil {
		t.Fatal(err)
	}
	var h HAR
	if err := json.Unmarshal(out.Bytes(), &h); err != nil {
		t.Fatal(err)
	}
	if h.Log.Stats == nil || *h.Log.Stats != stats || h.Log.Unreadable != stats.Unreadable {
		t.Errorf("the HAR's stats %+v are not the returned %+v", h.Log.Stats, stats)
	}
	return h.Log, stats, faults(out.Bytes())
}

// one converts a log of one exchange.
func one(t testing.TB, req *netlog.Request, resp *netlog.Response) Entry {
	t.Helper()
	f := newFixture(t)
	f.exchange(req, resp)
	log, _ := f.convert()
	if len(log.Entries) != 1 {
		t.Fatalf("got %d entries, want 1", len(log.Entries))
	}
	return log.Entries[0]
}

// h is a list of header fields, of names and values in turn.
func h(pairs ...string) []netlog.Header {
	var list []netlog.Header
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, netlog.Header{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

func get(url string) *netlog.Request {
	return &netlog.Request{Method: "GET", URL: url, Version: "HTTP/1.1", HeaderBytes: 321, Headers: []netlog.Header{{Name: "Host", Value: "h"}}}
}

func post(contentType string, body []byte) *netlog.Request {
	r := get("https://shop.example/cart")
	r.Method = "POST"
	r.Headers = append(r.Headers, netlog.Header{Name: "Content-Type", Value: contentType})
	r.Body = kept(body)
	return r
}

func ok(contentType string, body []byte, headers ...netlog.Header) *netlog.Response {
	r := &netlog.Response{Status: 200, Reason: "OK", Version: "HTTP/1.1", HeaderBytes: 123, Headers: headers, Body: kept(body)}
	if contentType != "" {
		r.Headers = append(r.Headers, netlog.Header{Name: "Content-Type", Value: contentType})
	}
	return r
}

// kept is a body that was kept whole.
func kept(b []byte) *netlog.Body {
	if len(b) == 0 {
		return &netlog.Body{}
	}
	sum := sha256.Sum256(b)
	return &netlog.Body{Size: int64(len(b)), SHA256: hex.EncodeToString(sum[:]), Kept: netlog.Bytes(b)}
}
