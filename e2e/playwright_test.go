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
	is(t, "what was compared", compared, 11)
}

// asTheirs compares the HAR with the one that Playwright recorded of the same
// run, entry by entry. docs/har.md explains what differs.
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
	mine, other := of(ours), of(theirs)
	socket := "GET wss://" + v.w.origin.host + "/socket" // which it does not record
	if len(mine[socket]) != 1 || len(other[socket]) != 0 {
		t.Errorf("the socket: %d entries of ours, %d of theirs", len(mine[socket]), len(other[socket]))
	}
	delete(mine, socket)
	is(t, "what was asked", strings.Join(sortedKeys(mine), "\n"), strings.Join(sortedKeys(other), "\n"))
	for key, list := range mine {
		if len(list) != len(other[key]) {
			t.Errorf("%s: %d times in ours, %d in theirs", key, len(list), len(other[key]))
			continue
		}
		for i, e := range list {
			o := other[key][i]
			is(t, key+": the status", e.Response.Status, o.Response.Status)
			text, theirText := e.body(t), o.body(t)
			posted, theirPosted := e.posted(), o.posted()
			switch path := e.Request.URL[strings.LastIndex(e.Request.URL, "/"):]; {
			case strings.HasPrefix(key, "POST ") && path == "/upload":
				// Chromium tells DevTools nothing of a form with a file.
				differs(t, key+": what was posted", posted, theirPosted)
				continue
			case path == "/moved":
				// A redirect's answer is over with its head there.
				differs(t, key+": the text", text, theirText)
				continue
			case path == "/open":
				// Nor is there a body of a stream that the page closed.
				differs(t, key+": the text", text, theirText)
				continue
			}
			is(t, key+": what was posted", posted, theirPosted)
			is(t, key+": the text", text, theirText)
		}
	}
	atShop := func(all []harEntry) string { // one thing after the other
		var keys []string
		for _, e := range theseHosts(all, []string{v.shop.host, v.dead}) {
			keys = append(keys, fmt.Sprint(e.Request.Method, " ", e.Request.URL))
		}
		return strings.Join(keys, "\n")
	}
	is(t, "the order at the shop", atShop(ours), atShop(theirs))
	inOrder(t, "the HAR", byHAR(t, ours), v.w.origin.host, withoutForm(causes))
	inOrder(t, "Playwright's HAR", byHAR(t, theirs), v.w.origin.host, withoutForm(causes))
}

// differs holds that a difference which docs/har.md tells of is still there.
func differs(t *testing.T, what, ours, theirs string) {
	t.Helper()
	if ours == "" || theirs != "" {
		t.Errorf("%s is %.100q, Playwright's %.100q: it was only in ours", what, ours, theirs)
	}
}

// withoutForm are the chains of what happens before the form is sent, but for
// the socket.
func withoutForm(chains [][][]string) [][][]string {
	var some [][][]string
	for _, stages := range chains {
		some = append(some, slices.DeleteFunc(slices.Clone(stages), func(stage []string) bool {
			return slices.ContainsFunc(stage, func(path string) bool {
				return path == "/socket" || path == "/form" || strings.HasPrefix(path, "/thanks")
			})
		}))
	}
	return some
}
