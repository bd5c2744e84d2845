package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a gateway that is served, with sites behind it.
type world struct {
	t       *testing.T
	address string // the gateway's
	said    *said  // what its logger and its server were told
}

// brief are the limits of tests that wait for one. A busy machine keeps what is not to
// reach them.
var brief = limits{
	connect: 10 * time.Second, open: 500 * time.Millisecond, silence: 500 * time.Millisecond,
	card: time.Second, closing: 100 * time.Millisecond, message: 1000,
}

// newWorld serves sites by their names.
func newWorld(t *testing.T, c Config, l limits, sites map[string]string) *world {
	t.Helper()
	w := &world{t: t, said: &said{}}
	c.Logger = slog.New(slog.NewTextHandler(w.said, nil))
	for name, at := range sites {
		s, err := ParseSite(name + "=" + at)
		if err != nil {
			t.Fatal(err)
		}
		c.Sites = append(c.Sites, s)
	}
	g := newGateway(c, l)
	server := httptest.NewUnstartedServer(g)
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(w.said, nil), slog.LevelError)
	server.Start()
	w.address = server.Listener.Addr().String()
	t.Cleanup(func() {
		server.Close()
		g.Close()
	})
	return w
}

// withSite is a world with the site notes.
func withSite(t *testing.T, at string) *world {
	t.Helper()
	return newWorld(t, Config{}, usual, map[string]string{"notes": at})
}

// goneSite is where nobody listens: no program is given that port by chance.
const goneSite = "http://127.0.0.1:1"

// newSite serves a site that has no card.
func newSite(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(withoutCard(h))
	t.Cleanup(server.Close)
	return server.URL
}

func withoutCard(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "/.well-known/agent-env.json" {
			http.NotFound(w, r)
			return
		}
		h(w, r)
	}
}

// said gathers what is written to it.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await polls until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 12000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it never came: %s", what)
}

// get asks for a path with headers, name, value, name, value.
func (w *world) get(path string, headers ...string) (*http.Response, string) {
	w.t.Helper()
	return w.do("GET", path, nil, headers...)
}

func (w *world) do(method, path string, body io.Reader, headers ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.address+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1])
	}
	answer, err := plainTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer, string(b)
}

var plainTransport = &http.Transport{DisableCompression: true, DisableKeepAlives: true}

// raw sends bytes and gives all that is answered until the connection ends.
func (w *world) raw(request string) string {
	w.t.Helper()
	conn := w.dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		w.t.Fatal(err)
	}
	b, err := io.ReadAll(conn)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w *world) dial() net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	return conn
}

// A rawSite answers with given bytes and keeps what it was asked. It has no card.
type rawSite struct {
	url   string
	heads chan string
}

// newRawSite answers each request with this, once its head is there, and then ends
// the connection.
func newRawSite(t *testing.T, answer string) *rawSite {
	t.Helper()
	return newTalkingSite(t, func(conn net.Conn, _ *bufio.Reader) { io.WriteString(conn, answer) })
}

// newTalkingSite has each conversation go on as talk says once the head is there.
func newTalkingSite(t *testing.T, talk func(net.Conn, *bufio.Reader)) *rawSite {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawSite{url: "http://" + l.Addr().String(), heads: make(chan string, 1000)}
	var talks sync.WaitGroup
	talks.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			talks.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(2 * time.Minute))
				in := bufio.NewReader(conn)
				head := readHead(in)
				switch {
				case head == "":
				case strings.HasPrefix(head, "GET /.well-known/agent-env.json HTTP/1.1\r\n"):
					io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				default:
					s.heads <- head
					talk(conn, in)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		talks.Wait()
	})
	return s
}

// readHead reads up to the empty line; "" when it does not come.
func readHead(in *bufio.Reader) string {
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return ""
		}
		head.WriteString(line)
		if line == "\r\n" {
			return head.String()
		}
	}
}

// request is a GET of a target on a connection of its own.
func request(target string, lines ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n" + joined(lines) + "\r\n"
}

// handshake is a WebSocket's.
func handshake(target string, lines ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: gateway.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + joined(lines) + "\r\n"
}

func joined(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l + "\r\n")
	}
	return b.String()
}

// errorOf is the answer that the gateway itself gives.
func errorOf(status, text string) func(answer string) bool {
	return func(answer string) bool {
		return strings.HasPrefix(answer, "HTTP/1.1 "+status+"\r\n") && strings.HasSuffix(answer, fmt.Sprintf("\r\n\r\n{\"error\":%q}", text)) &&
			strings.Contains(answer, "\r\nContent-Type: application/json\r\n")
	}
}

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// newSiteWithCard serves a site that answers for its card itself.
func newSiteWithCard(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}
