package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/agentenv/netlog/proxy/hello"
	"github.com/agentenv/netlog/proxy/wire"
)

func TestHostRules(t *testing.T) {
	for _, c := range []struct {
		rule string
		host string
		port uint16
		want bool
	}{
		{"example.com", "example.com", 443, true},
		{"example.com", "example.com", 80, true},
		{"example.com", "www.example.com", 443, false},
		{"example.com", "notexample.com", 443, false},
		{"Example.COM.", "example.com", 443, true},
		{"example.com:8443", "example.com", 8443, true},
		{"example.com:8443", "example.com", 443, false},
		{"*.example.com", "www.example.com", 443, true},
		{"*.example.com", "a.b.example.com", 443, true},
		{"*.example.com", "example.com", 443, false},
		{"*.example.com", "notexample.com", 443, false},
		{"*.example.com:443", "www.example.com", 443, true},
		{"*.example.com:443", "www.example.com", 444, false},
		{"localhost", "localhost", 443, true},
		{"a_b.example", "a_b.example", 443, true},
		{"bücher.example", "xn--bcher-kva.example", 443, true},
		{"*.BÜCHER.example:443", "www.xn--bcher-kva.example", 443, true},
		{"example。com。", "example.com", 443, true},
		{"192.0.2.1", "192.0.2.1", 443, true},
		{"192.0.2.1", "192.0.2.10", 443, false},
		{"192.0.2.1:443", "192.0.2.1", 443, true},
		{"192.0.2.1:443", "192.0.2.1", 80, false},
		{"::1", "::1", 443, true},
		{"[::1]", "::1", 443, true},
		{"[::1]:443", "::1", 443, true},
		{"[::1]:443", "::1", 80, false},
		{"2001:DB8:0::1", "2001:db8::1", 443, true},
		{"::ffff:192.0.2.1", "192.0.2.1", 443, true},
		{"192.0.2.1", "::ffff:192.0.2.1", 443, true},
		{"192.0.2.0/24", "192.0.2.255", 443, true},
		{"192.0.2.0/24", "192.0.3.0", 443, false},
		{"192.0.2.0/24:443", "192.0.2.7", 443, true},
		{"192.0.2.0/24:443", "192.0.2.7", 80, false},
		{"192.0.2.0/24", "::ffff:192.0.2.7", 443, true},
		{"0.0.0.0/0", "example.com", 443, false},
		{"0.0.0.0/0", "::1", 443, false},
		{"2001:db8::/32", "2001:db8:ffff::1", 443, true},
		{"[2001:db8::/32]:443", "2001:db8::1", 443, true},
		{"[2001:db8::/32]:443", "2001:db8::1", 80, false},
	} {
		r, err := ParseHostRule(c.rule)
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		if got := r.Matches(Target{Host: c.host, Port: c.port}); got != c.want {
			t.Errorf("%s matches %s:%d: %v, want %v", c.rule, c.host, c.port, got, c.want)
		}
		if again, err := ParseHostRule(r.String()); err != nil || again != r {
			t.Errorf("%s as text is %s, which is %+v, %v", c.rule, r, again, err)
		}
	}
}

func TestHostRulesRefuse(t *testing.T) {
	for _, rule := range []string{
		"", ":443", "*", "*.", "*.*.example", "192.0.2", "192.0.2.01", "0xc0000201", "3221225985", "*.192.0.2.1", "１９２.0.2.1", "*.1", "example.com..", "\u00ad", "a.*.example", "exam*ple", "a..b", ".a", "a b",
		"https://example.com", "example.com/", "example.com:", "example.com:0", "example.com:65536", "example.com:http", "example.com:-1",
		"[::1", "[::1]x", "[example.com]", "[192.0.2.1]", "[::1]:", "fe80::1%eth0", "::1]", "[::1]:443:443",
		"10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/8/8", "example.com/8", "[10.0.0.0/8]", "::ffff:10.0.0.0/104", "2001:db8::/32:443", "fe80::%eth0/10",
	} {
		if r, err := ParseHostRule(rule); err == nil {
			t.Errorf("%q means %+v", rule, r)
		}
	}
	if (HostRule{}).Matches(Target{Host: "example.com", Port: 443}) || (HostRule{}).Matches(Target{Host: "10.0.0.1", Port: 443}) {
		t.Error("the zero rule matches")
	}
}

// However a host is written, a rule for it holds: in capitals, with a dot behind it,
// with another script's dots, letters or digits, mapped into IPv6. What is no host
// to a browser is none here.
func TestRulesHoldForEverySpelling(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Policy = (&Rules{Deny: rules(t, "bücher.denied.test", "denied.test", "127.0.0.3")}).Decide
		c.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
			t.Errorf("dialled %s", address)
			return nil, net.ErrClosed
		}
	})
	for status, hosts := range map[string][]string{
		"403": {
			"denied.test", "DENIED.Test", "denied.test.", "denied.test。", "denied。test", "ｄenied．test", "de\u00adnied.test", "DENIED。TEST．",
			"bücher.denied.test", "BÜCHER.denied.test.", "xn--bcher-kva.denied.test", "XN--BCHER-KVA.denied。test", "bu\u0308cher.denied.test",
			"127.0.0.3", "127.0.0.3.", "１２７.0.0.３", "127。0。0。3。", "[::ffff:127.0.0.3]", "[::FFFF:7F00:3]", "[0:0:0:0:0:ffff:127.0.0.3]",
		},
		"400": {
			"127.3", "127.0.3", "2130706435", "0x7f000003", "0x7f.0x0.0x0.0x3", "0177.0.0.03", "127.0.0.003", "127.0.0.3.0", "１２７.３", "0x7f.3。",
			"denied.test..", ".denied.test", "denied..test", "。denied.test", "denied.test。。", "%64enied.test", "denied%2etest", "\u00ad", "\u00ad.test", "a\u200db.test",
			"denied.test\x7f", "denied.te\xffst", "[denied.test]", "[127.0.0.3]", "[::ffff:127.0.0.3%25lo]", "denied.test\\x", "a@denied.test", "::ffff:127.0.0.3",
		},
	} {
		for _, host := range hosts {
			for _, request := range []string{
				"GET http://HOST:8080/ HTTP/1.1\r\nHost: HOST:8080\r\n\r\n",
				"GET http://user:pass@HOST:8080/ HTTP/1.1\r\nHost: HOST:8080\r\n\r\n",
				"GET http://HOST:8080/ HTTP/1.0\r\n\r\n",
				"CONNECT HOST:8080 HTTP/1.1\r\nHost: HOST:8080\r\n\r\n",
			} {
				b := w.browser()
				b.send(strings.ReplaceAll(request, "HOST", host))
				want := status
				if strings.Contains(host, "@") && strings.HasPrefix(request, "GET") {
					continue // that is a user name
				}
				if got, _ := b.rest(); !strings.HasPrefix(got, "HTTP/1.1 "+want+" ") {
					t.Errorf("%q: %.60q, want %s", strings.ReplaceAll(request, "HOST", host), got, want)
				}
				b.Close()
			}
		}
	}
}

// A denied name is not reached through a tunnel to an address or to another name
// either, as far as its ClientHello tells, in whatever pieces that comes.
func TestADeniedNameInATunnel(t *testing.T) {
	for name, c := range map[string]struct {
		standIn bool
		connect string // the CONNECT's host; "": the server's address
		sni     string
		want    string // of the entry
		session bool
	}{
		"an address":               {false, "", "denied.test", "tunnel tunnel ADDR refused policy 0", false},
		"an address, the stand-in": {true, "", "denied.test", "tunnel stand-in ADDR refused policy 0", false},
		"another name":             {false, "site.test", "Denied.TEST", "tunnel tunnel site.test:PORT refused policy 0", false},
		"one that is not denied":   {true, "", "site.test", "tunnel stand-in ADDR", true},
		"itself":                   {false, "site.test", "site.test", "tunnel tunnel site.test:PORT", true},
		"another that is let be":   {false, "site.test", "other.test", "tunnel tunnel site.test:PORT", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(config *Config) {
				atHome(config)
				deny := &Rules{Deny: rules(t, "denied.test"), Tunnel: rules(t, "0.0.0.0/0", "*.test", "site.test")}
				config.Policy, config.StandIn = deny.Decide, c.standIn
			})
			addr := w.origin(func(p *party) {
				if s, _ := p.rest(); len(s) > 0 && !c.session && hasHello(s) {
					t.Errorf("the server got the ClientHello")
				}
			})
			if c.session {
				addr = w.origin(answers(ok), c.sni)
			}
			_, port, _ := net.SplitHostPort(addr)
			to := addr
			if c.connect != "" {
				to = c.connect + ":" + port
			}
			b := w.connect(to)
			session := tls.Client(&inPieces{b.Conn}, &tls.Config{ServerName: c.sni, RootCAs: w.ca.pool})
			err := session.Handshake()
			if (err == nil) != c.session || err != nil && !strings.Contains(err.Error(), "unrecognized name") {
				t.Errorf("handshake: %v", err)
			}
			b.Close()
			w.waitFor(1)
			p := w.pairs()[0]
			if got := strings.NewReplacer("ADDR", addr, "PORT", port).Replace(c.want); p.String() != got {
				t.Errorf("entry %v, want %v", p, got)
			}
			if p.end.Tunnel.SNI != c.sni {
				t.Errorf("tunnel: %+v", p.end.Tunnel)
			}
		})
	}
}

func hasHello(s string) bool {
	_, err := hello.Client([]byte(s))
	return err == nil
}

// An inPieces writes a few bytes at a time.
type inPieces struct{ net.Conn }

func (c *inPieces) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = c.Conn.Write(p[n:min(n+100, len(p))])
		n += m
	}
	return n, err
}

func FuzzHostRule(f *testing.F) {
	for _, s := range []string{"example.com", "*.example.com:443", "10.0.0.0/8", "[2001:db8::/32]:1", "::1", "[::1]:65535", "bücher.example", "::ffff:1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseHostRule(s)
		if err != nil {
			return
		}
		if again, err := ParseHostRule(r.String()); err != nil || again != r {
			t.Errorf("%q is %+v, as text %s, which is %+v, %v", s, r, r, again, err)
		}
		// A request for a host that is written like the rule is one that the rule is for.
		if host, port, err := wire.SplitHostPort(s, 443); err == nil && !r.Below {
			if host, err = canonical(host); err == nil && !r.Matches(Target{Host: host, Port: port}) {
				t.Errorf("%q is %+v, which does not match %q", s, r, host)
			}
		}
	})
}

func rules(t *testing.T, list ...string) (rs []HostRule) {
	t.Helper()
	for _, s := range list {
		r, err := ParseHostRule(s)
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

func TestRules(t *testing.T) {
	r := &Rules{
		Allow:  rules(t, "*.example.com", "10.1.0.0/16"),
		Deny:   rules(t, "ads.example.com", "10.1.2.0/24"),
		Tunnel: rules(t, "bank.example.com", "ads.example.com", "other.test"),
	}
	for _, c := range []struct {
		host, addr string
		want       Action
	}{
		{"www.example.com", "", Intercept},
		{"www.example.com", "10.9.9.9", Intercept}, // allowed by its name, whatever it resolves to
		{"www.example.com", "10.1.2.3", Refuse},    // denied by what it resolves to
		{"www.example.com", "::ffff:10.1.2.3", Refuse},
		{"ads.example.com", "", Refuse},
		{"bank.example.com", "", TunnelThrough},
		{"other.test", "", Refuse},
		{"other.test", "10.1.0.1", Refuse}, // a name is allowed by name only
		{"10.1.0.1", "", Intercept},
		{"10.1.0.1", "10.1.0.1", Intercept},
		{"10.1.2.1", "", Refuse},
		{"10.2.0.1", "", Refuse},
	} {
		target := Target{Host: c.host, Port: 443, Scheme: "https"}
		if c.addr != "" {
			target.Addr = netip.MustParseAddr(c.addr)
		}
		if d := r.Decide(target); d.Action != c.want || (d.Action == Refuse) && d.Reason == "" {
			t.Errorf("%s %s: %+v, want %v", c.host, c.addr, d, c.want)
		}
	}
	if d := (&Rules{}).Decide(Target{Host: "example.com", Addr: netip.MustParseAddr("127.0.0.1")}); d.Action != Intercept || d.Reason != "" {
		t.Errorf("no rules: %+v", d)
	}
}

func TestPrivateAddresses(t *testing.T) {
	for _, private := range []string{
		"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "0.1.2.3",
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fd00:ec2::254", "fc00::1",
		"169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1",
		"100.64.0.1", "100.127.255.255", "100.100.100.200", "168.63.129.16", "192.0.0.192",
		"224.0.0.1", "239.255.255.255", "ff02::1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "198.19.255.255",
		"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "::7f00:1", "2001:0:4136:e378::1",
		"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::1", "2002:a00:1::",
	} {
		if !isPrivate(netip.MustParseAddr(private)) {
			t.Errorf("%s passes for an address of the public internet", private)
		}
	}
	for _, public := range []string{
		"1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "168.63.129.15", "169.253.255.255",
		"192.0.1.1", "198.17.255.255", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
	} {
		if isPrivate(netip.MustParseAddr(public)) {
			t.Errorf("%s passes for a private address", public)
		}
	}
}

// denyPrivate is the policy of --deny-private.
func denyPrivate(c *Config) { c.Policy = (&Rules{DenyPrivate: true}).Decide }

func TestAnAddressThatIsDeniedIsNotDialled(t *testing.T) {
	w := newWorld(t, denyPrivate)
	reached := make(chan struct{}, 10)
	addr := w.origin(func(*party) { reached <- struct{}{} })
	_, port, _ := net.SplitHostPort(addr)
	for _, ask := range []string{
		"CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n",
		"CONNECT [::ffff:127.0.0.1]:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n",
		"GET http://0.0.0.0:" + port + "/ HTTP/1.1\r\nHost: 0.0.0.0:" + port + "\r\n\r\n",
		"GET http://x.localhost:" + port + "/ HTTP/1.1\r\nHost: x.localhost:" + port + "\r\n\r\n", // only when it is resolved
	} {
		b := w.browser()
		b.send(ask)
		if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, "X-Agentenv-Proxy: refused\r\n") {
			t.Fatalf("%q: %q", ask, got)
		}
	}
	ps := w.want(port,
		"tunnel tunnel 127.0.0.1:ADDR refused policy 403",
		"tunnel tunnel [::ffff:127.0.0.1]:ADDR refused policy 403",
		"exchange plain GET http://127.0.0.1:ADDR/ refused policy 403",
		"exchange plain GET http://0.0.0.0:ADDR/ refused policy 403",
		"exchange plain GET http://x.localhost:ADDR/ refused policy 403")
	for _, p := range ps {
		if p.end.Server != nil {
			t.Errorf("%v: a server: %+v", p, p.end.Server)
		}
	}
	if len(reached) > 0 {
		t.Error("the server was reached")
	}
}

// Inside an intercepted connection the page says why, and the request is recorded.
func TestADeniedAddressInsideAnInterceptedConnection(t *testing.T) {
	w := newWorld(t, denyPrivate)
	addr := w.origin(answers(func(string) string { return "" }), "x.localhost")
	_, port, _ := net.SplitHostPort(addr)
	b := w.secure("x.localhost:"+port, "x.localhost")
	b.send("POST /in HTTP/1.1\r\nHost: x.localhost:" + port + "\r\nContent-Length: 3\r\n\r\nabc")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Fatalf("%q", got)
	}
	p := w.want(port, "exchange mitm POST https://x.localhost:ADDR/in refused policy 403")[0]
	if body := p.requestBody(); body == nil || body.Size != 3 {
		t.Errorf("the refused request's body: %+v", body)
	}
}

func TestADeniedAddressOfATunnel(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Policy = (&Rules{DenyPrivate: true, Tunnel: rules(t, "*.localhost")}).Decide
	})
	b := w.browser()
	b.send("CONNECT x.localhost:1 HTTP/1.1\r\nHost: x.localhost:1\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Fatalf("%q", got)
	}
	w.want("", "tunnel tunnel x.localhost:1 refused policy 403")
}

// Nothing that is neither TLS nor HTTP passes either; its CONNECT is granted by then.
func TestADeniedAddressOfALateTunnel(t *testing.T) {
	w := newWorld(t, denyPrivate)
	b := w.connect("x.localhost:1")
	b.send("\x00\x01\x02")
	if got, err := b.rest(); got != "" {
		t.Errorf("got %q, %v", got, err)
	}
	w.want("", "tunnel tunnel x.localhost:1 refused policy 0")
}

// A dialler of the configuration's own is looked at once it has connected.
func TestADeniedAddressThatTheDiallerChose(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		denyPrivate(c)
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, _ := net.SplitHostPort(address)
			var d net.Dialer
			return d.DialContext(ctx, network, "127.0.0.1:"+port)
		}
	})
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }))
	_, port, _ := net.SplitHostPort(addr)
	b := w.browser()
	b.send("GET http://public.example:" + port + "/ HTTP/1.1\r\nHost: public.example:" + port + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Fatalf("%q", got)
	}
	w.want(port, "exchange plain GET http://public.example:ADDR/ refused policy 403")
}

// The policy's own route is its own affair.
func TestARouteIsNotAskedAbout(t *testing.T) {
	var addr string
	w := newWorld(t, func(c *Config) {
		c.Policy = func(target Target) Decision {
			if target.Addr.IsValid() {
				return Decision{Action: Refuse}
			}
			return Decision{Action: RouteTo, Route: &Route{Site: "shop", Address: addr}}
		}
	})
	addr = w.origin(answers(func(string) string { return "HTTP/1.1 204 No Content\r\n\r\n" }))
	b := w.secure("shop.test:443", "shop.test")
	b.send("GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
	b.expect("HTTP/1.1 204 No Content\r\n\r\n")
	b.Close()
	w.want("", "exchange site GET https://shop.test/ 204")
}

// A browser that resolved a name itself needs both the address and the name allowed.
func TestAllowedHosts(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Policy = (&Rules{Allow: rules(t, "127.0.0.1", "good.test")}).Decide
	})
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 204 No Content\r\n\r\n" }), "good.test")
	b := w.secure(addr, "good.test")
	_, port, _ := net.SplitHostPort(addr)
	b.send("GET / HTTP/1.1\r\nHost: good.test:" + port + "\r\n\r\n")
	b.expect("HTTP/1.1 204 No Content\r\n\r\n")
	b.Close()

	bad := w.connect(addr)
	if err := tls.Client(bad.Conn, &tls.Config{ServerName: "bad.test", RootCAs: w.ca.pool}).Handshake(); err == nil {
		t.Error("the name that is not allowed was let through")
	}
	w.logHas(`"code":"policy"`)
	other := w.browser()
	other.send("CONNECT good.test.evil.test:443 HTTP/1.1\r\nHost: good.test.evil.test:443\r\n\r\n")
	if got := other.head(); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Fatalf("%q", got)
	}
	w.want(port,
		"exchange mitm GET https://good.test:ADDR/ 204",
		"tunnel mitm 127.0.0.1:ADDR refused policy 0",
		"tunnel tunnel good.test.evil.test:443 refused policy 403")
}
