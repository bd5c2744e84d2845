package netlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

// config is a writer's for the log at path.
func config(path string) netlog.WriterConfig {
	return netlog.WriterConfig{
		Path: path, Program: "test", Version: "1", Mode: "proxy",
		Limits: netlog.Limits{RequestBody: 10 << 20, ResponseBody: 1 << 20, Types: "text"},
		Sync:   netlog.SyncNever,
	}
}

func openWriter(t testing.TB, path string) *netlog.Writer {
	t.Helper()
	w, err := netlog.OpenWriter(config(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func closeWriter(t testing.TB, w *netlog.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func someOpen() *netlog.Open {
	return &netlog.Open{Kind: netlog.KindExchange, Via: netlog.ViaMITM, Client: "127.0.0.1:50000", Connection: 1, Request: &netlog.Request{
		Method: "GET", URL: "https://a.test/", Version: "HTTP/1.1", Headers: []netlog.Header{{Name: "Host", Value: "a.test"}}, HeaderBytes: 40, Body: &netlog.Body{},
	}}
}

func someEnd(kept string) *netlog.End {
	return &netlog.End{
		Response: &netlog.Response{Status: 200, Version: "HTTP/1.1", Complete: true, Body: &netlog.Body{Size: int64(len(kept)), Kept: netlog.Bytes(kept)}},
		Timings:  netlog.NoTimings(0),
	}
}

// exchange writes an exchange whose times agree.
func exchange(w *netlog.Writer, kept string) (id int64) {
	o, e := someOpen(), someEnd(kept)
	o.Time = time.Now()
	e.Time = o.Time
	id = w.Open(o)
	w.End(id, e)
	return id
}

func TestOpenWriterRefuses(t *testing.T) {
	const foreign = "time,value\n1,2\n"
	for _, c := range []struct {
		name string
		make func(path string) error
		is   error
		says string
	}{
		{"symbolic link", func(p string) error {
			if err := os.WriteFile(p+".target", nil, 0o600); err != nil {
				return err
			}
			return os.Symlink(p+".target", p)
		}, netlog.ErrNotRegular, "a symbolic link"},
		{"dangling link", func(p string) error { return os.Symlink(p+".target", p) }, netlog.ErrNotRegular, "a symbolic link"},
		{"directory", func(p string) error { return os.Mkdir(p, 0o700) }, netlog.ErrNotRegular, "a directory"},
		{"named pipe", func(p string) error { return syscall.Mkfifo(p, 0o600) }, netlog.ErrNotRegular, "a named pipe"},
		{"socket", func(p string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return l.Close()
		}, netlog.ErrNotRegular, "a device or a socket"},
		{"no folder", func(p string) error { return os.Remove(filepath.Dir(p)) }, fs.ErrNotExist, "no such file"},
		{"text", func(p string) error { return os.WriteFile(p, []byte(foreign), 0o600) }, netlog.ErrNotLog, "not a network log"},
		{"other JSON lines", func(p string) error { return os.WriteFile(p, []byte(`{"level":"info"}`+"\n"+`{"n":1}`+"\n"), 0o600) }, netlog.ErrNotLog, ""},
		{"one byte", func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) }, netlog.ErrNotLog, ""},
		{"an empty line", func(p string) error { return os.WriteFile(p, []byte("\n"), 0o600) }, netlog.ErrNotLog, ""},
		{"zeros", func(p string) error { return os.WriteFile(p, make([]byte, 1<<21), 0o600) }, netlog.ErrNotLog, ""},
		{"HAR", func(p string) error { return os.WriteFile(p, []byte("{\n  \"log\": {}\n}\n"), 0o600) }, netlog.ErrNotLog, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "log") // short: a socket's path is at most 108 bytes
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			path := filepath.Join(dir, "network.jsonl")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			before := state(dir)
			w, err := netlog.OpenWriter(config(path))
			if err == nil {
				w.Close()
				t.Fatal("no error")
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || strings.Count(err.Error(), path) != 1 {
				t.Errorf("the error is %q, want %q, the path once, and %q", err, c.is, c.says)
			}
			if after := state(dir); after != before {
				t.Errorf("the folder was\n%s\nis\n%s", before, after)
			}
		})
	}
}

// state is what is in a folder: names, modes, contents, times.
func state(dir string) string {
	var b strings.Builder
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := os.Lstat(path)
		if err != nil {
			return nil
		}
		fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime())
		if info.Mode().IsRegular() {
			content, _ := os.ReadFile(path)
			fmt.Fprintf(&b, "%.100q\n", content)
		}
		return nil
	})
	return b.String()
}

func TestOpenWriterRefusesASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "network.jsonl")
	w := openWriter(t, path)
	exchange(w, "x")
	if _, err := netlog.OpenWriter(config(path)); !errors.Is(err, netlog.ErrLocked) {
		t.Errorf("a second writer gets %v", err)
	}
	closeWriter(t, w)
	closeWriter(t, openWriter(t, path))
	netlogtest.Validate(t, path)
}

func TestOpenWriterNeedsToWrite(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write to any file")
	}
	path := filepath.Join(t.TempDir(), "network.jsonl")
	if err := os.WriteFile(path, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := netlog.OpenWriter(config(path)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a read-only file gives %v", err)
	}
}

func TestFileMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	for _, mask := range []int{0, 0o022, 0o077, 0o777} {
		for _, mode := range []fs.FileMode{0, 0o600, 0o644, 0o660} {
			syscall.Umask(mask)
			c := config(filepath.Join(os.TempDir(), fmt.Sprintf("netlog-%d-%o-%o", os.Getpid(), mask, mode)))
			c.FileMode = mode
			w, err := netlog.OpenWriter(c)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(c.Path)
			closeWriter(t, w)
			os.Remove(c.Path)
			if err != nil {
				t.Fatal(err)
			}
			want := mode
			if want == 0 {
				want = 0o600
			}
			if got := info.Mode(); got != want {
				t.Errorf("umask %#o, mode %#o: the file has %#o", mask, mode, got)
			}
		}
	}
}

func TestCutToNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "network.jsonl")
	w := openWriter(t, path)
	exchange(w, "x")
	reader := netlog.NewReader(path)
	p := follow(t, reader, 0, 3)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if p, err := reader.Page(3, 1<<20); err != nil || p.BegunAgain || p.Next != 3 {
		t.Errorf("the empty log gives %+v, %v", p, err)
	}
	exchange(w, "y")
	if p, err := reader.Follow(t.Context(), p.Next, 1<<20); err != nil || p.BegunAgain || !bytes.HasPrefix(p.Lines[0], []byte(`{"n":4,`)) {
		t.Errorf("the log goes on with %+v, %v", p, err)
	}
	closeWriter(t, w)
	w = openWriter(t, path)
	if got := w.Stats().Last; got != 6 {
		t.Errorf("the next process goes on with %d, want 6", got)
	}
	closeWriter(t, w)
	lines := netlogtest.ValidateWith(t, path, netlogtest.Options{First: 3}) // the number of the last line that is gone
	if len(lines) != 4 {
		t.Errorf("%d lines", len(lines))
	}
}
