package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/gorilla/websocket"
)

// A routed site is one that reads where it is found, as gateways say it. One signs
// in by a form, stays signed in by a cookie, calls its API and talks.
type routedSite struct {
	url string

	mu   sync.Mutex
	sent []http.Header // what it got with each request
}

const routedCard = `{"name": "notes", "url": "/agentenv", "capabilities": {"extensions": [
	{"uri": "urn:agentenv:website/v1", "params": {"domains": ["notes.test"], "methods": {"ready": {"method": "GET", "endpoint": "/ready"}}}}]}}`

const routedHome = `<!doctype html><title>home</title><script>
const hidden = ['agentenv', 'ready', 'x/..%2Fagentenv', '.well-known/agent-env.json', 'AGENTENV;a']
;(async () => {
	for (const path of hidden) {
		const status = (await fetch(path)).status
		if (status !== 404) throw new Error(path + ': ' + status)
	}
	const said = await (await fetch('api?q=%zz&b;c', {method: 'POST', body: 'body'})).text()
	if (said !== 'body') throw new Error('the API: ' + said)
	const socket = new WebSocket(new URL('socket', location.href).href.replace('http', 'ws'))
	const message = new Promise((done, failed) => {
		socket.onopen = () => socket.send('ping')
		socket.onerror = () => failed(new Error('the socket'))
		socket.onclose = e => failed(new Error('the socket closes with ' + e.code))
		socket.onmessage = m => done(m.data)
	})
	if (await message !== 'ping') throw new Error('no echo')
	const closed = new Promise(done => { socket.onclose = e => done(e.code + e.reason) })
	socket.send('close')
	if (await closed !== '4001bye') throw new Error('closed with ' + await closed)
	document.title = 'done'
})().catch(e => { document.title = 'broken: ' + e.message })
</script>`

func newRoutedSite(t *testing.T) *routedSite {
	t.Helper()
	s := &routedSite{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-env.json", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, routedCard) })
	mux.HandleFunc("/agentenv", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the data plane") })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `<!doctype html><title>notes</title><form id="form" method="post" action="login"><input name="user" value="ann"></form>`)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		prefix := r.Header.Get("X-Forwarded-Prefix")
		http.SetCookie(w, &http.Cookie{Name: "session", Value: r.FormValue("user"), Path: prefix + "/", HttpOnly: true})
		w.Header().Set("Location", r.Header.Get("X-Forwarded-Proto")+"://"+r.Header.Get("X-Forwarded-Host")+prefix+"/home")
		w.WriteHeader(http.StatusSeeOther)
	})
	mux.HandleFunc("GET /home", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("session"); err != nil || c.Value != "ann" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, routedHome)
	})
	mux.HandleFunc("POST /api", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "q=%zz&b;c" {
			fmt.Fprintf(w, "the query is %s", r.URL.RawQuery)
			return
		}
		io.Copy(w, r.Body)
	})
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	mux.HandleFunc("GET /socket", func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			kind, m, err := conn.ReadMessage()
			if err != nil {
				return
			}
			if string(m) == "close" {
				conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(4001, "bye"))
				continue
			}
			conn.WriteMessage(kind, m)
		}
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if r.URL.Path != "/.well-known/agent-env.json" {
			s.sent = append(s.sent, r.Header.Clone())
		}
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// got gives what the site has got since the last time.
func (s *routedSite) got() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

const plainNginx = `
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx-error.log;
events {}
http {
	types { text/html html; }
	access_log off;
	client_body_temp_path %[1]s/nginx-body;
	proxy_temp_path %[1]s/nginx-proxy;
	fastcgi_temp_path %[1]s/nginx-fastcgi;
	uwsgi_temp_path %[1]s/nginx-uwsgi;
	scgi_temp_path %[1]s/nginx-scgi;
	server {
		listen %[2]s;
		root %[1]s/pages;
	}
}
`

// newPlainNginx serves pages as nginx does that knows of no gateway: it redirects to
// its own address.
func newPlainNginx(t *testing.T) string {
	t.Helper()
	program := need(t, "nginx")
	dir, address := t.TempDir(), freePort(t)
	write(t, filepath.Join(dir, "pages/guide/index.html"), []byte(`<!doctype html><title></title><script>document.title = location.href</script>`))
	config := filepath.Join(dir, "nginx.conf")
	write(t, config, fmt.Appendf(nil, plainNginx, dir, address))
	nginx := exec.Command(program, "-c", config, "-p", dir, "-e", filepath.Join(dir, "nginx-error.log"))
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nginx.Process.Kill()
		nginx.Wait()
	})
	until(t, "nginx to answer", func() bool {
		answer, err := http.Get("http://" + address + "/guide/")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == 200
	})
	http.DefaultClient.CloseIdleConnections()
	return "http://" + address
}

// Chromium browses two sites by the gateway's routes, and then by names of their
// own through the site proxy. What the sites send it to, and the cookies they set,
// end up where it found them; of what is the framework's and the provider's, no
// site and no log gets anything.
func TestSitesThroughTheGateway(t *testing.T) {
	t.Parallel()
	need(t, "chromium")
	site, docs := newRoutedSite(t), newPlainNginx(t)
	_, gateway := startServe(t, []string{"AGENTENV_CONTROL_TOKEN=" + controlToken, "AGENTENV_ROLE_KEY=the-role-key", "AGENTENV_PROVIDER_REQUEST_HEADERS=X-Provider-Key"},
		"--website", "notes="+site.url, "--website", "docs="+docs)

	root := t.TempDir()
	write(t, filepath.Join(root, "etc/passwd"), []byte("nobody:x:65534:65534:nobody:/:/bin/false\n"))
	config := filepath.Join(root, "config.json")
	write(t, config, fmt.Appendf(nil, `{"http_port": 0, "sites": [
		{"name": "notes", "upstream": "%s/website/notes/", "upstream_headers": {"X-Provider-Key": "the-provider's-secret"}}]}`, gateway))
	d := startDaemon(t, "  log ", nil, "sites", "run", "--root", root, "--from", gateway, config) // which has nginx too
	_, port, _ := strings.Cut(listens.FindString(d.said.String()), ":")

	b := startChromium(t, nil, nil)
	for _, at := range []struct{ notes, docs, prefix string }{
		{gateway + "/website/notes", gateway + "/website/docs", "/website/notes"},
		{"http://notes.localhost:" + port, "http://docs.localhost:" + port, ""},
	} {
		b.open(at.notes, "notes") // without the slash
		b.submit("done")
		if got := do(b, "read the address", chromedp.Evaluate[string](`location.href`)); got != at.notes+"/home" {
			t.Errorf("signed in, the browser is at %s", got)
		}
		b.open(at.notes+"/home", "done")
		b.open(at.docs+"/guide", at.docs+"/guide/")
		sent := site.got()
		if len(sent) == 0 {
			t.Error("the site was not asked")
		}
		for _, h := range sent {
			all, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			if h.Get("X-Forwarded-Prefix") != at.prefix || h.Get("X-Forwarded-Host") != strings.TrimPrefix(strings.TrimSuffix(at.notes, "/website/notes"), "http://") ||
				!slices.Equal(h["Agentenv-Role"], []string{"default"}) || h["Agentenv-Site-Root"] != nil || h["X-Provider-Key"] != nil || strings.Contains(string(all), "secret") {
				t.Errorf("at %s the site gets %s", at.notes, all)
			}
		}
	}
	b.close()

	// Whoever is in control has the harness, and a role.
	for _, c := range []struct {
		path, token, role string
		status            int
	}{{"/svc/notes/agentenv", "", "", 401}, {"/svc/notes/agentenv", controlToken, "admin", 200}, {"/website/notes/agentenv", controlToken, "admin", 404}} {
		r, err := http.NewRequest("GET", gateway+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
			r.Header.Set("AgentEnv-Role", c.role)
			r.Header.Set("AgentEnv-Role-Key", "the-role-key")
		}
		r.Close = true
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%s with %q: %s", c.path, c.token, answer.Status)
		}
	}
	if sent := site.got(); len(sent) != 1 || sent[0].Get("Agentenv-Role") != "admin" || sent[0].Get("Agentenv-Role-Key") != "the-role-key" || sent[0]["Authorization"] != nil {
		t.Errorf("the harness gets %v", sent)
	}

	// By the gateway's card, the site proxy finds both: the site that has a card of its
	// own, and nginx, which has none.
	write(t, config, []byte(`{"sites": []}`))
	stdout, stderr, code := run(t, root, "sites", "check", "--from", gateway, config)
	for _, want := range []string{`notes\.test +notes +synthetic +` + gateway + `/website/notes/`, `docs\.localhost +docs +synthetic +` + gateway + `/website/docs/`} {
		if code != 0 || !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("sites check --from ends with %d, want %s: %s%s", code, want, stdout, stderr)
		}
	}

	d.stop()
	path := filepath.Join(root, "etc/agentenv/sites/network.jsonl")
	r := readLog(t, path)
	for _, secret := range []string{controlToken, "secret", "the-role-key", gateway} {
		if strings.Contains(string(contentOf(t, path)), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
	var got []string
	for _, e := range r.to("notes.localhost:"+port, "docs.localhost:"+port) {
		if !strings.HasSuffix(e.open.Request.URL, "/favicon.ico") {
			got = append(got, e.open.Request.Method+" "+strings.ReplaceAll(e.url(), ".localhost:"+port, "")+" "+came(e))
		}
		if strings.HasSuffix(e.open.Request.URL, "/login") && (e.end.Response.header("Set-Cookie") != "session=ann; Path=/; HttpOnly" || e.end.Response.header("Location") != "http://notes.localhost:"+port+"/home") {
			t.Errorf("sign-in: %v", e.end.Response.Headers)
		}
	}
	home := []string{"GET http://notes/home 200"}
	for _, path := range []string{"agentenv", "ready", "x/..%2Fagentenv", ".well-known/agent-env.json", "AGENTENV;a"} {
		home = append(home, "GET http://notes/"+path+" 404")
	}
	home = append(home, "POST http://notes/api?q=%zz&b;c 200", "GET ws://notes/socket 101")
	want := slices.Concat([]string{"GET http://notes/ 200", "POST http://notes/login 303"}, home, home, []string{"GET http://docs/guide 301", "GET http://docs/guide/ 200"})
	if !slices.Equal(got, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, e := range r.to("notes.localhost:" + port) {
		if s := e.end.WebSocket; s != nil && (s.Close == nil || s.Close.Code != 4001 || s.Close.By != "server") {
			t.Errorf("the WebSocket ends with %+v", s.Close)
		}
	}
}
