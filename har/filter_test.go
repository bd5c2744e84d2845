package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// entriesOf are a log's entries.
func entriesOf(t testing.TB, log *netlog.Log, o Options) ([]*Entry, Stats) {
	t.Helper()
	var list []*Entry
	stats, err := Entries(log, o, func(e *Entry) error {
		list = append(list, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Entries != int64(len(list)) {
		t.Errorf("stats tell of %d entries, there are %d", stats.Entries, len(list))
	}
	return list, stats
}

func TestFilter(t *testing.T) {
	f := newFixture(t)
	every(f)
	log := f.log()
	all, whole := entriesOf(t, log, Options{})
	begin := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	host := func(want string, ports ...uint16) func(string, uint16) bool {
		return func(name string, port uint16) bool {
			return strings.HasSuffix(name, want) && (len(ports) == 0 || port == ports[0])
		}
	}
	for _, test := range []struct {
		name   string
		filter Filter
	}{
		{"all", Filter{}},
		{"one number", Filter{IDs: []Range{{all[2].ID, all[2].ID}}}},
		{"ranges of numbers", Filter{IDs: []Range{{1, 5}, {all[4].ID, 1 << 62}}}},
		{"no such number", Filter{IDs: []Range{{1, 1}}}},
		{"since", Filter{Since: begin.Add(100 * time.Millisecond)}},
		{"until", Filter{Until: begin.Add(100 * time.Millisecond)}},
		{"between", Filter{Since: begin.Add(95 * time.Millisecond), Until: begin.Add(110 * time.Millisecond)}},
		{"host", Filter{Host: host("shop.example")}},
		{"no host", Filter{Host: host("nowhere.example")}},
		{"port", Filter{Host: host("", 80)}},
		{"status", Filter{Statuses: []Range{{200, 200}}}},
		{"classes", Filter{Statuses: []Range{{300, 399}, {500, 599}}}},
		{"no answer", Filter{Statuses: []Range{{-1, -1}}}},
		{"some of each", Filter{Host: host("shop.example"), Statuses: []Range{{200, 299}}, Since: begin, IDs: []Range{{4, 1 << 62}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, stats := convertLog(t, log, Options{Filter: test.filter})
			var want []*Entry
			for _, e := range all {
				if test.filter.Keeps(e) {
					want = append(want, e)
				}
			}
			if len(got.Entries) != len(want) || stats.Entries+stats.Filtered != whole.Entries {
				t.Fatalf("%d entries of %d, want %d; stats %+v", len(got.Entries), whole.Entries, len(want), stats)
			}
			for i := range want {
				e := *want[i]
				e.Pageref = pageID
				if !sameEntry(t, &got.Entries[i], &e) {
					t.Errorf("entry %d is %d, want %d as it is without a filter", i, got.Entries[i].ID, e.ID)
				}
			}
			if len(want) > 0 && (len(got.Pages) != 1 || got.Pages[0].StartedDateTime != want[0].StartedDateTime) {
				t.Errorf("pages %+v, the first entry began at %s", got.Pages, want[0].StartedDateTime)
			} else if len(want) == 0 && len(got.Pages) > 0 {
				t.Errorf("pages %+v of no entry", got.Pages)
			}
		})
	}
}

// sameEntry compares what the two are in an archive.
func sameEntry(t testing.TB, a, b *Entry) bool {
	t.Helper()
	write := func(e *Entry) string {
		var out bytes.Buffer
		enc := newEncoder(&out)
		enc.entry(e)
		if err := enc.flush(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	return write(a) == write(b)
}

// Every table row of TestFilter keeps something and leaves something out only if
// the log has all kinds: a filter by each field must split it.
func TestFilterSplits(t *testing.T) {
	f := newFixture(t)
	a := f.exchange(get("http://a.example/"), ok("text/plain", []byte("a")))
	gone := f.open(&netlog.Open{Request: get("https://b.example:8443/")})
	f.end(gone, &netlog.End{Timings: netlog.NoTimings(0), Failed: &netlog.Failed{Phase: netlog.PhaseDNS, Code: netlog.CodeNotFound}})
	f.start(netlog.Limits{})
	tunnel := f.open(&netlog.Open{Kind: netlog.KindTunnel, Via: netlog.ViaTunnel, Target: "[2001:DB8::1]:443"})
	f.end(tunnel, &netlog.End{Timings: netlog.NoTimings(5), Tunnel: &netlog.Tunnel{Sent: 1, Received: 2, SNI: "Named.example"}})
	going := f.open(&netlog.Open{Request: get("http://a.example/events")})
	f.answer(going, &netlog.Response{Status: 404, Version: "HTTP/1.1"})
	log := f.log()
	third := time.Time{}
	for lines := log.Scan(); lines.Next(); {
		if lines.Head().ID == tunnel && lines.Head().Event == netlog.EventOpen {
			third = lines.Head().Time
		}
	}
	is := func(host string, port uint16) func(string, uint16) bool {
		return func(h string, p uint16) bool { return h == host && p == port }
	}
	for _, test := range []struct {
		name   string
		filter Filter
		want   []int64
	}{
		{"host", Filter{Host: is("a.example", 80)}, []int64{a, going}},
		{"port", Filter{Host: is("b.example", 8443)}, []int64{gone}},
		{"address of a tunnel", Filter{Host: is("2001:db8::1", 443)}, []int64{tunnel}},
		{"name that a tunnel's TLS asked for", Filter{Host: is("named.example", 443)}, []int64{tunnel}},
		{"but this host", Filter{NotHost: is("a.example", 80)}, []int64{gone, tunnel}},
		{"but this name of a tunnel's", Filter{NotHost: is("named.example", 443)}, []int64{a, gone, going}},
		{"but this address of a tunnel", Filter{NotHost: is("2001:db8::1", 443)}, []int64{a, gone, going}},
		{"both", Filter{Host: is("2001:db8::1", 443), NotHost: is("named.example", 443)}, nil},
		{"a host and a status", Filter{Host: is("a.example", 80), Statuses: []Range{{404, 404}}}, []int64{going}},
		{"ok", Filter{Statuses: []Range{{200, 299}}}, []int64{a, tunnel}},
		{"none", Filter{Statuses: []Range{{-1, -1}}}, []int64{gone}},
		{"still coming", Filter{Statuses: []Range{{404, 404}}}, []int64{going}},
		{"since is included", Filter{Since: third}, []int64{tunnel, going}},
		{"until is not", Filter{Until: third}, []int64{a, gone}},
		{"numbers", Filter{IDs: []Range{{gone, tunnel}}}, []int64{gone, tunnel}},
		{"no tunnels", Filter{NoTunnels: true}, []int64{a, gone, going}},
	} {
		list, stats := entriesOf(t, log, Options{Filter: test.filter})
		var got []int64
		for _, e := range list {
			got = append(got, e.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) || stats.Filtered != int64(4-len(test.want)) {
			t.Errorf("%s: entries %v, want %v; %d left out", test.name, got, test.want, stats.Filtered)
		}
		if !test.filter.Since.IsZero() || !test.filter.Until.IsZero() {
			continue // a HAR's times are rounder than the log's
		}
		all, _ := entriesOf(t, log, Options{})
		for _, e := range all { // as it is of a HAR
			if keeps := slices.Contains(test.want, e.ID); test.filter.Keeps(e) != keeps {
				t.Errorf("%s: entry %d of a HAR is kept: %v", test.name, e.ID, !keeps)
			}
		}
	}
}

// A WebSocket's CONNECT is no tunnel, in a log or in a HAR.
func TestNoTunnelsKeepsWebSockets(t *testing.T) {
	f := newFixture(t)
	request := &netlog.Request{Method: "CONNECT", URL: "https://h.example/chat", Version: "HTTP/2", Pseudo: []netlog.Header{{Name: ":protocol", Value: "websocket"}}}
	id := f.open(&netlog.Open{Request: request})
	f.end(id, &netlog.End{Timings: netlog.NoTimings(5), Response: &netlog.Response{Status: 200, Version: "HTTP/2"}})
	f.open(&netlog.Open{Request: &netlog.Request{Method: "CONNECT", URL: "h.example:443"}})
	all, _ := entriesOf(t, f.log(), Options{})
	filter := Filter{NoTunnels: true}
	list, _ := entriesOf(t, f.log(), Options{Filter: filter})
	if len(all) != 2 || len(list) != 1 || list[0].ID != id || !filter.Keeps(all[0]) || filter.Keeps(all[1]) {
		t.Errorf("%d of %d entries: %+v", len(list), len(all), list)
	}
}

// What is left out is not looked into further than the filter needs.
func TestFilterReadsNoMoreThanItNeeds(t *testing.T) {
	f := newFixture(t)
	f.exchange(get("http://a.example/"), ok("text/plain", []byte("spoilt")))
	b := f.exchange(get("http://b.example/"), ok("text/plain", []byte("b")))
	lines := bytes.SplitAfter(f.buf.Bytes(), []byte("\n"))
	lines[2] = append(bytes.TrimSuffix(lines[2], []byte("\n")), "}\n"...) // the end line's head is whole, the rest no JSON
	log := openBytes(t, bytes.Join(lines, nil))
	if _, stats := entriesOf(t, log, Options{}); stats.Unreadable != 1 {
		t.Fatalf("the spoilt line was read: %+v", stats)
	}
	for name, filter := range map[string]Filter{
		"number": {IDs: []Range{{b, b}}},
		"host":   {Host: func(host string, _ uint16) bool { return host == "b.example" }},
	} {
		if list, stats := entriesOf(t, log, Options{Filter: filter}); len(list) != 1 || stats.Unreadable != 0 {
			t.Errorf("by %s: %d entries, %+v", name, len(list), stats)
		}
	}
}

// The index is cut over the borders of its blocks.
func TestFilterOfManyEntries(t *testing.T) {
	f := newFixture(t)
	const n = 2*blockItems + 10
	for i := range n {
		f.exchange(get(fmt.Sprintf("http://h%d.example/", i%3)), ok("text/plain", []byte("a")))
	}
	log := f.log()
	for _, k := range []int{0, 1, 2} {
		want := fmt.Sprintf("h%d.example", k)
		list, stats := entriesOf(t, log, Options{NoBodies: true, Filter: Filter{Host: func(host string, _ uint16) bool { return host == want }}})
		if len(list) != (n-k+2)/3 || stats.Filtered != int64(n-len(list)) {
			t.Errorf("%s: %d entries, %d left out", want, len(list), stats.Filtered)
		}
		for i := range list {
			if i > 0 && list[i].ID <= list[i-1].ID {
				t.Fatalf("entry %d is not after %d", list[i].ID, list[i-1].ID)
			}
		}
	}
	for _, kept := range []int64{0, 1, blockItems, blockItems + 1, 2 * blockItems} {
		list, _ := entriesOf(t, log, Options{NoBodies: true, Filter: Filter{IDs: []Range{{1, 2*kept + 1}}}})
		if int64(len(list)) != kept {
			t.Errorf("%d entries, want %d", len(list), kept)
		}
	}
}

func TestURLHost(t *testing.T) {
	for _, test := range []struct {
		url, host string
		port      uint16
	}{
		{"https://Shop.Example/a?b=http://x/", "shop.example", 443},
		{"http://shop.example.", "shop.example", 80},
		{"wss://shop.example:8443/chat", "shop.example", 8443},
		{"ws://shop.example?q", "shop.example", 80},
		{"HTTP://u:p@shop.example:81#f", "shop.example", 81},
		{"https://[2001:DB8::1]:8443/", "2001:db8::1", 8443},
		{"https://[::ffff:192.0.2.1]/", "192.0.2.1", 443},
		{"https://192.0.2.1/", "192.0.2.1", 443},
		{"http://b%C3%BCcher.example/", "bücher.example", 80},
		{"chrome-extension://abc/x.js", "abc", 0},
		{"data:text/plain,a", "", 0},
		{"http://h:99999/", "h", 80},
		{"", "", 0},
	} {
		if host, port := urlHost(test.url); host != test.host || port != test.port {
			t.Errorf("%s: %q %d, want %q %d", test.url, host, port, test.host, test.port)
		}
	}
}

func TestFilterKeepsNothingWithoutATime(t *testing.T) {
	e := &Entry{StartedDateTime: "yesterday"}
	if f := (Filter{Until: time.Now()}); f.Keeps(e) {
		t.Error("an entry without a time is before Until")
	}
	if f := (Filter{Since: time.Unix(0, 0)}); f.Keeps(e) {
		t.Error("an entry without a time is after Since")
	}
	if f := (Filter{}); !f.Keeps(e) {
		t.Error("no filter left it out")
	}
}

// Without bodies an entry is what it is with them, but for these.
func TestNoBodies(t *testing.T) {
	f := newFixture(t)
	every(f)
	log := f.log()
	with, _ := entriesOf(t, log, Options{})
	without, _ := entriesOf(t, log, Options{NoBodies: true})
	if len(with) != len(without) {
		t.Fatalf("%d entries, want %d", len(without), len(with))
	}
	for i, e := range without {
		if e.Request.PostData != nil || e.Response.Content.Text != nil || e.WebSocketMessages != nil || e.EventSourceMessages != nil || e.GRPCMessages != nil {
			t.Errorf("entry %d has a body", e.ID)
		}
		for _, e := range []*Entry{e, with[i]} {
			e.Request.PostData, e.WebSocketMessages, e.EventSourceMessages, e.GRPCMessages = nil, nil, nil, nil
			c := &e.Response.Content
			*c = Content{MimeType: c.MimeType, BodyNote: BodyNote{SHA256: c.SHA256}}
		}
		if !sameEntry(t, e, with[i]) {
			t.Errorf("entry %d differs in more than its bodies", e.ID)
		}
	}
}

// An error of Progress ends the work and leaves no file.
func TestProgressEnds(t *testing.T) {
	f := newFixture(t)
	for range 10 {
		f.exchange(get("http://h/"), ok("text/plain", sample(100)))
	}
	log := f.log()
	enough := errors.New("enough")
	for _, at := range []int64{0, 7} {
		told := 0
		dir := t.TempDir()
		_, err := WriteFile(log, filepath.Join(dir, "network.har"), Options{Progress: func(done, total int64) error {
			told++
			if total > 0 && (total != 10 || done >= total) {
				t.Errorf("%d of %d", done, total)
			}
			if total > 0 && done == at {
				return enough
			}
			return nil
		}})
		if !errors.Is(err, enough) || told == 0 {
			t.Errorf("told %d times, %v", told, err)
		}
		onlyFiles(t, dir)
	}
	if _, err := Convert(log, io.Discard, Options{Progress: func(_, total int64) error {
		if total == 0 {
			return enough
		}
		return nil
	}}); !errors.Is(err, enough) {
		t.Errorf("the first pass: %v", err)
	}
}

// Entries ends with its function's error.
func TestEntriesEnds(t *testing.T) {
	f := newFixture(t)
	for range 3 {
		f.exchange(get("http://h/"), ok("text/plain", []byte("a")))
	}
	enough := errors.New("enough")
	n := 0
	_, err := Entries(f.log(), Options{}, func(*Entry) error {
		n++
		if n == 2 {
			return enough
		}
		return nil
	})
	if err != enough || n != 2 {
		t.Errorf("%d entries, %v", n, err)
	}
}
