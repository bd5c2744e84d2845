package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const token = "Tz4nq0V-4yWq0m1C1d7c8Wb5-3u2pHkq_Zt9xLrS0aE"

// newTestClient is one that loses no time.
func newTestClient(t *testing.T, address string) *Client {
	t.Helper()
	c, err := NewClient(ClientConfig{Address: address, Token: token, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve is a server until the test's end.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

func TestWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"", "x", "localhost:8080", "//host", "ftp://host", "http://", "http:///x", "http://user:secret@host", "http://host?x", "http://host?", "http://host#x", "http://ho st", "http://host:port", "http://[::1"} {
		if _, err := NewClient(ClientConfig{Address: address}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	for address, want := range map[string]string{"http://host": "http://host", "https://host:1/": "https://host:1", "http://[::1]:80/env1//": "http://[::1]:80/env1", "HTTP://host/%2Fx/": "http://host/%2Fx"} {
		c, err := NewClient(ClientConfig{Address: address})
		if err != nil || c.Address() != want {
			t.Errorf("%q: %v, %v", address, c, err)
		}
	}
}

// A card may lie: nothing is asked of anybody else, nor anything that changes
// something.
func TestAnEndpointIsBelowTheAddress(t *testing.T) {
	var asked atomic.Int64
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		io.WriteString(w, `{"captures":[]}`)
	})
	host := strings.TrimPrefix(elsewhere.URL, "http://")
	c := newTestClient(t, server.URL+"/env1")
	for _, endpoint := range []string{
		"", "traffic/captures", elsewhere.URL + "/x", "//" + host + "/x", "@" + host + "/x", ":80/x", ".evil.test/x", "/..//x", "/../x", "/a/../../x", "/%2e%2e/x", "/%2E./x", "/./x",
		`\\` + host, `/\` + host, "/x\r\nHost: evil", "/x y", "/x#y", "/é", "/%zz", "?x", " /x",
	} {
		card, err := ParseCard([]byte(cardOf(t, endpoint, "GET")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.List(t.Context(), card); err == nil {
			t.Errorf("%q is an endpoint", endpoint)
		}
		if _, err := c.Get(t.Context(), card, "x.pcap"); err == nil {
			t.Errorf("%q is an endpoint", endpoint)
		}
	}
	for _, verb := range []string{"DELETE", "PUT", "GET /x HTTP/1.1\r\n", "CONNECT"} {
		card, err := ParseCard([]byte(cardOf(t, "/x", verb)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.List(t.Context(), card); err == nil {
			t.Errorf("%q is taken", verb)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
	for _, endpoint := range []string{"/traffic/captures", "/a/b?x=1", "/a%2Fb", "/..a", "/a//b"} {
		card, err := ParseCard([]byte(cardOf(t, endpoint, "GET")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.List(t.Context(), card); err != nil {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

// cardOf advertises traffic/v1 at one endpoint.
func cardOf(t *testing.T, endpoint, verb string) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"capabilities": map[string]any{"extensions": []any{map[string]any{
		"uri": URI, "params": map[string]any{"endpoint": endpoint, "methods": map[string]any{
			"list": map[string]any{"method": verb}, "get": map[string]any{"method": verb},
		}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWhatIsNotAdvertisedIsNotAsked(t *testing.T) {
	c := newTestClient(t, "http://127.0.0.1:1")
	card, err := ParseCard([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.List(t.Context(), card); !errors.Is(err, ErrNotAdvertised) {
		t.Error(err)
	}
	if _, err := c.Get(t.Context(), card, "x.pcap"); !errors.Is(err, ErrNotAdvertised) {
		t.Error(err)
	}
}

func TestParamsGoWhereTheVerbHasThem(t *testing.T) {
	type request struct{ verb, target, body, token string }
	var got request
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = request{r.Method, r.RequestURI, string(b), r.Header.Get("Authorization")}
	})
	c := newTestClient(t, server.URL+"/env1/")
	for _, want := range []struct {
		verb string
		request
	}{
		{"GET", request{"GET", "/env1/x?y=1&name=a%26b+c.pcap", "", "Bearer " + token}},
		{"POST", request{"POST", "/env1/x?y=1", `{"name":"a\u0026b c.pcap"}`, "Bearer " + token}},
	} {
		card, err := ParseCard([]byte(cardOf(t, "/x?y=1", want.verb)))
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Get(t.Context(), card, "a&b c.pcap")
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		if got.verb == "GET" {
			got.target = strings.Replace(got.target, "name=a%26b+c.pcap&y=1", "y=1&name=a%26b+c.pcap", 1)
		}
		if got != want.request {
			t.Errorf("%+v, want %+v", got, want.request)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var asked atomic.Int64
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) })
		if _, err := newTestClient(t, server.URL).Card(t.Context()); !isStatus(err, status) {
			t.Errorf("%d: %v", status, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("somebody else was asked")
	}
}

func TestErrorsOfEveryShape(t *testing.T) {
	for body, want := range map[string]string{
		`{"ok":false,"error":{"code":"unavailable","message":"ask again"}}`: "the server answers 400 unavailable: ask again",
		`{"error":"Unknown service: x"}`:                                    "the server answers 400: Unknown service: x",
		`{"ok":false,"error":"clock not armed"}`:                            "the server answers 400: clock not armed",
		`{"error":"no","code":"conflict"}`:                                  "the server answers 400 conflict: no",
		`{"error":{"code":7,"message":null}}`:                               "the server answers 400",
		`{"error":["x"]}`:                                                   "the server answers 400",
		`[]`:                                                                "the server answers 400",
		`<html>`:                                                            "the server answers 400",
		``:                                                                  "the server answers 400",
		`{"error":"two\nlines \u001b[31m"}`:                                 "the server answers 400: two lines  [31m",
		`{"error":"you sent ` + token + `"}`:                                "the server answers 400: you sent <token>",
		`{"error":"` + strings.Repeat("é", 1000) + `"}`:                     "the server answers 400: " + strings.Repeat("é", 98) + "...",
		`{"error":"` + strings.Repeat("x", maxError) + `"}`:                 "the server answers 400",
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			io.WriteString(w, body)
		})
		_, err := newTestClient(t, server.URL).Card(t.Context())
		if got := strings.TrimPrefix(fmt.Sprint(err), "read the card of "+server.URL+": "); got != want {
			t.Errorf("%.60s: %s, want %s", body, got, want)
		}
	}
}

func TestWhatIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		status, failures int
		tries            int64
		ok               bool
	}{
		{503, 3, 4, true}, {500, 4, 5, true}, {502, 1, 2, true}, {429, 2, 3, true},
		{503, 5, 5, false}, {400, 1, 1, false}, {401, 1, 1, false}, {403, 1, 1, false}, {404, 1, 1, false}, {501, 1, 1, false}, {302, 1, 1, false}, {204, 1, 1, false},
		{0, 3, 4, true}, {0, 5, 5, false}, // a connection that is cut
	} {
		var asked atomic.Int64
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			n := asked.Add(1)
			if n > int64(c.failures) {
				io.WriteString(w, "{}")
				return
			}
			if c.status == 0 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(c.status)
		})
		_, err := newTestClient(t, server.URL).Card(t.Context())
		if (err == nil) != c.ok || asked.Load() != c.tries {
			t.Errorf("%d times %d: asked %d times, %v", c.failures, c.status, asked.Load(), err)
		}
		if status := new(StatusError); !c.ok && c.status != 0 && (!errors.As(err, &status) || status.Status != c.status) {
			t.Errorf("%d: %v", c.status, err)
		}
	}
}

// answers sends these bytes to whoever connects, and closes the connection.
func answers(t *testing.T, text string) (address string) {
	t.Helper()
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
			conn.Read(make([]byte, 4096))
			io.WriteString(conn, text)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return "http://" + l.Addr().String()
}

func TestAnAnswerThatIsNotWhole(t *testing.T) {
	for text, want := range map[string]string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}":                              "the connection was cut",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n":             "the connection was cut",
		"HTTP/1.1 200 OK\r\n\r\n{}":                                                    "the answer does not say where it ends",
		"HTTP/1.0 200 OK\r\n\r\n{}":                                                    "the answer does not say where it ends",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}":                               "",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n":    "",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{]}":                              "it is not JSON",
		"HTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\n\r\n{}":                  "that is not what was asked for",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}":     `the answer is encoded ("gzip"), which was not asked for`,
		"HTTP/1.1 200 OK\r\nContent-Encoding: Identity\r\nContent-Length: 2\r\n\r\n{}": "",
	} {
		c := newTestClient(t, answers(t, text))
		_, err := c.Card(t.Context())
		if want == "" && err != nil || want != "" && !strings.HasSuffix(fmt.Sprint(err), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestAnAnswerThatIsTooLong(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		piece := []byte(strings.Repeat(" ", 1<<20))
		for range maxCard>>20 + 1 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	if _, err := newTestClient(t, server.URL).Card(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Error(err)
	}
}

func TestASilentServer(t *testing.T) {
	release := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == CardPath {
			w.Write([]byte("{"))
			w.(http.Flusher).Flush()
		}
		<-release
	})
	defer close(release)
	c, err := NewClient(ClientConfig{Address: server.URL, Tries: 2, Backoff: time.Millisecond, Stall: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Card(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "the server is silent for 20ms") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	slow := newTestClient(t, server.URL)
	go cancel(errors.New("enough"))
	if _, err := slow.Card(ctx); err == nil || !strings.HasSuffix(err.Error(), "enough") {
		t.Error(err)
	}
}

func TestProbe(t *testing.T) {
	guarded := func(paths ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == CardPath {
				if r.Header.Get("Authorization") != "" {
					t.Error("the card was asked with a token")
				}
				io.WriteString(w, cardOf(t, "/captures", "GET"))
				return
			}
			for _, p := range paths {
				if r.URL.Path == p && r.Header.Get("Authorization") != "Bearer "+token {
					WriteError(w, 401, CodeUnauthorized, "no")
					return
				}
			}
			WriteJSON(w, 200, listing{})
		}
	}
	checks, err := newTestClient(t, serve(t, guarded("/captures")).URL).Probe(t.Context())
	if err != nil || len(checks) != 2 || checks[0].Err != nil || checks[1].Err != nil || checks[0].Route != "GET /captures" {
		t.Errorf("%v, %v", checks, err)
	}
	checks, err = newTestClient(t, serve(t, guarded()).URL).Probe(t.Context())
	if err != nil || len(checks) != 2 || checks[0].Err == nil || checks[0].Err.Error() != "it takes no token\nit takes a wrong token" {
		t.Errorf("%v, %v", checks, err)
	}
	c, err := NewClient(ClientConfig{Address: serve(t, guarded("/captures")).URL, Token: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	checks, err = c.Probe(t.Context())
	if err != nil || len(checks) != 2 || checks[0].Err == nil || checks[0].Err.Error() != "it refuses the token" {
		t.Errorf("%v, %v", checks, err)
	}
	if _, err := newTestClient(t, serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }).URL).Probe(t.Context()); err == nil {
		t.Error("a card without a route was probed")
	}
}
