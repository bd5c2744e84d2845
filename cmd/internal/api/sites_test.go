package api

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/agentenv/netlog/cmd/internal/api/gateway"
)

// newSiteWorld serves a site called notes, which tells what it was sent, and
// nothing else. A WebSocket tells it as its first message.
func newSiteWorld(t *testing.T, token string, own func(string) bool) *world {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/.well-known/agent-env.json":
			io.WriteString(w, `{"name":"the notes","url":"/agentenv"}`)
		case websocket.IsWebSocketUpgrade(r):
			upgrader := websocket.Upgrader{}
			if conn, err := upgrader.Upgrade(w, r, nil); err == nil {
				conn.WriteJSON(r.Header)
				conn.ReadMessage()
				conn.Close()
			}
		default:
			w.Header().Set("X-Path", r.RequestURI)
			json.NewEncoder(w).Encode(r.Header)
		}
	}))
	t.Cleanup(site.Close)
	parsed, err := gateway.ParseSite("notes=" + site.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, said: &said{}}
	a := New(Config{
		Name: "env1", Token: token, Own: own, Logger: slog.New(slog.NewTextHandler(w.said, nil)),
		Gateway: gateway.Config{Sites: []gateway.Site{parsed}, RoleKey: "the-key", Withhold: []string{"X-Provider"}},
	})
	server := httptest.NewServer(a)
	w.url, w.stop = server.URL, a.Stop
	t.Cleanup(func() {
		a.Stop()
		server.Close()
		a.Wait()
	})
	return w
}

// harnessCalls are what only who is in control may call of a site.
var harnessCalls = []struct{ method, path, body string }{
	{"GET", "/svc/notes", ""}, {"GET", "/svc/notes/", ""}, {"POST", "/svc/notes/agentenv", "{}"}, {"GET", "/svc/notes/a%2Fb?c", ""}, {"OPTIONS", "/svc/notes/", ""}, {"HEAD", "/svc/notes/a", ""},
	{"POST", "/svc/notes/.well-known/agent-env.json", ""}, {"GET", "/svc/notes/.well-known/agent-env.json", "{}"}, {"GET", "/svc/notes/.well-known/agent-env.json/", ""}, {"GET", "/svc/notes/.well-known%2Fagent-env.json", ""}, {"GET", "/svc/notes//.well-known/agent-env.json", ""},
	{"GET", "/svc/notes/agentenv/../.well-known/agent-env.json", ""}, {"GET", "/svc/notes/.well-known/agent-env.json/../../agentenv", ""}, {"GET", "/svc/notes/.well-known/agent-env.json%3Fx", ""},
	{"GET", "/%73vc/notes/agentenv", ""}, {"GET", "/svc/%6eotes/agentenv", ""}, {"GET", "/svc%2Fnotes/agentenv", ""}, {"GET", "/svc/notes%2Fagentenv", ""}, {"GET", "/svc/other/", ""}, {"GET", "/svc/", ""}, {"TRACE", "/svc/notes/", ""},
}

func TestASitesHarnessTakesTheTokenAndNothingElse(t *testing.T) {
	w := newSiteWorld(t, token, nil)
	for _, c := range harnessCalls {
		for name, headers := range wrongCredentials {
			const want = `{"ok":false,"error":{"code":"unauthorized","message":"this route is agent-env's own: it takes the env's control token"}}`
			if answer, body := w.call(c.method, c.path, c.body, headers...); answer.StatusCode != 401 || c.method != "HEAD" && string(body) != want {
				t.Errorf("%s %s with %s: %d %s", c.method, c.path, name, answer.StatusCode, body)
			}
		}
		if answer, body := w.call(c.method, c.path, c.body, "Authorization", "Bearer "+token); answer.StatusCode == 401 {
			t.Errorf("%s %s with the token: %d %s", c.method, c.path, answer.StatusCode, body)
		}
	}
	if strings.Contains(w.said.String(), token) {
		t.Errorf("the token is in what was logged: %s", w.said)
	}
	// A WebSocket's handshake likewise.
	for name, headers := range wrongCredentials {
		for _, path := range []string{"/svc/notes/socket", "/svc/notes/.well-known/agent-env.json"} {
			if conn, answer, err := dial(w, path, headers...); err == nil {
				conn.Close()
				t.Errorf("a WebSocket to %s with %s is open", path, name)
			} else if answer == nil || answer.StatusCode != 401 {
				t.Errorf("a WebSocket to %s with %s: %v", path, name, err)
			}
		}
	}
	conn, _, err := dial(w, "/svc/notes/socket", "Authorization", "Bearer "+token)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// The cards are open, and browsers' routes; whether with a token or not.
func TestWhatIsOpenOfASite(t *testing.T) {
	for _, token := range []string{token, ""} {
		w := newSiteWorld(t, token, func(host string) bool { return host == "own.test" })
		for _, path := range []string{"/website/notes/", "/svc/notes/.well-known/agent-env.json", "/svc/notes/.well-known/agent-env.json?x", "/.well-known/agent-env.json"} {
			for name, headers := range wrongCredentials {
				if answer, body := w.call("GET", path, "", headers...); answer.StatusCode != 200 {
					t.Errorf("%s with %s: %d %s", path, name, answer.StatusCode, body)
				}
			}
		}
		if answer, _ := w.call("GET", "/website", ""); answer.StatusCode != 404 {
			t.Errorf("/website: %d", answer.StatusCode)
		}
		// Without a token, a name that somebody points here leads to browsers' routes alone.
		want := 421
		if token != "" {
			want = 401
		}
		if answer, body := w.call("GET", "/svc/notes/", ""); answer.StatusCode != want {
			t.Errorf("/svc/notes/ of a server by another name: %d %s", answer.StatusCode, body)
		}
	}
}

// No site gets what is the framework's or the provider's, however it is sent, over
// HTTP and WebSockets.
func TestWhatNoSiteGets(t *testing.T) {
	w := newSiteWorld(t, token, nil)
	sent := []string{
		"Authorization", "Bearer " + token, "Authorization", "Bearer of-the-site", "AgentEnv-Role", "admin", "AgentEnv-Role-Key", "guessed-secret", "AgentEnv_Role_Key", "the-key", "X-Provider", "provider-secret", "x_provider", "provider-secret",
		"AgentEnv-Site-Root", "1", "X-Forwarded-Prefix", "/evil", "Cookie", "a=1",
	}
	seen := map[string]http.Header{}
	for _, path := range []string{"/website/notes/a", "/svc/notes/a"} {
		_, b := w.call("GET", path, "", sent...)
		var h http.Header
		json.Unmarshal(b, &h)
		seen["GET "+path] = h
		conn, _, err := dial(w, path, sent...)
		if err != nil {
			t.Fatal(err)
		}
		h = nil
		if err := conn.ReadJSON(&h); err != nil {
			t.Fatal(err)
		}
		conn.WriteControl(websocket.CloseMessage, nil, time.Now().Add(time.Minute))
		conn.Close()
		seen["WebSocket "+path] = h
	}
	for what, h := range seen {
		all, _ := json.Marshal(h)
		for _, s := range []string{token, "secret", "the-key", "evil", "_", "Site-Root", "Prefix", "Role-Key"} {
			if strings.Contains(string(all), s) {
				t.Errorf("%s: the site gets %s: %s", what, s, all)
			}
		}
		if h.Get("AgentEnv-Role") != "default" || h.Get("Authorization") != "Bearer of-the-site" || h.Get("Cookie") != "a=1" {
			t.Errorf("%s: the site gets %s", what, all)
		}
	}
	if _, b := w.call("GET", "/website/notes/", "", "AgentEnv-Role", "admin", "AgentEnv-Role-Key", "the-key"); !strings.Contains(string(b), `"Agentenv-Role":["admin"],"Agentenv-Role-Key":["the-key"]`) {
		t.Errorf("a proven role: %s", b)
	}
}

func TestTheCardHasTheSitesCards(t *testing.T) {
	w := newSiteWorld(t, token, nil)
	_, b := w.call("GET", "/.well-known/agent-env.json", "")
	if !strings.HasSuffix(string(b), `,"children_environments":[{"name":"the notes","url":"/svc/notes/agentenv"}]}`) || !strings.HasPrefix(string(b), `{"name":"env1",`) {
		t.Errorf("%s", b)
	}
	// A site's own card is that of an env at /svc/notes.
	if _, b := w.call("GET", "/svc/notes/.well-known/agent-env.json", ""); string(b) != `{"name":"the notes","url":"/agentenv"}` {
		t.Errorf("%s", b)
	}
}

// A server that stops closes the WebSockets of its sites, and waits for that.
func TestASitesWebSocketsEndWithTheServer(t *testing.T) {
	w := newSiteWorld(t, "", nil)
	conn, _, err := dial(w, "/website/notes/")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, _, err := conn.ReadMessage(); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("%v", err)
	}
	_, b := w.call("GET", "/metrics", "")
	if !strings.Contains(string(b), `agentenv_netlog_serve_requests_in_flight{route="/website/"}`) {
		t.Errorf("%s", b)
	}
}

// The target reaches the site as it was sent through all that is in front of it.
func TestTheTargetIsTheSitesAlone(t *testing.T) {
	w := newSiteWorld(t, "", nil)
	for _, target := range []string{"/a%2Fb//c;d?e=%zz&f;g", "/../x"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "GET /website/notes"+target+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		conn.Close()
		if got := answer.Header.Get("X-Path"); got != target {
			t.Errorf("%s goes up as %s", target, got)
		}
	}
}
