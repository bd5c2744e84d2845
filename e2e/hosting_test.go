package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hosting is the site with, beside it, a git repository, an npm registry and a
// Python index of one package each. Its files are in dir.
func hosting(t *testing.T, dir string) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	here := site()
	mux.Handle("/", here)
	// A page whose load event waits for its socket: an image comes when the
	// socket has been closed.
	mux.HandleFunc("GET /talk.html", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, talkPage)
	})
	closed := make(chan struct{}, 1)
	mux.HandleFunc("GET /socket", func(w http.ResponseWriter, r *http.Request) {
		here.ServeHTTP(w, r)
		select {
		case closed <- struct{}{}:
		default: // nobody wants to know
		}
	})
	mux.HandleFunc("GET /closed.png", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-closed:
			http.ServeFile(w, r, "testdata/site/logo.png")
		case <-r.Context().Done():
		}
	})
	mux.Handle("/git/", repositories(filepath.Join(dir, "git")))
	tarball := npmPackage(t)
	mux.HandleFunc("GET /npm/parcel", func(w http.ResponseWriter, r *http.Request) {
		hash := sha512.Sum512(tarball)
		answer(w, map[string]any{
			"name":      "parcel",
			"dist-tags": map[string]string{"latest": "1.2.3"},
			"versions": map[string]any{"1.2.3": map[string]any{
				"name": "parcel", "version": "1.2.3",
				"dist": map[string]string{
					"tarball":   "https://" + r.Host + "/npm/parcel/-/parcel-1.2.3.tgz",
					"integrity": "sha512-" + base64.StdEncoding.EncodeToString(hash[:]),
				},
			}},
		})
	})
	mux.HandleFunc("GET /npm/parcel/-/parcel-1.2.3.tgz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(tarball)
	})
	wheel := pythonWheel(t)
	mux.HandleFunc("GET /simple/parcel/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>parcel</title><a href=\"/wheels/parcel-1.2.3-py3-none-any.whl#sha256=%s\">parcel-1.2.3-py3-none-any.whl</a>", sum(wheel))
	})
	mux.HandleFunc("GET /wheels/parcel-1.2.3-py3-none-any.whl", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/zip")
		w.Write(wheel)
	})
	return mux
}

const talkPage = `<!doctype html>
<title>a socket</title>
<link rel="icon" href="data:,">
<script>
const s = new WebSocket(location.origin.replace('http', 'ws') + '/socket')
const left = ['one', new Uint8Array(70000), 'three']
s.onopen = s.onmessage = () => left.length ? s.send(left.shift()) : s.close(1000)
</script>
<img src="/closed.png" alt="closed">
`

// repositories serves the git repositories below a folder, for reading and
// writing, by git's own http-backend.
func repositories(root string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exec, err := exec.Command("git", "--exec-path").Output()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		// A CGI program must know how long its input is (RFC 3875 §4.1.2).
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		backend := &cgi.Handler{
			Path:   filepath.Join(strings.TrimSpace(string(exec)), "git-http-backend"),
			Root:   "/git",
			Env:    []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + root, "REMOTE_USER=tester"},
			Stderr: io.Discard,
		}
		backend.ServeHTTP(w, r)
	})
}

// parcel is what either package's module holds.
const parcel = "a parcel that came through the proxy"

func npmPackage(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range [][2]string{
		{"package/package.json", `{"name":"parcel","version":"1.2.3","main":"index.js"}`},
		{"package/index.js", "module.exports = '" + parcel + "'\n"},
		{"package/filling.txt", string(pattern(400_000))},
	} {
		if err := w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, f[1])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z.Close()
	return b.Bytes()
}

func pythonWheel(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range [][2]string{
		{"parcel.py", "contents = '" + parcel + "'\n"},
		{"filling.txt", string(pattern(400_000))},
		{"parcel-1.2.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: parcel\nVersion: 1.2.3\n"},
		{"parcel-1.2.3.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: e2e\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"parcel-1.2.3.dist-info/RECORD", "parcel.py,,\nfilling.txt,,\nparcel-1.2.3.dist-info/METADATA,,\nparcel-1.2.3.dist-info/WHEEL,,\nparcel-1.2.3.dist-info/RECORD,,\n"},
	} {
		w, err := z.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, f[1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// write makes a file and the folders above it.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
