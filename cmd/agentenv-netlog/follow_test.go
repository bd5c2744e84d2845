package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// Entries are shown as they end; what goes on for long is shown as open, and
// again at its end.
func TestShowFollows(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-release
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	p := start(t, "proxy", "--listen", "127.0.0.1:0")
	client := p.client(t)
	get := func(path string) {
		answer, err := client.Get(server.URL + path)
		if err != nil {
			t.Error(err)
			return
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	get("/before")
	show := start(t, "show", filepath.Join(p.dir, "network.jsonl"), "--follow", "--json", "--not-host", "skipped.example")
	show.await(t, &show.stdout, "/before")
	get("/after")
	show.await(t, &show.stdout, "/after")
	done := make(chan struct{})
	go func() {
		defer close(done)
		get("/slow")
	}()
	show.await(t, &show.stdout, "/slow")
	close(release)
	<-done
	get("/last")
	show.await(t, &show.stdout, "/last")
	show.signal(t, syscall.SIGINT)
	if status := show.end(t); status != 0 || show.stderr.String() != "" {
		t.Errorf("exit status %d\n%s", status, show.stderr.String())
	}
	p.signal(t, syscall.SIGTERM)
	p.end(t)

	var got []string
	for line := range strings.Lines(show.stdout.String()) {
		var e struct {
			URL    string
			Status int
			Open   bool
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(strings.TrimPrefix(e.URL, server.URL), " ", e.Status, " ", e.Open))
	}
	want := "/before 418 false, /after 418 false, /slow 0 true, /slow 418 false, /last 418 false"
	if strings.Join(got, ", ") != want {
		t.Errorf("shown: %s\n want: %s", strings.Join(got, ", "), want)
	}
}

// A log that is begun again is followed from its beginning.
func TestShowFollowsANewLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "network.jsonl")
	write := func(urls ...string) {
		w, err := netlog.OpenWriter(netlog.WriterConfig{Path: path, Program: program, Mode: "proxy"})
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range urls {
			id := w.Open(&netlog.Open{Time: time.Now(), Kind: netlog.KindExchange, Via: netlog.ViaPlain, Client: "127.0.0.1:1", Request: &netlog.Request{Method: "GET", URL: url, Version: "HTTP/1.1"}})
			w.End(id, &netlog.End{Time: time.Now(), Timings: netlog.NoTimings(0), Failed: &netlog.Failed{Phase: netlog.PhaseDNS, Code: netlog.CodeNotFound, Reason: "no such host"}})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("http://one.example/", "http://two.example/")
	show := start(t, "show", path, "--follow", "--status", "-1")
	show.await(t, &show.stdout, "two.example")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write("http://three.example/")
	show.await(t, &show.stdout, "three.example")
	show.await(t, &show.stderr, "the log was begun again")
	show.signal(t, syscall.SIGTERM)
	if status := show.end(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, show.stderr.String())
	}
	if got := strings.Count(show.stdout.String(), "failed: no"); got != 3 {
		t.Errorf("%d entries\n%s", got, show.stdout.String())
	}
}

// A HAR that is not whole yet when we are told to end leaves nothing.
func TestHARInterrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		interrupted := false
		for n := 2000; !interrupted && n <= 128000; n *= 4 { // a machine may be done before we look
			interrupted = interruptHAR(t, s, n)
		}
		if !interrupted {
			t.Errorf("%v never came in time", s)
		}
	}
}

// interruptHAR converts a log of n entries and sends the signal once the
// temporary file is there. It returns false when the HAR was whole before.
func interruptHAR(t *testing.T, s syscall.Signal, n int) bool {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "network.jsonl")
	w, err := netlog.OpenWriter(netlog.WriterConfig{Path: path, Program: program, Mode: "proxy", Sync: netlog.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	body := netlog.Bytes(strings.Repeat("text\n", 2000))
	for range n {
		id := w.Open(&netlog.Open{Time: time.Now(), Kind: netlog.KindExchange, Via: netlog.ViaPlain, Client: "127.0.0.1:1", Request: &netlog.Request{Method: "GET", URL: "http://h/", Version: "HTTP/1.1"}})
		w.End(id, &netlog.End{Time: time.Now(), Timings: netlog.NoTimings(0), Response: &netlog.Response{
			Status: 200, Version: "HTTP/1.1", Complete: true, Body: &netlog.Body{Size: body.Len(), Kept: body},
		}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, "har", path)
	temporary := func() bool {
		list, err := filepath.Glob(filepath.Join(dir, ".har-*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			if info, err := os.Stat(name); err == nil && info.Size() > 0 {
				return true
			}
		}
		_, err = os.Stat(filepath.Join(dir, "network.har"))
		return err == nil
	}
	if err := poll(temporary); err != nil {
		t.Fatalf("no temporary file: %v\n%s", err, p.stderr.String())
	}
	p.signal(t, s)
	p.Process.Signal(syscall.SIGTERM) // the same stop, unless it has ended
	status := p.end(t)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if status == 0 {
		return false
	}
	if status != exitInterrupted || len(list) != 1 || !strings.Contains(p.stderr.String(), "error: interrupted\n") || strings.Contains(p.stderr.String(), "\x1b") {
		t.Errorf("%v: exit status %d, files %v\n%s", s, status, list, p.stderr.String())
	}
	return true
}
