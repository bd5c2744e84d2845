package proxy

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// echoPage is a page that says what it was asked.
var echoPage = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/gone" {
		http.Error(w, "gone", http.StatusGone)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s %s %s abs=%v x=%q", r.Method, r.Host, r.URL.RequestURI(), r.URL.IsAbs(), r.Header.Values("X-Twice"))
})

func pageWorld(t *testing.T, change func(*Config)) *world {
	return newWorld(t, func(c *Config) {
		c.Page = echoPage
		c.Names = []string{"my-box"}
		if change != nil {
			change(c)
		}
	})
}

// ask sends a head on a connection of its own and gives the answer, to its end.
func (w *world) ask(head string) (answer, body string) {
	w.t.Helper()
	b := w.browser()
	b.send(head + "\r\n\r\n")
	answer = b.head()
	body, err := b.rest()
	if err != nil {
		w.t.Fatalf("%q: %v", head, err)
	}
	return answer, body
}

func TestOwnPage(t *testing.T) {
	w := pageWorld(t, nil)
	_, port, _ := net.SplitHostPort(w.addr)
	for head, want := range map[string]string{
		"GET /a?b=%20c HTTP/1.1\r\nHost: " + w.addr + "\r\nX-Twice: 1\r\nx-twice: 2":          `GET ` + w.addr + ` /a?b=%20c abs=false x=["1" "2"]`,
		"GET / HTTP/1.1\r\nHost: localhost:" + port:                                           `GET localhost:` + port + ` / abs=false x=[]`,
		"GET / HTTP/1.1\r\nHost: MY-BOX:99":                                                   `GET MY-BOX:99 / abs=false x=[]`,
		"GET / HTTP/1.0":                                                                      `GET ` + w.addr + ` / abs=false x=[]`,
		"GET //evil.test/x HTTP/1.1\r\nHost: " + w.addr:                                       `GET ` + w.addr + ` //evil.test/x abs=false x=[]`,
		"GET http://netlog.internal/x HTTP/1.1\r\nHost: netlog.internal":                      `GET netlog.internal /x abs=true x=[]`,
		"GET http://NETLOG.internal.:80/x HTTP/1.1\r\nHost: Netlog.Internal:80":               `GET netlog.internal /x abs=true x=[]`,
		"POST http://netlog.internal/ HTTP/1.1\r\nHost: netlog.internal\r\nContent-Length: 0": `POST netlog.internal / abs=true x=[]`,
	} {
		answer, body := w.ask(head)
		if !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") || !strings.Contains(answer, "\r\nConnection: close\r\n") || body != want {
			t.Errorf("%q:\n%q\n%q, want\n%q", head, answer, body, want)
		}
	}
	if answer, body := w.ask("GET /gone HTTP/1.1\r\nHost: " + w.addr); !strings.HasPrefix(answer, "HTTP/1.1 410 Gone\r\n") || body != "gone\n" {
		t.Errorf("%q %q", answer, body)
	}
	if answer, body := w.ask("HEAD / HTTP/1.1\r\nHost: " + w.addr); !strings.Contains(answer, "\r\nContent-Length: ") || body != "" {
		t.Errorf("HEAD: %q %q", answer, body)
	}
	w.want("") // none is logged
}

// No name that is pointed at us opens the page, and no way leads around its rules.
func TestWhatIsNotOurPage(t *testing.T) {
	w := pageWorld(t, nil)
	_, port, _ := net.SplitHostPort(w.addr)
	for _, c := range []struct{ head, status, want string }{
		{"GET / HTTP/1.1\r\nHost: rebound.evil.test:" + port, "421", "exchange plain GET http://ADDR/ refused misdirected 421"},
		{"GET / HTTP/1.1\r\nHost: my-box.evil.test:" + port, "421", "exchange plain GET http://ADDR/ refused misdirected 421"},
		{"GET / HTTP/1.1\r\nHost: netlog.internal:" + port, "421", "exchange plain GET http://ADDR/ refused misdirected 421"},
		{"GET / HTTP/1.1\r\nHost: 127.0.0.1:1", "421", "exchange plain GET http://ADDR/ refused misdirected 421"},
		{"GET http://" + w.addr + "/ HTTP/1.1\r\nHost: " + w.addr, "403", "exchange plain GET http://ADDR/ refused own_address 403"},
		{"GET http://localhost:" + port + "/ HTTP/1.1\r\nHost: localhost:" + port, "403", "exchange plain GET http://localhost:" + port + "/ refused own_address 403"},
		{"GET http://netlog.internal:8080/ HTTP/1.1\r\nHost: netlog.internal:8080", "403", "exchange plain GET http://netlog.internal:8080/ refused own_address 403"},
		{"GET http://netlog.internal/ HTTP/1.1\r\nHost: other.test", "421", "exchange plain GET http://netlog.internal/ refused misdirected 421"},
		{"CONNECT " + w.addr + " HTTP/1.1\r\nHost: " + w.addr, "200", "exchange plain GET http://ADDR/metrics refused own_address 403"},
		{"CONNECT netlog.internal:443 HTTP/1.1\r\nHost: netlog.internal:443", "403", "tunnel tunnel netlog.internal:443 refused own_address 403"},
		{"CONNECT netlog.internal:80 HTTP/1.1\r\nHost: netlog.internal:80", "403", "tunnel tunnel netlog.internal:80 refused own_address 403"},
	} {
		b := w.browser()
		b.send(c.head + "\r\n\r\n")
		if answer := b.head(); !strings.HasPrefix(answer, "HTTP/1.1 "+c.status+" ") {
			t.Errorf("%q: %q", c.head, answer)
		}
		if c.status == "200" { // granted, for what is inside to be told
			b.send("GET /metrics HTTP/1.1\r\nHost: " + w.addr + "\r\n\r\n")
			if answer := b.head(); !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
				t.Errorf("inside %q: %q", c.head, answer)
			}
		}
		b.rest()
	}
	w.want(w.addr,
		"exchange plain GET http://ADDR/ refused misdirected 421",
		"exchange plain GET http://ADDR/ refused misdirected 421",
		"exchange plain GET http://ADDR/ refused misdirected 421",
		"exchange plain GET http://ADDR/ refused misdirected 421",
		"exchange plain GET http://ADDR/ refused own_address 403",
		"exchange plain GET http://localhost:"+port+"/ refused own_address 403",
		"exchange plain GET http://netlog.internal:8080/ refused own_address 403",
		"exchange plain GET http://netlog.internal/ refused misdirected 421",
		"exchange plain GET http://ADDR/metrics refused own_address 403",
		"tunnel tunnel netlog.internal:443 refused own_address 403",
		"tunnel tunnel netlog.internal:80 refused own_address 403")
}

// Through the proxy the page is for those who may use the proxy.
func TestThePageThroughTheProxyWantsCredentials(t *testing.T) {
	w := pageWorld(t, askFor)
	const head = "GET http://netlog.internal/ HTTP/1.1\r\nConnection: close\r\nHost: netlog.internal"
	if answer, _ := w.ask(head); !strings.HasPrefix(answer, "HTTP/1.1 407 ") {
		t.Errorf("without: %q", answer)
	}
	if answer, _ := w.ask(head + "\r\n" + strings.TrimSuffix(basic("ali:"+secret), "\r\n")); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("with: %q", answer)
	}
	w.want("")
}

// Each entry is counted while it is open, and told of once when it has ended.
func TestStatsAndEnded(t *testing.T) {
	var mu sync.Mutex
	var ended []string
	w := newWorld(t, func(c *Config) {
		c.Policy = (&Rules{Deny: rules(t, "denied.test")}).Decide
		c.Ended = func(id int64, o *netlog.Open, e *netlog.End) {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, fmt.Sprint(id, " ", pair{open: *o, end: *e}))
		}
	})
	release := make(chan struct{})
	addr := w.origin(func(p *party) {
		p.head()
		<-release
		p.send("HTTP/1.1 204 No Content\r\n\r\n")
	})
	if s := w.proxy.Stats(); s != (Stats{}) {
		t.Errorf("at first: %+v", s)
	}
	tunnel := w.connect(addr)
	tunnel.send("\x00 no HTTP \r\n\r\n")
	b := w.browser()
	b.send("GET http://" + addr + "/ HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	eventually(t, "both open", func() bool { return w.proxy.Stats() == Stats{Connections: 2, Exchanges: 1, Tunnels: 1} })
	close(release)
	b.expect("HTTP/1.1 204 No Content\r\n\r\n")
	b.Close()
	tunnel.Close()
	eventually(t, "nothing open", func() bool { return w.proxy.Stats() == Stats{} })
	w.ask("GET http://denied.test/ HTTP/1.1\r\nHost: denied.test")

	mu.Lock()
	defer mu.Unlock()
	got := strings.ReplaceAll(strings.Join(ended, "\n"), addr, "ADDR")
	for _, want := range []string{"tunnel tunnel ADDR", "exchange plain GET http://ADDR/ 204", "exchange plain GET http://denied.test/ refused policy 403"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("no single %q in\n%s", want, got)
		}
	}
	if len(ended) != 3 || strings.HasPrefix(got, "0 ") {
		t.Errorf("ended:\n%s", got)
	}
}

// A process that is out of descriptors goes on taking connections once there are
// some, and says so once.
func TestAcceptingWithoutDescriptors(t *testing.T) {
	var told shared
	p, err := New(Config{Logger: slog.New(slog.NewTextHandler(&told, nil))})
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	defer there.Close()
	l := &exhausted{oneConn: oneConn{conn: here, done: make(chan struct{})}, left: 5}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	eventually(t, "the connection", func() bool { return p.Stats().Connections == 1 })
	if s := told.String(); strings.Count(s, "too many open files") != 1 {
		t.Errorf("told: %s", s)
	}
	p.Shutdown(t.Context())
	close(l.done)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// An exhausted is a oneConn that fails at first.
type exhausted struct {
	oneConn
	left int
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.left--; l.left >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.oneConn.Accept()
}
