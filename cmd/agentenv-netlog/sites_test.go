package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
	"github.com/agentenv/netlog/proxy/site/install"
)

// A sitesRun is the routing of one site, plain.localhost, on free ports, with its
// files in a folder.
type sitesRun struct {
	*process
	root string
}

func startSitesRun(t *testing.T, httpPort int, flags ...string) *sitesRun {
	t.Helper()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) }))
	t.Cleanup(gateway.Close)
	s := &sitesRun{root: t.TempDir()}
	for name, content := range map[string]string{
		"etc/passwd":  "nobody:x:65534:65534:nobody:/:/bin/false\n",
		"config.json": fmt.Sprintf(`{"http_port": %d, "sites": [{"name": "plain", "upstream": "%s/website/plain/"}]}`, httpPort, gateway.URL),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(s.root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"sites", "run", "--root", s.root}, flags...)
	s.process = start(t, append(args, filepath.Join(s.root, "config.json"))...)
	return s
}

func (s *sitesRun) log() string { return filepath.Join(s.root, "etc/agentenv/sites/network.jsonl") }

// get loads a path once the proxy has said for the nth time where it listens.
func (s *sitesRun) get(t *testing.T, nth int, path string) string {
	t.Helper()
	var said []string
	listening := func() bool {
		said = strings.Split(s.stderr.String(), "listening on ")[1:]
		return len(said) >= nth && strings.Contains(said[nth-1], "  log ")
	}
	if err := poll(listening); err != nil {
		t.Fatalf("it does not listen: %v\n%s", err, s.stderr.String())
	}
	address, _, _ := strings.Cut(said[nth-1], " (http)")
	r, err := http.NewRequest("GET", "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Close = "plain.localhost", true
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestSitesRun(t *testing.T) {
	s := startSitesRun(t, 0)
	if got := s.get(t, 1, "/a?b"); got != "/website/plain/a?b" {
		t.Errorf("%q", got)
	}
	s.signal(t, syscall.SIGTERM)
	if code := s.end(t); code != 0 {
		t.Errorf("exit status %d\n%s", code, s.stderr.String())
	}
	lines := netlogtest.Validate(t, s.log())
	if start := lines[0].Start; start == nil || start.Mode != "sites" {
		t.Errorf("%+v", lines[0])
	}
	if info, err := os.Stat(s.log()); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
}

// A proxy that is killed comes back, and its log goes on; its supervisor ends it
// with itself.
func TestSitesSupervised(t *testing.T) {
	s := startSitesRun(t, 0, "--supervise")
	s.get(t, 1, "/first")
	raw, err := os.ReadFile(s.log())
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(raw, []byte("\n"))
	line, err := netlog.ParseLine(first)
	if err != nil {
		t.Fatal(err)
	}
	pid := line.Start.PID
	if pid == s.Process.Pid {
		t.Fatal("the supervisor serves itself")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := s.get(t, 2, "/second"); got != "/website/plain/second" {
		t.Errorf("%q", got)
	}
	s.signal(t, syscall.SIGTERM)
	if code := s.end(t); code != 0 {
		t.Errorf("exit status %d\n%s", code, s.stderr.String())
	}
	again := 0
	for _, l := range netlogtest.Validate(t, s.log()) {
		if l.Start != nil {
			again = l.Start.PID
		}
	}
	if again == pid || syscall.Kill(again, 0) == nil {
		t.Errorf("process %d is there still, after %d", again, pid)
	}
	if !strings.Contains(s.stderr.String(), "warning: the proxy ended (signal: killed): starting it again") {
		t.Errorf("%s", s.stderr.String())
	}
}

// One that can't begin is not tried again.
func TestSitesSupervisedInVain(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := startSitesRun(t, l.Addr().(*net.TCPAddr).Port, "--supervise")
	if code := s.end(t); code != 1 {
		t.Errorf("exit status %d", code)
	}
	if got := s.stderr.String(); strings.Count(got, "error: http_port: listen tcp4 "+l.Addr().String()) != 1 {
		t.Errorf("%s", got)
	}
	if _, err := os.Stat(s.log()); err == nil {
		t.Error("it began a log")
	}
	if install.Installed(s.root) {
		t.Error("it installed something")
	}
}

// What a card has is enough to route a computer's sites; a configuration adds to it.
func TestSitesOfACardAlone(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"name": "gateway", "children_environments": [{"name": "wiki", "url": "/svc/wiki/agentenv", "capabilities": {"extensions": [`+
			`{"uri": "urn:agentenv:website/v1", "params": {"browse_url": "/website/wiki/"}}]}}]}`)
	}))
	defer gateway.Close()
	const own = `{"sites": [{"name": "notes", "upstream": "http://gateway:8080/website/notes/"}]}`
	for _, c := range []struct {
		args  []string
		sites int // of which the output tells; 0: the call is none
		says  string
	}{
		{[]string{"--from", gateway.URL}, 1, ""},
		{[]string{"--from", gateway.URL, "-"}, 2, ""},
		{[]string{"-"}, 1, ""},
		{nil, 0, "it takes one CONFIG, or none with --from, and got 0"},
		{[]string{"--from", gateway.URL, "-", "-"}, 0, "it takes one CONFIG, or none with --from, and got 2"},
	} {
		var stdout bytes.Buffer
		root := newRoot("")
		root.SetArgs(append([]string{"sites", "check"}, c.args...))
		root.SetIn(strings.NewReader(own))
		root.SetOut(&stdout)
		root.SetErr(io.Discard)
		err := root.ExecuteContext(t.Context())
		if got := strings.Count(stdout.String(), ".localhost"); got != c.sites || (err == nil) != (c.sites > 0) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %d sites, %v\n%s", c.args, got, err, &stdout)
		}
	}
}
