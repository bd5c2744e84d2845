package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that trusts only the server's own authority gets through from its
// second connection on, and people are told.
func TestTunnelOnPin(t *testing.T) {
	server, certificate := newOrigin(t.Fatalf, filepath.Join(t.TempDir(), "ca"))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "origin.pem")
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "proxy", "--listen", "127.0.0.1:0", "--tunnel-on-pin", "--upstream-ca", file)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	client := p.client(t)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}

	if answer, err := client.Get(server.URL + "/first"); err == nil {
		answer.Body.Close()
		t.Fatal("the proxy's certificate was taken")
	}
	p.await(t, &p.stderr, "the host is tunnelled from now on")
	answer, err := client.Get(server.URL + "/second")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || string(body) != "this is /second\n" {
		t.Errorf("body %q, error %v", body, err)
	}
	client.CloseIdleConnections()
	if err := poll(func() bool { return len(p.lines(t, "end")) == 2 }); err != nil {
		t.Fatal(err)
	}
	tunnel, _ := p.lines(t, "end")[1]["tunnel"].(map[string]any)
	if reason, _ := tunnel["reason"].(string); !strings.Contains(reason, "refused the proxy's certificate") {
		t.Errorf("the tunnel's line: %v", tunnel)
	}
}
