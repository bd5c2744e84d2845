package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentenv/netlog/capture/traffic"
)

// startHalfway is fetch of an env that has two captures, of which it gives one and
// then nothing more.
func startHalfway(t *testing.T, args ...string) (p *process, dir string) {
	t.Helper()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case traffic.CardPath:
			io.WriteString(w, `{"capabilities":{"extensions":[{"uri":"urn:agentenv:traffic/v1","params":{"endpoint":"/list","methods":{"list":{"method":"GET"},"get":{"method":"GET","endpoint":"/get"}}}}]}}`)
		case "/list":
			io.WriteString(w, `{"captures":[{"name":"a.pcap","container":"a","bytes":5},{"name":"b.pcap","container":"b","bytes":50}]}`)
		default:
			w.Header().Set("Content-Length", "5")
			if r.URL.Query().Get("name") == "b.pcap" {
				w.Header().Set("Content-Length", "50")
			}
			io.WriteString(w, "12345")
			w.(http.Flusher).Flush()
			if r.URL.Query().Get("name") == "b.pcap" {
				<-release
			}
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	dir = filepath.Join(t.TempDir(), "out")
	p = start(t, append([]string{"fetch", server.URL, "--out", dir}, args...)...)
	return p, dir
}

// halfway waits until the first capture is there.
func halfway(t *testing.T, dir string) {
	t.Helper()
	if err := poll(func() bool { m, err := traffic.ReadManifest(dir); return err == nil && len(m.Files) == 1 }); err != nil {
		t.Fatal(err)
	}
}

// isHalf holds that the manifest says what is there and why it is not all.
func isHalf(t *testing.T, dir, why string) {
	t.Helper()
	m, err := traffic.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if m.State != traffic.Partial || m.Error != why || len(m.Files) != 1 || m.Files[0].Name != "a-00.pcap" {
		t.Errorf("%+v", m)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".fetch-*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestAFetchThatIsInterrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p, dir := startHalfway(t)
		halfway(t, dir)
		p.signal(t, s)
		p.signal(t, syscall.SIGTERM) // which means the same
		if code := p.end(t); code != exitPartial || !strings.Contains(p.stderr.String(), "error: interrupted\n") {
			t.Errorf("%v: it ended with %d\n%s", s, code, p.stderr.String())
		}
		isHalf(t, dir, "interrupted")
	}
}

func TestAFetchThatTakesTooLong(t *testing.T) {
	p, dir := startHalfway(t, "--timeout", "1s")
	if code := p.end(t); code != exitPartial || !strings.Contains(p.stderr.String(), "error: it took more than 1s\n") {
		t.Errorf("it ended with %d\n%s", code, p.stderr.String())
	}
	isHalf(t, dir, "it took more than 1s")
}

// The worker outlives nobody for long.
func TestAFetchThatIsKilled(t *testing.T) {
	p, dir := startHalfway(t)
	halfway(t, dir)
	p.signal(t, syscall.SIGKILL)
	if code := p.end(t); code != -1 {
		t.Errorf("it ended with %d", code)
	}
	err := poll(func() bool { m, err := traffic.ReadManifest(dir); return err == nil && m.Error == "interrupted" })
	if err != nil {
		t.Errorf("the manifest: %v", err)
	}
	isHalf(t, dir, "interrupted")
}

func TestTheBarOfAFetch(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		room        int
		want        string
	}{
		{0, 0, 100, "agentenv-netlog: [........................] 0 B of 0 B site.pcap\\x1b"},
		{0, 200_000_000, 100, "agentenv-netlog: [........................] 0 B of 200.0 MB site.pcap\\x1b"},
		{100_000_000, 200_000_000, 100, "agentenv-netlog: [############............] 100.0 MB of 200.0 MB site.pcap\\x1b"},
		{200_000_000, 200_000_000, 100, "agentenv-netlog: [########################] 200.0 MB of 200.0 MB site.pcap\\x1b"},
		{300_000_000, 200_000_000, 30, "agentenv-netlog: [#########..."},
	} {
		if got := barText("site.pcap\x1b", c.done, c.total, c.room); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// What a server sends beyond its answer is no business of the terminal's.
func TestAServerThatSpeaksUnasked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := `{"format":"pcap","captures":[]}`
		if r.URL.Path == "/.well-known/agent-env.json" {
			body = `{"capabilities":{"extensions":[{"uri":"urn:agentenv:traffic/v1","params":{"methods":{"list":{"method":"GET","endpoint":"/list"}}}}]}}`
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%sunasked", len(body), body)
		io.Copy(io.Discard, conn)
	}))
	defer server.Close()
	p := start(t, "fetch", server.URL, "--out", filepath.Join(t.TempDir(), "out"))
	if code := p.end(t); code != 0 || strings.Contains(p.stderr.String(), "nsolicited") {
		t.Errorf("it ended with %d\n%s", code, p.stderr.String())
	}
}
