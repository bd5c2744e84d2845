package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrServed says that another process serves the installation.
var ErrServed = errors.New("the installation is being served already")

// A lock of the process's own: Holder can ask the kernel whose it is.
var exclusive = syscall.Flock_t{Type: syscall.F_WRLCK}

// Lock takes the installation for the one process that serves it, until release or
// its end.
func Lock(root string) (release func(), err error) {
	f, err := openLock(root)
	if err != nil {
		return nil, err
	}
	lock := exclusive
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock); err != nil {
		f.Close()
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			return nil, fmt.Errorf("%w, by process %d", ErrServed, Holder(root))
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Inherit has this process hold the lock once the one that does has ended, until
// release or its own end: who supervises may be killed, and what goes on serving
// then is the holder. It may become another user after it.
func Inherit(root string) (release func(), err error) {
	f, err := openLock(root)
	if err != nil {
		return nil, err
	}
	fd := f.Fd() // which is to stay open: f is release's
	go func() {
		lock := exclusive
		for syscall.FcntlFlock(fd, syscall.F_SETLKW, &lock) == syscall.EINTR {
		}
	}()
	return func() { f.Close() }, nil
}

func openLock(root string) (*os.File, error) {
	folder, err := openFolder(root)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
}

// Holder is the process that serves the installation; 0 when there is none. It must
// not be asked by that process, whose lock it would end.
func Holder(root string) int {
	folder, err := openFolder(root)
	if err != nil {
		return 0
	}
	defer folder.Close()
	f, err := folder.OpenFile(lockFile, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		f, err = folder.OpenFile(lockFile, os.O_RDONLY, 0)
	}
	if err != nil {
		return 0
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil || lock.Type == syscall.F_UNLCK {
		return 0
	}
	return int(lock.Pid)
}
