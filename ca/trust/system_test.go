package trust

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

// Debian's tool ends well when a hook of its has failed, as Java's does while apt is
// running.
func TestAFailedHookIsTold(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "all.crt", string(block("by hand")))
	f := &family{bundle: filepath.Join(dir, "all.crt")}
	const tool = `: >"$0"; echo "Running hooks in /etc/ca-certificates/update.d..."; echo "dpkg: it is locked" >&2; echo "E: java exited with code 2."; echo done.`
	err := updateBundle(here(t), f, []string{"sh", "-c", tool, f.bundle}, nil)
	if err == nil || !strings.HasSuffix(err.Error(), ": dpkg: it is locked\nE: java exited with code 2.") {
		t.Errorf("%v", err)
	}
	if got := content(t, dir, "all.crt"); got != string(block("by hand")) {
		t.Errorf("the bundle has %q", got)
	}
}

// What a tool could not be told when the files were made what they were, the next
// call tells it, and until then the journal is not finished.
func TestAToolIsToldUntilItWorks(t *testing.T) {
	root := system(t, nil)
	edit := OwnFile("/etc/store/ours.crt", authority.PEM)
	broken, told := errors.New("it is locked"), 0
	s := store{name: "system", edits: []Edit{edit}, made: []string{"/etc/made"}, fresh: func() error {
		told++
		put(t, root, "etc/made/anew", "by the tool")
		return broken
	}}
	put(t, root, "etc/made/before", "")
	before := snapshot(t, filepath.Join(root, "etc"))
	in(t, root, func(j *Journal) {
		if err := j.around(s.made, func() error { return j.Edit(edit) }); err != nil {
			t.Fatal(err)
		}
	})
	for range 2 {
		in(t, root, func(j *Journal) {
			placed := j.leave(s)
			if !slices.ContainsFunc(placed, func(p Placed) bool { return p.Error == broken.Error() }) {
				t.Errorf("%+v", placed)
			}
			if j.Empty() || j.Finish() == nil {
				t.Error("nothing is left to do")
			}
		})
	}
	broken = nil
	in(t, root, func(j *Journal) {
		for _, p := range j.leave(s) {
			t.Errorf("%+v", p)
		}
		for _, p := range j.leave(s) {
			t.Errorf("%+v", p)
		}
		if err := j.Finish(); err != nil {
			t.Error(err)
		}
	})
	if after := snapshot(t, filepath.Join(root, "etc")); after != before {
		t.Errorf("afterwards there is\n%s\nand before was\n%s", after, before)
	}
	if told != 3 {
		t.Errorf("the tool was told %d times", told)
	}
}
