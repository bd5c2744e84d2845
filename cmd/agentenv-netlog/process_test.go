package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A process is the program, running in a folder of its own.
type process struct {
	*exec.Cmd
	dir    string
	stdout buffer
	stderr buffer
}

// buffer is a bytes.Buffer that is read while a process writes to it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startTo(t, nil, args...)
}

// startTo is start with another standard error; nil: p.stderr.
func startTo(t *testing.T, stderr io.Writer, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p := &process{Cmd: exec.CommandContext(ctx, program, args...), dir: t.TempDir()}
	p.Dir = p.dir
	p.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(p.dir, "config"), "TMPDIR="+p.dir)
	p.Stdout, p.Stderr = &p.stdout, stderr
	if stderr == nil {
		p.Stderr = &p.stderr
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		p.Wait() // again, if the test did
	})
	return p
}

func (p *process) await(t *testing.T, b *buffer, text string) {
	t.Helper()
	if err := poll(func() bool { return strings.Contains(b.String(), text) }); err != nil {
		t.Fatalf("no %q: %v\n%s%s", text, err, p.stdout.String(), p.stderr.String())
	}
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// end waits for the process and returns its exit status.
func (p *process) end(t *testing.T) int {
	t.Helper()
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// insist sends a second signal, until it is not taken for the first one's, and
// returns the exit status.
func (p *process) insist(t *testing.T) int {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	for {
		p.Process.Signal(syscall.SIGINT) // it may have ended meanwhile
		select {
		case <-ended:
			return p.ProcessState.ExitCode()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// address is what the line for machines says.
func (p *process) address(t *testing.T) string {
	t.Helper()
	p.await(t, &p.stderr, "others")
	for line := range strings.Lines(p.stderr.String()) {
		if address, ok := strings.CutPrefix(line, "listening on "); ok {
			return strings.TrimSpace(address)
		}
	}
	t.Fatalf("no line says where it listens\n%s", p.stderr.String())
	return ""
}

// client is a browser that uses the proxy and trusts its authority.
func (p *process) client(t *testing.T) *http.Client {
	t.Helper()
	address := p.address(t)
	roots := x509.NewCertPool()
	b, err := os.ReadFile(filepath.Join(p.dir, "config", program, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(b)
	transport := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: address}),
		TLSClientConfig: &tls.Config{RootCAs: roots},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// lines are the log's, of the event.
func (p *process) lines(t *testing.T, event string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, "network.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []map[string]any
	for line := range bytes.Lines(b) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if v["event"] == event {
			lines = append(lines, v)
		}
	}
	return lines
}

func TestProxyRecords(t *testing.T) {
	server, certificate := newOrigin(t.Fatalf, filepath.Join(t.TempDir(), "ca"))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "origin.pem")
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "proxy", "--listen", "127.0.0.1:0", "--upstream-ca", file)
	answer, err := p.client(t).Get(server.URL + "/page")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || string(body) != "this is /page\n" {
		t.Errorf("body %q, error %v", body, err)
	}
	p.signal(t, syscall.SIGTERM)
	if status := p.end(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, p.stderr.String())
	}
	opened, ended := p.lines(t, "open"), p.lines(t, "end")
	if len(opened) != 1 || len(ended) != 1 {
		t.Fatalf("%d open lines and %d end lines, want one each", len(opened), len(ended))
	}
	if got := opened[0]["request"].(map[string]any)["url"]; got != server.URL+"/page" {
		t.Errorf("url %q", got)
	}
	info, err := os.Stat(filepath.Join(p.dir, "network.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("the log's mode is %v", info.Mode())
	}
}

// An exchange that is open when the proxy is told to stop has --drain; a second
// signal ends that.
func TestProxyStops(t *testing.T) {
	for _, c := range []struct {
		name    string
		drain   string
		signals int
	}{
		{"after the drain", "10ms", 1},
		{"at the second signal", "1h", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked, release := make(chan struct{}), make(chan struct{})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				close(asked)
				<-release
			})}
			served := make(chan error, 1)
			go func() { served <- server.Serve(l) }()
			defer func() {
				close(release)
				server.Close()
				<-served
			}()

			p := start(t, "proxy", "--listen", "127.0.0.1:0", "--drain", c.drain)
			client := p.client(t)
			done := make(chan struct{})
			go func() {
				defer close(done)
				if answer, err := client.Get(fmt.Sprintf("http://%s/slow", l.Addr())); err == nil {
					answer.Body.Close()
				}
			}()
			<-asked
			p.signal(t, syscall.SIGTERM)
			p.await(t, &p.stderr, "stopping")
			end := p.end
			if c.signals > 1 {
				end = p.insist
			}
			if status := end(t); status != 0 {
				t.Errorf("exit status %d\n%s", status, p.stderr.String())
			}
			<-done
			ended := p.lines(t, "end")
			if len(ended) != 1 {
				t.Fatalf("%d end lines, want 1", len(ended))
			}
			failed, _ := ended[0]["failed"].(map[string]any)
			if failed["code"] != "stopped" {
				t.Errorf("it ended as %v, want stopped", ended[0]["failed"])
			}
		})
	}
}

// A proxy outlives whoever read what it says, and its terminal ends it in good order.
func TestProxyIsReadNoMore(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := startTo(t, w, "proxy", "--listen", "127.0.0.1:0", "--drain", "10ms", "--key-log", "keys.log")
	w.Close()
	said := bufio.NewReader(r)
	line, err := said.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("it said %q, %v", line, err)
	}
	for err == nil && !strings.HasPrefix(line, "  page") {
		line, err = said.ReadString('\n')
	}
	r.Close()

	asked, release := make(chan bool), make(chan bool)
	origin := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- true
		<-release
	}))
	defer origin.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	host := strings.TrimPrefix(origin.URL, "http://")
	fmt.Fprintf(conn, "GET %s/ HTTP/1.1\r\nHost: %s\r\n\r\n", origin.URL, host)
	<-asked
	p.signal(t, syscall.SIGHUP) // it says that it is stopping
	if status := p.end(t); status != 0 {
		t.Errorf("exit status %d", status)
	}
	close(release)
	ended := p.lines(t, "end")
	if len(ended) != 1 || ended[0]["failed"].(map[string]any)["code"] != "stopped" {
		t.Errorf("end lines: %v", ended)
	}
}

// A HAR is made also when nobody reads what is said about it.
func TestRecordIsReadNoMore(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	p := startTo(t, w, "record", "--", "probe", "exit", "3")
	w.Close()
	if status := p.end(t); status != 3 {
		t.Errorf("exit status %d, want the command's 3", status)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "network.har")); err != nil {
		t.Error(err)
	}
}

// Ctrl-C is the command's, SIGTERM is passed on, and the HAR is there all the same.
func TestRecordSignals(t *testing.T) {
	p := start(t, "record", "--", "probe", "interrupts")
	p.await(t, &p.stdout, "ready")
	p.signal(t, syscall.SIGINT)
	p.signal(t, syscall.SIGQUIT)
	p.signal(t, syscall.SIGTERM)
	if status := p.end(t); status != 3 {
		t.Errorf("exit status %d, want the command's 3\n%s", status, p.stderr.String())
	}
	if got, want := p.stdout.String(), "ready\nterminated\n"; got != want {
		t.Errorf("the command saw %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "network.har")); err != nil {
		t.Error(err)
	}
}

// What a terminal sends to both, the command must be able to take: a signal that
// we ignored it would ignore as well.
func TestRecordLeavesSignalsToTheCommand(t *testing.T) {
	p := start(t, "record", "--", "probe", "interrupts")
	p.await(t, &p.stdout, "ready")
	children, err := exec.Command("pgrep", "-P", fmt.Sprint(p.Process.Pid)).Output()
	if err != nil {
		p.signal(t, syscall.SIGTERM)
		p.end(t)
		t.Skipf("the command can't be found: pgrep: %v", err)
	}
	var child int
	if _, err := fmt.Sscan(string(children), &child); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(child, syscall.SIGINT)
	p.await(t, &p.stdout, "interrupt")
	p.signal(t, syscall.SIGTERM)
	if status := p.end(t); status != 3 {
		t.Errorf("exit status %d, want the command's 3", status)
	}
}

func TestRecordPassesStandardInput(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	command := exec.Command(program, "record", "--", cat)
	command.Dir = dir
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	command.Stdin = bufio.NewReader(strings.NewReader("through and through\n"))
	out, err := command.Output()
	if err != nil || string(out) != "through and through\n" {
		t.Errorf("out %q, error %v", out, err)
	}
}
