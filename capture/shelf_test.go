package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// ring makes files of so many bytes, one written after the other.
func ring(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, f := range files {
		var name string
		var size int64
		if _, err := fmt.Sscan(f, &name, &size); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, nil)
		at := began.Add(time.Duration(i) * time.Second)
		path := filepath.Join(dir, name)
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// held are the ring's files, as ring takes them.
func held(t *testing.T, dir string) (files []string) {
	t.Helper()
	all, err := Ring{Dir: dir}.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		files = append(files, fmt.Sprintf("%s %d", c.Name, c.Bytes))
	}
	return files
}

func TestWhatATcpdumpHasLeftIsShelvedInItsOrder(t *testing.T) {
	for _, c := range []struct{ before, after []string }{
		{nil, nil},
		{ // the ring has wrapped, and its newest file has no packet yet
			[]string{"site.pcap2 40", "site.pcap0 50", "site.pcap1 24"},
			[]string{"site.pcap1000 40", "site.pcap1001 50"},
		},
		{ // a second time, after a ring of more files
			[]string{"site.pcap1007 99", "site.pcap15 41", "site.pcap003 42", "site.pcap0 43"},
			[]string{"site.pcap1007 99", "site.pcap1008 41", "site.pcap1009 42", "site.pcap1010 43"},
		},
		{ // others' files, and one without a number
			[]string{"site.pcap 40", "site-2.pcap0 41", "other.pcap0 42", "site.pcap1.pcap0 43", "site.pcap9 44"},
			[]string{"other.pcap0 42", "site.pcap 40", "site.pcap1000 44", "site-2.pcap0 41", "site.pcap1.pcap0 43"},
		},
		{ // a number that we never gave
			[]string{"site.pcap99999999999999999999 40", "site.pcap0 41"},
			[]string{"site.pcap99999999999999999999 40", "site.pcap1000 41"},
		},
	} {
		r := &Recorder{Name: "site", Dir: ring(t, c.before...)}
		if err := r.shelve(); err != nil {
			t.Error(err)
		}
		got := held(t, r.Dir)
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(c.after))) {
			t.Errorf("of %q there are\n%q, want\n%q", c.before, got, c.after)
		}
	}
}

func TestTheShelfKeepsTimes(t *testing.T) {
	r := &Recorder{Name: "site", Dir: ring(t, "site.pcap1 40", "site.pcap0 50")}
	if err := r.shelve(); err != nil {
		t.Fatal(err)
	}
	all, err := Ring{Dir: r.Dir}.List()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range all {
		if want := began.Add(time.Duration(i) * time.Second); !c.ModifiedAt.Equal(want) {
			t.Errorf("%s was written at %v, want %v", c.Name, c.ModifiedAt, want)
		}
	}
}

func TestTcpdumpIsNotLedThroughALink(t *testing.T) {
	for kind, make := range map[string]func(path string) error{
		"link":   func(path string) error { return os.Symlink("/tmp/elsewhere", path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		r := &Recorder{Name: "site", Dir: t.TempDir()}
		if err := make(filepath.Join(r.Dir, "site.pcap3")); err != nil {
			t.Fatal(err)
		}
		if err := r.Run(t.Context()); err == nil {
			t.Errorf("with a %s in its place it captured", kind)
		}
	}
}

func TestTheShelfIsTrimmedToTheRing(t *testing.T) {
	full := func(from, to int) (files []string) {
		for n := from; n <= to; n++ {
			files = append(files, fmt.Sprintf("site.pcap%d 1000100", n))
		}
		return files
	}
	for name, c := range map[string]struct{ before, after []string }{
		"nothing is there": {nil, nil},
		"a ring without a shelf is tcpdump's": {
			full(0, 3), full(0, 3),
		},
		"what a ring would have overwritten": {
			append(full(1000, 1003), "site.pcap0 24"),
			append(full(1001, 1003), "site.pcap0 24"),
		},
		"not before": {
			append(full(1000, 1002), "site.pcap0 900000"),
			append(full(1000, 1002), "site.pcap0 900000"),
		},
		"all of it": {
			append(full(1000, 1003), full(0, 3)...),
			full(0, 3),
		},
		"others' files don't count": {
			append(full(1000, 1002), "other.pcap0 9000000", "site.pcap 9000000"),
			append([]string{"other.pcap0 9000000"}, append(full(1000, 1002), "site.pcap 9000000")...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Recorder{Name: "site", Dir: ring(t, c.before...), Files: 4, FileMB: 1}
			if err := r.trim(); err != nil {
				t.Fatal(err)
			}
			if got := held(t, r.Dir); !slices.Equal(got, c.after) {
				t.Errorf("there are\n%q, want\n%q", got, c.after)
			}
		})
	}
}

// A tcpdump that always ends soon leaves small files.
func TestTheShelfHasSoManyFilesAtMost(t *testing.T) {
	r := &Recorder{Name: "site", Dir: t.TempDir()}
	for n := range maxFiles + 5 {
		write(t, r.Dir, fmt.Sprintf("site.pcap%d", shelved+n), []byte("x"))
	}
	if err := r.trim(); err != nil {
		t.Fatal(err)
	}
	all := held(t, r.Dir)
	if _, err := os.Stat(filepath.Join(r.Dir, "site.pcap1004")); len(all) != maxFiles || err == nil {
		t.Errorf("there are %d files, and number 1004 is there: %v", len(all), err)
	}
}
