package har

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentenv/netlog/internal/webarena"
	"github.com/agentenv/netlog/netlog"
)

// shop is the site that the tasks of testdata/webarena are about.
const shop = "http://shop.test:7770"

// visit writes a log of a browser that signs in, saves an item, uploads a file,
// loses a request and goes to a page of shop, while it asks for updates.
func visit(f *fixture) {
	browser := func(method, path, referer string, more ...string) *netlog.Request {
		fields := h("Host", "shop.test:7770", "Accept", "*/*", "Sec-Fetch-Dest", "empty", "Sec-Fetch-Mode", "cors")
		if referer != "" {
			fields = append(fields, netlog.Header{Name: "Referer", Value: shop + referer})
		}
		return &netlog.Request{Method: method, URL: shop + path, Version: "HTTP/1.1", Headers: append(fields, h(more...)...), Body: &netlog.Body{}}
	}
	page := func(method, path, referer string, more ...string) *netlog.Request {
		r := browser(method, path, referer, more...)
		r.Headers = append(h("Host", "shop.test:7770", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Dest", "document",
			"Sec-Fetch-Mode", "navigate", "Sec-Fetch-User", "?1"), r.Headers[4:]...)
		return r
	}
	posts := func(r *netlog.Request, contentType string, body string) *netlog.Request {
		r.Headers = append(r.Headers, netlog.Header{Name: "Content-Type", Value: contentType})
		r.Body = kept([]byte(body))
		return r
	}

	// What comes first would be taken for the task's site.
	tunnel := f.open(&netlog.Open{Kind: netlog.KindTunnel, Via: netlog.ViaTunnel, Target: "accounts.google.com:443"})
	f.end(tunnel, &netlog.End{Tunnel: &netlog.Tunnel{}, Timings: netlog.NoTimings(1), Server: &netlog.Server{Address: "192.0.2.1:443"}})
	update := get("https://update.googleapis.com/service/update2/json")
	f.exchange(update, ok("application/json", []byte(`{}`)))

	f.exchange(page("GET", "/login", ""), ok("text/html; charset=utf-8", []byte("<form>")))
	f.exchange(posts(page("POST", "/login", "/login", "Cookie", "visited=1"), "application/x-www-form-urlencoded",
		"user=emma&password=pass+word%2B1&_key=a+b%26c%3D%C5%BE%25&tag=x&tag=y"),
		&netlog.Response{Status: 302, Reason: "Found", Version: "HTTP/1.1", Body: &netlog.Body{}, Headers: h("Location", "/account",
			"Set-Cookie", "session=s%3A1.a+b/c=; Path=/; HttpOnly", "Set-Cookie", `mage-messages=%5B%7B%22text%22%3A%22Welcome%2C%20Emma%22%7D%5D; Path=/`)})
	f.exchange(page("GET", "/account", "/login", "Cookie", "visited=1; session=s%3A1.a+b/c="), ok("text/html", []byte("<h1>Emma")))
	f.exchange(posts(browser("POST", "/api/items", "/account", "Cookie", "visited=1; session=s%3A1.a+b/c="), "application/json",
		`{"qty":2,"note":{"text":"lgtm"},"tags":["a","b"],"name":"Žluté boty"}`),
		&netlog.Response{Status: 201, Reason: "Created", Version: "HTTP/1.1", Headers: h("Content-Type", "application/json; charset=utf-8"), Body: kept([]byte(`{"id":41,"saved":{"name":"Žluté boty"}}`))})
	for _, c := range coders {
		if c.name == "x-gzip" || c.name == "raw" {
			continue
		}
		answer := ok("application/json", c.encode(fmt.Appendf(nil, `{"coding":%q,"items":[{"price":"19.90"},{"price":24.5}],"total":2,"pad":%q}`, c.coding, sample(2000))),
			netlog.Header{Name: "Content-Encoding", Value: c.coding})
		f.exchange(browser("GET", "/api/prices?in="+c.coding+"&_=1772600767", "/account"), answer)
	}
	f.exchange(posts(page("POST", "/upload", "/account"), `Multipart/Form-Data; Boundary="----WebKitFormBoundaryA1b2"`,
		"------WebKitFormBoundaryA1b2\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nfirst & last\r\n"+
			"------WebKitFormBoundaryA1b2\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n"+
			string(allBytes())+"\r\n------WebKitFormBoundaryA1b2--\r\n"), ok("text/html", []byte("<p>thanks")))
	lost := f.open(&netlog.Open{Request: posts(&netlog.Request{Method: "POST", URL: "http://localhost:6666/dummy_bin", Version: "HTTP/1.1"}, "application/x-www-form-urlencoded", "lost=1")})
	f.end(lost, &netlog.End{Failed: &netlog.Failed{Phase: netlog.PhaseConnect, Code: netlog.CodeRefused, Reason: "connection refused"}, Timings: netlog.NoTimings(1)})
	// Over HTTP/2, with its cookie in crumbs.
	item := page("GET", "/item/7?tab=reviews&sort%5Bby%5D=new", "/account")
	item.Version, item.Pseudo = "HTTP/2", h(":method", "GET", ":path", "/item/7")
	for i := range item.Headers {
		item.Headers[i].Name = string(bytes.ToLower([]byte(item.Headers[i].Name)))
	}
	item.Headers = append(item.Headers, h("cookie", "visited=1", "cookie", "session=s%3A1.a+b/c=")...)
	f.exchange(item, &netlog.Response{Status: 200, Version: "HTTP/2", Headers: h("content-type", "text/html"), Body: kept([]byte("<h1>7"))})
	f.exchange(browser("GET", "/logo.png", "/item/7"), ok("image/png", nil))
	f.exchange(browser("GET", "/api/cart", "/item/7"), ok("application/json", []byte(`[]`)))
}

func cases(t *testing.T) []webarena.Case {
	t.Helper()
	b, err := os.ReadFile("testdata/webarena/tasks.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := webarena.LoadCases(b)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A log of ours grades as a browser's own: each task finds what it expects, and
// no wrong expectation. The same files are given to the grader itself in e2e.
func TestWebArenaGrades(t *testing.T) {
	f := newFixture(t)
	visit(f)
	log := f.log()
	traces := map[string]*webarena.Trace{}
	for _, format := range []Format{JSON, Trace} {
		var out bytes.Buffer
		if _, err := Convert(log, &out, Options{Version: "test", Title: "network.jsonl", Format: format, Rewrite: profile(t, "webarena").Rewrite}); err != nil {
			t.Fatal(err)
		}
		var err error
		if format == JSON {
			golden(t, filepath.Join("testdata", "webarena", "network.har"), out.Bytes())
			traces["HAR"], err = webarena.Load(out.Bytes())
		} else {
			traces["trace"], err = webarena.LoadTrace(unzip(t, out.Bytes())["trace.network"])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	right, wrong := 0, 0
	for name, trace := range traces {
		for sites, given := range map[string]map[string]string{"named": {"SHOPPING": shop}, "told by the first entry": {"SHOPPING": ""}} {
			for _, c := range cases(t) {
				if verdict, err := trace.Grade(c.Task, given); err != nil || !verdict.Success {
					t.Errorf("%s, site %s, %s: %+v, %v", name, sites, c.Name, verdict, err)
				}
				right++
				for i, task := range c.Wrong {
					if verdict, err := trace.Grade(task, given); err != nil || verdict.Success {
						t.Errorf("%s, site %s, %s, wrong expectation %d: %+v, %v", name, sites, c.Name, i+1, verdict, err)
					}
					wrong++
				}
			}
		}
	}
	if right < 4*11 || wrong < 4*40 {
		t.Errorf("%d tasks, %d wrong expectations", right, wrong)
	}
}

// Without the profile the first entry is no site's, and a run without a
// configuration grades nothing right.
func TestWebArenaWantsItsProfile(t *testing.T) {
	f := newFixture(t)
	visit(f)
	var out bytes.Buffer
	if _, err := Convert(f.log(), &out, Options{}); err != nil {
		t.Fatal(err)
	}
	trace, err := webarena.Load(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c := cases(t)[0]
	if verdict, err := trace.Grade(c.Task, map[string]string{"SHOPPING": shop}); err != nil || !verdict.Success {
		t.Errorf("with a configuration: %+v, %v", verdict, err)
	}
	if verdict, err := trace.Grade(c.Task, map[string]string{"SHOPPING": ""}); err != nil || verdict.Success {
		t.Errorf("without one: %+v, %v", verdict, err)
	}
}

// Two MB of JSON that are few on the wire are graded, though the log keeps one.
func TestWebArenaGradesLargeAnswers(t *testing.T) {
	f := newFixture(t)
	large := fmt.Appendf(nil, `{"rows":%q,"last":"row"}`, sample(2<<20))
	f.exchange(get(shop+"/api/large"), ok("application/json", coders[0].encode(large), netlog.Header{Name: "Content-Encoding", Value: "gzip"}))
	var out bytes.Buffer
	if _, err := Convert(f.log(), &out, Options{}); err != nil {
		t.Fatal(err)
	}
	trace, err := webarena.Load(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	task := webarena.Task{Expected: webarena.Expected{URL: "__SHOPPING__/api/large", ResponseContent: map[string]any{"last": "row"}}}
	if verdict, err := trace.Grade(task, map[string]string{"SHOPPING": shop}); err != nil || !verdict.Success {
		t.Errorf("%+v, %v", verdict, err)
	}
}
