package wire

import (
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	absolute := func(scheme, host string, port uint16, path string) Target {
		return Target{Form: AbsoluteForm, Scheme: scheme, Host: host, Port: port, Path: []byte(path)}
	}
	tests := []struct {
		method, target string
		want           Target
		err            string
	}{
		{"GET", "/a/../b//c%2f?d=http://e#f", Target{Form: OriginForm, Path: []byte("/a/../b//c%2f?d=http://e#f")}, ""},
		{"GET", "//a", Target{Form: OriginForm, Path: []byte("//a")}, ""},
		{"OPTIONS", "*", Target{Form: AsteriskForm, Path: []byte("*")}, ""},
		{"GET", "*", Target{}, "a request-target of * that is not OPTIONS'"},
		{"GET", "http://a.example/b?c", absolute("http", "a.example", 80, "/b?c"), ""},
		{"GET", "HTTP://A.Example.:8080/B", absolute("http", "a.example", 8080, "/B"), ""},
		{"GET", "https://a:/", absolute("https", "a", 443, "/"), ""},
		{"GET", "http://a", absolute("http", "a", 80, "/"), ""},
		{"GET", "http://a?b", absolute("http", "a", 80, "/?b"), ""},
		{"GET", "http://a#b", absolute("http", "a", 80, "/#b"), ""},
		{"OPTIONS", "http://a:81", absolute("http", "a", 81, "*"), ""},
		{"OPTIONS", "http://a/", absolute("http", "a", 80, "/"), ""},
		{"GET", "http://[2001:DB8::0:1]:8080/", absolute("http", "2001:db8::1", 8080, "/"), ""},
		{"GET", "http://127.0.0.1:65535/", absolute("http", "127.0.0.1", 65535, "/"), ""},
		{"GET", "http://B\xc3\xbccher.example/", absolute("http", "b\xc3\xbccher.example", 80, "/"), ""},
		{"GET", "http://u@a.example@b.example/", Target{}, "the request-target's user name has a byte that is none of a URI's"},
		{"GET", "http://a.example\\@b.example/", Target{}, "the request-target's user name has a byte that is none of a URI's"},
		{"GET", "http://u:p%40x@a.example/b@c", Target{Form: AbsoluteForm, Scheme: "http", Host: "a.example", Port: 80, Userinfo: true, Path: []byte("/b@c")}, ""},
		{"GET", "http://a/@b", absolute("http", "a", 80, "/@b"), ""},
		{"GET", "http:///", Target{}, "the request-target's authority is no host and port: the host is empty"},
		{"GET", "http://u@/", Target{}, "the request-target's authority is no host and port: the host is empty"},
		{"GET", "http://:80/", Target{}, "the request-target's authority is no host and port: the host is empty"},
		{"GET", "http://./", Target{}, "the request-target's authority is no host and port: the host is empty"},
		{"GET", "http://a..b/", Target{}, "the request-target's authority is no host and port: the host has an empty label"},
		{"GET", "http://a../", Target{}, "the request-target's authority is no host and port: the host has an empty label"},
		{"GET", "http://.a/", Target{}, "the request-target's authority is no host and port: the host has an empty label"},
		{"GET", "http://a:0/", Target{}, "the request-target's authority is no host and port: the port is not between 1 and 65535"},
		{"GET", "http://a:65536/", Target{}, "the request-target's authority is no host and port: the port is not between 1 and 65535"},
		{"GET", "http://a:+80/", Target{}, "the request-target's authority is no host and port: the port is not between 1 and 65535"},
		{"GET", "http://a:b:80/", Target{}, "the request-target's authority is no host and port: the port is not between 1 and 65535"},
		{"GET", "http://[::1/", Target{}, "the request-target's authority is no host and port: brackets that do not match"},
		{"GET", "http://[::1]80/", Target{}, "the request-target's authority is no host and port: brackets that do not match"},
		{"GET", "http://[fe80::1%25eth0]/", Target{}, "the request-target's authority is no host and port: no IPv6 address in the brackets"},
		{"GET", "http://[127.0.0.1]/", Target{}, "the request-target's authority is no host and port: no IPv6 address in the brackets"},
		{"GET", "http://[]/", Target{}, "the request-target's authority is no host and port: no IPv6 address in the brackets"},
		{"GET", "http://a\\b/", Target{}, "the request-target's authority is no host and port: the host has a byte that is none of a host's"},
		{"GET", "http://a%62/", Target{}, "the request-target's authority is no host and port: the host has a byte that is none of a host's"},
		{"GET", "http://" + strings.Repeat("a", 1025) + "/", Target{}, "the request-target's authority is no host and port: the host is too long"},
		{"GET", "WS://a/b", Target{Form: AbsoluteForm, Scheme: "http", Host: "a", Port: 80, Path: []byte("/b")}, ""},
		{"GET", "wss://a/b", Target{Form: AbsoluteForm, Scheme: "https", Host: "a", Port: 443, Path: []byte("/b")}, ""},
		{"GET", "ftp://a/", Target{}, "the request-target is neither a path nor an http or https URL"},
		{"GET", "http:/a", Target{}, "the request-target is neither a path nor an http or https URL"},
		{"GET", "a.example:80", Target{}, "the request-target is neither a path nor an http or https URL"},
		{"GET", "", Target{}, "the request-target is neither a path nor an http or https URL"},
		{"CONNECT", "A.Example.:443", Target{Form: AuthorityForm, Host: "a.example", Port: 443}, ""},
		{"CONNECT", "[::1]:443", Target{Form: AuthorityForm, Host: "::1", Port: 443}, ""},
		{"CONNECT", "a", Target{}, "CONNECT's target has no port"},
		{"CONNECT", "a:", Target{}, "CONNECT's target has no port"},
		{"CONNECT", "::1:443", Target{}, "CONNECT's target is no host and port: the port is not between 1 and 65535"},
		{"CONNECT", "u@a:443", Target{}, "CONNECT's target is no host and port: the host has a byte that is none of a host's"},
		{"CONNECT", "/", Target{}, "CONNECT's target is no host and port: the host has a byte that is none of a host's"},
		{"CONNECT", "https://a:443", Target{}, "CONNECT's target is no host and port: the port is not between 1 and 65535"},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.target, func(t *testing.T) {
			got, err := ParseTarget([]byte(test.method), []byte(test.target))
			want := test.err
			if want != "" {
				want = "bad_request: " + want
			}
			if said(err) != want {
				t.Fatalf("%s, want %s", said(err), want)
			}
			if string(got.Path) != string(test.want.Path) {
				t.Errorf("path %q, want %q", got.Path, test.want.Path)
			}
			got.Path, test.want.Path = nil, nil
			if got.Form != test.want.Form || got.Scheme != test.want.Scheme || got.Host != test.want.Host || got.Port != test.want.Port || got.Userinfo != test.want.Userinfo {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestSplitHostPort(t *testing.T) {
	tests := []struct {
		in, host string
		port     uint16
		ok       bool
	}{
		{"A.example", "a.example", 443, true},
		{"a.example.:80", "a.example", 80, true},
		{"a:", "a", 443, true},
		{"[::FFFF:1.2.3.4]:1", "::ffff:1.2.3.4", 1, true},
		{"::1", "", 0, false},
		{"", "", 0, false},
		{"a b", "", 0, false},
	}
	for _, test := range tests {
		host, port, err := SplitHostPort(test.in, 443)
		if host != test.host || port != test.port || (err == nil) != test.ok {
			t.Errorf("%q: %q, %d, %v", test.in, host, port, err)
		}
	}
}

func TestCanonicalHost(t *testing.T) {
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"A.Example.", "a.example", true},
		{"b\xc3\x9ccher", "b\xc3\x9ccher", true},
		{"_x~!", "_x~!", true},
		{"2001:DB8:0::1", "2001:db8::1", true},
		{"[2001:DB8:0::1]", "2001:db8::1", true},
		{"[::1]:80", "", false},
		{"a:80", "", false},
		{"fe80::1%eth0", "", false},
		{"", "", false},
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1.", "192.0.2.1", true},
		{"192.0.2.1.example", "192.0.2.1.example", true},
		{"a1.0x1g", "a1.0x1g", true},
		{"1-2", "1-2", true},
		{"x0", "x0", true},
		{"127.1", "", false},
		{"127.1.", "", false},
		{"192.0.2.01", "", false},
		{"192.0.2.256", "", false},
		{"192.0.2.1.1", "", false},
		{"2130706433", "", false},
		{"0", "", false},
		{"0x", "", false},
		{"0x7f000001", "", false},
		{"0X7F.1", "", false},
		{"0177.0.0.0x1", "", false},
		{"a.0x7F", "", false},
		{"a.1", "", false},
		{"a/b", "", false},
	}
	for _, test := range tests {
		if got, err := CanonicalHost(test.in); got != test.want || (err == nil) != test.ok {
			t.Errorf("%q: %q, %v", test.in, got, err)
		}
	}
}

func TestEscapeURL(t *testing.T) {
	tests := []struct{ in, want string }{
		{"/a-._~!$&'()*+,;=:@/?[]%zz", "/a-._~!$&'()*+,;=:@/?[]%zz"},
		{"/a#b?c", "/a"},
		{"/\xff\xc3\xbc\"<>\\^`{|} \x7f", "/%FF%C3%BC%22%3C%3E%5C%5E%60%7B%7C%7D%20%7F"},
		{"", ""},
	}
	for _, test := range tests {
		if got := EscapeURL([]byte(test.in)); got != test.want {
			t.Errorf("%q: %q, want %q", test.in, got, test.want)
		}
	}
}
