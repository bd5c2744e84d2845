package site

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentenv/netlog/proxy"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]string{ // "": right
		"notes.test":                         "",
		"a":                                  "",
		"*.notes.test":                       "",
		"xn--bcher-kva.example":              "",
		"0.a":                                "",
		strings.Repeat("a", 63) + ".test":    "",
		"":                                   "is empty",
		"Notes.test":                         "not in lower case",
		"notes.test.":                        "ends in a dot",
		"*.test":                             "over a single label",
		"*":                                  `has a "*"`,
		"a.*.test":                           `has a "*"`,
		"a*.notes.test":                      `has a "*"`,
		"*.*.test":                           `has a "*"`,
		"127.0.0.1":                          "is an address",
		"notes.1":                            "is an address",
		"notes.0x7f":                         "is an address",
		"::1":                                "character other than",
		"a..test":                            "empty label",
		".test":                              "empty label",
		"a_b.test":                           "character other than",
		"-a.test":                            "hyphen",
		"a-.test":                            "hyphen",
		"bücher.test":                        "character other than",
		strings.Repeat("a", 64) + ".test":    "more than 63",
		strings.Repeat("abcdefg.", 32) + "a": "more than 253",
	} {
		err := checkName(name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	for site, want := range map[string]string{
		"notes": "notes.localhost", "My_Site": "my-site.localhost", "-a-": "a.localhost",
		strings.Repeat("a", 62) + "_b": strings.Repeat("a", 62) + ".localhost",
	} {
		if got := defaultName(site); got != want {
			t.Errorf("%q is called %q, want %q", site, got, want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		name, host string
		want       bool
	}{
		{"notes.test", "notes.test", true},
		{"notes.test", "www.notes.test", false},
		{"*.notes.test", "www.notes.test", true},
		{"*.notes.test", "notes.test", false},
		{"*.notes.test", "a.b.notes.test", false},
		{"*.notes.test", ".notes.test", false},
		{"*.notes.test", "badnotes.test", false},
	} {
		if got := covers(c.name, c.host); got != c.want {
			t.Errorf("%s covers %s: %v", c.name, c.host, got)
		}
	}
}

func TestPolicy(t *testing.T) {
	limited := Config{
		AllowHosts: []string{"gw", "cdn.example", "*.img.example", "192.0.2.0/24", "www.shop.test", "one.example:8443"},
		Sites: []Site{
			notes(),
			{Name: "shop", Upstream: "http://gw:8080/website/shop", Domains: []string{"*.shop.test"}},
			{Name: "exact", Upstream: "http://gw:8080/website/exact", Domains: []string{"exact.test"}},
			{Name: "plain", Upstream: "http://gw:8080/website/plain"},
			{Name: "real", Live: true, Domains: []string{"real.example", "*.real.example", "x.shop.test"}, AllowHosts: []string{"static.example"}},
		},
	}
	limitedTable := table(t, limited)
	open := table(t, Config{Sites: []Site{notes()}})
	closed := Config{AllowHosts: []string{}, Sites: []Site{{Name: "real", Live: true, Domains: []string{"real.example"}}}}
	for _, c := range []struct {
		table  *Table
		host   string
		scheme string
		want   proxy.Action
		to     string // the site, or the redirect
	}{
		{limitedTable, "notes.test", "https", proxy.RouteTo, "notes"},
		{limitedTable, "www.notes.test", "https", proxy.RouteTo, "notes"},
		{limitedTable, "notes.test", "http", proxy.Redirect, "https://notes.test:8443"},
		{limitedTable, "a.shop.test", "https", proxy.RouteTo, "shop"},
		{limitedTable, "x.shop.test", "https", proxy.RouteTo, "shop"}, // a served name goes before a live one
		{limitedTable, "www.shop.test", "https", proxy.RouteTo, "shop"},
		{limitedTable, "shop.test", "https", proxy.Refuse, ""},
		{limitedTable, "a.b.shop.test", "https", proxy.Refuse, ""},
		{limitedTable, "plain.localhost", "http", proxy.RouteTo, "plain"},
		{limitedTable, "plain.localhost", "https", proxy.RouteTo, "plain"},
		{limitedTable, "real.example", "https", proxy.TunnelThrough, ""},
		{limitedTable, "real.example", "http", proxy.TunnelThrough, ""},
		{limitedTable, "a.real.example", "https", proxy.TunnelThrough, ""},
		{limitedTable, "a.b.real.example", "https", proxy.Refuse, ""},
		{limitedTable, "static.example", "https", proxy.TunnelThrough, ""},
		{limitedTable, "cdn.example", "https", proxy.TunnelThrough, ""},
		{limitedTable, "a.b.img.example", "https", proxy.TunnelThrough, ""},
		{limitedTable, "img.example", "https", proxy.Refuse, ""},
		{limitedTable, "192.0.2.7", "https", proxy.TunnelThrough, ""},
		{limitedTable, "192.0.3.7", "https", proxy.Refuse, ""},
		{limitedTable, "one.example", "https", proxy.Refuse, ""}, // at another port
		{limitedTable, "other.example", "http", proxy.Refuse, ""},
		{open, "other.example", "https", proxy.TunnelThrough, ""},
		{open, "notes.test", "https", proxy.RouteTo, "notes"},
		{table(t, closed), "other.example", "https", proxy.Refuse, ""},
		{table(t, closed), "real.example", "https", proxy.TunnelThrough, ""},
	} {
		d := c.table.Policy(8443)(proxy.Target{Host: c.host, Port: 443, Scheme: c.scheme})
		to := d.To
		if d.Action == proxy.RouteTo {
			to = d.Route.Site
		}
		if d.Action != c.want || to != c.to || d.Action == proxy.Refuse && d.Reason == "" {
			t.Errorf("%s://%s: %+v, want %v %q", c.scheme, c.host, d, c.want, c.to)
		}
	}
	if d := open.Policy(443)(proxy.Target{Host: "notes.test", Port: 80, Scheme: "http"}); d.To != "https://notes.test" {
		t.Errorf("redirect to %q", d.To)
	}
	// Names that differ by wildcard alone: the exact one's certificate and route.
	if s := limitedTable.find("exact.test"); s == nil || s.Name != "exact" {
		t.Errorf("exact.test is %v", s)
	}
}

// An exact name goes before a wildcard of the same site's, and of a live one's.
func TestReport(t *testing.T) {
	made := table(t, Config{
		AllowHosts: []string{"gw", "real.example", "*.shop.test"},
		Sites: []Site{
			{Name: "shop", Upstream: "http://gw/website/shop/", Domains: []string{"shop.test", "*.shop.test", "shop.localhost"}},
			{Name: "real", Live: true, Domains: []string{"real.example", "*.shop.test", "*.real.example"}, AllowHosts: []string{"a.shop.test"}},
		},
	})
	got, err := json.MarshalIndent(made.Report(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
 "routes": [
  {"name": "shop.test", "site": "shop", "url": "https://shop.test/", "upstream": "http://gw/website/shop/"},
  {"name": "*.shop.test", "site": "shop", "url": "https://*.shop.test/", "upstream": "http://gw/website/shop/"},
  {"name": "shop.localhost", "site": "shop", "url": "http://shop.localhost/", "upstream": "http://gw/website/shop/"}
 ],
 "unrouted": [
  {"name": "real.example", "site": "real", "rank": "live"},
  {"name": "*.real.example", "site": "real", "rank": "live"},
  {"name": "gw", "rank": "allowlist"},
  {"name": "*.shop.test", "rank": "allowlist"}
 ],
 "shadowed": [
  {"name": "*.shop.test", "site": "real", "rank": "live", "by": "*.shop.test", "by_site": "shop", "whole": true},
  {"name": "a.shop.test", "site": "real", "rank": "allowlist", "by": "*.shop.test", "by_site": "shop", "whole": true},
  {"name": "real.example", "rank": "allowlist", "by": "real.example", "by_site": "real", "whole": true},
  {"name": "*.shop.test", "rank": "allowlist", "by": "*.shop.test", "by_site": "shop", "whole": false}
 ]
}`
	var a, b any
	json.Unmarshal(got, &a)
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) != string(y) {
		t.Errorf("the report is\n%s\nwant\n%s", got, want)
	}
}

// Every problem is named at once.
func TestTableRefuses(t *testing.T) {
	forward := 443
	for name, c := range map[string]struct {
		config Config
		want   []string
	}{
		"names": {Config{Sites: []Site{
			{Name: "a", Upstream: "http://gw/a", Domains: []string{"x.test", "*.test", "127.0.0.1"}},
			{Name: "b", Upstream: "http://gw/b", Domains: []string{"x.test", "*.y.test"}},
			{Name: "c", Upstream: "http://gw/c", Domains: []string{"z.y.test", "A.test"}},
		}}, []string{
			`site "a": the name "*.test" is a wildcard over a single label`,
			`site "a": the name "127.0.0.1" is an address`,
			`site "c": the name "A.test" is not in lower case`,
			`"x.test" of site "a" and "x.test" of site "b" overlap`,
			`"*.y.test" of site "b" and "z.y.test" of site "c" overlap`,
		}},
		"live names": {Config{Sites: []Site{
			{Name: "a", Live: true, Domains: []string{"x.example"}}, {Name: "b", Live: true, Domains: []string{"x.example"}},
		}}, []string{`"x.example" of site "a" and "x.example" of site "b" overlap`}},
		"defaults": {Config{Sites: []Site{
			{Name: "a_b", Upstream: "http://gw/a"}, {Name: "A-b", Upstream: "http://gw/b"}, {Name: "--", Upstream: "http://gw/c"},
		}}, []string{`"a-b.localhost" of site "a_b" and "a-b.localhost" of site "A-b" overlap`, `site "--": it has no domains`}},
		"sites": {Config{Sites: []Site{
			{Name: "a b", Upstream: "http://gw/a"}, {Name: "c"}, {Name: "d", Upstream: "ftp://gw/"}, {Name: "d", Upstream: "http://gw/x/../y"},
			{Name: "e", Upstream: "http://u:p@gw/"}, {Name: "f", Upstream: "http://gw/?x"}, {Name: "g", Upstream: "http:///x"}, {Name: "h", Upstream: "http://gw/a%2Fb"},
		}}, []string{
			`site "a b": the name is not made of`, `site "c": it has no upstream, and is not live`,
			`site "d": the upstream "ftp://gw/" is no http`, `site "d": there are two of that name`, `site "d": the upstream "http://gw/x/../y" has dot segments`,
			`site "e": the upstream, which has an @ and is not shown, has a user name or is no URL`, `site "f": the upstream "http://gw/?x" has a query`, `site "g": the upstream "http:///x" the host is empty`,
			`site "h": the upstream "http://gw/a%2Fb" has dot segments or an escaped slash`,
		}},
		"headers": {Config{Sites: []Site{{Name: "a", Upstream: "http://gw/a", SignInHeaders: []string{"a b"},
			UpstreamHeaders: map[string]string{"x y": "1", "Host": "1", "X-Forwarded-For": "1", "X-A": "hidden\r\n"}}}}, []string{
			`signin_headers: "a b" is no name`, `upstream_headers: "x y" is no name`, `upstream_headers: "Host" is set by the proxy itself`,
			`upstream_headers: "X-Forwarded-For" is set by the proxy itself`, `upstream_headers: the value of "X-A" is none`,
		}},
		"gateways": {Config{AllowHosts: []string{"*.corp", "10.0.0.0/8"}, Sites: []Site{
			{Name: "a", Upstream: "http://gw.corp/a", Domains: []string{"gw.corp"}},
			{Name: "b", Upstream: "http://10.1.2.3/b"}, {Name: "c", Upstream: "http://corp/c"}, {Name: "d", Upstream: "http://192.0.2.1/d"},
			{Name: "e", Upstream: "https://127.0.0.1/e"}, {Name: "f", Upstream: "http://localhost:80/e"},
		}}, []string{
			`site "a": its gateway "gw.corp" is a name of site "a"`,
			`site "c": allow_hosts leaves out its gateway "corp"`, `site "d": allow_hosts leaves out its gateway "192.0.2.1"`,
			`site "e": its gateway "127.0.0.1:443" is where this proxy listens`, `site "e": allow_hosts leaves out`, `site "f": its gateway "localhost:80" is where`,
			`site "f": allow_hosts leaves out its gateway "localhost"`,
		}},
		"config": {Config{Listen: "0.0.0.0", ForwardPort: &forward, ValidFor: -1, Label: strings.Repeat("x", 33), Nameservers: []string{"x", "1.1.1.1:0", "127.0.0.1"}, AllowHosts: []string{"a b"}}, []string{
			"forward_port: 0.0.0.0 is no loopback address", "forward_port: 443 is https_port too", "valid_for_s: -1", "label: ",
			`nameservers: "x" is no address`, `nameservers: "1.1.1.1:0" is no address`, "nameservers: 127.0.0.1 is this resolver itself", `allow_hosts: `, "there are no sites",
		}},
		"listen": {Config{Listen: "::1", Sites: []Site{notes()}}, []string{`listen: "::1" is no IPv4 address`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewTable(c.config)
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Errorf("%d problems, want %d", len(lines), len(c.want))
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q", want)
				}
			}
			if strings.Contains(err.Error(), "hidden") {
				t.Error("a secret is in the error")
			}
			if t.Failed() {
				t.Log(err)
			}
		})
	}
}

func TestTableNames(t *testing.T) {
	made := table(t, Config{Sites: []Site{notes(), {Name: "wild", Upstream: "http://gw/w", Domains: []string{"*.wild.test"}}, {Name: "plain", Upstream: "http://gw/p"}}})
	if got := strings.Join(made.ExactNames(), " "); got != "notes.test www.notes.test plain.localhost" {
		t.Errorf("exact names %q", got)
	}
	if !made.HasTLS() || !made.HasWildcard() || !made.Answers("a.wild.test") || made.Answers("wild.test") {
		t.Error("what the table has is wrong")
	}
	for name, want := range map[string]string{
		"notes.test": "https://notes.test:8443/", "agentenv-check.wild.test": "https://agentenv-check.wild.test:8443/", "plain.localhost": "http://plain.localhost/",
	} {
		if got := made.CheckURLs(8443, 80)[name]; got != want {
			t.Errorf("%s is checked at %q, want %q", name, got, want)
		}
	}
	only := table(t, Config{Sites: []Site{{Name: "plain", Upstream: "http://gw/p"}}})
	if only.HasTLS() || only.HasWildcard() {
		t.Error("a plain site has TLS, or a wildcard")
	}
}
