package har

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentenv/netlog/netlog"
)

// WriteFile writes log's HAR, in the format of o, to path, readable by its owner alone, since it
// holds cookies and passwords. The file is there when it is whole: until then,
// and after an error, what stood at path before still does. A link at path is
// followed; what is no regular file is refused.
func WriteFile(log *netlog.Log, path string, o Options) (Stats, error) {
	target, err := regularTarget(path)
	if err != nil {
		return Stats{}, fmt.Errorf("write %q: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(target), ".har-*.tmp") // 0600
	if err != nil {
		return Stats{}, fmt.Errorf("write %q: make a file beside it: %w", path, bare(err))
	}
	stats, err := convertInto(f, log, o)
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		os.Remove(f.Name())
		return stats, fmt.Errorf("write %q: %w", path, bare(err))
	}
	syncFolder(filepath.Dir(target))
	return stats, nil
}

func convertInto(f *os.File, log *netlog.Log, o Options) (Stats, error) {
	stats, err := Convert(log, &steadyWriter{file: f}, o)
	if err == nil {
		err = f.Sync()
	}
	return stats, errors.Join(err, f.Close())
}

// steadyBytes is after how many bytes a steadyWriter has them written back.
const steadyBytes = 4 << 20

// A steadyWriter has the system begin to write back what was written, so that in
// the end Sync finds little left to wait for, and nobody else's does either.
type steadyWriter struct {
	file    *os.File
	written int64
	begun   int64 // up to here
}

func (w *steadyWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.written += int64(n)
	if w.written-w.begun >= steadyBytes {
		writeBack(w.file, w.begun, w.written-w.begun)
		w.begun = w.written
	}
	return n, err
}

// bare takes the temporary file's name off an error: the user knows only the
// target's.
func bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// regularTarget follows links and refuses what a rename must not replace, such
// as /dev/null.
func regularTarget(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return "", errors.New("it is a link to what does not exist")
		}
		return path, nil
	} else if err != nil {
		return "", err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", errors.New("it is a directory")
	} else if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	return target, nil
}

// syncFolder makes the new name last through a power cut, where folders can be
// synced.
func syncFolder(path string) {
	if d, err := os.Open(path); err == nil {
		d.Sync()
		d.Close()
	}
}
