package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// insideVariable says that a test runs in a computer of its own.
const insideVariable = "NETLOG_E2E_COMPUTER"

// ownFolders are the folders of which a computer has copies: what is changed in them
// is gone with it. (dpkg is what certificates' hooks have run, one at a time.)
const ownFolders = "etc usr/local root home var/lib/dpkg var/lib/ca-certificates-java"

// onAComputer has the test's own process be started anew on a computer of its own,
// with a network that has a loopback interface only and copies of the system's
// files, but for what sites have left there. It is false outside, where the test is
// over then, and true inside.
func onAComputer(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return true
	}
	if os.Getuid() != 0 {
		lacking(t, "only root can make a computer of its own")
	}
	for _, program := range []string{"unshare", "mount", "ip"} {
		need(t, program)
	}
	binary(t)
	const script = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
for d in ` + ownFolders + `; do
	[ -d "/$d" ] || continue
	mkdir -p "$1/up/$d" "$1/work/$d"
	mount -t overlay -o "lowerdir=/$d,upperdir=$1/up/$d,workdir=$1/work/$d" overlay "/$d"
done
rm -rf /etc/agentenv
ip link set lo up
shift
exec "$@"`
	at, err := os.MkdirTemp("", "netlog-computer-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(at)
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--fork", "--pid", "--mount-proc", "--kill-child",
		"sh", "-c", script, "sh", at, test, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	c.Env = append(os.Environ(), insideVariable+"="+filepath.Dir(binary(t)))
	if os.Getenv(tourVariable) != "" {
		c.ExtraFiles = []*os.File{os.Stdout} // where what is told appears at once
	}
	out, err := c.CombinedOutput()
	switch said := string(out); {
	case strings.Contains(said, "--- SKIP: "+t.Name()+" "):
		t.Skip(said)
	case err != nil:
		if !strings.Contains(said, "=== RUN") {
			lacking(t, fmt.Sprintf("a computer can't be made here: %v: %s", err, said))
		}
		t.Errorf("%v\n%s", err, said)
	case testing.Verbose():
		t.Log(said)
	}
	return false
}

// in does work in a network namespace: what it opens stays there.
func (n *namespace) in(work func() error) {
	n.t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocks: the thread ends with the goroutine
		f, err := os.Open(n.path())
		if err == nil {
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
			f.Close()
		}
		if err == nil {
			err = work()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		n.t.Fatal(err)
	}
}

func (n *namespace) listen(address string) (l net.Listener) {
	n.t.Helper()
	n.in(func() (err error) {
		l, err = net.Listen("tcp4", address)
		return err
	})
	return l
}

func (n *namespace) listenPacket(address string) (l net.PacketConn) {
	n.t.Helper()
	n.in(func() (err error) {
		l, err = net.ListenPacket("udp4", address)
		return err
	})
	return l
}

// addUser makes a user of the computer.
func addUser(t *testing.T, name string, id int) {
	t.Helper()
	home := "/home/" + name
	for file, line := range map[string]string{
		"/etc/passwd": fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", name, id, id, home),
		"/etc/group":  fmt.Sprintf("%s:x:%d:\n", name, id),
	} {
		write(t, file, append(contentOf(t, file), line...))
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, id, id); err != nil {
		t.Fatal(err)
	}
}

// as runs a shell's command as a user of the computer, after a login.
func as(t *testing.T, id int, line string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", "for f in /etc/profile.d/agentenv-*.sh; do [ -r $f ] && . $f; done; cd; "+line)
	c.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/agent"}
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}

// systemFiles are the files and links of the computer that an installation could
// change, with what they hold.
func systemFiles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range []string{"/etc", "/usr/local/share/ca-certificates", "/home", "/root/.pki"} {
		err := filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				if os.IsNotExist(err) {
					return nil
				}
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			all[p] = info.Mode().String()
			switch {
			case d.Type()&fs.ModeSymlink != 0:
				target, _ := os.Readlink(p)
				all[p] += " to " + target
			case d.Type().IsRegular():
				content, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				all[p] += fmt.Sprintf(" %x", sha256.Sum256(content))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// sameFiles compares what systemFiles has given.
func sameFiles(t *testing.T, before, after map[string]string) {
	t.Helper()
	var names []string
	for name := range before {
		names = append(names, name)
	}
	for name := range after {
		if _, was := before[name]; !was {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if before[name] != after[name] {
			t.Errorf("%s was %q and is %q", name, before[name], after[name])
		}
	}
}
