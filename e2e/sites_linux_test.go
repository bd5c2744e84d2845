package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/miekg/dns"
)

const (
	agentID        = 4711 // who browses
	gatewayAddress = "10.88.0.1"
	liveAddress    = "10.88.1.1"
	sitesLog       = "/etc/agentenv/sites/network.jsonl"
)

// A computer has browsers, and a network with a gateway, whose nginx stands in front
// of two sites, and with a live host.
type computer struct {
	t       *testing.T
	dir     string
	gateway *namespace
	live    *namespace
	before  map[string]string // its files, before anything was installed
}

const gatewayConfig = `
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx-error.log;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/nginx-body;
	proxy_temp_path %[1]s/nginx-proxy;
	fastcgi_temp_path %[1]s/nginx-fastcgi;
	uwsgi_temp_path %[1]s/nginx-uwsgi;
	scgi_temp_path %[1]s/nginx-scgi;
	client_max_body_size 100m;
	map $http_upgrade $upgrading { "" ""; default "upgrade"; }
	proxy_http_version 1.1;
	proxy_request_buffering off;
	proxy_buffering off;
	proxy_set_header Host $http_host;
	proxy_set_header Upgrade $http_upgrade;
	proxy_set_header Connection $upgrading;
	server {
		listen ` + gatewayAddress + `:8080;
		location /website/notes/ { proxy_pass http://127.0.0.1:9001; add_header Alt-Svc 'h3=":443"' always; }
		location /website/shop/ { proxy_pass http://127.0.0.1:9002; }
	}
}
`

func newComputer(t *testing.T) *computer {
	t.Helper()
	for _, program := range []string{"nginx", "curl", "dig", "certutil", "update-ca-certificates"} {
		need(t, program)
	}
	c := &computer{t: t, dir: t.TempDir(), gateway: newNamespace(t), live: newNamespace(t)}
	for i, at := range []*namespace{c.gateway, c.live} {
		eth := fmt.Sprintf("eth%d", i)
		c.do("ip", "link", "add", eth, "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(at.pid))
		c.do("ip", "address", "add", fmt.Sprintf("10.88.%d.2/24", i), "dev", eth)
		c.do("ip", "link", "set", eth, "up")
		at.do("ip", "address", "add", fmt.Sprintf("10.88.%d.1/24", i), "dev", "eth0")
		at.do("ip", "link", "set", "eth0", "up")
	}
	write(t, "/etc/hosts", []byte("127.0.0.1 localhost\n::1 localhost")) // and no end of the line
	write(t, "/etc/resolv.conf", []byte("nameserver "+gatewayAddress+"\noptions timeout:5\n"))
	addUser(t, "agent", agentID)
	c.do("cp", binary(t), "/usr/local/bin/agentenv-netlog") // where the user may run it
	c.do("chmod", "755", "/usr/local/bin/agentenv-netlog")

	c.serveNames()
	c.serve(c.gateway, "127.0.0.1:9001", siteOf("notes"))
	c.serve(c.gateway, "127.0.0.1:9002", siteOf("shop"))
	c.serve(c.live, liveAddress+":80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "live") }))
	a := newAuthority(t, c.dir)
	pair, err := tls.LoadX509KeyPair(a.leaf.cert, a.leaf.key)
	if err != nil {
		t.Fatal(err)
	}
	c.serveOn(tls.NewListener(c.live.listen(liveAddress+":443"), &tls.Config{Certificates: []tls.Certificate{pair}}),
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "live over TLS") }))
	config := filepath.Join(c.dir, "nginx.conf")
	write(t, config, fmt.Appendf(nil, gatewayConfig, c.dir))
	nginx := c.gateway.command("nginx", "-c", config, "-p", c.dir, "-e", filepath.Join(c.dir, "nginx-error.log"))
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nginx.Process.Kill()
		nginx.Wait()
	})
	until(t, "the gateway to answer", func() bool {
		answer, err := http.Get("http://" + gatewayAddress + ":8080/website/notes/")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == 200
	})
	http.DefaultClient.CloseIdleConnections()
	c.before = systemFiles(t)
	return c
}

func (c *computer) do(program string, args ...string) string {
	c.t.Helper()
	out, err := exec.CommandContext(c.t.Context(), program, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

func (c *computer) serve(n *namespace, address string, h http.Handler) {
	c.t.Helper()
	c.serveOn(n.listen(address), h)
}

func (c *computer) serveOn(l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	var running sync.WaitGroup
	running.Go(func() { s.Serve(l) })
	c.t.Cleanup(func() {
		s.Close()
		running.Wait()
	})
}

// serveNames is the network's own nameserver.
func (c *computer) serveNames() {
	answer := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a := new(dns.Msg).SetReply(q)
		a.Compress = true
		header := dns.RR_Header{Name: q.Question[0].Name, Class: dns.ClassINET, Ttl: 5}
		address := map[string]string{"gateway.": gatewayAddress, "live.example.": liveAddress, "notes.live.example.": liveAddress}[q.Question[0].Name]
		switch {
		case q.Question[0].Name == "big.example.":
			header.Rrtype = dns.TypeTXT
			for i := range 25 {
				a.Answer = append(a.Answer, &dns.TXT{Hdr: header, Txt: []string{fmt.Sprintf("%0240d", i)}})
			}
		case address != "" && q.Question[0].Qtype == dns.TypeA:
			header.Rrtype = dns.TypeA
			a.Answer = []dns.RR{&dns.A{Hdr: header, A: net.ParseIP(address)}}
		case address == "":
			a.Rcode = dns.RcodeNameError
		}
		w.WriteMsg(a)
	})
	var running sync.WaitGroup
	servers := []*dns.Server{
		{PacketConn: c.gateway.listenPacket(gatewayAddress + ":53"), Handler: answer},
		{Listener: c.gateway.listen(gatewayAddress + ":53"), Handler: answer},
	}
	for _, s := range servers {
		running.Go(func() { s.ActivateAndServe() })
	}
	c.t.Cleanup(func() {
		servers[0].PacketConn.Close()
		servers[1].Listener.Close()
		running.Wait()
	})
}

// siteOf is a site that knows that it is served under a route: one signs in by a
// form, stays signed in by a cookie, uploads and talks.
func siteOf(name string) http.Handler {
	prefix := "/website/" + name
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, title, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>%s</title>%s", title, body)
	}
	mux.HandleFunc("GET "+prefix+"/{$}", func(w http.ResponseWriter, r *http.Request) {
		page(w, name, `<form id="form" method="post" action="login"><input name="user" value="ann"><input name="password" value="s3cret"></form>`)
	})
	mux.HandleFunc("POST "+prefix+"/login", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: r.FormValue("user"), Path: prefix + "/", HttpOnly: true})
		http.SetCookie(w, &http.Cookie{Name: "theme", Value: "dark", Path: prefix})
		w.Header().Set("Location", prefix+"/home")
		w.WriteHeader(http.StatusSeeOther)
	})
	mux.HandleFunc("GET "+prefix+"/home", func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie("session")
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		page(w, "home of "+cookie.Value, `<script>
const socket = url => new Promise((done, failed) => {
	const s = new WebSocket(url)
	s.onopen = () => s.send('ping')
	s.onmessage = m => { s.onclose = () => done(m.data); s.close(1000) }
	s.onerror = () => failed(new Error('the socket'))
})
;(async () => {
	const said = await (await fetch('api?q=1', {method: 'POST', headers: {'Content-Type': 'application/json', 'X-Sign-In': 'hidden'}, body: '{"a":1}'})).json()
	if (said.host !== location.host || said.proto !== 'https') throw new Error('forwarded as ' + JSON.stringify(said))
	const form = new FormData()
	form.append('file', new Blob([new Uint8Array(100000)]), 'a.bin')
	const size = await (await fetch('upload', {method: 'POST', body: form})).text()
	if (+size < 100000) throw new Error('uploaded ' + size)
	if (await socket('wss://' + location.host + '/socket') !== 'ping') throw new Error('no echo')
	document.title = 'done'
})().catch(e => { document.title = 'broken: ' + e.message })
</script>`)
	})
	mux.HandleFunc("POST "+prefix+"/api", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]string{
			"host": r.Header.Get("X-Forwarded-Host"), "proto": r.Header.Get("X-Forwarded-Proto"), "root": r.Header.Get("AgentEnv-Site-Root"),
			"key": r.Header.Get("X-Provider-Key"), "sign-in": r.Header.Get("X-Sign-In"),
		})
	})
	mux.HandleFunc("POST "+prefix+"/upload", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	})
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	mux.HandleFunc("GET "+prefix+"/socket", func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			kind, m, err := conn.ReadMessage()
			if err != nil || conn.WriteMessage(kind, m) != nil {
				return
			}
		}
	})
	mux.HandleFunc(prefix+"/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", name, r.RequestURI) })
	return mux
}

const sitesConfig = `{"user": "agent", "forward_port": 3128,
	"allow_hosts": ["gateway", "live.example", "missing.example"],
	"sites": [
		{"name": "notes", "upstream": "http://gateway:8080/website/notes/", "domains": ["notes.test"], "signin_headers": ["X-Sign-In"], "upstream_headers": {"X-Provider-Key": "the provider's secret"}},
		{"name": "shop", "upstream": "http://gateway:8080/website/shop/", "domains": ["*.shop.test"]},
		{"name": "plain", "upstream": "http://gateway:8080/website/shop/"}]}`

// sites runs a command of sites with a configuration on its standard input.
func (c *computer) sites(config string, args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	cmd := exec.Command(binary(c.t), append([]string{"sites"}, args...)...)
	cmd.Env = append(clean(os.Environ()), "HTTPS_PROXY=http://127.0.0.1:1") // which nobody is to ask
	cmd.Stdin = strings.NewReader(config)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (c *computer) install(config string) {
	c.t.Helper()
	stdout, stderr, code := c.sites(config, "install", "-")
	if code != 0 {
		own, _ := os.ReadFile("/etc/agentenv/sites/site-proxy.log")
		c.t.Fatalf("install ended with %d\n%s%s%s", code, stdout, stderr, own)
	}
	var report struct {
		Trust  []struct{ Store, Path, Error string }
		Checks map[string]struct {
			Status int
			Error  string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		c.t.Fatal(err)
	}
	for _, p := range report.Trust {
		if p.Error != "" {
			c.t.Errorf("%+v", p)
		}
	}
	for name, check := range report.Checks {
		if check.Status != 200 {
			c.t.Errorf("%s: %+v", name, check)
		}
	}
	c.t.Cleanup(func() { c.sites("", "uninstall") })
}

// uninstall takes the sites away again, and looks whether everything is what it
// was but for the log, which it gives.
func (c *computer) uninstall() *record {
	c.t.Helper()
	if stdout, stderr, code := c.sites("", "uninstall"); code != 0 {
		c.t.Fatalf("uninstall ended with %d\n%s%s", code, stdout, stderr)
	}
	after := systemFiles(c.t)
	for name := range after {
		if strings.HasPrefix(name, "/etc/agentenv") {
			delete(after, name)
		}
	}
	sameFiles(c.t, c.before, after)
	return readLog(c.t, sitesLog)
}

// servedBy is the process that serves, by the log's last start line.
func (c *computer) servedBy() int {
	c.t.Helper()
	var last struct{ PID int }
	for line := range bytes.Lines(contentOf(c.t, sitesLog)) {
		if bytes.Contains(line, []byte(`"event":"start"`)) {
			if err := json.Unmarshal(line, &last); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	return last.PID
}

// Chromium trusts by the managed policy that install wrote, and by nothing else:
// it signs in, stays signed in, uploads and talks, directly and by the forward port.
func TestSitesInChromium(t *testing.T) {
	if !onAComputer(t) {
		return
	}
	need(t, "chromium")
	c := newComputer(t)
	c.install(sitesConfig)
	for _, switches := range [][]string{
		nil,
		{"--disable-http2"},
		{"--proxy-server=http://127.0.0.1:3128", "--proxy-bypass-list=<-loopback>"},
	} {
		b := startChromium(t, switches, nil)
		b.open("https://notes.test/", "notes")
		b.submit("done")
		b.open("https://notes.test/home", "done") // it is still signed in
		b.open("https://a.shop.test/", "shop")
		b.open("http://plain.localhost/", "shop")
		b.open("http://notes.test/", "notes") // and is sent to https
		b.close()
	}
	r := c.uninstall()
	want := []string{
		"GET https://notes.test/ 200", "POST https://notes.test/login 303", "GET https://notes.test/home 200",
		"POST https://notes.test/api?q=1 200", "POST https://notes.test/upload 200", "GET wss://notes.test/socket 101",
		"GET https://notes.test/home 200", "POST https://notes.test/api?q=1 200", "POST https://notes.test/upload 200", "GET wss://notes.test/socket 101",
		"GET https://a.shop.test/ 200", "GET http://plain.localhost/ 200", "GET http://notes.test/ 308", "GET https://notes.test/ 200",
	}
	var got []string
	for _, e := range r.to("notes.test", "a.shop.test", "plain.localhost") {
		if strings.HasSuffix(e.url(), "/favicon.ico") || strings.Contains(e.open.Request.header("User-Agent"), "agentenv") {
			continue
		}
		version := "HTTP/1.1"
		if run := len(got) / len(want); run != 1 && strings.HasPrefix(e.url(), "https:") {
			version = "HTTP/2"
		}
		if e.open.Request.Version != version {
			t.Errorf("%s was asked for by %s, want %s", e.url(), e.open.Request.Version, version)
		}
		got = append(got, e.open.Request.Method+" "+e.url()+" "+came(e))
		if e.open.Via != "site" {
			t.Errorf("%s went by %s", e.url(), e.open.Via)
		}
		switch {
		case strings.HasSuffix(e.url(), "/login"):
			if e.end.Response.header("Location") != "/home" || e.end.Response.header("Set-Cookie") != "session=ann; Path=/; HttpOnly" || string(e.request()) != "user=ann&password=s3cret" {
				t.Errorf("sign-in: %v %q", e.end.Response.Headers, e.request())
			}
		case strings.HasSuffix(e.url(), "/api?q=1"):
			if e.open.Request.header("X-Sign-In") != "<removed>" || e.open.Request.header("X-Provider-Key") != "" ||
				!strings.Contains(string(e.end.Response.Body.Base64), `"key":"the provider's secret"`) || !strings.Contains(string(e.end.Response.Body.Base64), `"sign-in":"hidden"`) {
				t.Errorf("the API: %v %s", e.open.Request.Headers, e.end.Response.Body.Base64)
			}
		}
		if e.end.Response.header("Alt-Svc") != "" {
			t.Errorf("%s has an Alt-Svc", e.url())
		}
	}
	if all := slices.Concat(want, want, want); !slices.Equal(got, all) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
	}
	har := filepath.Join(c.dir, "network.har")
	entries := convertTo(t, sitesLog, har)
	if n := len(theseHosts(entries, []string{"notes.test", "a.shop.test", "plain.localhost"})); n < len(got) {
		t.Errorf("the HAR has %d entries of %d", n, len(got))
	}
}

// What install has written is enough for Firefox, curl, Node and Python, as the
// user has them at login.
func TestSitesInOtherPrograms(t *testing.T) {
	if !onAComputer(t) {
		return
	}
	c := newComputer(t)
	c.install(sitesConfig)
	for _, program := range []struct{ needs, line string }{
		{"curl", `curl -sS https://notes.test/curl`},
		{"curl", `curl -sS https://x.shop.test/curl`},
		{"node", `node -e 'fetch("https://notes.test/node").then(r => r.text()).then(console.log)'`},
		{"/usr/bin/python3", `/usr/bin/python3 -c 'import urllib.request; print(urllib.request.urlopen("https://notes.test/python").read().decode())'`},
		{"curl", `HTTPS_PROXY=http://127.0.0.1:3128 curl -sS https://notes.test/forward`},
	} {
		need(t, program.needs)
		out, err := as(t, agentID, program.line)
		if err != nil || !strings.Contains(out, "/website/") {
			t.Errorf("%s: %v\n%s", program.line, err, out)
		}
	}
	need(t, "firefox-esr")
	const home = "/home/firefox" // what Firefox leaves is none of ours
	var prefs strings.Builder
	for _, pref := range stillFirefox {
		fmt.Fprintf(&prefs, "user_pref(%s);\n", pref)
	}
	write(t, home+"/profile/user.js", []byte(prefs.String()))
	for _, folder := range []string{home, home + "/profile"} {
		if err := os.Chown(folder, agentID, agentID); err != nil {
			t.Fatal(err)
		}
	}
	out, err := as(t, agentID, "HOME="+home+" MOZ_CRASHREPORTER_DISABLE=1 timeout 120 firefox-esr --headless --no-remote --profile "+home+"/profile --screenshot "+home+"/shot.png https://notes.test/firefox")
	if picture, e := os.Stat(home + "/shot.png"); err != nil || e != nil || picture.Size() < 1000 {
		t.Errorf("Firefox: %v, %v\n%s", err, e, out)
	}
	os.RemoveAll(home)
	r := c.uninstall()
	for _, url := range []string{
		"https://notes.test/curl", "https://x.shop.test/curl", "https://notes.test/node", "https://notes.test/python", "https://notes.test/forward", "https://notes.test/firefox",
	} {
		if e := r.find(t, "GET", url); e.end.Response == nil || e.end.Response.Status != 200 {
			t.Errorf("%s: %s", url, came(e))
		}
	}
}

// Names that are wildcards resolve over UDP and TCP, and so does everything else,
// whole.
func TestSitesNames(t *testing.T) {
	if !onAComputer(t) {
		return
	}
	c := newComputer(t)
	c.install(sitesConfig)
	for _, ask := range []struct{ args, want string }{
		{"+short a.shop.test A", "127.0.0.1"},
		{"+short +tcp a.shop.test A", "127.0.0.1"},
		{"+short a.shop.test AAAA", ""},
		{"+short +tcp live.example", liveAddress},
		{"+short live.example", liveAddress},
		{"+noall +comments missing.example", "NXDOMAIN"},
		{"+noall +comments a.shop.test AAAA", "status: NOERROR"},
		{"+noall +comments a.shop.test", "flags: qr aa rd ra"},
		{"+noall +stats +bufsize=65000 +ignore +notcp big.example TXT", "rcvd: 6"},
		{"+noall +comments +bufsize=65000 +ignore +notcp big.example TXT", "ANSWER: 25"},
		{"+noall +comments +tcp big.example TXT", "ANSWER: 25"},
	} {
		out := strings.TrimSpace(c.do("dig", strings.Fields(ask.args)...))
		if ask.want == "" && out != "" || !strings.Contains(out, ask.want) {
			t.Errorf("dig %s: %s", ask.args, out)
		}
	}
	c.uninstall()
}

// By the forward port, what is let through is tunnelled, or recorded whole where it
// is in the clear; all else is an entry too.
func TestSitesAndOtherHosts(t *testing.T) {
	if !onAComputer(t) {
		return
	}
	c := newComputer(t)
	c.install(sitesConfig)
	for _, ask := range []struct{ line, want string }{
		{`curl -sk -x http://127.0.0.1:3128 https://live.example/t`, "live over TLS"},
		{`curl -s -x http://127.0.0.1:3128 http://live.example/p`, "live"},
		{`curl -sk https://live.example/direct`, "live over TLS"},
		{`curl -so /dev/null -w '%{http_connect}' -x http://127.0.0.1:3128 https://notes.live.example/`, "403"},
		{`curl -so /dev/null -w '%{http_code}' -x http://127.0.0.1:3128 http://unlisted.example/`, "403"},
		{`curl -so /dev/null -w '%{http_connect}' -x http://127.0.0.1:3128 https://missing.example/`, "502"},
		{`curl -so /dev/null -w '%{http_code}' -x http://127.0.0.1:3128 http://missing.example/`, "502"},
		{`curl -sko /dev/null -w '%{http_code}' https://127.0.0.1/`, "421"},
		{`curl -so /dev/null -w '%{http_code} %{redirect_url}' http://a.shop.test/x`, "308 https://a.shop.test/x"},
		{`curl -s -H 'Host: unlisted.example' -o /dev/null -D - http://127.0.0.1/`, "X-Agentenv-Site-Proxy: failed"},
	} {
		if out, _ := as(t, agentID, ask.line); !strings.Contains(out, ask.want) {
			t.Errorf("%s: %s", ask.line, out)
		}
	}
	r := c.uninstall()
	var tunnels, exchanges []string
	for _, e := range r.tunnels {
		said := e.open.Target
		switch {
		case e.end.Failed != nil:
			said += " " + e.end.Failed.Phase + " " + e.end.Failed.Code
		case e.end.Refused != nil:
			said += " " + e.end.Refused.Code
		}
		tunnels = append(tunnels, said)
	}
	for _, e := range r.exchanges {
		if !strings.Contains(e.open.Request.header("User-Agent"), "agentenv") {
			exchanges = append(exchanges, e.open.Via+" "+e.url()+" "+came(e))
		}
	}
	if want := []string{"live.example:443", "notes.live.example:443 policy", "missing.example:443 dns not_found"}; !slices.Equal(tunnels, want) {
		t.Errorf("tunnels %q, want %q", tunnels, want)
	}
	if want := []string{
		"plain http://live.example/p 200", "plain http://unlisted.example/ refused policy", "plain http://missing.example/ failed dns not_found",
		"mitm https://127.0.0.1/ refused misdirected", "site http://a.shop.test/x 308", "plain http://unlisted.example/ refused misdirected",
	}; !slices.Equal(exchanges, want) {
		t.Errorf("exchanges\n%s\nwant\n%s", strings.Join(exchanges, "\n"), strings.Join(want, "\n"))
	}
	if e := r.find(t, "GET", "http://live.example/p"); string(e.end.Response.Body.Base64) != "live" {
		t.Errorf("the plain request's body: %q", e.end.Response.Body.Base64)
	}
}

// Who browses reads the log, and can do nothing else to it, to the keys or to the
// proxy; killed by root, that comes back and numbers on.
func TestSitesAreOutOfTheUsersReach(t *testing.T) {
	if !onAComputer(t) {
		return
	}
	c := newComputer(t)
	c.install(sitesConfig)
	const folder = "/etc/agentenv/sites/"
	pid := c.servedBy()
	status := string(contentOf(t, fmt.Sprintf("/proc/%d/status", pid)))
	if !strings.Contains(status, "Uid:\t65534\t65534\t65534\t65534") || !strings.Contains(status, "Gid:\t65534\t65534\t65534\t65534") {
		t.Errorf("it does not run as nobody:\n%s", status)
	}
	if out, err := as(t, agentID, "cat "+sitesLog); err != nil || !strings.Contains(out, `"event":"start"`) {
		t.Errorf("the user can't read the log: %v %s", err, out)
	}
	for _, id := range []int{agentID, 65534} {
		for _, line := range []string{
			"cat " + folder + "notes.key", "cat " + folder + "config.json", "cat " + folder + "upstream_headers.json", "cat " + folder + "undo.json", "cat " + folder + "site-proxy.log",
			"echo x >> " + sitesLog, ": > " + sitesLog, "truncate -s 0 " + sitesLog, "mv " + sitesLog + " /tmp/log", "rm -f " + sitesLog, "ln -sf /tmp/x " + sitesLog,
			"touch " + folder + "x", "cat /proc/" + fmt.Sprint(pid) + "/environ", "echo x >> /etc/hosts", "agentenv-netlog sites uninstall",
		} {
			if out, err := as(t, id, line); err == nil {
				t.Errorf("user %d: %s: %s", id, line, out)
			}
		}
	}
	supervisor := string(contentOf(t, fmt.Sprintf("/proc/%d/stat", pid)))
	_, rest, _ := strings.Cut(supervisor, ") ")
	for _, p := range []string{fmt.Sprint(pid), strings.Fields(rest)[1]} {
		if out, err := as(t, agentID, "kill -9 "+p); err == nil {
			t.Errorf("the user can stop it: %s", out)
		}
	}

	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	until(t, "the proxy to come back", func() bool {
		out, err := as(t, agentID, "curl -s https://notes.test/back")
		return err == nil && strings.Contains(out, "/website/notes/back")
	})
	t.Logf("it was back after %v", time.Since(killed))
	again := c.servedBy()
	if again == pid {
		t.Error("the log has no second start line")
	}
	_, rest, _ = strings.Cut(string(contentOf(t, fmt.Sprintf("/proc/%d/stat", again))), ") ")
	parent, err := strconv.Atoi(strings.Fields(rest)[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(parent, syscall.SIGKILL); err != nil { // who supervises it
		t.Fatal(err)
	}
	if out, err := as(t, agentID, "curl -s https://notes.test/left"); err != nil || !strings.Contains(out, "/website/notes/left") {
		t.Errorf("without who supervised it, it serves %q, %v", out, err)
	}
	r := c.uninstall() // whose log has numbers without a gap
	if conn, err := net.Dial("tcp4", "127.0.0.1:443"); err == nil {
		conn.Close()
		t.Error("the proxy is still there")
	}
	r.find(t, "GET", "https://notes.test/back")
}

// What can't be installed is refused, with every reason, before anything is written.
func TestSitesRefuse(t *testing.T) {
	if !onAComputer(t) {
		return
	}
	c := newComputer(t)
	busy, err := net.ListenPacket("udp4", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken, err := net.Listen("tcp4", "127.0.0.1:3128")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	config := strings.Replace(sitesConfig, `"domains": ["notes.test"]`, `"domains": ["notes.test", "*.test", "10.0.0.1", "a.shop.test"]`, 1)
	config = strings.Replace(config, `"gateway", `, "", 1)
	for _, refused := range []struct {
		config string
		want   []string
	}{
		{config, []string{
			`"*.test" is a wildcard over a single label`, `"10.0.0.1" is an address`, `"a.shop.test" of site "notes" and "*.shop.test" of site "shop" overlap`,
			`site "notes": allow_hosts leaves out its gateway "gateway"`, "forward_port: listen tcp4 127.0.0.1:3128: bind: address already in use", "dns_port: listen udp4 127.0.0.1:53",
		}},
		{strings.Replace(sitesConfig, `"agent"`, `"nobody-here"`, 1), []string{`user "nobody-here"`, "dns_port: ", "forward_port: "}},
		{strings.Replace(sitesConfig, `"live"`, `"lives"`, 1) + "{", []string{"something behind the JSON object"}},
	} {
		stdout, stderr, code := c.sites(refused.config, "install", "-")
		if code == 0 || stdout != "" {
			t.Errorf("it was installed: %s", stdout)
		}
		for _, want := range refused.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("no %q in %s", want, stderr)
			}
		}
	}
	busy.Close()
	taken.Close()
	write(t, "/tmp/netlog-sites.json", []byte(sitesConfig))
	defer os.Remove("/tmp/netlog-sites.json")
	if out, err := as(t, agentID, "agentenv-netlog sites install /tmp/netlog-sites.json"); err == nil || !strings.Contains(out, "only root can install") || !strings.Contains(out, "hint: call it by sudo") {
		t.Errorf("a user installs: %v %s", err, out)
	}
	sameFiles(t, c.before, systemFiles(t))

	// A gateway that is down keeps nothing from being installed, and is said.
	stdout, stderr, code := c.sites(strings.Replace(sitesConfig, "gateway:8080/website/notes", "gateway:8081/website/notes", 1), "install", "-")
	if code != 1 || !strings.Contains(stdout, `"error": "the proxy itself answered 502 Bad Gateway`) || !strings.Contains(stderr, `"notes.test" did not load`) {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}
	c.install(sitesConfig) // the second time replaces the first
	c.uninstall()
}

// came is what came of an exchange.
func came(e entry) string {
	switch {
	case e.end.Failed != nil:
		return "failed " + e.end.Failed.Phase + " " + e.end.Failed.Code
	case e.end.Refused != nil:
		return "refused " + e.end.Refused.Code
	case e.end.Response != nil:
		return fmt.Sprint(e.end.Response.Status)
	}
	return "nothing"
}
