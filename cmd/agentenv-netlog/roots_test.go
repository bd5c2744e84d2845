package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSystemRoots(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.pem")
	if err := os.WriteFile(own, []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", own)
	if b, err := systemRoots(""); err != nil || string(b) != "own" {
		t.Errorf("got %q, error %v", b, err)
	}
	t.Setenv("SSL_CERT_FILE", filepath.Join(dir, "missing.pem"))
	if _, err := systemRoots(""); err == nil {
		t.Error("a missing SSL_CERT_FILE is no error")
	}
	for _, named := range []string{"", own} {
		t.Setenv("SSL_CERT_FILE", named)
		got, err := systemRoots(own)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range bundles {
			if want, err := os.ReadFile(file); err == nil {
				if string(got) != string(want) {
					t.Errorf("with SSL_CERT_FILE=%s the roots are not those of %s, the first that is there", named, file)
				}
				break
			}
		}
	}
}
