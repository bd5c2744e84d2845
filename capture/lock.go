package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked says that another recorder, or a tcpdump that it left, has the name:
// two would overwrite each other's files.
var ErrLocked = errors.New("it is being captured already")

func lockPath(dir, name string) string { return filepath.Join(dir, "."+name+".lock") }

// lock takes a name for as long as the file is open, here or in a child that has
// inherited it.
func lock(dir, name string) (*os.File, error) {
	f, err := os.OpenFile(lockPath(dir, name), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, bare(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if err == syscall.EWOULDBLOCK {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock it: %w", err)
	}
	return f, nil
}

// isLocked also works where the folder is mounted read-only.
func isLocked(dir, name string) bool {
	f, err := os.OpenFile(lockPath(dir, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}
