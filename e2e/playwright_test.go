package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// servedAgain has Playwright take every answer from a HAR, without a network:
// pages, answers to what they post and cookies are as they were. Of redirects it
// leaves the cookies.
func (v *visit) servedAgain(t *testing.T, har string) {
	t.Helper()
	got := v.drive(t, map[string]any{"home": t.TempDir(), "replay": har})
	compared := 0
	for step, said := range v.said {
		switch step {
		case "site", "cookie session", "cookie mage-messages":
			continue
		}
		compared++
		is(t, step, got[step], said)
	}
	is(t, "what was compared", compared, 13)
}

// asTheirs compares the HAR with the one that Playwright recorded of the same
// run. docs/har.md explains what differs.
func (v *visit) asTheirs(t *testing.T, ours []harEntry) {
	t.Helper()
	theirs := readHAR(t, v.theirs)
	of := func(all []harEntry) map[string][]harEntry {
		byKey := map[string][]harEntry{}
		for _, e := range all {
			key := e.Request.Method + " " + e.Request.URL
			byKey[key] = append(byKey[key], e)
		}
		return byKey
	}
	statuses := func(list []harEntry) string {
		var all []string
		for _, e := range list {
			all = append(all, fmt.Sprint(e.Response.Status))
		}
		return strings.Join(all, " ")
	}
	secure := place{"https", v.w.origin.host}
	preflighted := strings.Replace(v.shop.url("/echo?preflighted"), "127.0.0.1", "localhost", 1)
	explained := map[string][2]string{ // statuses in ours, in theirs
		"GET " + v.shop.url("/shop/account.js"): {"200", "200 200"}, // from the cache, once
		"GET http://" + v.dead + "/gone":        {"-1", "502"},      // the proxy's page
		"GET http://127.0.0.1:6666/blocked":     {"", "-1"},
		"OPTIONS " + preflighted:                {"204", ""},
	}
	onlyOurs := map[string]string{ // bodies that DevTools' protocol does not give
		"POST " + v.shop.url("/shop/upload"): "posted", "POST " + secure.url("/upload"): "posted",
		"GET " + secure.url("/moved"): "text", "GET " + secure.url("/events/open"): "text",
	}
	mine, other := of(ours), of(theirs)
	keys := map[string]bool{}
	for _, side := range []map[string][]harEntry{mine, other} {
		for key := range side {
			keys[key] = true
		}
	}
	for _, key := range sortedKeys(keys) {
		got := [2]string{statuses(mine[key]), statuses(other[key])}
		if want, ok := explained[key]; ok {
			is(t, key+": the statuses in both", got, want)
			continue
		}
		if got[0] != got[1] {
			t.Errorf("%s: the statuses are %s, Playwright's %s", key, got[0], got[1])
			continue
		}
		for i, e := range mine[key] {
			o := other[key][i]
			sameMessages(t, key, e.Messages, o.Messages)
			for part, both := range map[string][2]string{"posted": {e.posted(), o.posted()}, "text": {e.body(t), o.body(t)}} {
				if onlyOurs[key] != part {
					is(t, key+": the "+part, both[0], both[1])
				} else if both[0] == "" || both[1] != "" {
					t.Errorf("%s: the %s is %.100q, Playwright's %.100q: it was in ours alone", key, part, both[0], both[1])
				}
			}
		}
	}
	atShop := func(all []harEntry) string { // one thing after the other
		var keys []string
		for _, e := range theseHosts(all, []string{v.shop.host, v.dead}) {
			if _, ok := explained[e.Request.Method+" "+e.Request.URL]; !ok {
				keys = append(keys, e.Request.Method+" "+e.Request.URL)
			}
		}
		return strings.Join(keys, "\n")
	}
	is(t, "the order at the shop", atShop(ours), atShop(theirs))
	inOrder(t, "the HAR", byHAR(t, ours), v.w.origin.host, withoutForm(causes))
	inOrder(t, "Playwright's HAR", byHAR(t, theirs), v.w.origin.host, withoutForm(causes))
}

// sameMessages compares a WebSocket's messages. Playwright has no control frames,
// and of no message its beginning alone.
func sameMessages(t *testing.T, key string, ours, theirs []harMessage) {
	t.Helper()
	ours = slices.DeleteFunc(slices.Clone(ours), func(m harMessage) bool { return m.Opcode > 2 })
	if len(ours) != len(theirs) {
		t.Errorf("%s: %d messages, Playwright's %d", key, len(ours), len(theirs))
		return
	}
	for i, m := range ours {
		o := theirs[i]
		if m.Truncated && len(m.Data) < len(o.Data) {
			n := max(len(m.Data)-4, 0) // base64's padding has no part in it
			m.Data, o.Data = m.Data[:n], o.Data[:n]
		}
		if m.Type != o.Type || m.Opcode != o.Opcode || m.Data != o.Data {
			t.Errorf("%s, message %d: %s %d %.100q, Playwright's %s %d %.100q", key, i, m.Type, m.Opcode, m.Data, o.Type, o.Opcode, o.Data)
		}
	}
}

// withoutForm are the chains of what happens before the form is sent.
func withoutForm(chains [][][]string) [][][]string {
	var some [][][]string
	for _, stages := range chains {
		some = append(some, slices.DeleteFunc(slices.Clone(stages), func(stage []string) bool {
			return slices.ContainsFunc(stage, func(path string) bool {
				return path == "/form" || strings.HasPrefix(path, "/thanks")
			})
		}))
	}
	return some
}
