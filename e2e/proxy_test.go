package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A proxy is `agentenv-netlog proxy` as a child process.
type proxy struct {
	t       *testing.T
	address string // where it listens
	log     string // its network.jsonl
	ca      string // its authority's certificate, for browsers
	trust   string // what browsers must trust: the same, or in the stand-in the origins' authority

	cmd   *exec.Cmd
	said  *said
	ended chan struct{}
	err   error // of the child, once ended is closed
}

// said gathers what a child prints, while it runs.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

var listens = regexp.MustCompile(`127\.0\.0\.1:[1-9]\d*`)

// proxy starts one on a free port, with the world's log and authority: a
// second one goes on where the first ended.
func (w *world) proxy(args ...string) *proxy {
	w.t.Helper()
	p := &proxy{
		t:     w.t,
		log:   filepath.Join(w.dir, "network.jsonl"),
		ca:    filepath.Join(w.dir, "proxy-ca", "ca.pem"),
		said:  &said{},
		ended: make(chan struct{}),
	}
	args = append([]string{
		"proxy", "--listen", "127.0.0.1:0", "--log", p.log,
		"--ca-dir", filepath.Dir(p.ca), "--upstream-ca", w.ca.file,
	}, args...)
	p.trust = p.ca
	if slices.Contains(args, "--stand-in") {
		p.trust = w.ca.file
	}
	p.cmd = exec.Command(binary(w.t), args...)
	p.cmd.Env = append(clean(os.Environ()), "HOME="+w.dir)
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	w.t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		if strings.Contains(p.said.String(), "DATA RACE") || strings.Contains(p.said.String(), "panic:") {
			w.t.Errorf("the proxy said:\n%s", p.said)
		}
	})
	until(w.t, "the proxy to listen", func() bool {
		select {
		case <-p.ended:
			w.t.Fatalf("the proxy ended: %v\n%s", p.err, p.said)
		default:
		}
		p.address = listens.FindString(p.said.String())
		if p.address == "" {
			return false
		}
		c, err := net.Dial("tcp", p.address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return p
}

// clean takes the variables out that would lead a child elsewhere.
func clean(env []string) []string {
	var kept []string
	for _, v := range env {
		name, _, _ := strings.Cut(strings.ToLower(v), "=")
		if !strings.HasSuffix(name, "_proxy") && !strings.HasPrefix(name, "agentenv_") && !strings.HasPrefix(name, "xdg_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// stop ends it as a user would and waits until its log is whole.
func (p *proxy) stop() {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.wait("SIGTERM")
	if p.err != nil {
		p.t.Errorf("the proxy ended with %v on SIGTERM\n%s", p.err, p.said)
	}
}

// wait waits until the child has ended.
func (p *proxy) wait(after string) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the proxy still runs %v after %s\n%s", patience, after, p.said)
	}
}

// client is an HTTP client that goes through the proxy and trusts it; idle
// connections of its own are closed at the test's end.
func (p *proxy) client() *http.Client {
	p.t.Helper()
	pem, err := os.ReadFile(p.trust)
	if err != nil {
		p.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		p.t.Fatalf("no certificate in %s", p.trust)
	}
	transport := &http.Transport{
		Proxy:               http.ProxyURL(&url.URL{Scheme: "http", Host: p.address}),
		TLSClientConfig:     &tls.Config{RootCAs: roots},
		MaxIdleConnsPerHost: 64,
		DisableCompression:  true,
	}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// run is one run of a command of the binary, in dir.
func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), args...)
	cmd.Dir = dir
	cmd.Env = append(clean(os.Environ()), "HOME="+dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if strings.Contains(errs.String(), "DATA RACE") {
		t.Errorf("%q: %s", args, errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
