package netlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Why a log can't be written or read.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrNotLog     = errors.New("not a network log")
	ErrLocked     = errors.New("another process writes to it")
)

// A liveFile is a log that this process has locked.
type liveFile struct {
	*os.File
	made bool // it was not there
	size int64
	last int64  // the number of its last whole line; 0 for none
	mend string // what ends a line that was cut short; "" when there is none
}

// openLive opens, locks and reads the end of the log at path. It changes nothing
// but that it makes a file which is not there.
func openLive(path string, mode os.FileMode) (*liveFile, error) {
	if mode == 0 {
		mode = 0o600
	}
	f, made, err := openLocked(path, mode)
	if err != nil {
		return nil, err
	}
	live := &liveFile{File: f, made: made}
	if err := live.readEnd(path); err != nil {
		live.leave(path)
		return nil, err
	}
	return live, nil
}

// leave closes a file that nothing was written to, and removes it if it was made.
func (l *liveFile) leave(path string) {
	if l.made {
		os.Remove(path)
	}
	l.Close()
}

// openLocked opens and locks the file that path names when it returns: one that
// was put in its place between the two is tried in turn.
func openLocked(path string, mode os.FileMode) (f *os.File, made bool, err error) {
	for range 10 {
		f, made, err = openRegular(path, mode)
		if err != nil {
			return nil, false, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close()
			if err == syscall.EWOULDBLOCK {
				return nil, false, ErrLocked
			}
			return nil, false, fmt.Errorf("lock: %w", err)
		}
		mine, err := f.Stat()
		if err == nil {
			var named fs.FileInfo
			if named, err = os.Lstat(path); err == nil && os.SameFile(mine, named) {
				return f, made, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
	}
	return nil, false, errors.New("it is replaced again and again")
}

// openRegular opens path to append, or makes it. Whatever is no regular file is
// not even opened, since that alone may hang or do something.
func openRegular(path string, mode os.FileMode) (f *os.File, made bool, err error) {
	const flags = os.O_RDWR | os.O_APPEND | syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY
	info, err := os.Lstat(path)
	if err == nil {
		err = regular(info)
	} else if made = errors.Is(err, fs.ErrNotExist); made {
		err = nil
	}
	if err != nil {
		return nil, false, bare(err)
	}
	if made {
		f, err = os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, mode)
		made = err == nil
		if errors.Is(err, fs.ErrExist) {
			f, err = os.OpenFile(path, flags, 0)
		}
	} else {
		f, err = os.OpenFile(path, flags, 0)
	}
	if err != nil {
		return nil, false, bare(err)
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info)
	}
	if err == nil && made {
		err = f.Chmod(mode)
	}
	if err != nil {
		f.Close()
		return nil, false, bare(err)
	}
	return f, made, nil
}

func regular(info fs.FileInfo) error {
	kind := "a device or a socket"
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		kind = "a directory"
	case m&fs.ModeSymlink != 0:
		kind = "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	}
	return fmt.Errorf("%w but %s", ErrNotRegular, kind)
}

// bare drops the path from an error: the caller names it.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// readEnd finds out whether the file is a log and where its numbers stand.
func (l *liveFile) readEnd(path string) error {
	info, err := l.Stat()
	if err != nil {
		return bare(err)
	}
	l.size = info.Size()
	if err := checkLog(l.File, l.size); err != nil {
		return err
	}
	if l.last, err = lastNumber(l.File, l.size); err != nil {
		return err
	}
	if l.last == 0 {
		if l.last, err = lastOlder(path); err != nil {
			return err
		}
	}
	if l.size == 0 {
		return nil
	}
	var end [1]byte
	if _, err := l.ReadAt(end[:], l.size-1); err != nil {
		return bare(err)
	}
	switch end[0] {
	case '\n':
	case '}':
		// It may look like a whole line, or even be one but for its newline.
		// Its number is given again, so it has to be none for every reader.
		l.mend = "#\n"
	default:
		l.mend = "\n"
	}
	return nil
}

// checkLog returns ErrNotLog for a file that holds something else: neither its
// beginning nor its last whole line is a log's. (The beginning alone need not be
// one: a log may be cut to nothing in the middle of a write.)
func checkLog(f io.ReaderAt, size int64) error {
	const window = 1 << 20
	var b [headRoom]byte
	n, err := f.ReadAt(b[:min(size, headRoom)], 0)
	if err != nil && err != io.EOF {
		return bare(err)
	}
	if n == 0 || beginsHead(b[:n]) {
		return nil
	}
	tail := make([]byte, min(size, window))
	if n, err = f.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return bare(err)
	}
	tail = tail[:n]
	end := bytes.LastIndexByte(tail, '\n')
	start := bytes.LastIndexByte(tail[:max(end, 0)], '\n')
	if start >= 0 {
		if _, _, ok := parseHead(tail[start+1 : end]); ok {
			return nil
		}
	}
	return ErrNotLog
}

// lastNumber returns the number of a file's last whole line, 0 for none.
func lastNumber(f io.ReaderAt, size int64) (int64, error) {
	var b [headRoom]byte
	end, err := afterNewline(f, size)
	for end > 0 && err == nil {
		var start int64
		if start, err = afterNewline(f, end-1); err != nil {
			break
		}
		n, e := f.ReadAt(b[:min(end-1-start, headRoom)], start)
		if e != nil && e != io.EOF {
			return 0, bare(e)
		}
		if h, _, ok := parseHead(b[:n]); ok {
			var last [1]byte
			if _, err = f.ReadAt(last[:], end-2); err != nil {
				break
			}
			if last[0] == '}' {
				return h.N, nil
			}
		}
		end = start
	}
	if err != nil {
		return 0, bare(err)
	}
	return 0, nil
}

// firstNumber returns the number of a log's first line or, where that was cut
// short, of the one behind it; 0 for none, and for a file that is no log.
func firstNumber(f *os.File, size int64) (int64, error) {
	var b [headRoom]byte
	n, err := f.ReadAt(b[:min(size, headRoom)], 0)
	if err != nil && err != io.EOF {
		return 0, bare(err)
	}
	if h, _, ok := parseHead(b[:n]); ok {
		return h.N, nil // a line that was cut has the number of the next one
	}
	if err := checkLog(f, size); errors.Is(err, ErrNotLog) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	s := (&Log{files: []logFile{{File: f, size: size, live: true}}}).Scan()
	s.Next()
	return s.Head().N, s.Err()
}

// afterNewline returns where the last line that begins at or before end begins.
func afterNewline(f io.ReaderAt, end int64) (int64, error) {
	b := make([]byte, 64<<10)
	for end > 0 {
		n := min(end, int64(len(b)))
		if _, err := f.ReadAt(b[:n], end-n); err != nil {
			return 0, bare(err)
		}
		if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}
