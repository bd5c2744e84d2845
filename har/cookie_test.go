package har

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

var answered = time.Date(2026, 3, 4, 5, 6, 7, 123e6, time.UTC)

func TestRequestCookies(t *testing.T) {
	tests := []struct {
		headers []string
		want    []string // name, value, name, value …
	}{
		{nil, nil},
		{[]string{"a=1; b=2"}, []string{"a", "1", "b", "2"}},
		{[]string{"a=1;b=2;a=3"}, []string{"a", "1", "b", "2", "a", "3"}},
		{[]string{"a=1", "b=2"}, []string{"a", "1", "b", "2"}},
		{[]string{`q="x y"; p=%20%3D; e=`}, []string{"q", `"x y"`, "p", "%20%3D", "e", ""}},
		{[]string{"a=b=c=d"}, []string{"a", "b=c=d"}},
		{[]string{"; bare; =v; ;a=1;"}, []string{"a", "1"}},
		{[]string{"ü=\xff\x00"}, []string{"ü", "\xff\x00"}},
	}
	for _, test := range tests {
		var headers []netlog.Header
		for _, h := range test.headers {
			headers = append(headers, netlog.Header{Name: "cookie", Value: h})
		}
		var got []string
		for _, c := range requestCookies(headers) {
			got = append(got, c.Name, c.Value)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.headers, got, test.want)
		}
	}
}

func TestResponseCookies(t *testing.T) {
	yes, no := true, false
	cookie := func(c Cookie) []Cookie {
		if c.HTTPOnly == nil {
			c.HTTPOnly = &no
		}
		if c.Secure == nil {
			c.Secure = &no
		}
		return []Cookie{c}
	}
	tests := []struct {
		header string
		want   []Cookie
	}{
		{"a=1", cookie(Cookie{Name: "a", Value: "1"})},
		{`a="q\"é"; Path=/x; Domain=.h.example; HttpOnly; SECURE; SameSite=lax`,
			cookie(Cookie{Name: "a", Value: `"q\"é"`, Path: "/x", Domain: ".h.example", HTTPOnly: &yes, Secure: &yes, SameSite: "Lax"})},
		{"PHPSESSID=a%2Cb%20c==; path=/", cookie(Cookie{Name: "PHPSESSID", Value: "a%2Cb%20c==", Path: "/"})},
		{"=v", cookie(Cookie{Value: "v"})},
		{"bare", cookie(Cookie{Value: "bare"})},
		{"", nil},
		{"; path=/", nil},
		{"=; path=/", nil},
		{"a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", cookie(Cookie{Name: "a", Value: "1", Expires: "2026-10-21T07:28:00.000Z"})},
		{"a=1; expires=Thu, 01-Jan-70 00:00:01 GMT", cookie(Cookie{Name: "a", Value: "1", Expires: "1970-01-01T00:00:01.000Z"})},
		{"a=1; Expires=Session", cookie(Cookie{Name: "a", Value: "1"})},
		{"a=1; Expires=30 Feb 2026 10:00:00", cookie(Cookie{Name: "a", Value: "1"})},
		{"a=1; Max-Age=60; Expires=Wed, 21 Oct 2026 07:28:00 GMT", cookie(Cookie{Name: "a", Value: "1", Expires: "2026-03-04T05:07:07.123Z"})},
		{"a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=soon", cookie(Cookie{Name: "a", Value: "1", Expires: "2026-10-21T07:28:00.000Z"})},
		{"a=; Max-Age=0", cookie(Cookie{Name: "a", Expires: "1970-01-01T00:00:00.000Z"})},
		{"a=; Max-Age=-5", cookie(Cookie{Name: "a", Expires: "1970-01-01T00:00:00.000Z"})},
		{"a=1; Max-Age=99999999999999999999999", cookie(Cookie{Name: "a", Value: "1", Expires: "9999-12-31T23:59:59.999Z"})},
		{"a=1; Max-Age=9223372036854775807", cookie(Cookie{Name: "a", Value: "1", Expires: "9999-12-31T23:59:59.999Z"})},
		{"a=1; SameSite=Weird; Path=; Secure=no", cookie(Cookie{Name: "a", Value: "1", Secure: &yes})},
	}
	for _, test := range tests {
		got := responseCookies([]netlog.Header{{Name: "SET-cookie", Value: test.header}}, answered)
		if diff := jsonDiff(got, test.want); diff != "" {
			t.Errorf("%q: %s", test.header, diff)
		}
	}
}

func TestCookieDate(t *testing.T) {
	tests := []struct {
		in   string
		want string // "" is no date
	}{
		{"Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"},
		{"Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"},
		{"Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"},
		{"1994 Nov 6 8:9:7", "1994-11-06T08:09:07.000Z"},
		{"6 november 69 00:00:00", "2069-11-06T00:00:00.000Z"},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59.000Z"},
		{"6 Nov 1600 00:00:00", ""},
		{"6 Nov 1994", ""},
		{"6 Nov 1994 24:00:00", ""},
		{"6 Nov 1994 10:60:00", ""},
		{"0 Nov 1994 10:00:00", ""},
		{"32 Nov 1994 10:00:00", ""},
		{"6 Nox 1994 10:00:00", ""},
		{"0", ""}, {"", ""}, {"-1", ""},
	}
	for _, test := range tests {
		got := ""
		if d, ok := cookieDate(test.in); ok {
			got = formatTime(d)
		}
		if got != test.want {
			t.Errorf("%q: got %q, want %q", test.in, got, test.want)
		}
	}
}

func FuzzCookies(f *testing.F) {
	f.Add("a=1; b=\"2\"; a=%3b")
	f.Add("a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=7; SameSite=None; Secure")
	f.Fuzz(func(t *testing.T, header string) {
		// What was read, written as browsers write it, reads the same.
		sent := requestCookies([]netlog.Header{{Name: "Cookie", Value: header}})
		var pairs []string
		for _, c := range sent {
			if c.Name == "" || strings.Contains(c.Name+c.Value, ";") || !strings.Contains(header, c.Name) || !strings.Contains(header, c.Value) {
				t.Fatalf("%q gave %q=%q", header, c.Name, c.Value)
			}
			pairs = append(pairs, c.Name+"="+c.Value)
		}
		again := requestCookies([]netlog.Header{{Name: "Cookie", Value: strings.Join(pairs, "; ")}})
		if !slices.Equal(sent, again) {
			t.Fatalf("%q: %v read again as %v", header, sent, again)
		}
		for _, c := range responseCookies([]netlog.Header{{Name: "Set-Cookie", Value: header}}, answered) {
			if strings.Contains(c.Name+c.Value, ";") || c.Name+c.Value == "" || c.HTTPOnly == nil || c.Secure == nil {
				t.Fatalf("%q gave %+v", header, c)
			}
			if c.Expires != "" {
				d, err := time.Parse(time.RFC3339, c.Expires)
				if err != nil || d.After(lastInstant) {
					t.Fatalf("%q expires at %q: %v", header, c.Expires, err)
				}
			}
		}
	})
}
