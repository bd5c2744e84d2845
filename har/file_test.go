package har

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteFile(t *testing.T) {
	f := newFixture(t)
	f.exchange(get("http://h/"), ok("text/plain", []byte("a")))
	log := f.log()
	dir := t.TempDir()
	path := filepath.Join(dir, "network.har")
	for range 2 { // the second replaces the first
		stats, err := WriteFile(log, path, Options{})
		if err != nil || stats.Entries != 1 {
			t.Fatalf("%+v, %v", stats, err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults(b) {
		t.Error(fault)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	link := filepath.Join(dir, "link.har")
	if err := os.Symlink("network.har", link); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteFile(log, link, Options{}); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info.Mode(), err)
	}
	onlyFiles(t, dir, "link.har", "network.har")
}

func onlyFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

func TestWriteFileRefuses(t *testing.T) {
	f := newFixture(t)
	f.exchange(get("http://h/"), ok("text/plain", []byte("a")))
	log := f.log()
	dir := t.TempDir()
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, want string }{
		{dir, "it is a directory"},
		{os.DevNull, "it is not a regular file"},
		{filepath.Join(dir, "no", "network.har"), "no such file or directory"},
		{filepath.Join(dir, "dangling"), "it is a link to what does not exist"},
	} {
		_, err := WriteFile(log, test.path, Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.path) {
			t.Errorf("%s: %v, want %q", test.path, err, test.want)
		}
	}
	onlyFiles(t, dir, "dangling")
}

// What stood there stays when the log can't be read to the end.
func TestWriteFileKeepsTheOld(t *testing.T) {
	f := newFixture(t)
	f.exchange(get("http://h/"), ok("text/plain", []byte("a")))
	log := f.log()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "network.har")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteFile(log, path, Options{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a closed log gave %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Errorf("got %q, %v", b, err)
	}
	onlyFiles(t, dir, "network.har")
}

// A writer's error is Convert's.
func TestConvertWriteError(t *testing.T) {
	f := newFixture(t)
	for range 100 {
		f.exchange(get("http://h/"), ok("text/plain", sample(5000)))
	}
	full := errors.New("disk full")
	if _, err := Convert(f.log(), failing{full}, Options{}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
