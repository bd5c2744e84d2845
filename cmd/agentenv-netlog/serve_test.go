package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/agentenv/netlog/capture"
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
	if code := p.insist(t); code != 0 {
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

// A server that is to have a capture beside it begins once that is running, or not
// at all.
func TestServeWaitsForACapture(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	bin, ring := t.TempDir(), t.TempDir()
	const tcpdump = `#!/bin/sh
echo 'a header of 24 bytes ...' >site.pcap0
trap 'exit 0' TERM
trap 'echo "tcpdump: 0 packets captured, 0 packets received by filter, 0 packets dropped by kernel" >&2' USR1
echo 'tcpdump: listening on any' >&2
while :; do sleep 0.1; done
`
	if err := os.WriteFile(filepath.Join(bin, "tcpdump"), []byte(tcpdump), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("TRAFFIC_CAPTURE_DIR", ring)
	given := start(t, "serve", "--listen", "127.0.0.1:0", "--require-capture", "site", "--require-capture", "other")
	given.await(t, &given.stderr, "waiting up to 30s for the capture site\n")
	given.signal(t, syscall.SIGTERM)
	if code := given.end(t); code != exitInterrupted || strings.Contains(given.stderr.String(), "listening") {
		t.Errorf("it ended with %d: %s", code, given.stderr.String())
	}
	p := start(t, "serve", "--listen", "127.0.0.1:0", "--require-capture", "site", "--require-capture", "site")
	p.await(t, &p.stderr, "waiting up to 30s for the capture site\n")
	capturing := start(t, "capture", "--name", "site")
	p.await(t, &p.stderr, "listening on ")
	for _, ended := range []*process{p, capturing} {
		ended.signal(t, syscall.SIGTERM) // and to its group, as timeout(1) does
		ended.signal(t, syscall.SIGINT)
		if code := ended.end(t); code != 0 {
			t.Errorf("%q ended with %d: %s", ended.Args, code, ended.stderr.String())
		}
	}
	if s, err := capture.ReadStatus(ring, "site"); err != nil || s.State != capture.StateStopped {
		t.Errorf("the capture is %+v, %v", s, err)
	}
}
