package capture

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWhatAFileOfACaptureIsCalled(t *testing.T) {
	for _, c := range []struct {
		file, container string
		ok              bool
	}{
		{"site.pcap", "site", true},
		{"site.pcap0", "site", true},
		{"site.pcap1009", "site", true},
		{"site-backend_2.x.pcap03", "site-backend_2.x", true},
		{"a.pcap1.pcap2", "a.pcap1", true},
		{"0.pcap0", "0", true},
		{"9", "", false},
		{"", "", false},
		{"site", "", false},
		{".pcap0", "", false},
		{".site.pcap0", "", false},
		{"-site.pcap0", "", false},
		{"_site.pcap0", "", false},
		{"../x", "", false},
		{"../x.pcap", "", false},
		{"a/b.pcap0", "", false},
		{`a\b.pcap0`, "", false},
		{"site.pcap0\n", "", false},
		{"site.pcap\x00", "", false},
		{"site.pcap٣", "", false},
		{"séte.pcap0", "", false},
		{"site.pcap0.tmp", "", false},
		{"site.pcapng", "", false},
		{"site.PCAP", "", false},
		{"site.status.json", "", false},
	} {
		name, ok := NameOf(c.file)
		if ok != c.ok || ok && name != c.container {
			t.Errorf("%q: container %q, %v; want %q, %v", c.file, name, ok, c.container, c.ok)
		}
	}
}

func FuzzContainer(f *testing.F) {
	pattern := regexp.MustCompile(`\A([A-Za-z0-9][A-Za-z0-9_.-]*)\.pcap[0-9]*\z`)
	f.Add("site.pcap0")
	f.Add(".pcap.pcap0")
	f.Fuzz(func(t *testing.T, file string) {
		name, ok := NameOf(file)
		m := pattern.FindStringSubmatch(file)
		if ok != (m != nil) || ok && name != m[1] {
			t.Errorf("%q: container %q, %v; the pattern finds %q", file, name, ok, m)
		}
	})
}

// The ring has wrapped: the oldest file is not the one with the lowest number.
func TestFilesAreListedInTheOrderInWhichTheyWereCaptured(t *testing.T) {
	dir := t.TempDir()
	for name, second := range map[string]int{
		"shop.pcap0": 30, "shop.pcap1": 40, "shop.pcap2": 10, "shop.pcap10": 20,
		"blog.pcap0": 50, "blog.pcap": 50, "blog-2.pcap0": 5,
		"shop.status.json": 1, "notes.txt": 1, ".pcap0": 1, "shop.pcap0.tmp": 1,
	} {
		write(t, dir, name, make([]byte, second))
		at := began.Add(time.Duration(second) * time.Second)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Ring{Dir: dir}.List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	want := []string{"blog.pcap", "blog.pcap0", "blog-2.pcap0", "shop.pcap2", "shop.pcap10", "shop.pcap0", "shop.pcap1"}
	if !slices.Equal(names, want) {
		t.Errorf("listed\n%q, want\n%q", names, want)
	}
	if got, want := all[5], (Capture{"shop.pcap0", "shop", 30, began.Add(30 * time.Second)}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOnlyRegularFilesAreListedOrCopied(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.pcap")
	write(t, filepath.Dir(outside), "secret.pcap", []byte("secret"))
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file, _ := pcapFile("a packet")
	write(t, dir, "site.pcap0", file)
	must(os.Symlink(outside, in("link.pcap0")))
	must(os.Symlink("site.pcap0", in("within.pcap0")))
	must(os.Symlink("nowhere", in("dangling.pcap0")))
	must(os.Mkdir(in("folder.pcap0"), 0o700))
	must(syscall.Mkfifo(in("pipe.pcap0"), 0o600))
	l, err := net.Listen("unix", in("socket.pcap0"))
	must(err)
	defer l.Close()

	r := Ring{Dir: dir}
	all, err := r.List()
	must(err)
	if len(all) != 1 || all[0].Name != "site.pcap0" {
		t.Errorf("listed %+v, want site.pcap0 alone", all)
	}
	for _, name := range []string{"link.pcap0", "within.pcap0", "dangling.pcap0", "folder.pcap0", "pipe.pcap0", "socket.pcap0", "absent.pcap0"} {
		noSnapshot(t, r, name, ErrNotFound)
	}
}

func TestAFolderThatIsNotThereHasNoCaptures(t *testing.T) {
	r := Ring{Dir: filepath.Join(t.TempDir(), "absent")}
	if all, err := r.List(); err != nil || len(all) != 0 {
		t.Errorf("listed %v, %v", all, err)
	}
	noSnapshot(t, r, "site.pcap0", ErrNotFound)
}

func TestAFolderThatIsNoneIsAnError(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", nil)
	if _, err := (Ring{Dir: filepath.Join(dir, "file")}).List(); err == nil {
		t.Error("listed a file")
	}
}

func TestTenThousandCapturesAreListed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "one", nil)
	for i := range 10_000 {
		if err := os.Link(filepath.Join(dir, "one"), filepath.Join(dir, fmt.Sprintf("c%04d.pcap%d", i/10, i%10))); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Ring{Dir: dir}.List()
	if err != nil || len(all) != 10_000 {
		t.Fatalf("listed %d, %v", len(all), err)
	}
	if !slices.IsSortedFunc(all, func(a, b Capture) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("they are not in order")
	}
}
