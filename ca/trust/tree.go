package trust

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A tree is a system's files: this one's, or those below a folder, out of which
// no link leads.
type tree struct {
	root *os.Root // nil: this system's
	dir  string   // of root
}

func openTree(dir string) (*tree, error) {
	if dir == "" || filepath.Clean(dir) == "/" {
		return &tree{}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root, dir}, nil
}

func (t *tree) close() {
	if t.root != nil {
		t.root.Close()
	}
}

// real is where a file of the tree is on this system.
func (t *tree) real(name string) string { return filepath.Join("/", t.dir, name) }

// within is the name as root has it.
func within(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name != "" {
		return name
	}
	return "."
}

func (t *tree) stat(name string) (fs.FileInfo, error) {
	if t.root == nil {
		return os.Stat(name)
	}
	return t.root.Stat(within(name))
}

func (t *tree) lstat(name string) (fs.FileInfo, error) {
	if t.root == nil {
		return os.Lstat(name)
	}
	return t.root.Lstat(within(name))
}

func (t *tree) readlink(name string) (string, error) {
	if t.root == nil {
		return os.Readlink(name)
	}
	return t.root.Readlink(within(name))
}

func (t *tree) symlink(target, name string) error {
	if t.root == nil {
		return os.Symlink(target, name)
	}
	return t.root.Symlink(target, within(name))
}

func (t *tree) exists(name string) bool {
	_, err := t.stat(name)
	return err == nil
}

func (t *tree) open(name string, flag int, mode fs.FileMode) (*os.File, error) {
	if t.root == nil {
		return os.OpenFile(name, flag, mode)
	}
	return t.root.OpenFile(within(name), flag, mode)
}

// read gives a file's content and mode; nil content when it is not there.
func (t *tree) read(name string) ([]byte, fs.FileMode, error) {
	f, err := t.open(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%q is no regular file", name)
	}
	content, err := io.ReadAll(f)
	if content == nil {
		content = []byte{}
	}
	return content, info.Mode().Perm(), err
}

// write replaces what a file holds, in its place: it may be a mount, which can't be
// renamed over. A file that is not there is made with the mode.
func (t *tree) write(name string, content []byte, mode fs.FileMode) error {
	f, err := t.open(name, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = t.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err == nil {
			err = f.Chmod(mode) // whatever the umask
		}
	}
	if err != nil {
		return err
	}
	// Cut only behind what is written: at no moment is there nothing.
	_, err = f.WriteAt(content, 0)
	if err == nil {
		err = f.Truncate(int64(len(content)))
	}
	return errors.Join(err, f.Close())
}

// replace is write for a file of our own, which is whole at any moment, also when
// the power goes.
func (t *tree) replace(name string, content []byte, mode fs.FileMode) error {
	beside := name + ".new"
	if err := t.remove(beside); err != nil { // of one that was killed
		return err
	}
	f, err := t.open(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, t.remove(beside))
	}
	if t.root == nil {
		return os.Rename(beside, name)
	}
	return t.root.Rename(within(beside), within(name))
}

func (t *tree) remove(name string) error {
	var err error
	if t.root == nil {
		err = os.Remove(name)
	} else {
		err = t.root.Remove(within(name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// makeFolder makes a folder and those above it, and gives the ones that were not
// there, the highest first.
func (t *tree) makeFolder(name string) (made []string, err error) {
	name = path.Clean(name)
	if name == "/" || name == "." || t.exists(name) {
		return nil, nil
	}
	if made, err = t.makeFolder(path.Dir(name)); err != nil {
		return made, err
	}
	if t.root == nil {
		err = os.Mkdir(name, 0o755)
	} else {
		err = t.root.Mkdir(within(name), 0o755)
	}
	if err != nil {
		return made, err
	}
	if t.root == nil {
		err = os.Chmod(name, 0o755)
	} else {
		err = t.root.Chmod(within(name), 0o755)
	}
	return append(made, name), err
}

// list gives the names in a folder, sorted; none when it is not there.
func (t *tree) list(name string) []string {
	f, err := t.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}
