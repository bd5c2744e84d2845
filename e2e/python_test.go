package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

func pythons() []client {
	by := func(file string) func(s *session) {
		return func(s *session) { s.said(s.do(venv(s.t), script(s.t, file), "{tls}", "{plain}", "{proxy}"), "done\n") }
	}
	return []client{
		{
			name: "requests",
			run:  by("with_requests.py"),
			asks: []string{"GET https://{tls}/coded/gzip 200", "POST https://{tls}/echo?chunked 200", "GET https://{tls}/large?size=2500000 200", "GET http://{plain}/moved 302", "POST http://{plain}/upload 200"},
		},
		{
			name: "aiohttp",
			run:  by("with_aiohttp.py"),
			asks: []string{"GET https://{tls}/echo?n=29 200", "POST https://{tls}/upload 200", "GET http://{plain}/chunked 200", "GET wss://{tls}/socket 101", "GET ws://{plain}/socket 101"},
		},
		{
			name: "websockets",
			run:  by("with_websockets.py"),
			asks: []string{"GET wss://{tls}/socket 101", "GET ws://{plain}/socket 101"},
		},
	}
}

// venv is the Python that has what requirements.txt names.
func venv(t *testing.T) string {
	t.Helper()
	return inVenv(t, ".venv", "python")
}

// inVenv is a program of one of the environments that e2e/setup makes.
func inVenv(t *testing.T, name, program string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(name, "bin", program))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(name, ".installed")); err != nil {
		lacking(t, "the Python packages of "+name+" are not installed (make e2e-setup)")
	}
	return path
}
