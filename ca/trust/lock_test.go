package trust

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// One changes a system at a time, and with what it has started.
func TestLock(t *testing.T) {
	here, err := openTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer here.close()
	first, err := here.lock(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := here.lock(0); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one: %v", err)
	}

	tool := exec.Command("cat")
	in, err := tool.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	tool.ExtraFiles = []*os.File{first}
	if err := tool.Start(); err != nil {
		t.Skip(err)
	}
	first.Close() // as when the process is killed
	if _, err := here.lock(0); !errors.Is(err, ErrBusy) {
		t.Errorf("while its tool runs: %v", err)
	}
	in.Close()
	if err := tool.Wait(); err != nil {
		t.Error(err)
	}
	again, err := here.lock(0)
	if err != nil {
		t.Fatal(err)
	}
	here.unlock(again)
	if here.exists(lockFile) {
		t.Error("it is still there")
	}
}

// A journal has its lock, and gives it to the system's tools.
func TestAJournalLocks(t *testing.T) {
	root := system(t, map[string]string{"etc/hosts": ""})
	in(t, root, func(j *Journal) {
		if _, err := j.tree.lock(0); !errors.Is(err, ErrBusy) {
			t.Errorf("a second journal: %v", err)
		}
		here := &Journal{tree: &tree{}, lock: j.lock}
		if _, err := here.run("", "sh", "-c", "echo the tool has it >&3"); err != nil {
			t.Fatal(err)
		}
		if got := content(t, root, lockFile); got != "the tool has it\n" {
			t.Errorf("the lock has %q", got)
		}
	})
	if _, err := os.Lstat(filepath.Join(root, lockFile)); err == nil {
		t.Error("it stays behind")
	}
}
