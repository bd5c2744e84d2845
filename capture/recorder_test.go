package capture

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A session is a recorder that a test runs.
type session struct {
	t      *testing.T
	r      *Recorder
	cancel context.CancelFunc
	ended  chan error
	warned bytes.Buffer // to be read once it has ended
}

// begin runs a recorder, and waits until it captures.
func begin(t *testing.T, r *Recorder) *session {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &session{t: t, r: r, cancel: cancel, ended: make(chan error, 1)}
	ready := make(chan struct{})
	r.Ready = func() { close(ready) }
	r.Logger = slog.New(slog.NewTextHandler(&s.warned, nil))
	go func() { s.ended <- r.Run(ctx) }()
	select {
	case <-ready:
	case err := <-s.ended:
		t.Fatalf("it ended with %v", err)
	}
	t.Cleanup(s.stop)
	return s
}

// stop ends it; a second time is as once.
func (s *session) stop() {
	s.cancel()
	if err := <-s.ended; err != nil {
		s.t.Errorf("it ended with %v", err)
	}
	close(s.ended)
	s.ended = make(chan error, 1)
	s.ended <- nil
}

// until waits for a status.
func (s *session) until(what string, is func(Status) bool) Status {
	s.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		status, err := ReadStatus(s.r.Dir, s.r.Name)
		if err != nil {
			s.t.Fatal(err)
		}
		if is(status) {
			return status
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("it is never %s: %+v", what, status)
		}
	}
}

func TestTcpdumpIsToldToWriteEveryPacketWholeIntoTheRing(t *testing.T) {
	withFake(t)
	t.Setenv("AGENTENV_CONTROL_TOKEN", "secret")
	for _, c := range []struct {
		r    Recorder
		want string
	}{
		{Recorder{}, "-i any -n -s 0 -U -B 65536 -C 20 -W 10 -w site.pcap -- not (outbound and ifindex 1)"},
		{Recorder{Filter: []string{"tcp port 80", "or", "udp"}, User: "root"}, "-i any -n -s 0 -U -B 65536 -C 20 -W 10 -w site.pcap -Z root -- (tcp port 80 or udp) and not (outbound and ifindex 1)"},
		{Recorder{Interface: "eth0", Files: 3, FileMB: 5, BufferKiB: 128}, "-i eth0 -n -s 0 -U -B 128 -C 5 -W 3 -w site.pcap"},
		{Recorder{Interface: "eth0", Filter: []string{"-z", "reboot"}}, "-i eth0 -n -s 0 -U -B 65536 -C 20 -W 10 -w site.pcap -- -z reboot"},
	} {
		c.r.Name, c.r.Dir = "site", t.TempDir()
		fake{}.put(t, c.r.Dir)
		begin(t, &c.r).stop()
		all := calls(t, c.r.Dir)
		if got := strings.Join(all[0].Args, " "); len(all) != 1 || got != c.want {
			t.Errorf("tcpdump was called %d times, with\n%s, want\n%s", len(all), got, c.want)
		}
		if env := strings.Join(all[0].Env, " "); strings.Contains(env, "secret") || !strings.Contains(env, "LC_ALL=C") {
			t.Errorf("its environment is %s", env)
		}
	}
}

func TestATcpdumpThatCannotCaptureIsAnErrorThatSaysWhy(t *testing.T) {
	withFake(t)
	for _, c := range []struct {
		says string
		want string
		is   error
	}{
		{"tcpdump: any: You don't have permission to perform this capture on that device\n(socket: Operation not permitted)",
			"not allowed to capture: tcpdump: any: You don't have permission to perform this capture on that device (socket: Operation not permitted)", ErrNotAllowed},
		{"tcpdump: Couldn't change to 'root' uid=0 gid=0: Operation not permitted", "Couldn't change to", ErrNotAllowed},
		{"tcpdump: eth7: No such device exists\n(No such device exists)", "tcpdump: eth7: No such device exists", nil},
		{"", "exit status 1", nil},
		{strings.Repeat("x", 100_000), "exit status 1", nil},
	} {
		dir := t.TempDir()
		fake{Says: strings.Split(c.says, "\n")}.put(t, dir)
		err := (&Recorder{Name: "site", Dir: dir}).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("it says %v, want %s", err, c.want)
		}
		if s, e := ReadStatus(dir, "site"); e != nil || s.State != StateFailed || err != nil && !strings.Contains(err.Error(), s.Error) {
			t.Errorf("the status is %+v, %v", s, e)
		}
	}
}

func TestWithoutTcpdumpThereIsNoCapture(t *testing.T) {
	if _, err := os.Stat("/usr/sbin/tcpdump"); err == nil {
		t.Skip("there is one in /usr/sbin")
	}
	t.Setenv("PATH", t.TempDir())
	if err := (&Recorder{Name: "site", Dir: t.TempDir()}).Run(t.Context()); !errors.Is(err, ErrNoTcpdump) {
		t.Errorf("it says %v", err)
	}
}

func TestARecorderThatMakesNoSenseIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, r := range []Recorder{
		{Name: "", Dir: dir}, {Name: "../x", Dir: dir}, {Name: "-w", Dir: dir},
		{Name: "site", Dir: dir, Files: 1}, {Name: "site", Dir: dir, Files: 1001},
		{Name: "site", Dir: dir, FileMB: -1}, {Name: "site", Dir: dir, BufferKiB: -1},
		{Name: "site", Dir: filepath.Join(dir, "absent")},
		{Name: "site", Dir: dir, Namespace: filepath.Join(dir, "absent")},
	} {
		if err := r.Run(t.Context()); err == nil {
			t.Errorf("%+v captured", r)
		}
	}
}

// libpcap before 1.10 does not know all of our own filter.
func TestAnOldLibpcapCapturesWithoutOurOwnFilter(t *testing.T) {
	withFake(t)
	r := &Recorder{Name: "site", Dir: t.TempDir(), Filter: []string{"tcp"}}
	fake{Says: []string{"tcpdump: syntax error in filter expression: syntax error"}, Unless: "ifindex"}.put(t, r.Dir)
	begin(t, r).stop()
	all := calls(t, r.Dir)
	if last := all[len(all)-1].Args; len(all) != 2 || last[len(last)-1] != "tcp" {
		t.Errorf("tcpdump was called with %+v", all)
	}
}

func TestTheCountsAreTcpdumps(t *testing.T) {
	withFake(t)
	r := &Recorder{Name: "site", Dir: t.TempDir(), every: 20 * time.Millisecond}
	fake{Captured: 70, Received: 100, Dropped: 30}.put(t, r.Dir)
	s := begin(t, r)
	status := s.until("counted", func(s Status) bool { return s.Received > 0 })
	if status.State != StateRunning || status.Captured != 70 || status.Received != 100 || status.Dropped != 30 || status.PID == 0 {
		t.Errorf("the status is %+v", status)
	}
	if _, err := Check(r.Dir, r.Name); err != nil {
		t.Errorf("the check says %v", err)
	}
	syscall.Kill(status.PID, syscall.SIGKILL)
	s.until("running again", func(s Status) bool { return s.Restarts == 1 && s.State == StateRunning })
	s.stop()
	status, err := ReadStatus(r.Dir, r.Name)
	if err != nil || status.Captured != 140 || status.Received != 200 || status.Dropped != 60 || status.State != StateStopped {
		t.Errorf("in the end the status is %+v, %v", status, err)
	}
	for _, want := range []string{"dropped=30 dropped_in_all=30 ", "dropped=30 dropped_in_all=60 ", "signal: killed"} {
		if !strings.Contains(s.warned.String(), want) {
			t.Errorf("it did not warn of %q:\n%s", want, s.warned.String())
		}
	}
	if _, err := Check(r.Dir, r.Name); !errors.Is(err, ErrNotRunning) {
		t.Errorf("the check says %v", err)
	}
}

// The kernel hands packets on within a second; what it has not handed on yet is
// lost when tcpdump is ended.
func TestTcpdumpIsNotEndedBeforeItHasWhatCame(t *testing.T) {
	withFake(t)
	r := &Recorder{Name: "site", Dir: t.TempDir()}
	fake{Captured: 5, Received: 10, Dropped: 2}.put(t, r.Dir)
	begin(t, r).stop()
	if s, err := ReadStatus(r.Dir, r.Name); err != nil || s.Captured != 8 {
		t.Errorf("the status is %+v, %v", s, err)
	}
}

// Each of the three has a packet that names its process, in number 0.
func TestATcpdumpThatEndsIsStartedAgainAndOverwritesNothing(t *testing.T) {
	withFake(t)
	r := &Recorder{Name: "site", Dir: t.TempDir()}
	fake{}.put(t, r.Dir)
	file, _ := pcapFile("of another recorder")
	write(t, r.Dir, "site.pcap0", file)
	s := begin(t, r)
	var held [][]byte
	for restarts := range 3 {
		status := s.until("running", func(s Status) bool { return s.Restarts == restarts && s.State == StateRunning })
		b, err := os.ReadFile(filepath.Join(r.Dir, "site.pcap0"))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
		if restarts < 2 {
			syscall.Kill(status.PID, syscall.SIGKILL)
		}
	}
	s.stop()
	all, err := Ring{Dir: r.Dir}.List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	if want := []string{"site.pcap1000", "site.pcap1001", "site.pcap1002", "site.pcap0"}; !slices.Equal(names, want) {
		t.Fatalf("there are %q, want %q", names, want)
	}
	for i, want := range append([][]byte{file}, held...) {
		if got, err := os.ReadFile(filepath.Join(r.Dir, names[i])); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %q, %v; want %q", names[i], got, err, want)
		}
	}
}

// tcpdump does not look whether what it writes was written.
func TestATcpdumpWhoseFilesDoNotGrowIsStartedAgain(t *testing.T) {
	withFake(t)
	r := &Recorder{Name: "site", Dir: t.TempDir(), every: 20 * time.Millisecond}
	fake{Captured: 1, Received: 2}.put(t, r.Dir) // one more by the second report, then none
	s := begin(t, r)
	status := s.until("started again", func(s Status) bool { return s.Restarts > 0 })
	if !strings.Contains(status.Error, "can't write its files") {
		t.Errorf("the status is %+v", status)
	}
	fake{Empty: true}.put(t, r.Dir)
	syscall.Kill(status.PID, syscall.SIGKILL)
	s.until("given up for now", func(s Status) bool { return s.Restarts > 1 && s.State == StateRestarting })
	fake{}.put(t, r.Dir)
	s.until("running", func(s Status) bool { return s.State == StateRunning })
}

func TestATcpdumpThatCannotWriteIsAnError(t *testing.T) {
	withFake(t)
	r := &Recorder{Name: "site", Dir: t.TempDir()}
	fake{Empty: true}.put(t, r.Dir)
	if err := r.Run(t.Context()); !errors.Is(err, errNotWritten) {
		t.Errorf("it says %v", err)
	}
}

func TestANameIsCapturedOnce(t *testing.T) {
	withFake(t)
	r := &Recorder{Name: "site", Dir: t.TempDir()}
	fake{}.put(t, r.Dir)
	s := begin(t, r)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&Recorder{Name: "site", Dir: r.Dir}).Run(ended); !errors.Is(err, ErrLocked) {
		t.Errorf("one that is told to end while it waits: %v", err)
	}
	if err := (&Recorder{Name: "site", Dir: r.Dir}).Run(t.Context()); !errors.Is(err, ErrLocked) {
		t.Errorf("a second recorder says %v", err)
	}
	begin(t, &Recorder{Name: "site-2", Dir: r.Dir}).stop()
	s.stop()
	begin(t, &Recorder{Name: "site", Dir: r.Dir}).stop()
}

func TestARecorderThatIsStoppedBeforeItCapturesEnds(t *testing.T) {
	withFake(t)
	r := &Recorder{Name: "site", Dir: t.TempDir()}
	fake{Hangs: true}.put(t, r.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for {
		if _, err := os.Stat(filepath.Join(r.Dir, "calls.jsonl")); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) || len(ended) > 0 {
			t.Fatal(err, <-ended)
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it says %v", err)
	}
	if s, err := ReadStatus(r.Dir, r.Name); err != nil || s.State != StateStopped {
		t.Errorf("the status is %+v, %v", s, err)
	}
}
