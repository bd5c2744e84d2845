package har

import (
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

func TestQuery(t *testing.T) {
	got := query("a=1&b=x+y%20z&a=%C3%A9&bare&=v&&c=%zz%4&d=%2&e=a=b")
	want := []Param{{Name: "a", Value: "1"}, {Name: "b", Value: "x y z"}, {Name: "a", Value: "é"}, {Name: "bare"}, {Value: "v"},
		{Name: "c", Value: "%zz%4"}, {Name: "d", Value: "%2"}, {Name: "e", Value: "a=b"}}
	if diff := jsonDiff(got, want); diff != "" {
		t.Error(diff)
	}
}

const multipart = "preamble\r\n--XX\r\n" +
	"Content-Disposition: form-data; name=\"title\"\r\n\r\nA \"quoted\"\r\nvalue\r\n--XX \r\n" +
	"Content-Disposition: form-data; name=\"f\"; filename=\"a;b.txt\"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nline\r\n--XXish\r\n\r\n--XX\r\n" +
	"content-disposition: form-data; name=\"g\"; filename=\"x\"; filename*=UTF-8''na%C3%AFve+.png\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n--XX\r\n" +
	"Content-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--XX--\r\nepilogue"

func TestMultipart(t *testing.T) {
	all := []Param{
		{Name: "title", Value: "A \"quoted\"\r\nvalue"},
		{Name: "f", Value: "line\r\n--XXish\r\n", FileName: "a;b.txt", ContentType: "text/plain; charset=utf-8"},
		{Name: "g", Value: "\x89PNG", FileName: "naïve+.png", ContentType: "image/png"},
		{Name: "empty"},
	}
	all[1].Value = "line" // a line that begins with the delimiter is one
	got := formParams([]byte(multipart), `Multipart/Form-Data; boundary="XX"`)
	if len(got) < 4 || got[0] != all[0] || got[1] != all[1] {
		t.Fatalf("got %q", got)
	}
	for i := range len(multipart) {
		// Cut anywhere it gives some of the parts and no panic.
		for _, p := range formParams([]byte(multipart[:i]), "multipart/form-data; boundary=XX") {
			if p.Name == "" {
				t.Fatalf("cut at %d: a part without a name", i)
			}
		}
	}
	bare := "--b\nContent-Disposition: form-data; name=a\n\n1\n--b--"
	if diff := jsonDiff(formParams([]byte(bare), "multipart/form-data; boundary=b"), []Param{{Name: "a", Value: "1"}}); diff != "" {
		t.Error(diff)
	}
	for value, want := range map[string]string{
		"utf-8''na%C3%AFve+.png": "naïve+.png", "ISO-8859-1'en'caf%E9": "café", "Shift_JIS''%93%FA": "日", // RFC 8187 and its forerunner
		"utf-8''%ff": "", "nonsense''x": "", "UTF-8'x": "", "": "",
	} {
		if got := extendedValue(value); got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
	if got := formParams([]byte(bare), "multipart/form-data"); got != nil {
		t.Errorf("without a boundary: %q", got)
	}
}

func TestEntryURL(t *testing.T) {
	tests := []struct {
		open      netlog.Open
		webSocket bool
		want      string
	}{
		{netlog.Open{Request: &netlog.Request{Method: "GET", URL: "https://h.example/a%2Fb?x=[1]&y='z'#frag"}}, false, "https://h.example/a%2Fb?x=[1]&y='z'"},
		{netlog.Open{Request: &netlog.Request{Method: "GET", URL: "http://h.example/a b\x00é|{"}}, false, "http://h.example/a%20b%00%C3%A9%7C%7B"},
		{netlog.Open{Request: &netlog.Request{Method: "GET", URL: "https://h.example/chat?x"}}, true, "wss://h.example/chat?x"},
		{netlog.Open{Request: &netlog.Request{Method: "GET", URL: "http://h.example/chat"}}, true, "ws://h.example/chat"},
		{netlog.Open{Request: &netlog.Request{Method: "GET", URL: "http://h.example?x"}}, false, "http://h.example?x"},
		{netlog.Open{Request: &netlog.Request{Method: "GET", URL: "h.example"}}, false, "http://h.example/"},
		{netlog.Open{Request: &netlog.Request{Method: "CONNECT", URL: "h.example"}}, false, "https://h.example:443/"},
		{netlog.Open{Request: &netlog.Request{Method: "CONNECT", URL: "h.example:8443"}}, false, "https://h.example:8443/"},
		{netlog.Open{Kind: netlog.KindTunnel, Target: "[::1]:443"}, false, "https://[::1]:443/"},
		{netlog.Open{Kind: netlog.KindTunnel, Target: "[::1]"}, false, "https://[::1]:443/"},
		{netlog.Open{Kind: netlog.KindTunnel, Target: "h.example:22"}, false, "https://h.example:22/"},
		{netlog.Open{Request: &netlog.Request{URL: "HTTPS://H/X"}}, false, "https://H/X"},
		{netlog.Open{Request: &netlog.Request{URL: "://h/x"}}, false, "http://unknown.invalid//h/x"},
		{netlog.Open{Request: &netlog.Request{URL: "http://[::1/x?y"}}, false, "http://unknown.invalid/x?y"},
		{netlog.Open{Request: &netlog.Request{URL: "http://[fe80::1]:8080/"}}, false, "http://[fe80::1]:8080/"},
		{netlog.Open{Request: &netlog.Request{URL: "http://h:port/"}}, false, "http://unknown.invalid/"},
		{netlog.Open{Request: &netlog.Request{URL: "http://h%20x/"}}, false, "http://unknown.invalid/"},
		{netlog.Open{Request: &netlog.Request{URL: "http://\u00fc.example:80/"}}, false, "http://%C3%BC.example:80/"},
		{netlog.Open{Request: &netlog.Request{}}, false, "http://unknown.invalid/"},
		{netlog.Open{}, false, "http://unknown.invalid/"},
	}
	for _, test := range tests {
		if got := entryURL(&test.open, test.webSocket); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.open.Request, got, test.want)
		}
	}
}

func TestResourceType(t *testing.T) {
	h := func(pairs ...string) *netlog.Request {
		r := &netlog.Request{Method: "GET"}
		for i := 0; i < len(pairs); i += 2 {
			r.Headers = append(r.Headers, netlog.Header{Name: pairs[i], Value: pairs[i+1]})
		}
		return r
	}
	preflight := h("Access-Control-Request-Method", "PUT")
	preflight.Method = "OPTIONS"
	tests := []struct {
		req  *netlog.Request
		typ  string
		want string
	}{
		{nil, "", "other"},
		{h(), "", "other"},
		{h("sec-fetch-dest", "document"), "", "document"},
		{h("Sec-Fetch-Dest", "iframe"), "", "document"},
		{h("Sec-Fetch-Dest", "style"), "", "stylesheet"},
		{h("Sec-Fetch-Dest", "empty"), "text/html", "fetch"},
		{h("Sec-Fetch-Dest", "empty", "X-Requested-With", "XMLHttpRequest"), "", "xhr"},
		{h("Sec-Fetch-Dest", "empty", "Accept", "text/event-stream"), "", "eventsource"},
		{h("Sec-Fetch-Dest", "empty", "Content-Type", "text/ping"), "", "ping"},
		{h("Sec-Fetch-Dest", "document", "Sec-Purpose", "prefetch;prerender"), "", "prefetch"},
		{h("Sec-Fetch-Dest", "serviceworker"), "", "script"},
		{h("Sec-Fetch-Dest", "webidentity"), "", "other"},
		{h("Accept", "text/html,*/*"), "application/json", "document"},
		{h("Accept", "image/avif,*/*"), "", "image"},
		{h("Accept", "*/*"), "text/javascript; charset=utf-8", "script"},
		{h("Accept", "*/*"), "font/woff2", "font"},
		{h("Accept", "*/*", "Referer", "http://h/"), "application/json", "fetch"},
		{h("Accept", "*/*"), "application/json", "other"},
		{preflight, "", "preflight"},
	}
	for _, test := range tests {
		resp := &netlog.Response{Headers: []netlog.Header{{Name: "Content-Type", Value: test.typ}}}
		if got := resourceType(test.req, resp, false); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.req, got, test.want)
		}
	}
	if got := resourceType(h("Upgrade", "websocket"), nil, true); got != "websocket" {
		t.Errorf("got %q, want websocket", got)
	}
}

func TestCommonName(t *testing.T) {
	tests := []struct{ in, want string }{
		{"CN=h.example,O=Ex\\, Inc.,C=NO", "h.example"},
		{"O=Ex\\, CN=not this,CN=a\\,b\\C3\\A9", "a,bé"},
		{"C=NO+CN=x", "x"},
		{"O=only", "O=only"},
		{"", ""}, {"CN=\\", "\\"},
	}
	for _, test := range tests {
		if got := commonName(test.in); got != test.want {
			t.Errorf("%q: got %q, want %q", test.in, got, test.want)
		}
	}
}

func TestEventMessages(t *testing.T) {
	began := time.UnixMicro(1_000_000)
	body := "\ufeff: a comment\ndata: one\n\nevent: tick\r\nid: 7\r\ndata:two\r\ndata\r\ndata: 2\r\n\r\nretry: 5\rdata: three\r\r\nid:\x00\n\ndata: cut"
	chunks := []netlog.Chunk{{Offset: 0, Micros: 10}, {Offset: 20, Micros: 200}, {Offset: 40, Micros: 3000}}
	want := []EventSourceMessage{
		{Time: 1_000_200, EventName: "message", Data: "one"},
		{Time: 1_003_000, EventName: "tick", EventID: "7", Data: "two\n\n2"},
		{Time: 1_003_000, EventName: "message", EventID: "7", Data: "three"},
	}
	if diff := jsonDiff(eventMessages([]byte(body), chunks, nil, began), want); diff != "" {
		t.Error(diff)
	}
	for i := range len(body) {
		got := eventMessages([]byte(body[:i]), chunks, nil, began)
		if len(got) > 3 {
			t.Fatalf("cut at %d: %d events", i, len(got))
		}
	}
}
