package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentenv/netlog/proxy"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "1": 1, "17B": 17, "64KiB": 64 << 10, "10MiB": 10 << 20, "10 mib": 10 << 20, "1GiB": 1 << 30, "5kB": 5000, "2MB": 2e6, "1GB": 1e9,
		"": -1, "MiB": -1, "-1": -1, "1.5MiB": -1, "10M": -1, "2GiB": 2 << 30, "9999999999GiB": -1, "99999999999999999999": -1, "10MiBs": -1, "1e6": -1,
	} {
		got, err := parseSize("max-request-body", s)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d (%v), want %d", s, got, err, want)
		}
	}
	for _, n := range []int64{0, 1, 1000, 1024, 10 << 20, 96 << 20, 1 << 30} {
		if got, err := parseSize("max-request-body", formatSize(n)); got != n {
			t.Errorf("%d is written %q, which is %d: %v", n, formatSize(n), got, err)
		}
	}
	if s := formatSize(proxy.DefaultKeep().RequestBody); s != "10MiB" {
		t.Errorf("10 MiB is written %q", s)
	}
}

// A key log is for its owner alone, and goes on where it was.
func TestOpenKeyLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.log")
	for range 2 {
		var c proxy.Config
		f := keepFlags{keyLog: path}
		if err := f.openKeyLog(&c, "network.jsonl"); err != nil {
			t.Fatal(err)
		}
		io.WriteString(c.KeyLog, "line\n")
		c.KeyLog.(io.Closer).Close()
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 || info.Size() != 10 {
		t.Errorf("%v, %v", info, err)
	}
}

// Credentials that are an env's own go over the wire and are in no log.
func TestWhatNoLogHas(t *testing.T) {
	const token = "Tz4nq0V-4yWq0m1C1d7c8Wb5-3u2pHkq_Zt9xLrS0aE"
	t.Setenv(tokenVariable, token)
	t.Setenv("AGENTENV_PROVIDER_REQUEST_HEADERS", "x-provider-key, ,X-Other")
	headers := http.Header{
		"Authorization":     {"Bearer " + token, "Bearer mine"},
		"Agentenv-Role-Key": {"role-secret"}, "X-Provider-Key": {"provider-secret"}, "X-Other": {"other-secret"}, "X-Mine": {"kept"},
	}
	got := make(chan http.Header, 1)
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got <- r.Header.Clone() }))
	defer origin.Close()
	p := start(t, "proxy", "--listen", "127.0.0.1:0")
	r, err := http.NewRequest("GET", origin.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = headers
	answer, err := p.client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	sent := <-got
	for name, values := range headers {
		if !slices.Equal(sent[name], values) {
			t.Errorf("the server got %s: %q", name, sent[name])
		}
	}
	p.signal(t, os.Interrupt)
	if code := p.end(t); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	log, err := os.ReadFile(filepath.Join(p.dir, "network.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{token, "role-secret", "provider-secret", "other-secret"} {
		if strings.Contains(string(log), secret) || strings.Contains(p.stderr.String(), secret) {
			t.Errorf("%q is in the log, or was said", secret)
		}
	}
	for _, kept := range []string{"Bearer mine", "kept"} {
		if !strings.Contains(string(log), kept) {
			t.Errorf("%q is not in the log", kept)
		}
	}
}
