package e2e

import (
	"path/filepath"
	"testing"
)

// installers are the programs that fetch packages, each from a registry that
// has one.
func installers() []client {
	return []client{
		{
			name: "npm",
			run: func(s *session) {
				npm := need(s.t, "npm")
				write(s.t, filepath.Join(s.home, "package.json"), []byte(`{"private":true}`))
				s.do(npm, "install", "--registry=https://{tls}/npm/", "--cafile={trust}", "--proxy={proxy}", "--https-proxy={proxy}", "--no-audit", "--no-fund", "--no-update-notifier", "--cache={home}/cache", "parcel@1.2.3")
				s.said(s.do(need(s.t, "node"), "-p", "require('parcel')"), parcel+"\n")
				filling(s.t, filepath.Join(s.home, "node_modules/parcel/filling.txt"))
			},
			asks: []string{"GET https://{tls}/npm/parcel 200", "GET https://{tls}/npm/parcel/-/parcel-1.2.3.tgz 200"},
		},
		{
			name: "pip",
			run: func(s *session) {
				python := venv(s.t)
				s.do(python, "-m", "pip", "install", "--isolated", "--quiet", "--no-cache-dir", "--disable-pip-version-check", "--no-input",
					"--index-url=https://{tls}/simple/", "--cert={trust}", "--proxy={proxy}", "--target={home}/packages", "parcel==1.2.3")
				s.said(s.doWith([]string{"PYTHONPATH=" + filepath.Join(s.home, "packages")}, python, "-c", "import parcel; print(parcel.contents)"), parcel+"\n")
				filling(s.t, filepath.Join(s.home, "packages/filling.txt"))
			},
			asks: []string{"GET https://{tls}/simple/parcel/ 200", "GET https://{tls}/wheels/parcel-1.2.3-py3-none-any.whl 200"},
		},
	}
}

// filling checks the package's large file.
func filling(t *testing.T, path string) {
	t.Helper()
	if got := contentOf(t, path); string(got) != string(pattern(400_000)) {
		t.Errorf("%s has %d other bytes", path, len(got))
	}
}
