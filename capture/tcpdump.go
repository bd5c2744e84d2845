package capture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// Why tcpdump can't capture.
var (
	ErrNoTcpdump  = errors.New("tcpdump is not installed")
	ErrNotAllowed = errors.New("not allowed to capture")
)

// oncePerPacket keeps loopback's packets from the buffer a second time, going out
// and coming in: libpcap writes them but once. Loopback is the first interface of
// every network namespace.
const oncePerPacket = "not (outbound and ifindex 1)"

// arguments are tcpdump's: every packet whole, at once, into the ring.
func (r *Recorder) arguments(once bool) []string {
	args := []string{
		"-i", r.device(), "-n", "-s", "0", "-U",
		"-B", strconv.Itoa(r.bufferKiB()), "-C", strconv.Itoa(r.fileMB()), "-W", strconv.Itoa(r.files()),
		"-w", r.Name + ".pcap",
	}
	if r.User != "" {
		args = append(args, "-Z", r.User)
	}
	filter := strings.Join(r.Filter, " ")
	switch {
	case once && filter == "":
		filter = oncePerPacket
	case once:
		filter = "(" + filter + ") and " + oncePerPacket
	}
	if filter != "" {
		args = append(args, "--", filter)
	}
	return args
}

// A tcpdump is one that runs.
type tcpdump struct {
	process *os.Process
	lines   chan string // what it says; closed when it ends
	ended   chan error  // how it ended, thereafter
}

// startTcpdump runs one, in another network namespace if there is one. The lock
// goes along: should we be killed and tcpdump not, the name is still taken.
func (r *Recorder) startTcpdump(lock, namespace *os.File, once bool) (*tcpdump, error) {
	path, err := exec.LookPath("tcpdump")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/tcpdump") // few users have that in their PATH
	}
	if err != nil {
		return nil, ErrNoTcpdump
	}
	cmd := exec.Command(path, r.arguments(once)...)
	cmd.Dir = r.Dir
	// Nothing of ours, which may hold secrets; and its messages in English.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = ownGroup()
	t := &tcpdump{lines: make(chan string), ended: make(chan error, 1)}
	started := make(chan error)
	go t.run(cmd, namespace, started)
	if err := <-started; err != nil {
		return nil, err
	}
	t.process = cmd.Process
	return t, nil
}

// run starts and awaits a tcpdump. It keeps its thread to itself: a child is in
// its thread's network namespace, and is sent a signal when its thread ends.
func (t *tcpdump) run(cmd *exec.Cmd, namespace *os.File, started chan<- error) {
	runtime.LockOSThread() // and never unlock: the thread ends with us
	var said io.Reader
	err := enter(namespace)
	if err == nil {
		if said, err = cmd.StderrPipe(); err == nil {
			err = cmd.Start()
		}
	}
	started <- err
	if err != nil {
		return
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			t.lines <- line
		}
	}
	io.Copy(io.Discard, said) // after a line that is too long
	close(t.lines)
	t.ended <- cmd.Wait()
}

// listen waits until tcpdump captures. What it says when it ends instead is the
// error.
func (t *tcpdump) listen(ctx context.Context) error {
	kill := context.AfterFunc(ctx, func() { t.process.Kill() })
	defer kill()
	var said []string
	for line := range t.lines {
		if strings.Contains(line, "listening on ") {
			return nil
		}
		if !strings.Contains(line, "data link type") {
			said = append(said[max(len(said)-9, 0):], strings.TrimPrefix(line, "tcpdump: "))
		}
	}
	err := <-t.ended
	text := strings.Join(said, " ")
	if text == "" && err != nil {
		text = err.Error()
	}
	for _, refused := range []string{"permission to perform this capture", "Operation not permitted", "Couldn't change to"} {
		if strings.Contains(text, refused) {
			return fmt.Errorf("%w: tcpdump: %s", ErrNotAllowed, text)
		}
	}
	return fmt.Errorf("tcpdump: %s", text)
}
