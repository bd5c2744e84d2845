package e2e

import (
	"bytes"
	encoding "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const controlToken = "Tz4nq0V-4yWq0m1C1d7c8Wb5-3u2pHkq_Zt9xLrS0aE"

// startServe runs one on a free port, with these variables.
func startServe(t *testing.T, env []string, args ...string) (d *daemon, url string) {
	t.Helper()
	d = startDaemon(t, "card", env, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	return d, "http://" + listens.FindString(d.said.String())
}

// sequence is a capture of so many packets of so many bytes, each a second later.
func sequence(packets, size int) []byte {
	le := encoding.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = le.AppendUint32(b, 2|4<<16)
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 262144)
	b = le.AppendUint32(b, 276)
	for i := range packets {
		b = le.AppendUint32(b, uint32(1_760_000_000+i))
		b = le.AppendUint32(b, 0)
		b = le.AppendUint32(b, uint32(size))
		b = le.AppendUint32(b, uint32(size))
		b = append(b, bytes.Repeat([]byte{byte(i)}, size)...)
	}
	return b
}

// The calls of an env's client as the protocol has them, by a program of its own.
func TestTheReferenceClient(t *testing.T) {
	t.Parallel()
	python := venv(t)
	w := newWorld(t)
	env := []string{"AGENTENV_CONTROL_TOKEN=" + controlToken}
	p := w.proxy()
	for i := range 50 {
		asks(t, p.client(), "GET", fmt.Sprintf("https://%s/echo?n=%d", w.origin.host, i), "", "")
	}
	p.stop()
	captures, fetched := filepath.Join(w.dir, "captures"), filepath.Join(w.dir, "fetched")
	files := map[string][]byte{"site.pcap1": sequence(5, 100), "site.pcap0": sequence(500, 1000), "db.pcap": sequence(1, 1)}
	for _, dir := range []string{captures, fetched} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(captures, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, url := startServe(t, env, "--log", p.log, "--captures", captures)
	script, err := filepath.Abs("testdata/clients/reference.py")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), python, script, url, controlToken, fetched)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for name, want := range files {
		if b, err := os.ReadFile(filepath.Join(fetched, name)); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s has %d bytes of %d, %v", name, len(b), len(want), err)
		}
	}
	har := filepath.Join(w.dir, "network.har")
	if _, stderr, code := run(t, w.dir, "har", p.log, "-o", har); code != 0 {
		t.Fatal(stderr)
	}
	b, err := os.ReadFile(har)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(stdout.String()), fmt.Sprintf("101 3 %s", sum(b)); got != want {
		t.Errorf("it saw %s, want %s", got, want)
	}
}

// A poller has every line once and in order while a proxy writes them.
func TestAPollerDuring1024Requests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.proxy("--max-log", "256KiB")
	_, url := startServe(t, nil, "--log", p.log)
	const requests = 1024
	var working sync.WaitGroup
	for i := range 8 {
		working.Go(func() {
			client := p.client()
			for j := range requests / 8 {
				if _, err := fetch(t.Context(), client, fmt.Sprintf("https://%s/echo?n=%d", w.origin.host, i*1000+j), nil, 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		working.Wait()
		p.stop()
	}()
	ended, next, opened, closed := false, int64(0), 0, 0
	for more := true; more || !ended; {
		if !ended {
			select {
			case <-stopped:
				ended = true // what is asked for now is all there is
			default:
			}
		}
		page := struct {
			Lines               []json.RawMessage
			Next                int64
			More                bool
			BegunAgain          bool `json:"begun_again"`
			Unreadable, Missing int64
		}{}
		answer, err := http.Post(url+"/agentenv/ext/browser/network", "application/json", strings.NewReader(fmt.Sprintf(`{"after":%d,"limit":50000,"wait":0.1}`, next)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || json.Unmarshal(b, &page) != nil || answer.StatusCode != 200 {
			t.Fatalf("%s: %.300s, %v", answer.Status, b, err)
		}
		for _, raw := range page.Lines {
			var l line
			if err := json.Unmarshal(raw, &l); err != nil || l.N != next+1 {
				t.Fatalf("line %.100s follows %d: %v", raw, next, err)
			}
			switch next++; l.Event {
			case "open":
				opened++
			case "end":
				closed++
			}
		}
		if page.Next != next || page.BegunAgain || page.Unreadable+page.Missing != 0 {
			t.Fatalf("after %d: %.300s", next, b)
		}
		more = page.More
	}
	if opened != requests || closed != requests {
		t.Errorf("%d requests were begun and %d ended, of %d", opened, closed, requests)
	}
}

// An env's client may go through the proxy: its token is in no log, HAR or
// error, and no program that is started has it.
func TestTheTokenIsNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	env := []string{"AGENTENV_CONTROL_TOKEN=" + controlToken, "HOME=" + w.dir}
	log, ca := filepath.Join(w.dir, "network.jsonl"), filepath.Join(w.dir, "proxy-ca", "ca.pem")
	recorder := startDaemon(t, "others", env, "proxy", "--listen", "127.0.0.1:0", "--log", log, "--ca-dir", filepath.Dir(ca), "--upstream-ca", w.ca.file)
	p := &proxy{t: t, address: listens.FindString(recorder.said.String()), log: log, ca: ca, trust: ca}
	server, url := startServe(t, env, "--log", log, "--captures", w.dir)
	client := p.client()
	calls := func(want int, token string) {
		t.Helper()
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/traffic/captures", ""}, {"GET", "/network.har", ""}, {"POST", "/agentenv/ext/browser/network", "{}"},
			{"POST", "/agentenv", `{"jsonrpc":"2.0","id":1,"method":"data/get"}`},
		} {
			r, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", token)
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != want {
				t.Errorf("%s with %q: %s, %v", c.path, token, answer.Status, err)
			}
			answer.Body.Close()
		}
	}
	for range 100 {
		calls(401, "Bearer wrong")
	}
	calls(200, "Bearer "+controlToken)
	out, stderr, code := run(t, w.dir, "har", log, "-o", "-")
	if code != 0 {
		t.Fatal(stderr)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the log": string(b), "the HAR": out, "what serve said": server.said.String(), "what the proxy said": recorder.said.String()} {
		if strings.Contains(text, controlToken) {
			t.Errorf("the token is in %s", where)
		}
	}
	if !strings.Contains(string(b), "Bearer wrong") {
		t.Error("another bearer is not in the log")
	}
}
