package trust

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// here is a journal of this system, for tools that change nothing of it.
func here(t *testing.T) *Journal {
	t.Helper()
	lock, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	return &Journal{tree: &tree{}, lock: lock}
}

// Debian's tool appends to what a run before it has left.
func TestTheBundleIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "all.crt.new", "of a run that was killed\n")
	f := &family{bundle: filepath.Join(dir, "all.crt")}
	if err := updateBundle(here(t), f, []string{"sh", "-c", `echo made >> "$0.new" && mv "$0.new" "$0"`, f.bundle}, nil); err != nil {
		t.Fatal(err)
	}
	if got := content(t, dir, "all.crt"); got != "made\n" {
		t.Errorf("the bundle has %q", got)
	}
}

// Java's store is a hook's, which the tool does not tell of what is gone.
func TestHooksLearnWhatWasTakenAway(t *testing.T) {
	if _, err := exec.LookPath("run-parts"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	hooks := filepath.Join(dir, "update.d")
	put(t, dir, "update.d/java", "#!/bin/sh\ncat >"+filepath.Join(dir, "told")+"\n")
	if err := os.Chmod(filepath.Join(hooks, "java"), 0o755); err != nil {
		t.Fatal(err)
	}
	j := here(t)
	if err := j.tellHooks(&family{bundle: "/etc/ssl/certs/all.crt", hooks: hooks}, "ours.pem"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, dir, "told"); got != "-/etc/ssl/certs/ours.pem\n" {
		t.Errorf("it was told %q", got)
	}
	if err := j.tellHooks(&family{bundle: "/etc/ssl/certs/all.crt", hooks: filepath.Join(dir, "none")}, "ours.pem"); err != nil {
		t.Error(err)
	}
}
