package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentenv/netlog/capture/traffic"
)

// terminal opens a pseudo-terminal of a width. What is written to it comes out
// of the master's end.
func terminal(t *testing.T, columns uint16) (master, slave *os.File) {
	t.Helper()
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals: %v", err)
	}
	master = os.NewFile(uintptr(m), "ptmx")
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetUint32(m, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(m, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 24}); err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

func TestScreenOfATerminal(t *testing.T) {
	for _, c := range []struct {
		columns               uint16
		when, noColor, termIs string
		want                  screen
	}{
		{100, "auto", "", "xterm", screen{columns: 100, color: true}},
		{0, "auto", "", "xterm", screen{columns: 80, color: true}},
		{100, "never", "", "xterm", screen{columns: 100}},
		{100, "auto", "1", "xterm", screen{columns: 100}},
		{100, "auto", "", "dumb", screen{columns: 100}},
		{100, "always", "1", "dumb", screen{columns: 100, color: true}},
	} {
		_, slave := terminal(t, c.columns)
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.termIs)
		t.Setenv("LC_ALL", "C")
		if s, err := newScreen(slave, c.when); err != nil || s != c.want {
			t.Errorf("%+v: %+v, %v", c, s, err)
		}
	}
}

// In a terminal no line is wider than it, and nothing but our own colours
// steers it.
func TestShowInATerminal(t *testing.T) {
	path := writeHAR(t, entryJSON(`"http://h.example/`+strings.Repeat("long/", 40)+`\u001b[2J\u009b漢"`, 200))
	for _, columns := range []uint16{20, 45, 60, 100} {
		master, slave := terminal(t, columns)
		command := exec.Command(program, "show", path)
		command.Stdout, command.Stderr = slave, os.Stderr
		command.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "LC_ALL=C.UTF-8")
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		slave.Close()
		out, _ := io.ReadAll(master) // ends with an error, as ttys do
		if err := command.Wait(); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSuffix(out, []byte("\r\n")), []byte("\r\n"))
		if len(lines) != 2 || !bytes.Contains(out, []byte("\x1b[32m200")) {
			t.Errorf("%d columns: %q", columns, out)
		}
		for _, line := range lines {
			text := string(line)
			for _, code := range []string{"\x1b[0m", "\x1b[2m", "\x1b[32m", "\x1b[34m"} {
				text = strings.ReplaceAll(text, code, "")
			}
			if !harmless(text) || columns > 20 && cells(text) > int(columns) {
				t.Errorf("%d columns: %q", columns, text)
			}
		}
	}
}

// Progress is told in a terminal, and only after a while; its end takes it away.
func TestProgressInATerminal(t *testing.T) {
	master, slave := terminal(t, 80)
	t.Setenv("TERM", "xterm")
	ctx, cancel := context.WithCancel(context.Background())
	p := newProgress(ctx, slave)
	tell := func(done, total int64) {
		t.Helper()
		if err := p.tell(done, total); err != nil {
			t.Fatal(err)
		}
	}
	tell(1, 0)
	p.clear() // nothing was told yet
	p.next = time.Time{}
	tell(4096, 0)
	p.next = time.Time{}
	tell(7, 9)
	tell(8, 9) // too soon
	p.clear()
	cancel()
	if err := p.tell(9, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	slave.Close()
	out, _ := io.ReadAll(master)
	want := "\r\x1b[K" + program + ": 4096 lines read\r\x1b[K" + program + ": 7 of 9 entries\r\x1b[K"
	if string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}

	var pipe bytes.Buffer
	p = newProgress(context.Background(), &pipe)
	p.next = time.Time{}
	tell(1, 2)
	p.clear()
	if pipe.Len() > 0 {
		t.Errorf("a pipe got %q", pipe.String())
	}
}

// A fetch has a bar there, of all that is fetched, and takes it away again.
func TestTheBarInATerminal(t *testing.T) {
	master, slave := terminal(t, 80)
	t.Setenv("TERM", "xterm")
	b := newBar(slave, 2)
	b.tell(0, traffic.Progress{File: "soon.pcap", Done: 1, Total: 2})
	b.next = time.Time{}
	b.tell(1, traffic.Progress{File: "site.pcap", Done: 500, Total: 998})
	b.tell(1, traffic.Progress{File: "site.pcap", Done: 501, Total: 998}) // too soon
	b.tell(2, traffic.Progress{})                                         // there is none
	b.next = time.Time{}
	fmt.Fprintln(b, "done")
	b.tell(1, traffic.Progress{File: "late.pcap", Done: 1, Total: 2})
	slave.Close()
	out, _ := io.ReadAll(master)
	if want := "\r\x1b[K" + barText("site.pcap", 501, 1000, 79) + "\r\x1b[Kdone\r\n"; string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}
}
