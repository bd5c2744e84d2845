package capture

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A fake is what the fake tcpdump is to do. It finds it in fake.json of the
// folder that it runs in, and appends its arguments and its environment to
// calls.jsonl.
type fake struct {
	Says   []string // instead of listening; it then fails
	Unless string   // it listens if no argument has this
	Hangs  bool     // it says nothing
	Empty  bool     // it can't write its header, and does not say so

	// Captured is what it has of Received; at each SIGUSR1 one packet more.
	Captured, Received, Dropped int
}

type call struct{ Args, Env []string }

func fakeTcpdump(args []string) int {
	var f fake
	b, err := os.ReadFile("fake.json")
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	calls, e := os.OpenFile("calls.jsonl", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil || e != nil {
		fmt.Fprintln(os.Stderr, err, e)
		return 99
	}
	json.NewEncoder(calls).Encode(call{args, os.Environ()})
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGTERM)
	fmt.Fprintln(os.Stderr, "tcpdump: data link type LINUX_SLL2")
	if f.Hangs {
		<-signals
	}
	if f.Says != nil && (f.Unless == "" || slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, f.Unless) })) {
		for _, line := range f.Says {
			fmt.Fprintln(os.Stderr, line)
		}
		return 1
	}
	path := args[slices.Index(args, "-w")+1] + "0"
	file := pcapRecord(pcapHeader(binary.LittleEndian, 0xa1b2c3d4), binary.LittleEndian, 0, fmt.Appendf(nil, "of process %d", os.Getpid()))
	if f.Empty {
		file = nil
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	fmt.Fprintln(os.Stderr, "tcpdump: listening on any, link-type LINUX_SLL2 (Linux cooked v2), snapshot length 262144 bytes")
	for s := range signals {
		if s == syscall.SIGTERM {
			break
		}
		fmt.Fprintf(os.Stderr, "tcpdump: %d packets captured, %d packets received by filter, %d packets dropped by kernel\n", f.Captured, f.Received, f.Dropped)
		if f.Captured < f.Received-f.Dropped {
			f.Captured++
		}
	}
	fmt.Fprintf(os.Stderr, "\n%d packets captured\n%d packets received by filter\n%d packets dropped by kernel\n", f.Captured, f.Received, f.Dropped)
	return 0
}

// put makes f the tcpdump of dir.
func (f fake) put(t *testing.T, dir string) {
	t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "fake.json", b)
}

// withFake puts the fake in the PATH.
func withFake(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "tcpdump")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
}

// calls are how the fake was called.
func calls(t *testing.T, dir string) []call {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []call
	for line := range strings.Lines(string(b)) {
		var c call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}
