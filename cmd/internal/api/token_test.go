package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/agentenv/netlog/capture/traffic"
)

// guardedCalls are a call of each guarded route.
var guardedCalls = []struct {
	method, path, body string
	status             int // for who may call it
}{
	{"GET", "/traffic/captures", "", 200},
	{"HEAD", "/traffic/captures", "", 200},
	{"POST", "/traffic/captures", "", 405},
	{"GET", "/traffic/capture?name=site.pcap0", "", 200},
	{"HEAD", "/traffic/capture?name=site.pcap0", "", 200},
	{"GET", "/traffic/capture?name=gone.pcap", "", 404},
	{"POST", "/agentenv/ext/browser/network", "{}", 200},
	{"GET", "/agentenv/ext/browser/network", "", 405},
	{"POST", "/agentenv/ext/browser/network", "nonsense", 400},
	{"GET", "/network/live", "", 426},
	{"GET", "/network.har", "", 200},
	{"HEAD", "/network.har", "", 200},
	{"POST", "/agentenv", `{"jsonrpc":"2.0","id":1,"method":"data/get"}`, 200},
	{"POST", "/agentenv", "nonsense", 200},
	{"DELETE", "/agentenv", "", 405},
	{"GET", "/metrics", "", 200},
}

// wrongCredentials are all that is not the token.
var wrongCredentials = map[string][]string{
	"none":                     nil,
	"wrong":                    {"Authorization", "Bearer wrong"},
	"empty":                    {"Authorization", "Bearer "},
	"lower-case scheme":        {"Authorization", "bearer " + token},
	"upper-case scheme":        {"Authorization", "BEARER " + token},
	"two spaces":               {"Authorization", "Bearer  " + token},
	"tab":                      {"Authorization", "Bearer\t" + token},
	"padding":                  {"Authorization", "Bearer " + token + "=="},
	"bare":                     {"Authorization", token},
	"Basic":                    {"Authorization", "Basic " + token},
	"prefix":                   {"Authorization", "Bearer " + token[:len(token)-1]},
	"longer":                   {"Authorization", "Bearer " + token + "A"},
	"in other case":            {"Authorization", "Bearer " + strings.ToLower(token)},
	"twice in one":             {"Authorization", "Bearer " + token + ", Bearer " + token},
	"quoted":                   {"Authorization", `Bearer "` + token + `"`},
	"of another deploy":        {"Authorization", "Bearer " + strings.Repeat("A", len(token))},
	"in another header":        {"X-Control-Token", "Bearer " + token},
	"in the role key's header": {"AgentEnv-Role-Key", token},
	"in the proxy's header":    {"Proxy-Authorization", "Bearer " + token},
	"in a cookie":              {"Cookie", "Authorization=Bearer " + token},
}

func newGuardedWorld(t *testing.T, token string) *world {
	t.Helper()
	w := newWorld(t, token)
	w.write(w.log, lines(1, 3, 0))
	w.write(w.captures+"/site.pcap0", pcap("one"))
	return w
}

func TestEveryGuardedRouteTakesTheTokenAndNothingElse(t *testing.T) {
	w := newGuardedWorld(t, token)
	for _, c := range guardedCalls {
		for name, headers := range wrongCredentials {
			answer, body := w.call(c.method, c.path, c.body, headers...)
			const want = `{"ok":false,"error":{"code":"unauthorized","message":"this route is agent-env's own: it takes the env's control token"}}`
			if answer.StatusCode != 401 || c.method != "HEAD" && string(body) != want {
				t.Errorf("%s %s with %s: %d %s", c.method, c.path, name, answer.StatusCode, body)
			}
			if answer.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %s with %s does not say what it wants", c.method, c.path, name)
			}
		}
		for _, parameter := range []string{"token=", "access_token=", "Authorization=Bearer%20"} {
			path := c.path + "?" + parameter + token
			if strings.Contains(c.path, "?") {
				path = c.path + "&" + parameter + token
			}
			if answer, _ := w.call(c.method, path, c.body); answer.StatusCode != 401 {
				t.Errorf("%s %s: %d", c.method, path, answer.StatusCode)
			}
		}
		if answer, body := w.call(c.method, c.path, c.body, "Authorization", "Bearer "+token); answer.StatusCode != c.status {
			t.Errorf("%s %s with the token: %d %s", c.method, c.path, answer.StatusCode, body)
		}
		// A site's own bearer beside it takes nothing away.
		for _, both := range [][]string{
			{"Authorization", "Bearer other", "Authorization", "Bearer " + token},
			{"Authorization", "Bearer " + token, "Authorization", "Bearer other"},
		} {
			if answer, _ := w.call(c.method, c.path, c.body, both...); answer.StatusCode != c.status {
				t.Errorf("%s %s with %q: %d", c.method, c.path, both, answer.StatusCode)
			}
		}
	}
	if strings.Contains(w.said.String(), token) {
		t.Errorf("the token is in what was logged: %s", w.said)
	}
}

func TestEveryRouteIsInTheTokensMatrix(t *testing.T) {
	a := New(Config{Captures: "x", Log: "x"})
	for path := range a.routes {
		asked := slices.ContainsFunc(guardedCalls, func(c struct {
			method, path, body string
			status             int
		}) bool {
			of, _, _ := strings.Cut(c.path, "?")
			return of == path
		})
		if !asked && path != "/.well-known/agent-env.json" {
			t.Errorf("no test asks %s without a token", path)
		}
	}
}

func TestWithoutATokenEveryRouteIsOpen(t *testing.T) {
	w := newGuardedWorld(t, "")
	for _, c := range guardedCalls {
		for _, headers := range [][]string{nil, {"Authorization", "Bearer anything"}, {"Authorization", "Bearer "}} {
			if answer, body := w.call(c.method, c.path, c.body, headers...); answer.StatusCode != c.status {
				t.Errorf("%s %s with %q: %d %s", c.method, c.path, headers, answer.StatusCode, body)
			}
		}
	}
}

func TestTheCardIsOpenToAll(t *testing.T) {
	w := newGuardedWorld(t, token)
	for name, headers := range wrongCredentials {
		if answer, _ := w.call("GET", "/.well-known/agent-env.json", "", headers...); answer.StatusCode != 200 {
			t.Errorf("the card with %s: %d", name, answer.StatusCode)
		}
	}
}

func TestAWebSocketTakesTheTokenAndNothingElse(t *testing.T) {
	w := newGuardedWorld(t, token)
	for name, headers := range wrongCredentials {
		conn, answer, err := dial(w, "/network/live", headers...)
		if err == nil {
			conn.Close()
			t.Errorf("a WebSocket with %s is open", name)
		} else if answer == nil || answer.StatusCode != 401 {
			t.Errorf("a WebSocket with %s: %v", name, err)
		}
	}
	conn, _, err := dial(w, "/network/live", "Authorization", "Bearer "+token)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, b, err := conn.ReadMessage(); err != nil || string(b)+"\n" != line(1, 0, "") {
		t.Errorf("%s, %v", b, err)
	}
}

func dial(w *world, path string, headers ...string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return websocket.DefaultDialer.DialContext(w.t.Context(), "ws"+strings.TrimPrefix(w.url, "http")+path, h)
}

// What is behind the gate, a site for one, never sees the token.
func TestTheTokenIsTakenOffAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		token      string
		sent, seen []string
		inControl  bool
	}{
		{token, nil, nil, false},
		{token, []string{"Bearer " + token}, nil, true},
		{token, []string{"Bearer " + token, "Bearer " + token}, nil, true},
		{token, []string{"Bearer site", "Bearer " + token, "Basic eDp5"}, []string{"Bearer site", "Basic eDp5"}, true},
		{token, []string{"Bearer site"}, []string{"Bearer site"}, false},
		{token, []string{"bearer " + token}, []string{"bearer " + token}, false},
		{"", []string{"Bearer site"}, []string{"Bearer site"}, true},
		{"", []string{"Bearer "}, []string{"Bearer "}, true},
	} {
		var seen []string
		inControl := false
		h := newGate(Config{Token: c.token}).mark(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = r.Header["Authorization"]
			guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inControl = true })).ServeHTTP(w, r)
		}))
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Authorization"] = slices.Clone(c.sent)
		r.Header.Set("AgentEnv-Role-Key", "key")
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !slices.Equal(seen, c.seen) || inControl != c.inControl || r.Header.Get("AgentEnv-Role-Key") != "key" {
			t.Errorf("%q: %q is seen, in control: %v", c.sent, seen, inControl)
		}
	}
}

// Without a token a name that somebody points here leads to nothing but the card.
func TestAServerWithoutATokenGoesByItsOwnNamesAlone(t *testing.T) {
	own := func(host string) bool { return host == "own.test" || host == "::1" }
	for _, c := range []struct {
		token, host, path string
		status            int
	}{
		{"", "own.test", traffic.ListPath, 200}, {"", "own.test:8080", traffic.ListPath, 200}, {"", "[::1]:80", traffic.ListPath, 200}, {"", "[::1]", traffic.ListPath, 200},
		{"", "evil.test", traffic.ListPath, 421}, {"", "evil.test:8080", traffic.ListPath, 421}, {"", "", traffic.ListPath, 421}, {"", "own.test.evil.test", traffic.ListPath, 421},
		{"", "evil.test", "/network/live", 421}, {"", "evil.test", "/.well-known/agent-env.json", 200},
		{token, "evil.test", traffic.ListPath, 200}, {token, "evil.test", "/.well-known/agent-env.json", 200},
	} {
		r := httptest.NewRequest("GET", "http://"+c.host+c.path, nil)
		r.Host = c.host
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		w := httptest.NewRecorder()
		New(Config{Token: c.token, Own: own, Captures: t.TempDir(), Log: "x"}).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s of %q: %d %s", c.path, c.host, w.Code, w.Body)
		}
	}
}

func TestWithoutTheGateNobodyIsInControl(t *testing.T) {
	for _, value := range []string{"", "Bearer " + token} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", value)
		w := httptest.NewRecorder()
		guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it ran") })).ServeHTTP(w, r)
		if w.Code != 401 {
			t.Errorf("%q: %d", value, w.Code)
		}
	}
}

func TestRefusedCallsAmongRealOnes(t *testing.T) {
	w := newGuardedWorld(t, token)
	var calls sync.WaitGroup
	for range 300 {
		calls.Go(func() {
			answer, _, err := w.try("POST", networkPath, strings.NewReader("{}"), "Authorization", "Bearer wrong")
			if err != nil || answer.StatusCode != 401 {
				t.Errorf("a wrong token: %v, %v", answer, err)
			}
		})
	}
	for range 10 {
		calls.Go(func() {
			answer, b, err := w.try("POST", networkPath, strings.NewReader("{}"), "Authorization", "Bearer "+token)
			if err != nil || answer.StatusCode != 200 || !strings.Contains(string(b), `"next":3`) {
				t.Errorf("the token: %v, %s, %v", answer, b, err)
			}
		})
	}
	calls.Wait()
}

func TestWhatIsNoToken(t *testing.T) {
	for _, s := range []string{" ", "a b", "a\n", "\ta", "a\x00", "ä", "a\x7f"} {
		if err := CheckToken(s); err == nil || strings.Contains(err.Error(), s) && s != " " {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", token, "a", "~!@#"} {
		if err := CheckToken(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}
