package trust

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// A family is how the distributions of a family keep the system's certificates.
type family struct {
	folder string // where ours goes
	suffix string
	tool   []string
	fresh  []string // the tool, when something was taken away
	bundle string   // all of them in one file
	made   []string // the folders in which the tool works
	hooks  string   // who keeps stores of their own by what the tool does
}

var families = []family{
	{
		"/usr/local/share/ca-certificates", ".crt",
		[]string{"update-ca-certificates"}, []string{"update-ca-certificates", "--fresh"}, // else links to what is gone stay
		"/etc/ssl/certs/ca-certificates.crt", []string{"/etc/ssl/certs", "/etc/ssl/certs/java"},
		"/etc/ca-certificates/update.d",
	},
	{
		"/etc/pki/ca-trust/source/anchors", ".pem",
		[]string{"update-ca-trust", "extract"}, []string{"update-ca-trust", "extract"},
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", []string{
			"/etc/pki/ca-trust/extracted/pem", "/etc/pki/ca-trust/extracted/pem/directory-hash", "/etc/pki/ca-trust/extracted/openssl",
			"/etc/pki/ca-trust/extracted/java", "/etc/pki/ca-trust/extracted/edk2",
		},
		"",
	},
}

// familyOf is the system's family; nil for one that is not known.
func familyOf(t *tree) *family {
	for i := range families {
		if t.exists(families[i].folder) {
			return &families[i]
		}
	}
	return nil
}

// systemBundle is the file with all of the system's certificates; "" for none.
func systemBundle(t *tree) string {
	if f := familyOf(t); f != nil && t.exists(f.bundle) {
		return f.bundle
	}
	return ""
}

func systemStore(j *Journal, a Authority) store {
	f := familyOf(j.tree)
	if f == nil {
		return store{name: "system", why: "neither " + families[0].folder + " nor " + families[1].folder + " is there"}
	}
	s := store{
		name:  "system",
		edits: []Edit{OwnFile(f.folder+"/"+a.Name+f.suffix, a.PEM)},
		made:  f.made,
	}
	ours, _, _ := j.tree.read(s.edits[0].Path) // one of an earlier time
	ours = append(ours, a.PEM...)
	s.tool = func() error { return updateBundle(j, f, f.tool, ours) }
	s.fresh = func() error {
		return errors.Join(updateBundle(j, f, f.fresh, ours), j.tellHooks(f, a.Name+".pem"))
	}
	return s
}

// OwnFile is a file that is ours alone.
func OwnFile(path string, content []byte) Edit {
	return Edit{
		Path:   path,
		Apply:  func([]byte) ([]byte, error) { return content, nil },
		Revert: func([]byte) []byte { return nil },
	}
}

// updateBundle has the system's own tool make its bundle anew. Certificates that
// somebody has put into it by hand, which the tool knows nothing of, stay in it.
func updateBundle(j *Journal, f *family, tool []string, ours []byte) error {
	t := j.tree
	before, mode, err := t.read(f.bundle)
	if err != nil {
		return err
	}
	// Debian's appends to what a run that was killed has left here.
	if err := t.remove(f.bundle + ".new"); err != nil {
		return err
	}
	said, err := j.run("", tool...)
	if err != nil {
		return err
	}
	after, _, err := t.read(f.bundle)
	if err == nil && after != nil {
		if kept := withMissing(after, before, ours); len(kept) > len(after) {
			err = t.write(f.bundle, kept, mode)
		}
	}
	if failed := hookFailure.FindSubmatch(said); failed != nil {
		err = errors.Join(err, fmt.Errorf("%s: %s", strings.Join(tool, " "), failed[1]))
	}
	return err
}

// hookFailure is how Debian's tool says that a hook has failed: it does not fail by
// that itself.
var hookFailure = regexp.MustCompile(`(?ms)^Running hooks in [^\n]*\n(.*^E: [^\n]*)`)

// tellHooks says that a certificate was taken away, by its link's name: the tool
// tells its hooks only of what was added, and Java's store would keep it.
func (j *Journal) tellHooks(f *family, link string) error {
	if f.hooks == "" || len(j.tree.list(f.hooks)) == 0 {
		return nil
	}
	_, err := j.run("-"+path.Join(path.Dir(f.bundle), link)+"\n", "run-parts", f.hooks)
	return err
}

// withMissing is a bundle with what it lacks of another's certificates, but for
// one of ours.
func withMissing(bundle, other, ours []byte) []byte {
	known := append(certificates(bundle), certificates(ours)...)
	for _, der := range certificates(other) {
		if !slices.ContainsFunc(known, func(k []byte) bool { return bytes.Equal(k, der) }) {
			bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		}
	}
	return bundle
}

// certificates are those in a PEM file.
func certificates(b []byte) (all [][]byte) {
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			all = append(all, block.Bytes)
		}
	}
	return all
}

// run runs a tool of the system's in it, and gives what it says. Should we be killed, it ends its work all the
// same: what it says goes to a file, the lock goes along, and Ctrl-C is not for it.
func (j *Journal) run(in string, tool ...string) (said []byte, err error) {
	t := j.tree
	c := exec.Command(tool[0], tool[1:]...)
	if t.root != nil {
		program := ""
		for _, folder := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
			if t.exists(folder + "/" + tool[0]) {
				program = folder + "/" + tool[0]
				break
			}
		}
		if program == "" || os.Geteuid() != 0 {
			return nil, nil // whoever completes the system runs it there
		}
		c = &exec.Cmd{Path: program, Args: tool, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Chroot: t.dir}}
		c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	}
	if errors.Is(c.Err, exec.ErrNotFound) {
		c = exec.Command("/usr/sbin/"+tool[0], tool[1:]...) // not every PATH has it
	}
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Setpgid = true
	out, err := os.CreateTemp("", "agentenv-netlog-")
	if err != nil {
		return nil, err
	}
	defer out.Close()
	os.Remove(out.Name())
	c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = strings.NewReader(in), out, out, []*os.File{j.lock}
	err = c.Run()
	said, _ = io.ReadAll(io.NewSectionReader(out, 0, 64<<10))
	if err != nil {
		return said, fmt.Errorf("%s: %w: %s", strings.Join(tool, " "), err, bytes.TrimSpace(said[:min(len(said), 4<<10)]))
	}
	return said, nil
}
