package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A disk is a file system of a test's own.
type disk struct {
	t    *testing.T
	path string
}

// mountDisk mounts one with these arguments of mount(8). A child unmounts it in
// the end, even when the tests are killed: one that hung for good would take
// every process along that has a file there.
func mountDisk(t *testing.T, args ...string) *disk {
	t.Helper()
	if os.Getuid() != 0 {
		lacking(t, "only root can mount a file system")
	}
	d := &disk{t: t, path: filepath.Join(t.TempDir(), "disk")}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(need(t, "mount"), append(args, d.path)...).CombinedOutput(); err != nil {
		lacking(t, "file systems can't be mounted here: "+string(bytes.TrimSpace(out)))
	}
	clears := exec.Command("sh", "-c", `trap "" INT TERM HUP; PATH=$PATH:/usr/sbin:/sbin; cat; fsfreeze --unfreeze "$1"; umount "$1" || umount --lazy "$1"`, "sh", d.path)
	stdin, err := clears.StdinPipe()
	if err == nil {
		err = clears.Start()
	}
	t.Cleanup(func() {
		stdin.Close()
		clears.Wait()
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// mountImage mounts one that can be frozen.
func mountImage(t *testing.T) *disk {
	t.Helper()
	need(t, "fsfreeze")
	image := filepath.Join(t.TempDir(), "image")
	err := os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, 512<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	(&disk{t: t}).do("mkfs.ext4", "-q", "-F", image)
	return mountDisk(t, "-t", "ext4", "-o", "loop", image)
}

// log is where a proxy's goes.
func (d *disk) log() string { return filepath.Join(d.path, "network.jsonl") }

// freeze has every write wait for thaw, or for the test's end.
func (d *disk) freeze() {
	d.t.Helper()
	d.do("fsfreeze", "--freeze", d.path)
	d.t.Cleanup(func() { exec.Command(need(d.t, "fsfreeze"), "--unfreeze", d.path).Run() })
}

func (d *disk) thaw() {
	d.t.Helper()
	d.do("fsfreeze", "--unfreeze", d.path)
}

func (d *disk) do(program string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(need(d.t, program), args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
}
