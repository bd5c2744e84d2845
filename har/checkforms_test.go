package har

import "testing"

// What Node makes of these, with new Date, Number, new URL and decodeURIComponent.
func TestJavaScriptsForms(t *testing.T) {
	text := func(s string) value { return value{kind: kindString, text: s, size: int64(len(s))} }
	for s, want := range map[string]bool{
		"2026-01-02T03:04:05.678Z": true, "2026-01-02": true, "2026-13-02": false, "2026-01-32": false, "2026-02-31": true,
		"2026-02-31T00:00:00Z": true, "2026-01-02T25:00:00Z": false, "2026-01-02T24:00:00Z": true, "2026-01-02T03:04Z": true,
		"2026-01-02T03:04": true, "2026-01-02T03:04:05+0200": true, "2026-01-02T03:04:05 +0200": false, "Session": false, "": false,
		"NaN-NaN": false, "Wed, 21 Oct 2015 07:28:00 GMT": true, "2026-01-02T03:04:05.1234567890Z": true, "2026-01-02T3:04:05Z": false,
		"2026-01-02T03:04:05x": false, "2026-01-02 03:04:05": true, "2026-01-02T03:04:60Z": false, "2026-01-02TZ": false, "2026": true,
	} {
		if notDate(text(s)) == want {
			t.Errorf("date %q: want %v", s, want)
		}
	}
	for s, want := range map[string]bool{
		"": true, " ": true, "12": true, "1e3": true, "0x1f": true, "abc": false, "1_0": false, "Infinity": true, "inf": false, "nan": false,
		"NaN": false, "+5": true, "-": false, "1.": true, ".5": true, "0b1": true, "0o7": true, "1p3": false, "0x1p3": false, "\u00a01\n": true,
	} {
		if notNumber(text(s)) == want {
			t.Errorf("number %q: want %v", s, want)
		}
	}
	for s, want := range map[string]bool{
		"h:443": true, "*": false, "/x": false, "http://": false, "http:///": false, "http:///a": true, "http://a b/": false, "http://[::1/x": false,
		"http://[::1]/": true, "http://[::1]:99999/": false, "http://a:99999/": false, "http://a:b/": false, "http://%zz/": false, "http://a/b c": true,
		"https:a": true, "http://a^b/": false, "http://a%20b/": false, "http://é/": true, "http://1.2.3.4.5/": false, "http://999.1.1.1/": false,
		"http://1.2.3.4/": true, "http://0x7f.1/": true, "ws://": false, "data:x": true, "http://user:p@/": false, "HTTP://A": true, "http://a?b": true,
		"http://:80/": false, "http://a|b/": false, "http://a_b/": true, "http://a\x00b/": false, "http://u:p@a:1/": true, "http://[::1]x/": false,
	} {
		if (notURL(s) == "") != want {
			t.Errorf("URL %q: got %q, want %v", s, notURL(s), want)
		}
	}
	for s, want := range map[string]bool{
		"100%": false, "%41": true, "%C3%A9": true, "%C3": false, "%ff": false, "a": true, "%4": false, "%%": false, "%C3x%A9": false, "%E2%82%AC%": false,
	} {
		var p percent
		for i := range len(s) { // in pieces
			p.Write([]byte{s[i]})
		}
		if p.invalid() == want {
			t.Errorf("component %q: want %v", s, want)
		}
	}
}
