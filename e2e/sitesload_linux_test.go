package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// browsing is a client that finds the sites as every program of the computer does.
func (c *computer) browsing() *http.Client {
	c.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(contentOf(c.t, "/etc/agentenv/sites/ca.pem"))
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 64}
	c.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// visits makes so many requests, 64 at a time, to three sites in turn, each by a URL
// of its own, until it is answered; done is how many have been.
func (c *computer) visits(client *http.Client, what string, count int, done *atomic.Int64) {
	c.t.Helper()
	next := make(chan int)
	var running sync.WaitGroup
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for range 64 {
		running.Go(func() {
			for i := range next {
				for {
					body, err := browse(ctx, client, visitURL(what, i))
					if err == nil && strings.HasSuffix(body, fmt.Sprintf("/%s?n=%d", what, i)) {
						break
					}
					if ctx.Err() != nil {
						c.t.Errorf("%s: %q, %v", visitURL(what, i), body, err)
						break
					}
					if err == nil && !strings.Contains(body, "agentenv-netlog") { // else it is the proxy's own page
						c.t.Errorf("%s: %q", visitURL(what, i), body)
						break
					}
				}
				done.Add(1)
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	running.Wait()
}

func visitURL(what string, i int) string {
	return fmt.Sprintf("%s/%s?n=%d", []string{"https://notes.test", "https://a.shop.test", "http://plain.localhost"}[i%3], what, i)
}

func browse(ctx context.Context, client *http.Client, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

// 1,024 requests to three sites, 64 at a time, are as many entries; in 4,096 more the
// proxy is killed by root, and what it had not written is all that is missing.
func TestSitesUnderLoad(t *testing.T) {
	heavy(t)
	if !onAComputer(t) {
		return
	}
	c := newComputer(t)
	c.install(sitesConfig)
	client := c.browsing()
	var done atomic.Int64
	c.visits(client, "first", 1024, &done)

	killed := make(chan struct{})
	done.Store(0)
	pid := c.servedBy()
	go func() {
		defer close(killed)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for done.Load() < 2000 {
			<-tick.C
		}
		syscall.Kill(pid, syscall.SIGKILL)
	}()
	c.visits(client, "killed", 4096, &done)
	<-killed
	if again := c.servedBy(); again == pid {
		t.Error("it was not killed in time")
	}
	client.CloseIdleConnections()

	r := c.uninstall()
	found := map[string][]string{}
	for _, e := range r.exchanges {
		found[e.url()] = append(found[e.url()], came(e))
		if e.open.Via != "site" {
			t.Errorf("%s went by %s", e.url(), e.open.Via)
		}
	}
	for i := range 1024 {
		if got := found[visitURL("first", i)]; len(got) != 1 || got[0] != "200" {
			t.Errorf("%s: %q", visitURL("first", i), got)
		}
	}
	missing := 0
	for i := range 4096 {
		answered := false
		for _, what := range found[visitURL("killed", i)] {
			answered = answered || what == "200"
			if what != "200" && what != "failed proxy restarted" {
				t.Errorf("%s: %s", visitURL("killed", i), what)
			}
		}
		if !answered {
			missing++
		}
	}
	t.Logf("%d answers went out whose lines had not been written when it was killed", missing)
	if missing > 256 {
		t.Errorf("%d of 4,096 are missing", missing)
	}
	if r.unreadable > 1 {
		t.Errorf("%d lines are cut short", r.unreadable)
	}
}

// An upload of 20 MB is kept to 10 MiB, and says so; the proxy's memory does not
// grow with them.
func TestSitesTakeLargeUploads(t *testing.T) {
	heavy(t)
	if !onAComputer(t) {
		return
	}
	c := newComputer(t)
	c.install(sitesConfig)
	client := c.browsing()
	const size, uploads = 20_000_000, 12
	body := bytes.Repeat([]byte("0123456789"), size/10)
	resident := func() int {
		for line := range strings.Lines(string(contentOf(t, fmt.Sprintf("/proc/%d/status", c.servedBy())))) {
			if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				n, err := strconv.Atoi(strings.Fields(kib)[0])
				if err != nil {
					t.Fatal(err)
				}
				return n >> 10
			}
		}
		return 0
	}
	early := 0
	for i := range uploads {
		answer, err := client.Post(fmt.Sprintf("https://notes.test/upload?n=%d", i), "application/octet-stream", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if string(got) != strconv.Itoa(size) {
			t.Errorf("the site got %s bytes", got)
		}
		if i == 2 {
			early = resident()
		}
	}
	late := resident()
	t.Logf("%d MiB after 3 uploads, %d MiB after %d", early, late, uploads)
	if late > early+100 {
		t.Errorf("its memory went from %d to %d MiB", early, late)
	}
	r := c.uninstall()
	seen := 0
	for _, e := range r.to("notes.test") {
		if !strings.Contains(e.url(), "/upload") {
			continue
		}
		seen++
		m := e.open.Request.Body
		if m == nil {
			m = e.end.Request.Body
		}
		if m.Size != size || !m.Truncated || len(m.Base64) != 10<<20 || m.SHA256 != sum(body) {
			t.Errorf("%s: size %d, %d bytes kept, truncated %v", e.url(), m.Size, len(m.Base64), m.Truncated)
		}
	}
	if seen != uploads {
		t.Errorf("%d uploads are in the log", seen)
	}
}
