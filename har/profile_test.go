package har

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

func profile(t testing.TB, name string) Profile {
	t.Helper()
	for _, p := range Profiles() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no profile %q", name)
	return Profile{}
}

// rewritten are f's entries by a profile, and those without one, by their
// numbers.
func rewritten(t testing.TB, f *fixture, name string) (got, all map[int64]*Entry) {
	t.Helper()
	byID := func(o Options) map[int64]*Entry {
		m := map[int64]*Entry{}
		list, _ := entriesOf(t, f.log(), o)
		for _, e := range list {
			m[e.ID] = e
		}
		return m
	}
	got, all = byID(Options{Rewrite: profile(t, name).Rewrite}), byID(Options{})
	for id := range got {
		if all[id] == nil {
			t.Errorf("%s has an entry %d of its own", name, id)
		}
	}
	return got, all
}

// A profile's HAR of everything has every field that strict readers ask for, and
// says how many entries it lacks.
func TestProfilesOfEverything(t *testing.T) {
	f := newFixture(t)
	every(f)
	whole, _ := f.convert()
	for _, p := range Profiles() {
		if p.Name == "devtools" {
			continue // whose spelling of versions is Chrome's own
		}
		log, stats := convertLog(t, f.log(), Options{Rewrite: p.Rewrite})
		if len(log.Entries) == 0 || int(stats.Filtered) != len(whole.Entries)-len(log.Entries) {
			t.Errorf("%s: %d entries, %d left out of %d", p.Name, len(log.Entries), stats.Filtered, len(whole.Entries))
		}
	}
}

// What a rewriter leaves out does not begin or name the page.
func TestRewriteThePage(t *testing.T) {
	f := newFixture(t)
	document := get("http://hidden.example/")
	document.Headers = h("Sec-Fetch-Dest", "document")
	f.exchange(document, ok("text/html", nil))
	shown := get("http://shown.example/secret")
	shown.Headers = document.Headers
	f.exchange(shown, ok("text/html", nil))
	log, stats := convertLog(t, f.log(), Options{Rewrite: func(e *Entry) bool {
		e.Request.URL = strings.Replace(e.Request.URL, "secret", "removed", 1)
		return !strings.Contains(e.Request.URL, "hidden")
	}})
	if len(log.Entries) != 1 || stats.Filtered != 1 || log.Pages[0].Title != "http://shown.example/removed" ||
		log.Pages[0].StartedDateTime != log.Entries[0].StartedDateTime {
		t.Errorf("%+v, %+v", log.Pages, stats)
	}
	if log, _ := convertLog(t, f.log(), Options{Rewrite: func(*Entry) bool { return false }}); len(log.Pages)+len(log.Entries) != 0 {
		t.Errorf("%+v", log)
	}
}

func TestForDevTools(t *testing.T) {
	f := newFixture(t)
	every(f)
	got, all := rewritten(t, f, "devtools")
	if len(got) != len(all) {
		t.Errorf("%d entries of %d", len(got), len(all))
	}
	spelt := 0
	for id, e := range got {
		want := all[id]
		for _, v := range []*string{&want.Request.HTTPVersion, &want.Response.HTTPVersion} {
			if *v == "HTTP/2" {
				*v = "http/2.0"
				spelt++
			}
		}
		if !sameEntry(t, e, want) {
			t.Errorf("entry %d differs in more than its versions", id)
		}
	}
	if spelt == 0 {
		t.Error("no entry is HTTP/2")
	}
	e := &Entry{Response: Response{HTTPVersion: "HTTP/3"}}
	if forDevTools(e); e.Response.HTTPVersion != "h3" || e.Request.HTTPVersion != "" {
		t.Errorf("HTTP/3 became %q", e.Response.HTTPVersion)
	}
}

func TestForPlaywright(t *testing.T) {
	f := newFixture(t)
	keep := map[int64]string{}
	drop := map[int64]string{}
	keep[f.exchange(get("http://h/"), ok("text/plain", []byte("whole")))] = "a whole answer"
	keep[f.exchange(get("http://h/e"), ok("text/plain", nil))] = "an empty answer"
	keep[f.exchange(get("http://h/204"), &netlog.Response{Status: 204, Body: &netlog.Body{}})] = "204"
	keep[f.exchange(post("text/plain", []byte("a")), &netlog.Response{Status: 302, Headers: h("Location", "/"), Body: &netlog.Body{}})] = "a redirect"
	there := f.exchange(post("text/plain", []byte("a")), &netlog.Response{Status: 303, Headers: h("location", "/note?a=b#note_1"), Body: &netlog.Body{}})
	keep[there] = "a redirect to a place in a page"
	head := get("http://h/head")
	head.Method = "HEAD"
	keep[f.exchange(head, ok("image/png", nil))] = "HEAD"
	latin1 := f.exchange(get("http://h/latin1"), ok("text/plain; charset=iso-8859-1", []byte("caf\xe9")))
	keep[latin1] = "Latin-1"
	upload := f.exchange(post("application/octet-stream", []byte("\x00\xff")), ok("", nil))
	keep[upload] = "a binary upload"
	form := f.exchange(post("application/x-www-form-urlencoded", []byte("a=%C3%A9")), ok("", nil))
	keep[form] = "a form"
	file := f.exchange(post("multipart/form-data; boundary=XX", []byte(multipart)), ok("", nil))
	keep[file] = "a form with a file"
	fields := f.exchange(post("multipart/form-data; boundary=XX", []byte("--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--XX--\r\n")), ok("", nil))
	keep[fields] = "a form in parts"
	events := f.open(&netlog.Open{Request: &netlog.Request{Method: "GET", URL: "http://h/events", Headers: h("Accept", "text/event-stream")}})
	f.end(events, &netlog.End{Response: ok("text/event-stream", []byte("data: a\n\n")), Timings: netlog.NoTimings(1),
		Failed: &netlog.Failed{Phase: netlog.PhaseReceive, Code: netlog.CodeClientGone}})
	keep[events] = "events until the page was left"

	drop[f.exchange(get("http://h/"), &netlog.Response{Status: 304, Body: &netlog.Body{}})] = "304"
	refused := f.open(&netlog.Open{Request: get("http://h/")})
	f.end(refused, &netlog.End{Failed: &netlog.Failed{Phase: netlog.PhaseConnect, Code: netlog.CodeRefused}, Timings: netlog.NoTimings(1)})
	drop[refused] = "a failed try"
	denied := f.open(&netlog.Open{Request: get("http://h/")})
	f.end(denied, &netlog.End{Refused: &netlog.Refused{Code: netlog.RefusedPolicy}, Timings: netlog.NoTimings(1)})
	drop[denied] = "a refused request"
	half := f.open(&netlog.Open{Request: get("http://h/")})
	f.end(half, &netlog.End{Response: ok("text/plain", []byte("ha")), Failed: &netlog.Failed{Phase: netlog.PhaseReceive, Code: netlog.CodeReset}, Timings: netlog.NoTimings(1)})
	drop[half] = "an answer that broke off"
	pending := f.open(&netlog.Open{Request: get("http://h/")})
	f.answer(pending, ok("text/plain", nil))
	drop[pending] = "an answer that is still coming"
	drop[f.exchange(get("http://h/"), ok("text/html", []byte("no gzip"), netlog.Header{Name: "Content-Encoding", Value: "gzip"}))] = "a body that could not be decoded"
	notKept, cut := kept([]byte("\x89PNG")), kept([]byte("abcdef"))
	notKept.Kept = nil
	cut.Kept, cut.Truncated = netlog.Bytes("abc"), true
	drop[f.exchange(get("http://h/"), &netlog.Response{Status: 200, Body: notKept})] = "a body that was not kept"
	drop[f.exchange(get("http://h/"), &netlog.Response{Status: 200, Body: cut})] = "a body that was cut"

	got, all := rewritten(t, f, "playwright")
	for id, what := range keep {
		if got[id] == nil {
			t.Errorf("%s is left out", what)
		}
	}
	for id, what := range drop {
		if got[id] != nil || all[id] == nil {
			t.Errorf("%s is not left out", what)
		}
	}
	if c := got[latin1].Response.Content; *c.Text != "Y2Fm6Q==" || c.Encoding != "base64" || c.Charset != "" || c.Size != 4 {
		t.Errorf("Latin-1: %q, %+v", *c.Text, c)
	}
	if p := got[upload].Request.PostData; p.Text != "AP8=" || p.Encoding != "base64" || p.Base64 != "" {
		t.Errorf("the upload: %+v", p)
	}
	if p := got[form].Request.PostData; p.Text != "a=%C3%A9" || p.Encoding != "" || len(p.Params) != 1 {
		t.Errorf("the form: %+v", p)
	}
	if p := got[file].Request.PostData; p != nil {
		t.Errorf("the form with a file: %+v", p)
	}
	if r := got[there].Response; r.Headers[0].Value != "/note?a=b" || r.RedirectURL != "/note?a=b#note_1" {
		t.Errorf("the redirect to a place in a page: %+v", r)
	}
	if p := got[fields].Request.PostData; p == nil || p.Text != all[fields].Request.PostData.Text {
		t.Errorf("the form in parts: %+v", p)
	}
}

func TestForK6(t *testing.T) {
	f := newFixture(t)
	twice := get("http://h/?q=100%25&q=2")
	twice.Headers = h("Content-Type", "text/plain", "", "nameless", "content-type", "text/html", "X-Twice", "1", "X-Twice", "2")
	plain := f.exchange(twice, ok("", nil))
	form := f.exchange(post("application/x-www-form-urlencoded; charset=utf-8", []byte("sum=5%25+off&q=%C3%A9&q=~a'&bare")), ok("", nil))
	inCoding := func(coding string, body []byte) int64 {
		r := post("text/plain", body)
		r.Headers = append(r.Headers, h("Content-Encoding", coding)...)
		return f.exchange(r, ok("", nil))
	}
	coded, undecoded := inCoding("gzip", coders[0].encode([]byte("posted"))), inCoding("sundial", []byte("posted"))
	upload := f.exchange(post("multipart/form-data; boundary=XX", []byte(multipart)), ok("", nil))
	failed := f.open(&netlog.Open{Request: get("http://gone.example/")})
	f.end(failed, &netlog.End{Failed: &netlog.Failed{Phase: netlog.PhaseDNS, Code: netlog.CodeNotFound}, Timings: netlog.NoTimings(1)})
	var drop []int64
	drop = append(drop, f.open(&netlog.Open{Kind: netlog.KindTunnel, Target: "h:443"}))
	drop = append(drop, f.open(&netlog.Open{Request: &netlog.Request{URL: "http://h/"}}))
	drop = append(drop, f.open(&netlog.Open{Request: &netlog.Request{Method: "GET", URL: "http://h/chat", Headers: h("Upgrade", "websocket")}}))
	drop = append(drop, f.open(&netlog.Open{Request: &netlog.Request{Method: "GET", URL: "ftp://h/"}}))
	drop = append(drop, f.exchange(post("text/plain", []byte("`${x}`")), ok("", nil)))
	cookie := get("http://h/")
	cookie.Headers = h("Cookie", "a=${}")
	drop = append(drop, f.exchange(cookie, ok("", nil)))
	split := f.exchange(post("text/plain", []byte("$ {x} ${x\n}")), ok("", nil))
	refused := f.open(&netlog.Open{Request: get("http://h/")})
	f.end(refused, &netlog.End{Refused: &netlog.Refused{Code: netlog.RefusedBadRequest}, Timings: netlog.NoTimings(1)})
	drop = append(drop, refused)

	got, all := rewritten(t, f, "k6")
	for _, id := range drop {
		if got[id] != nil || all[id] == nil {
			t.Errorf("entry %d is not left out: %+v", id, got[id])
		}
	}
	if got[failed] == nil || got[split] == nil {
		t.Error("a request that failed, or one with what is no variable, is left out")
	}
	r := got[plain].Request
	if diff := jsonDiff(r.Headers, []Header{{Name: "Content-Type", Value: "text/plain"}, {Name: "X-Twice", Value: "1"}, {Name: "X-Twice", Value: "2"}}); diff != "" {
		t.Error(diff)
	}
	if len(r.QueryString) != 0 || r.URL != "http://h/?q=100%25&q=2" {
		t.Errorf("the query: %q, %+v", r.URL, r.QueryString)
	}
	for id, text := range map[int64]string{form: "sum=5%25+off&q=%C3%A9&q=~a'&bare", upload: all[upload].Request.PostData.Text, coded: "posted", undecoded: "posted"} {
		if p := got[id].Request.PostData; p.Params != nil || p.Text != text {
			t.Errorf("entry %d: %+v, want %q", id, p, text)
		}
	}
	isCoded := func(h Header) bool { return h.Name == "Content-Encoding" }
	if slices.ContainsFunc(got[coded].Request.Headers, isCoded) || !slices.ContainsFunc(got[undecoded].Request.Headers, isCoded) {
		t.Errorf("decoded: %v, not decoded: %v", got[coded].Request.Headers, got[undecoded].Request.Headers)
	}
}

func TestForWebArena(t *testing.T) {
	f := newFixture(t)
	var want []int64
	for _, url := range []string{"http://localhost:7770/", "https://www.google.com/", "https://fonts.googleapis.com/css", "http://notgvt1.com/", "ws://h/"} {
		want = append(want, f.exchange(get(url), ok("", nil)))
	}
	failed := f.open(&netlog.Open{Request: get("http://localhost:6666/dummy_bin")})
	f.end(failed, &netlog.End{Failed: &netlog.Failed{Phase: netlog.PhaseConnect, Code: netlog.CodeRefused}, Timings: netlog.NoTimings(1)})
	want = append(want, failed)
	for _, url := range []string{"https://update.googleapis.com/service/update2/json", "http://r3---sn-4g5e6nz7.gvt1.com/edgedl", "https://Accounts.Google.com/ListAccounts",
		"https://firefox.settings.services.mozilla.com./v1/", "http://detectportal.firefox.com:80/success.txt", "https://optimizationguide-pa.googleapis.com/v1:GetHints"} {
		f.exchange(get(url), ok("", nil))
	}
	f.open(&netlog.Open{Kind: netlog.KindTunnel, Target: "localhost:7770"})
	socket := get("http://h/chat2")
	socket.Method, socket.Pseudo = "CONNECT", h(":protocol", "websocket")
	want = append(want, f.exchange(socket, ok("", nil)))
	list, stats := entriesOf(t, f.log(), Options{Rewrite: profile(t, "webarena").Rewrite})
	var got []int64
	for _, e := range list {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) || stats.Filtered != 7 {
		t.Errorf("got %v, want %v; %d left out", got, want, stats.Filtered)
	}
}

// JSON is there as a page has it, in a form that Python's parser takes.
func TestForWebArenaJSON(t *testing.T) {
	const mark = "\ufeff"
	for _, test := range []struct{ name, contentType, body, want, encoding string }{
		{"a mark", "application/json", mark + `{"a":1}`, `{"a":1}`, ""},
		{"a mark and a charset", "application/json; charset=utf-8", mark + "{}", "{}", ""},
		{"UTF-16", "application/json", "\xff\xfe{\x00}\x00", "{}", ""},
		{"a byte that is none of UTF-8", "application/json", "{\"a\":\"caf\xe9\"}", "{\"a\":\"caf\ufffd\"}", ""},
		{"a text's mark", "text/plain", mark + "{}", mark + "{}", ""},
		{"an image", "image/png", "\x89PNG", "iVBORw==", "base64"},
	} {
		f := newFixture(t)
		f.exchange(get("http://h/"), ok(test.contentType, []byte(test.body)))
		log, _ := convertLog(t, f.log(), Options{Rewrite: profile(t, "webarena").Rewrite})
		c := log.Entries[0].Response.Content
		if *c.Text != test.want || c.Encoding != test.encoding {
			t.Errorf("%s: %q, %q", test.name, *c.Text, c.Encoding)
		}
	}
	f := newFixture(t)
	f.exchange(get("http://h/"), ok("application/json", []byte("{}"), netlog.Header{Name: "Content-Encoding", Value: "br"}))
	log, _ := convertLog(t, f.log(), Options{Rewrite: profile(t, "webarena").Rewrite})
	if c := log.Entries[0].Response.Content; c.Encoding != "base64" || c.Undecoded == "" {
		t.Errorf("what could not be decoded: %q, %q", *c.Text, c.Encoding)
	}
}

func TestForMitmproxy(t *testing.T) {
	f := newFixture(t)
	want := map[int64]string{}
	coded := func(kept string, codings ...string) {
		a := ok("text/plain", []byte("x"))
		for _, c := range codings {
			a.Headers = append(a.Headers, h("content-Encoding", c)...)
		}
		want[f.exchange(get("http://h/"), a)] = kept
	}
	coded("")
	coded("GZip", "GZip")
	coded("identity", "identity")
	coded("", "gzip, br")
	coded("", "gzip", "br")
	coded("", "x-gzip")
	coded("", "compress")
	got, _ := rewritten(t, f, "mitmproxy")
	if len(got) != len(want) {
		t.Errorf("%d of %d entries", len(got), len(want))
	}
	for id, e := range got {
		var kept []string
		for _, h := range e.Response.Headers {
			if strings.EqualFold(h.Name, "Content-Encoding") {
				kept = append(kept, h.Value)
			} else if h.Name != "Content-Type" {
				t.Errorf("entry %d: %v", id, h)
			}
		}
		if len(e.Response.Headers) == 0 || strings.Join(kept, "|") != want[id] {
			t.Errorf("entry %d: %v, want %q", id, e.Response.Headers, want[id])
		}
	}
}

// mitmproxy reads no further than a host that it takes for none.
func TestMitmproxyHosts(t *testing.T) {
	for _, host := range []string{"h", "a_b-c.Example", "127.0.0.1", "[::1]:8443", "h.", "xn--ls8h.example:80", strings.Repeat("a", 63)} {
		if url := "http://" + host + "/a%20b?c=%C3%A9"; !mitmproxyHost(url) {
			t.Errorf("%s is left out", url)
		}
	}
	for _, host := range []string{"", "%41", "%C3%A9.example", "*", "a;b", "a..b", ".a", strings.Repeat("a", 64), strings.Repeat("abcde.", 43) + "x"} {
		if url := "http://" + host + "/"; mitmproxyHost(url) {
			t.Errorf("%s stays", url)
		}
	}
	f := newFixture(t)
	f.exchange(get("http://a;b/"), ok("text/plain", []byte("x")))
	f.exchange(get("http://h/"), ok("text/plain", []byte("x")))
	if got, _ := rewritten(t, f, "mitmproxy"); len(got) != 1 {
		t.Errorf("%d entries", len(got))
	}
}
