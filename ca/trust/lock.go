package trust

import (
	"errors"
	"fmt"
	"os"
	"path"
	"syscall"
	"time"
)

// lockFile is there while somebody changes the system: the tools that make bundles
// of certificates spoil them when they run twice at once.
const lockFile = "/etc/.agentenv-netlog.lock"

// lockWait is for how long another may go on with it.
const lockWait = time.Minute

// ErrBusy says that another process, or a tool that it has left running, is at it.
var ErrBusy = errors.New("another process is changing what the system trusts")

// lock takes the system for one process. Its tools have the lock too, so that who
// comes after one that was killed waits for what that one has left running.
func (t *tree) lock(wait time.Duration) (*os.File, error) {
	for deadline := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		f, err := t.tryLock()
		if !errors.Is(err, ErrBusy) {
			return f, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%w, and has %q", ErrBusy, lockFile)
		}
	}
}

func (t *tree) tryLock() (*os.File, error) {
	if _, err := t.makeFolder(path.Dir(lockFile)); err != nil {
		return nil, err
	}
	f, err := t.open(lockFile, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, err
	}
	// Whoever had it may have deleted it meanwhile.
	ours, err := f.Stat()
	if err == nil {
		if named, e := t.lstat(lockFile); e != nil || !os.SameFile(ours, named) {
			err = ErrBusy
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (t *tree) unlock(f *os.File) {
	t.remove(lockFile)
	f.Close()
}
