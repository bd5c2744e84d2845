package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"
)

// startServe starts serve and returns its address.
func startServe(t *testing.T, args ...string) (p *process, address string) {
	t.Helper()
	p = start(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	p.await(t, &p.stderr, "  open  ")
	_, after, _ := strings.Cut(p.stderr.String(), "listening on ")
	address, _, _ = strings.Cut(after, "\n")
	return p, address
}

// runs waits until a request of the route is being answered.
func runs(t *testing.T, address, route string) {
	t.Helper()
	err := poll(func() bool {
		answer, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(b), `agentenv_netlog_serve_requests_in_flight{route="`+route+`"} 1`)
	})
	if err != nil {
		t.Fatalf("nothing of %s runs: %v", route, err)
	}
}

// A server that is stopped answers who waits for lines as if none had come, and
// closes its WebSockets.
func TestServeStops(t *testing.T) {
	log := filepath.Join(t.TempDir(), "network.jsonl")
	p, address := startServe(t, "--log", log)
	conn, _, err := websocket.DefaultDialer.Dial("ws://"+address+"/network/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	waited := make(chan string, 1)
	go func() {
		answer, err := http.Post("http://"+address+"/agentenv/ext/browser/network", "application/json", strings.NewReader(`{"wait":30}`))
		if err != nil {
			waited <- err.Error()
			return
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			waited <- err.Error()
			return
		}
		waited <- string(b)
	}()
	for _, route := range []string{"/network/live", "/agentenv/ext/browser/network"} {
		runs(t, address, route)
	}
	p.signal(t, syscall.SIGTERM)
	if got, want := <-waited, `{"lines":[],"next":0,"more":false,"begun_again":false,"unreadable":0,"missing":0}`; got != want {
		t.Errorf("who waited got %s", got)
	}
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("the WebSocket: %v", err)
	}
	if code := p.end(t); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// A download that takes too long has --drain, or until a second signal.
func TestServeEndsAtASecondSignal(t *testing.T) {
	captures := t.TempDir()
	if err := os.WriteFile(filepath.Join(captures, "site.pcap0"), make([]byte, 50<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	p, address := startServe(t, "--captures", captures, "--drain", "10m")
	answer, err := http.Get("http://" + address + "/traffic/capture?name=site.pcap0")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	p.signal(t, syscall.SIGINT)
	p.await(t, &p.stderr, "stopping")
	p.signal(t, syscall.SIGINT)
	if code := p.end(t); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if n, err := io.Copy(io.Discard, answer.Body); err == nil {
		t.Errorf("the download ended as if it were whole, with %d bytes", n)
	}
}

// Without a token, on a loopback address, no name that somebody points at it reads
// anything.
func TestServeGoesByItsOwnNames(t *testing.T) {
	_, address := startServe(t, "--captures", t.TempDir(), "--own-name", "Box.Example")
	for host, want := range map[string]int{address: 200, "localhost:80": 200, "env.localhost": 200, "[::1]": 200, "192.0.2.1": 200, "box.example:8080": 200, "evil.test": 421, "evil.test:8080": 421, "localhost.evil.test": 421} {
		r, err := http.NewRequest("GET", "http://"+address+"/traffic/captures", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, answer.StatusCode, want)
		}
	}
}
