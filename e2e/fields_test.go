package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
)

// fieldsByChromium are the fields of each exchange, in the form that tally compares.
func fieldsByChromium(all []*fetched) (facts []string) {
	protocols := map[string]string{"h2": "HTTP/2", "http/1.1": "HTTP/1.1"}
	for _, f := range all {
		if f.Sending == nil {
			continue
		}
		version := protocols[f.Protocol]
		facts = append(facts, exchangeFields(f.Method, f.URL, f.Status, version, fieldMap(f.Sending), fieldMap(f.Getting)))
	}
	return facts
}

func fieldMap(h network.Headers) map[string]string {
	m := map[string]string{}
	for name, value := range h {
		m[strings.ToLower(name)] = fmt.Sprint(value)
	}
	return m
}

// fieldsByLog are those of the log, but for WebSockets, whose fields Chromium tells
// otherwise.
func fieldsByLog(all []entry) (facts []string) {
	for _, e := range all {
		if e.end.WebSocket != nil {
			continue
		}
		r, a := e.open.Request, e.end.Response
		if a == nil {
			a = &message{}
		}
		facts = append(facts, exchangeFields(r.Method, r.URL, a.Status, r.Version, joined(slices.Concat(r.Pseudo, r.Headers)), joined(a.Headers)))
	}
	return facts
}

// joined has repeated fields as Chromium tells them: lines of one value, and the
// crumbs of a cookie (RFC 9113 §8.2.3) put together again.
func joined(fields [][]string) map[string]string {
	m := map[string]string{}
	for _, f := range fields {
		name := strings.ToLower(f[0])
		before, repeated := m[name]
		switch {
		case !repeated:
			m[name] = f[1]
		case name == "cookie":
			m[name] = before + "; " + f[1]
		default:
			m[name] = before + "\n" + f[1]
		}
	}
	return m
}

func exchangeFields(method, url string, status int, version string, sent, received map[string]string) string {
	for _, name := range []string{"connection", "keep-alive"} { // of the server's leg, and not passed on
		delete(received, name)
	}
	said := fmt.Sprintf("%s %s %d %s", method, url, status, version)
	for i, m := range []map[string]string{sent, received} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			said += fmt.Sprintf("\n\t%s %s: %s", []string{">", "<"}[i], name, m[name])
		}
	}
	return said
}

// sameVersions compares the HAR's versions and pseudo-header fields with the log's.
func sameVersions(t *testing.T, log *record, har []harEntry) {
	t.Helper()
	byID := map[int64]entry{}
	for _, e := range log.exchanges {
		byID[e.open.ID] = e
	}
	for _, h := range har {
		e := byID[h.ID]
		is(t, "the request's version of "+h.Request.URL, h.Request.HTTPVersion, e.open.Request.Version)
		is(t, "its pseudo-header fields", fmt.Sprint(h.Request.Pseudo), fmt.Sprint(asHARFields(e.open.Request.Pseudo)))
		if a := e.end.Response; a != nil {
			is(t, "the answer's version of "+h.Request.URL, h.Response.HTTPVersion, a.Version)
			is(t, "its pseudo-header fields", fmt.Sprint(h.Response.Pseudo), fmt.Sprint(asHARFields(a.Pseudo)))
		}
	}
}

func asHARFields(fields [][]string) (list []harField) {
	for _, f := range fields {
		list = append(list, harField{f[0], f[1]})
	}
	return list
}
