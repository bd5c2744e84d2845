package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/capture"
)

type captureFlags struct {
	name      string
	dir       string
	device    string
	netns     string
	container int
	files     int
	fileMB    int
	bufferKiB int
	user      string
	check     bool
	given     func(flag string) bool
}

func newCapture() *cobra.Command {
	var f captureFlags
	c := &cobra.Command{
		Use:   "capture --name NAME [FILTER…]",
		Short: "Capture a network's packets into a ring of files",
		Long: `Capture every packet of a network, whole, with tcpdump, and watch it: NAME.pcap0,
NAME.pcap1, …, of --file-size each, the oldest overwritten once there are --files.
They are classic pcap, for Wireshark, tshark and "agentenv-netlog show". Arguments
are a filter, as tcpdump has it.

All interfaces are captured, loopback too, of this machine's network, or of
the container or network namespace that is named; from the line
"capturing NAME" on standard error on: what came before is not there. A packet
is in its file within a second. SIGINT (Ctrl-C) and SIGTERM stop it, with all that
came until then in the files, and their last packet whole.

A tcpdump that ends is started again. What the ring holds is not overwritten
then: it is renamed to NAME.pcap1000 and on, and deleted once newer files fill
the ring. Packets that the kernel had to drop are counted, with a warning and in
NAME.status.json; a larger --buffer helps. --check tells by its exit status
whether NAME is being captured.

tcpdump is needed, and the capability NET_RAW; for another's network SYS_ADMIN too,
and SYS_PTRACE for that of another user's process. Run as root, tcpdump stays root
(-Z root), for which it wants SETGID; with --user it becomes another user, who then
has to be able to write to the folder. For all others the capability is tcpdump's:
setcap cap_net_raw+ep "$(command -v tcpdump)"

The files hold whatever went over the network in the clear. Who may read them,
your umask says.`,
		Example: `  agentenv-netlog capture --name site --captures /captures
  agentenv-netlog capture --name site --captures /captures --container 4711
  agentenv-netlog capture --name web --captures . tcp port 80 or tcp port 443
  agentenv-netlog capture --name site --captures /captures --check`,
		RunE: func(c *cobra.Command, filter []string) error {
			f.given = c.Flags().Changed
			return runCapture(c.Context(), f, filter, c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.name, "name", "", "`NAME` of the capture, of letters, digits, _ . and -: the container's")
	flags.StringVar(&f.dir, "captures", "", "`FOLDER` of the files (default: that of the environment variable TRAFFIC_CAPTURE_DIR)")
	flags.BoolVar(&f.check, "check", false, "capture nothing: exit with 0 if NAME is being captured, else with 1")
	flags.StringVarP(&f.device, "interface", "i", "any", "`INTERFACE` to capture")
	flags.IntVar(&f.container, "container", 0, "capture in the network of the container of which `PID` is a process")
	flags.StringVar(&f.netns, "netns", "", "capture in the network namespace of this `PATH`, such as /run/netns/NAME")
	flags.IntVarP(&f.files, "files", "W", 10, "`NUMBER` of files in the ring, at most 1000")
	flags.IntVarP(&f.fileMB, "file-size", "C", 20, "size of a file in millions of `BYTES`")
	flags.IntVarP(&f.bufferKiB, "buffer", "B", 64<<10, "size of the kernel's buffer in `KiB`: what arrives while tcpdump waits for the disk or a processor")
	flags.StringVarP(&f.user, "user", "Z", "", "`USER` that tcpdump becomes (default: root when run as root, else none)")
	return c
}

func runCapture(ctx context.Context, f captureFlags, filter []string, stderr io.Writer) error {
	r, err := f.recorder(filter)
	if err != nil {
		return err
	}
	if f.check {
		return checkCapture(r.Dir, r.Name, stderr)
	}
	r.Logger = newLogger(stderr)
	r.Ready = func() {
		fmt.Fprintf(stderr, "capturing %s on %s to %s\n", r.Name, r.Interface, filepath.Join(r.Dir, r.Name+".pcap0"))
	}
	outliveReaders()
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	if err := r.Run(ctx); err != nil {
		if s, e := capture.ReadStatus(r.Dir, r.Name); e == nil && s.PID > 0 && errors.Is(err, capture.ErrLocked) {
			return failed(err, fmt.Sprintf("give this one another --name, or stop the other one, whose tcpdump is process %d", s.PID))
		}
		return notCapturing(err)
	}
	if s, err := capture.ReadStatus(r.Dir, r.Name); err == nil {
		fmt.Fprintf(stderr, "%s: %d packets captured, %d dropped, tcpdump started again %d times\n", program, s.Captured, s.Dropped, s.Restarts)
	}
	return nil
}

// recorder is what the flags say.
func (f *captureFlags) recorder(filter []string) (*capture.Recorder, error) {
	dir := cmp.Or(f.dir, os.Getenv("TRAFFIC_CAPTURE_DIR"))
	if of, isFile := capture.NameOf(f.name); isFile {
		return nil, misused(fmt.Errorf("--name %q is the name of a file of the capture %q", f.name, of), "give the capture's own: --name "+of)
	}
	switch {
	case f.name == "":
		return nil, misused(errors.New("--name is missing"), "name what is captured, such as --name site")
	case !capture.ValidName(f.name):
		return nil, misused(fmt.Errorf("--name %q is no name of a capture", f.name), "letters, digits, _ . and -, a letter or a digit first")
	case dir == "":
		return nil, misused(errors.New("--captures is missing"), "name the folder of the files, here or in TRAFFIC_CAPTURE_DIR")
	case f.given("netns") && f.given("container"):
		return nil, misused(errors.New("--netns and --container are two networks"), "give one of them")
	case f.given("netns") && f.netns == "":
		return nil, misused(errors.New("--netns is empty"), "name the network namespace, such as /run/netns/NAME")
	case f.given("container") && f.container < 1: // Docker says 0 of a container that is stopped
		return nil, misused(fmt.Errorf("--container %d is no process", f.container), "give the number of a process in it, which has to be running: docker inspect -f '{{.State.Pid}}' CONTAINER")
	case f.files < 2 || f.files > 1000:
		return nil, misused(fmt.Errorf("--files %d is out of bounds", f.files), "give 2 to 1000")
	case f.fileMB < 1:
		return nil, misused(fmt.Errorf("--file-size %d is out of bounds", f.fileMB), "give a number of millions of bytes, at least 1")
	case f.bufferKiB < 1:
		return nil, misused(fmt.Errorf("--buffer %d is out of bounds", f.bufferKiB), "give a number of KiB, at least 1")
	}
	r := &capture.Recorder{
		Name: f.name, Dir: dir, Interface: f.device, Namespace: f.netns, Filter: filter,
		Files: f.files, FileMB: f.fileMB, BufferKiB: f.bufferKiB, User: f.user,
	}
	if f.given("container") {
		r.Namespace = fmt.Sprintf("/proc/%d/ns/net", f.container)
	}
	if r.User == "" && os.Geteuid() == 0 {
		r.User = "root" // else Debian's becomes one who can write nowhere
	}
	return r, nil
}

func notCapturing(err error) error {
	hint := fmt.Sprintf("see: %s capture --help", program)
	switch {
	case errors.Is(err, capture.ErrNoTcpdump):
		hint = "install it: apt-get install tcpdump"
	case errors.Is(err, capture.ErrNotAllowed):
		hint = fmt.Sprintf("it wants root, or capabilities: see %s capture --help", program)
	case errors.Is(err, capture.ErrLocked):
		hint = "give this one another --name, or stop the other one"
	case errors.Is(err, fs.ErrNotExist):
		hint = "make the folder, or name one that is there with --captures; a network namespace must be there too"
	case strings.Contains(err.Error(), "Permission denied"): // tcpdump's own words
		hint = "the folder has to be one that tcpdump can write to, as the user that it becomes: --user"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOSPC):
		hint = "name a folder that can be written with --captures"
	}
	return failed(err, hint)
}

// checkCapture is the health check.
func checkCapture(dir, name string, stderr io.Writer) error {
	s, err := capture.Check(dir, name)
	if err != nil {
		return failed(err, fmt.Sprintf("start it: %s capture --name %s --captures %s", program, name, dir))
	}
	fmt.Fprintf(stderr, "%s is being captured since %s: %d packets, %d dropped\n", name, s.StartedAt.Format(time.RFC3339), s.Captured, s.Dropped)
	return nil
}
