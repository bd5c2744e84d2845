package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A manifest is fetch's, read by its JSON.
type manifest struct {
	State, Error string
	Bytes        int64
	Containers   []string
	Files        []struct {
		Name, Container, Capture, SHA256 string
		Size                             int64
		FirstPacket                      string `json:"first_packet"`
	}
}

// trueManifest reads a folder's manifest, and holds that it says what is there.
func trueManifest(t *testing.T, dir string) (m manifest) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil || int64(len(b)) != f.Size || sum(b) != f.SHA256 {
			t.Errorf("%s is not as the manifest says: %d bytes of %d, %v", f.Name, len(b), f.Size, err)
		}
		m.Bytes -= f.Size
	}
	if m.Bytes != 0 || len(m.Error) > 500 || (m.State == "collected") != (m.Error == "") || (m.State == "failed") && len(m.Files) > 0 {
		t.Errorf("%s", b)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".pcap") && !bytes.Contains(b, []byte(fmt.Sprintf("%q", e.Name()))) {
			t.Errorf("%s is not in the manifest", e.Name())
		}
	}
	return m
}

// ringOf makes a folder with so many captures of so many bytes.
func ringOf(t *testing.T, captures, size int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range captures {
		b := sequence(size/100_000+i, 100_000) // each with another end
		path := filepath.Join(dir, fmt.Sprintf("site-%c.pcap0", 'a'+i))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The disk has room for some of the captures: those are there and in the manifest,
// and the rest comes when it has room.
func TestFetchOntoAFullDisk(t *testing.T) {
	t.Parallel()
	d := mountDisk(t, "-t", "tmpfs", "-o", "size=5m", "tmpfs")
	_, url := startServe(t, nil, "--captures", ringOf(t, 8, 1_000_000))
	out := filepath.Join(d.path, "out")
	_, stderr, code := run(t, t.TempDir(), "fetch", url, "--out", out)
	if code != 3 || !strings.Contains(stderr, "no space left on device") {
		t.Errorf("it ended with %d: %s", code, stderr)
	}
	if m := trueManifest(t, out); m.State != "partial" || len(m.Files) < 3 || len(m.Files) > 4 {
		t.Errorf("%+v", m)
	}
	d.do("mount", "-o", "remount,size=64m", d.path)
	if _, stderr, code = run(t, t.TempDir(), "fetch", url, "--out", out); code != 0 {
		t.Errorf("it ended with %d: %s", code, stderr)
	}
	if m := trueManifest(t, out); m.State != "collected" || len(m.Files) != 8 {
		t.Errorf("%+v", m)
	}
}

// The disk has no room for anything, not even the manifest.
func TestFetchOntoADiskWithoutAnyRoom(t *testing.T) {
	t.Parallel()
	d := mountDisk(t, "-t", "tmpfs", "-o", "size=64k", "tmpfs")
	if err := os.WriteFile(filepath.Join(d.path, "full"), make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	_, url := startServe(t, nil, "--captures", ringOf(t, 1, 100_000))
	_, stderr, code := run(t, t.TempDir(), "fetch", url, "--out", filepath.Join(d.path, "out"))
	if code != 1 || !strings.Contains(stderr, "error: save the manifest: ") || !strings.Contains(stderr, "no space left on device") {
		t.Errorf("it ended with %d: %s", code, stderr)
	}
}

// The disk answers nothing: the command ends in its time all the same, or when it
// is interrupted, and the manifest is true of what was stored.
func TestFetchOntoAHangingDisk(t *testing.T) {
	heavy(t)
	for _, how := range []string{"--timeout", "SIGINT"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			d := mountImage(t)
			gate := newGate(t, ringOf(t, 4, 1_000_000))
			out := filepath.Join(d.path, "out")
			args := []string{"fetch", gate.url, "--out", out}
			if how == "--timeout" {
				args = append(args, "--timeout", "20s") // which are not to be over before the disk hangs
			}
			c := exec.Command(binary(t), args...)
			c.Env = append(clean(os.Environ()), "HOME="+t.TempDir())
			var stderr said
			c.Stderr = &stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			gate.open(2)
			until(t, "two captures", func() bool {
				b, err := os.ReadFile(filepath.Join(out, "manifest.json"))
				return err == nil && bytes.Count(b, []byte(`"sha256"`)) == 2
			})
			d.freeze()
			gate.open(2)
			gate.waitFor(3)
			if how == "SIGINT" {
				c.Process.Signal(os.Interrupt)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			select {
			case <-ended:
			case <-time.After(patience):
				d.thaw()
				t.Fatalf("it does not end: %v\n%s", <-ended, &stderr)
			}
			if code := c.ProcessState.ExitCode(); code != 3 || !strings.Contains(stderr.String(), "the disk does not answer") {
				t.Errorf("it ended with %d: %s", code, &stderr)
			}
			d.thaw()
			if m := trueManifest(t, out); m.State != "partial" || len(m.Files) < 2 {
				t.Errorf("%+v", m)
			}
			gate.open(100)
			var err string
			var code int
			until(t, "the first one's end", func() bool {
				_, err, code = run(t, t.TempDir(), "fetch", gate.url, "--out", out)
				return !strings.Contains(err, "another process")
			})
			if m := trueManifest(t, out); code != 0 || m.State != "collected" || len(m.Files) != 4 {
				t.Errorf("it ended with %d: %s\n%+v", code, err, m)
			}
		})
	}
}

// A gate stands before a serve of a folder and lets so many downloads through as
// it is opened for.
type gate struct {
	t     *testing.T
	url   string
	asked atomic.Int64
	free  chan struct{}
}

func newGate(t *testing.T, captures string) *gate {
	t.Helper()
	_, to := startServe(t, nil, "--captures", captures)
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{t: t, free: make(chan struct{}, 1000)}
	through := httputil.NewSingleHostReverseProxy(at)
	through.ErrorLog = log.New(io.Discard, "", 0)
	g.url = "http://127.0.0.1:" + serveQuietly(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/traffic/capture" {
			g.asked.Add(1)
			select {
			case <-g.free:
			case <-r.Context().Done():
				return
			}
		}
		through.ServeHTTP(w, r)
	}), nil)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return g
}

func (g *gate) open(downloads int) {
	for range downloads {
		g.free <- struct{}{}
	}
}

// waitFor waits until so many downloads have been asked for.
func (g *gate) waitFor(downloads int64) {
	g.t.Helper()
	until(g.t, "a download", func() bool { return g.asked.Load() >= downloads })
}

// The server is killed in the middle of a file and comes back: the file is whole
// all the same.
func TestFetchFromAServerThatIsKilled(t *testing.T) {
	heavy(t)
	t.Parallel()
	captures, out := ringOf(t, 3, 60_000_000), filepath.Join(t.TempDir(), "out")
	server, url := startServe(t, nil, "--captures", captures)
	fetches := startDaemon(t, "", nil, "fetch", url, "--out", out)
	until(t, "half a file", func() bool {
		parts, err := filepath.Glob(filepath.Join(out, ".fetch-*"))
		for _, p := range parts {
			if info, err := os.Stat(p); err == nil && info.Size() > 1<<20 {
				return true
			}
		}
		select {
		case <-fetches.ended:
			return true // too late
		default:
		}
		return err != nil
	})
	server.cmd.Process.Kill()
	<-server.ended
	startDaemon(t, "card", nil, "serve", "--listen", strings.TrimPrefix(url, "http://"), "--captures", captures)
	fetches.wait()
	if m := trueManifest(t, out); fetches.err != nil || m.State != "collected" || len(m.Files) != 3 {
		t.Errorf("it ended with %v: %s\n%+v", fetches.err, fetches.said, m)
	}
}

// Where the file system can share blocks, a copy costs no room: there is none for
// another kind of copy.
func TestACopyThatSharesItsBlocks(t *testing.T) {
	heavy(t)
	t.Parallel()
	image := filepath.Join(t.TempDir(), "image")
	err := os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, 400<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{t: t}
	d.do("mkfs.xfs", "-q", image)
	d = mountDisk(t, "-t", "xfs", "-o", "loop", image)
	_, url := startServe(t, []string{"TMPDIR=" + filepath.Join(d.path, "absent")}, "--captures", d.path)
	whole := sequence(1000, 100_000)
	path := filepath.Join(d.path, "site.pcap0")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := 0; n < len(whole); n += 10_000_003 { // as its writer goes on, in the middle of packets
		if _, err := f.Write(whole[n:min(n+10_000_003, len(whole))]); err != nil {
			t.Fatal(err)
		}
		answer, err := http.Get(url + "/traffic/capture?name=site.pcap0")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		const packet = 16 + 100_000
		if err != nil || answer.StatusCode != 200 || !bytes.HasPrefix(whole, b) || (len(b)-24)%packet != 0 || len(b) < n {
			t.Fatalf("%s: %d bytes of %d, %v", answer.Status, len(b), n, err)
		}
	}
}
