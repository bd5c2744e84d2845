package install

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentenv/netlog/ca/trust"
	"github.com/agentenv/netlog/proxy/site"
)

// system is a folder with some of a system's files.
func system(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"etc/passwd":      "root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n",
		"etc/hosts":       "127.0.0.1 localhost",
		"etc/resolv.conf": "nameserver 192.0.2.1\n",
		"usr/local/share/ca-certificates/other.crt": "other",
		"etc/ssl/certs/ca-certificates.crt":         "bundle",
	} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// files are all files below a folder, with their modes and what they hold.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		all[rel] = info.Mode().String()
		if d.Type().IsRegular() {
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			all[rel] += fmt.Sprintf(" %x", sha256.Sum256(content))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name, is := range got {
		if want[name] != is {
			t.Errorf("%s: %s is %s, was %q", what, name, is, want[name])
		}
	}
	for name := range want {
		if _, there := got[name]; !there {
			t.Errorf("%s: %s is gone", what, name)
		}
	}
}

func config() site.Config {
	return site.Config{User: "agent", Label: "d1", Sites: []site.Site{
		{Name: "notes", Upstream: "http://gw:8080/website/notes/", Domains: []string{"notes.test", "*.wild.test"}, UpstreamHeaders: map[string]string{"X-Key": "secret"}},
		{Name: "plain", Upstream: "http://gw:8080/website/plain/"},
		{Name: "real", Live: true, Domains: []string{"real.example"}},
	}}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Error(err)
	}
	return string(raw)
}

func journal(t *testing.T, root string) *trust.Journal {
	t.Helper()
	j, err := OpenJournal(root)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func remove(t *testing.T, root string) {
	t.Helper()
	j := journal(t, root)
	defer j.Close()
	if _, err := Remove(j, root); err != nil {
		t.Fatal(err)
	}
}

// deploy installs a configuration, as the command does but for serving it.
func deploy(t *testing.T, root string, c site.Config) site.Config {
	t.Helper()
	table, err := site.NewTable(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(root, c, table); err != nil {
		t.Fatal(err)
	}
	j := journal(t, root)
	defer j.Close()
	if c, err = Put(j, root, c); err != nil {
		t.Fatal(err)
	}
	placed, err := Point(j, root, c, table)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range placed {
		if p.Error != "" {
			t.Errorf("%+v", p)
		}
	}
	return c
}

func TestPutAndRemove(t *testing.T) {
	root := system(t)
	before := files(t, root)
	if Installed(root) {
		t.Error("installed already")
	}
	c := deploy(t, root, config())
	if !Installed(root) {
		t.Error("not installed")
	}
	for name, mode := range map[string]string{
		"": "drwxr-xr-x", "config.json": "-rw-------", "serve.json": "-rw-r--r--", "upstream_headers.json": "-rw-------", "notes.key": "-rw-------",
		"notes.crt": "-rw-r--r--", "ca.pem": "-rw-r--r--", "undo.json": "-rw-------",
	} {
		info, err := os.Stat(filepath.Join(root, site.Folder, name))
		if err != nil || info.Mode().String() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if serve := read(t, root, site.Folder+"/serve.json"); strings.Contains(serve, "secret") || strings.Contains(serve, "PRIVATE") || !strings.Contains(serve, "notes.test") {
		t.Errorf("serve.json: %s", serve)
	}
	if got := read(t, root, "etc/hosts"); got != "127.0.0.1 localhost\n# agentenv sites\n127.0.0.1 notes.test\n127.0.0.1 plain.localhost\n# end agentenv sites" {
		t.Errorf("hosts: %q", got)
	}
	if got := read(t, root, "etc/resolv.conf"); got != "# agentenv sites: nameserver 192.0.2.1\n# agentenv sites\nnameserver 127.0.0.1\n# end agentenv sites\n" {
		t.Errorf("resolv.conf: %q", got)
	}
	if got, err := Nameservers(root, c); err != nil || fmt.Sprint(got) != "[192.0.2.1:53]" {
		t.Errorf("nameservers %v, %v", got, err)
	}
	if got := read(t, root, "usr/local/share/ca-certificates/agentenv-sites.crt"); got != c.CAPEM {
		t.Error("the authority is not in the system's store")
	}

	// What can be served is all there, from either file.
	for _, name := range []string{"config.json", "serve.json"} {
		f, err := os.Open(filepath.Join(root, site.Folder, name))
		if err != nil {
			t.Fatal(err)
		}
		again, err := site.ReadConfig(f)
		f.Close()
		if err == nil {
			again, err = Complete(root, f.Name(), again)
		}
		if err != nil {
			t.Fatal(err)
		}
		table, err := site.NewTable(again)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := site.NewCertificates(again, table, time.Now()); err != nil {
			t.Error(err)
		}
		if again.Sites[0].UpstreamHeaders["X-Key"] != "secret" {
			t.Errorf("%s: %v", name, again.Sites[0].UpstreamHeaders)
		}
	}

	remove(t, root)
	same(t, "removed", files(t, root), before)
	deploy(t, root, config()) // and again
	remove(t, root)
	same(t, "removed again", files(t, root), before)
}

// A log that was written stays, and the folder with it.
func TestRemoveKeepsTheLog(t *testing.T) {
	root := system(t)
	deploy(t, root, config())
	log := filepath.Join(root, site.Folder, "network.jsonl")
	for _, name := range []string{log, filepath.Join(root, site.Folder, "site-proxy.log")} {
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	remove(t, root)
	entries, err := os.ReadDir(filepath.Join(root, site.Folder))
	if err != nil || len(entries) != 1 || entries[0].Name() != "network.jsonl" {
		t.Errorf("%v, %v", entries, err)
	}
}

// A key that somebody has left there for all to read is not written into.
func TestPutMakesItsFilesAnew(t *testing.T) {
	root := system(t)
	folder := filepath.Join(root, site.Folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	for name, link := range map[string]bool{"notes.key": false, "config.json": true} {
		if link {
			if err := os.Symlink(outside, filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(filepath.Join(folder, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	deploy(t, root, config())
	for _, name := range []string{"notes.key", "config.json"} {
		info, err := os.Lstat(filepath.Join(folder, name))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := os.Stat(outside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link was followed: %v", err)
	}
}

func TestCheckRefuses(t *testing.T) {
	root := system(t)
	if err := os.WriteFile(filepath.Join(root, "etc/hosts"), []byte("192.0.2.9 notes.test\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := config()
	port := 5353
	c.User, c.ServeUser, c.DNSPort = "nobody-here", "neither", &port
	table, err := site.NewTable(c)
	if err != nil {
		t.Fatal(err)
	}
	err = Check(root, c, table)
	for _, want := range []string{`user: user "nobody-here"`, `serve_user: user "neither"`, "dns_port: 5353", `"notes.test" is at 192.0.2.9`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(root, site.Folder)); err == nil {
		t.Error("something was written")
	}
}

// Only one process serves; others learn which.
func TestLock(t *testing.T) {
	if root := os.Getenv("NETLOG_TEST_LOCK"); root != "" { // the other process
		fmt.Println(Holder(root))
		_, err := Lock(root)
		fmt.Println(errors.Is(err, ErrServed))
		return
	}
	root := system(t)
	if err := os.MkdirAll(filepath.Join(root, site.Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	other := func() []string {
		c := exec.Command(os.Args[0], "-test.run=^TestLock$")
		c.Env = append(os.Environ(), "NETLOG_TEST_LOCK="+root)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))[:2]
	}
	if got := Holder(root); got != 0 {
		t.Errorf("held by %d", got)
	}
	release, err := Lock(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := other(); !slices.Equal(got, []string{fmt.Sprint(os.Getpid()), "true"}) {
		t.Errorf("another process: %q", got)
	}
	release()
	if got := other(); !slices.Equal(got, []string{"0", "false"}) {
		t.Errorf("another process afterwards: %q", got)
	}
}

// Who was started by the holder holds it when that one is gone.
func TestInherit(t *testing.T) {
	if root := os.Getenv("NETLOG_TEST_INHERIT"); root != "" { // the other process
		if _, err := Inherit(root); err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, os.Stdin)
		return
	}
	root := system(t)
	if err := os.MkdirAll(filepath.Join(root, site.Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	release, err := Lock(root)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestInherit$")
	c.Env = append(os.Environ(), "NETLOG_TEST_INHERIT="+root)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer in.Close()
	release()
	for deadline := time.Now().Add(2 * time.Minute); Holder(root) != c.Process.Pid; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("it is held by %d, not %d", Holder(root), c.Process.Pid)
		}
	}
}
