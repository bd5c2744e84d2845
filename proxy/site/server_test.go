package site

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
	"github.com/agentenv/netlog/proxy"
)

// A deployment is a server on free ports, with its log.
type deployment struct {
	t     *testing.T
	ports *Listeners
	roots *x509.CertPool
	log   string
	stop  func()
}

func deployed(t *testing.T, c Config) *deployment {
	t.Helper()
	free := 0
	c.HTTPSPort, c.HTTPPort, c.DNSPort, c.ForwardPort = &free, &free, &free, &free
	c = certified(t, c)
	d := &deployment{t: t, roots: x509.NewCertPool(), log: filepath.Join(t.TempDir(), "network.jsonl")}
	d.roots.AppendCertsFromPEM([]byte(c.CAPEM))
	made := table(t, c)
	certificates, err := NewCertificates(c, made, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if d.ports, err = Listen(c, made); err != nil {
		t.Fatal(err)
	}
	log, err := netlog.OpenWriter(netlog.WriterConfig{Path: d.log, Program: "test", Version: "0", Mode: "sites", Limits: proxy.DefaultKeep()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(ServerConfig{Table: made, Certificates: certificates, Address: netip.MustParseAddr("127.0.0.1"), Log: log}, d.ports)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	stopped := false
	d.stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error("Serve:", err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(d.stop)
	return d
}

// client is a browser that finds every name at the deployment, by its own ports,
// or that is pointed at the forward port.
func (d *deployment) client(forward bool) *http.Client {
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: d.roots}, DisableCompression: true}
	if forward {
		tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: d.ports.Forward.Addr().String()})
	} else {
		tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			to := d.ports.HTTPS
			if strings.HasSuffix(addr, ":80") {
				to = d.ports.HTTP
			}
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, to.Addr().String())
		}
	}
	d.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// entries stops the deployment and gives what its log has, in order.
func (d *deployment) entries() []string {
	d.t.Helper()
	d.stop()
	open, said := map[int64]string{}, []string{}
	var order []int64
	for _, l := range netlogtest.Validate(d.t, d.log) {
		switch l.Event {
		case netlog.EventOpen:
			order = append(order, l.ID)
			open[l.ID] = strings.TrimRight(string(l.Open.Via)+" "+l.Open.Site, " ") + " "
			if r := l.Open.Request; r != nil {
				open[l.ID] += r.Method + " " + r.URL
			} else {
				open[l.ID] += l.Open.Target
			}
		case netlog.EventEnd:
			switch e := l.End; {
			case e.Refused != nil:
				open[l.ID] += fmt.Sprintf(" refused %s", e.Refused.Code)
			case e.Failed != nil:
				open[l.ID] += fmt.Sprintf(" failed %s %s", e.Failed.Phase, e.Failed.Code)
			case e.Response != nil:
				open[l.ID] += fmt.Sprintf(" %d", e.Response.Status)
			}
		}
	}
	for _, id := range order {
		said = append(said, open[id])
	}
	return said
}

// gateway serves two sites under routes, as an agent's gateway does.
func gateway(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/website/notes/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":443"`)
		switch r.URL.Path {
		case "/website/notes/login":
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/website/notes/"})
			http.Redirect(w, r, "/website/notes/home", http.StatusFound)
		default:
			fmt.Fprintf(w, "%s %s %s %s %s", r.Host, r.RequestURI, r.Header.Get("X-Forwarded-Host"), r.Header.Get("X-Forwarded-Proto"), r.Header.Get("Cookie"))
		}
	})
	mux.HandleFunc("/website/plain/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "plain") })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, string) {
	t.Helper()
	answer, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

func TestServer(t *testing.T) {
	gw := gateway(t)
	real := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "real") }))
	defer real.Close()
	realPlain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "real plain") }))
	defer realPlain.Close()
	d := deployed(t, Config{
		AllowHosts: []string{"127.0.0.1", "missing.invalid"},
		Sites: []Site{
			{Name: "notes", Upstream: gw.URL + "/website/notes/", Domains: []string{"notes.test", "*.wild.test"}},
			{Name: "plain", Upstream: gw.URL + "/website/plain/"},
		},
	})
	d.roots.AddCert(real.Certificate())
	gwHost := strings.TrimPrefix(gw.URL, "http://")
	direct, forward := d.client(false), d.client(true)
	for _, c := range []*http.Client{direct, forward} {
		answer, _ := get(t, c, "https://notes.test/login")
		if answer.StatusCode != 302 || answer.Header.Get("Location") != "/home" || answer.Header.Get("Set-Cookie") != "session=1; Path=/" || answer.Header.Get("Alt-Svc") != "" {
			t.Errorf("sign-in: %v", answer.Header)
		}
		if _, body := get(t, c, "https://a.wild.test/x%2Fy?z=1"); body != gwHost+" /website/notes/x%2Fy?z=1 a.wild.test https " {
			t.Errorf("a wildcard name: %q", body)
		}
		if _, body := get(t, c, "http://plain.localhost/"); body != "plain" {
			t.Errorf("a plain site: %q", body)
		}
		if answer, _ := get(t, c, "http://notes.test/a"); answer.StatusCode != 308 || answer.Header.Get("Location") != fmt.Sprintf("https://notes.test:%d/a", d.ports.HTTPSPort()) {
			t.Errorf("http for a name with TLS: %v", answer)
		}
	}
	if answer, _ := get(t, direct, "http://other.test/"); answer.StatusCode != 421 || answer.Header.Get("X-Agentenv-Site-Proxy") != "failed" {
		t.Errorf("no site: %v", answer)
	}
	if _, body := get(t, forward, real.URL); body != "real" {
		t.Errorf("a host that is let through: %q", body)
	}
	if _, body := get(t, forward, realPlain.URL); body != "real plain" {
		t.Errorf("and over http: %q", body)
	}
	if answer, _ := get(t, forward, "http://forbidden.test/"); answer.StatusCode != 403 {
		t.Errorf("a host that is not: %v", answer)
	}
	if _, err := forward.Get("https://missing.invalid/"); err == nil {
		t.Error("a name that does not resolve is connected to")
	}
	forward.CloseIdleConnections()

	udp := &dns.Conn{UDPSize: maxMessage}
	var err error
	if udp.Conn, err = net.Dial("udp", d.ports.DNS.LocalAddr().String()); err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	udp.SetDeadline(time.Now().Add(2 * time.Minute))
	udp.WriteMsg(new(dns.Msg).SetQuestion("b.wild.test.", dns.TypeA))
	if a, err := udp.ReadMsg(); err != nil || len(a.Answer) != 1 {
		t.Errorf("%v, %v", a, err)
	}

	missing := "tunnel missing.invalid:443 failed dns not_found"
	both := []string{
		"site notes GET https://notes.test/login 302",
		"site notes GET https://a.wild.test/x%2Fy?z=1 200",
		"site plain GET http://plain.localhost/ 200",
		"site notes GET http://notes.test/a 308",
	}
	want := slices.Concat(both, both, []string{
		"plain GET http://other.test/ refused misdirected",
		"tunnel " + strings.TrimPrefix(real.URL, "https://"),
		"plain GET " + realPlain.URL + "/ 200",
		"plain GET http://forbidden.test/ refused policy",
		missing,
	})
	got := d.entries()
	for i, s := range got {
		if strings.HasPrefix(s, "tunnel missing.invalid:443 failed dns ") { // whatever the resolver here says
			got[i] = missing
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A path out of the route, and an answer that is no HTTP, go no further.
func TestServerHoldsToTheRoute(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nno colon\r\nLocation: http://gw/\r\n\r\n")
			}
			conn.Close()
		}
	}()
	defer func() {
		l.Close()
		<-ended
	}()
	d := deployed(t, Config{Sites: []Site{{Name: "notes", Upstream: "http://" + l.Addr().String() + "/website/notes/", Domains: []string{"notes.test"}}}})
	c := d.client(false)
	if answer, _ := get(t, c, "https://notes.test/"); answer.StatusCode != 502 || answer.Header.Get("X-Agentenv-Site-Proxy") != "failed" {
		t.Errorf("%v", answer)
	}
	r, err := http.NewRequest("GET", "https://notes.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = "//notes.test/../svc/notes"
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 400 {
		t.Errorf("%v", answer)
	}
	want := "site notes GET https://notes.test/ failed wait bad_answer\nsite notes GET https://notes.test/../svc/notes refused bad_request"
	if got := strings.Join(d.entries(), "\n"); got != want {
		t.Errorf("the log has\n%s\nwant\n%s", got, want)
	}
}

// Every port that is busy is named.
func TestListenRefuses(t *testing.T) {
	a, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	https, domain, free := a.Addr().(*net.TCPAddr).Port, b.Addr().(*net.TCPAddr).Port, 0
	c := Config{HTTPSPort: &https, HTTPPort: &free, DNSPort: &domain, Sites: []Site{{Name: "a", Upstream: "http://gw/", Domains: []string{"*.wild.test"}}}}
	_, err = Listen(c, table(t, c))
	if err == nil || !strings.Contains(err.Error(), "https_port: listen tcp4 "+a.Addr().String()) || !strings.Contains(err.Error(), "dns_port: listen tcp4 "+b.Addr().String()) {
		t.Errorf("%v", err)
	}
	c.HTTPSPort, c.DNSPort = &free, &free
	l, err := Listen(c, table(t, c))
	if err != nil {
		t.Fatal(err)
	}
	if got := l.String(); strings.Count(got, "127.0.0.1:") != 3 || !strings.Contains(got, "(dns)") || strings.Contains(got, "forward") {
		t.Errorf("%s", got)
	}
	l.Close()
}

// A CORS preflight reaches the site, and a refused WebSocket handshake's answer the
// browser, with all its fields.
func TestServerRelaysWhatSitesSay(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("OPTIONS /website/notes/api", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /website/notes/socket", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "a=1; Path=/website/notes")
		w.Header().Add("Set-Cookie", "b=2; Path=/website/notes/x")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "sign in first")
	})
	gw := httptest.NewServer(mux)
	defer gw.Close()
	d := deployed(t, Config{Sites: []Site{{Name: "notes", Upstream: gw.URL + "/website/notes/", Domains: []string{"notes.test"}}}})
	client := d.client(false)
	for _, c := range []struct {
		method, path string
		fields       map[string]string
		status       int
		name         string
		want         string
		body         string
	}{
		{"OPTIONS", "/api", map[string]string{"Origin": "https://other.test", "Access-Control-Request-Method": "PUT"}, 204, "Access-Control-Allow-Origin", "https://other.test", ""},
		{"GET", "/socket", map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="},
			403, "Set-Cookie", "a=1; Path=/|b=2; Path=/x", "sign in first"},
	} {
		r, err := http.NewRequest(c.method, "https://notes.test"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range c.fields {
			r.Header.Set(name, value)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if got := strings.Join(answer.Header.Values(c.name), "|"); answer.StatusCode != c.status || got != c.want || string(body) != c.body {
			t.Errorf("%s %s: %d %q %q", c.method, c.path, answer.StatusCode, got, body)
		}
	}
}

// Without a log everything is served all the same.
func TestServerWithoutALog(t *testing.T) {
	gw := gateway(t)
	free := 0
	c := Config{HTTPPort: &free, Sites: []Site{{Name: "plain", Upstream: gw.URL + "/website/plain/"}}}
	made := table(t, c)
	certificates, err := NewCertificates(c, made, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ports, err := Listen(c, made)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(ServerConfig{Table: made, Certificates: certificates, Address: netip.MustParseAddr("127.0.0.1")}, ports)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	d := &deployment{t: t, ports: ports}
	client := d.client(false)
	if _, body := get(t, client, "http://plain.localhost/"); body != "plain" {
		t.Errorf("%q", body)
	}
	client.CloseIdleConnections()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
