package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("ali:sesame\r\n\neve: a:b \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := userFlags{user: "bob:bücher", file: file}
	knows, err := f.credentials()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, password string
		want           bool
	}{
		{"ali", "sesame", true},
		{"bob", "bücher", true},
		{"eve", " a:b ", true},
		{"eve", "a:b", false},
		{"ali", "sesame\r", false},
		{"ali", "bücher", false},
		{"", "", false},
		{"ali:sesame", "", false},
	} {
		if got := knows(c.user, c.password); got != c.want {
			t.Errorf("%q with %q is let in: %v, want %v", c.user, c.password, got, c.want)
		}
	}
	if knows, err := (&userFlags{}).credentials(); knows != nil || err != nil {
		t.Errorf("without flags: %v, someone is asked: %v", err, knows != nil)
	}
}

// Credentials from the environment let a browser in and stand nowhere.
func TestProxyAsksForCredentials(t *testing.T) {
	const secret = "opensesame"
	t.Setenv("AGENTENV_NETLOG_PROXY_USER", "ali:"+secret)
	p := start(t, "proxy", "--listen", "0.0.0.0:0") // without --open
	address := "127.0.0.1" + strings.TrimPrefix(strings.TrimPrefix(p.address(t), "0.0.0.0"), "[::]")
	server := newPlainOrigin(t)
	for _, c := range []struct {
		user *url.Userinfo
		want int
	}{
		{nil, http.StatusProxyAuthRequired},
		{url.UserPassword("ali", "wrong"), http.StatusProxyAuthRequired},
		{url.UserPassword("ali", secret), http.StatusOK},
	} {
		client := &http.Client{Transport: &http.Transport{
			Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: address, User: c.user}),
			DisableKeepAlives: true,
		}}
		answer, err := client.Get(server)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%v: %s, want %d", c.user, answer.Status, c.want)
		}
	}
	p.await(t, &p.stderr, "--proxy-user USER:PASSWORD")
	p.signal(t, syscall.SIGTERM)
	if status := p.end(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, p.stderr.String())
	}
	if n := len(p.lines(t, "open")); n != 1 {
		t.Errorf("%d entries, want the one that was let in", n)
	}
	log, err := os.ReadFile(filepath.Join(p.dir, "network.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if all := string(log) + p.stderr.String() + p.stdout.String(); strings.Contains(all, secret) || strings.Contains(all, "YWxpOm9wZW5zZXNhbWU") {
		t.Errorf("the password was given away:\n%s", all)
	}
}
