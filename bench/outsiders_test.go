package main

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentenv/netlog/bench/internal/origin"
	"github.com/agentenv/netlog/bench/internal/party"
	"github.com/agentenv/netlog/ca"
)

// newTestBench is a bench without the programs that are built for it.
func newTestBench(t *testing.T) *bench {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil { // for who gives root up
		t.Fatal(err)
	}
	b := &bench{dir: dir, caDir: filepath.Join(dir, "ca"), roots: filepath.Join(dir, "origin.pem"), pool: x509.NewCertPool()}
	authority, err := ca.Create(b.caDir)
	if err != nil {
		t.Fatal(err)
	}
	b.pool.AddCert(authority.Certificate)
	certificate, pem, err := party.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.roots, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	if b.origin, err = origin.Start(certificate); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

func TestOutsidersServeWhatTheyAreMeasuredAt(t *testing.T) {
	t.Chdir("..") // where the bench is run
	for _, o := range outsiders() {
		t.Run(o.name, func(t *testing.T) {
			if _, program := outside(o.name); program == "" {
				t.Skip("not installed: ", o.where)
			}
			b := newTestBench(t)
			for _, w := range workloads() {
				if !slices.Contains(w.parties, o.name) || !slices.Contains([]string{"json", "plain", "h2"}, w.name) {
					continue
				}
				w.warmUp, w.load.Connections, w.load.Streams = 0, min(w.load.Connections, 2), min(w.load.Streams, 10)
				s, err := b.turn(t.Context(), w, o.name)
				if err != nil || s.rate <= 0 || s.rss <= 0 {
					t.Errorf("%s: %+v, %v", w.name, s, err)
				}
			}
		})
	}
}
