package netlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// LiveName is the name of the live file in a log's folder.
const LiveName = "network.jsonl"

// A Log is a log opened to be read: the live file and, when it was rotated, the
// older files beside it, network.<first number>.jsonl. Another file of such a name
// is passed over. It sees the files as long as they were when it was opened. It may
// be used by many goroutines.
type Log struct {
	files []logFile // in the order of their numbers
}

type logFile struct {
	*os.File
	size int64
	live bool // the last line may not be whole yet
}

// Pos is where a line is in a Log.
type Pos struct {
	Offset int64 // of its first byte
	Length int32 // without its newline
	File   int32 // in the order of the set
}

// OpenLog opens the log whose live file, or whose folder, is path. The error
// wraps fs.ErrNotExist when there is none, ErrNotRegular or ErrNotLog when what
// is there is none.
func OpenLog(path string) (*Log, error) {
	path = livePath(path)
	l, err := openSet(path)
	if err != nil {
		return nil, fmt.Errorf("open network log %q: %w", path, err)
	}
	if f := l.files[len(l.files)-1]; f.live {
		if err := checkLog(f, f.size); err != nil {
			l.Close()
			return nil, fmt.Errorf("open network log %q: %w", f.Name(), err)
		}
	}
	return l, nil
}

// Close closes the files.
func (l *Log) Close() error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// ReadLine returns the line at p, without its newline. It uses buf when that is
// large enough.
func (l *Log) ReadLine(p Pos, buf []byte) ([]byte, error) {
	if p.File < 0 || int(p.File) >= len(l.files) || p.Length < 0 {
		return nil, fmt.Errorf("read network log: no line at %v", p)
	}
	buf = slices.Grow(buf[:0], int(p.Length))[:p.Length]
	f := l.files[p.File]
	if n, err := f.ReadAt(buf, p.Offset); n < len(buf) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read network log %q: %d bytes at %d: %w", f.Name(), p.Length, p.Offset, bare(err))
	}
	return buf, nil
}

// livePath is the live file of the log in a folder, if path is one.
func livePath(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, LiveName)
	}
	return path
}

// openSet opens the files of a log.
func openSet(path string) (*Log, error) {
	path = livePath(path)
	// The live file goes first: a rotation from then on changes nothing in what was
	// before it.
	live, liveErr := openRead(path, 0)
	if liveErr != nil && !errors.Is(liveErr, fs.ErrNotExist) {
		return nil, liveErr
	}
	below := int64(math.MaxInt64)
	if liveErr == nil {
		live.live = true
		n, err := firstNumber(live.File, live.size)
		if err != nil {
			live.Close()
			return nil, err
		}
		if n > 0 {
			below = n
		}
	}
	older, err := openOlder(path, below)
	switch {
	case liveErr == nil && err != nil:
		live.Close()
		return nil, err
	case liveErr == nil:
		return &Log{files: append(older, live)}, nil
	case err != nil:
		return nil, err
	case len(older) == 0:
		return nil, liveErr
	}
	return &Log{files: older}, nil
}

// openRead opens a regular file to read it, and never hangs on another.
func openRead(path string, flags int) (logFile, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|flags, 0)
	if err != nil {
		return logFile{}, bare(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return logFile{}, bare(err)
	}
	return logFile{File: f, size: info.Size()}, nil
}

// openOlder opens the older files of the log whose live file is path, in the order
// of their numbers. They are the regular files that have a name of one, below that
// number, and begin with the line of their number. Whatever else has such a name
// is somebody else's.
func openOlder(path string, below int64) (list []logFile, err error) {
	defer func() {
		if err != nil {
			for _, f := range list {
				f.Close()
			}
		}
	}()
	named, err := olderNames(path)
	if err != nil {
		return nil, err
	}
	for _, o := range named {
		if o.first >= below {
			break
		}
		f, err := openRead(o.path, syscall.O_NOFOLLOW)
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile as the oldest, as those before it then were
			(&Log{files: list}).Close()
			list = nil
			continue
		}
		if errors.Is(err, ErrNotRegular) || errors.Is(err, syscall.ELOOP) {
			continue // changed under our hands
		} else if err != nil {
			return list, fmt.Errorf("%q: %w", o.path, err)
		}
		switch n, err := firstNumber(f.File, f.size); {
		case err != nil:
			f.Close()
			return list, fmt.Errorf("%q: %w", o.path, err)
		case n == o.first:
			list = append(list, f)
		default:
			f.Close()
		}
	}
	return list, nil
}

type olderName struct {
	path  string
	first int64
}

// olderNames lists the regular files beside path that have the name of an older
// one, in the order of their numbers.
func olderNames(path string) ([]olderName, error) {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, bare(err)
	}
	ext := filepath.Ext(path)
	base := strings.TrimSuffix(filepath.Base(path), ext) + "."
	var list []olderName
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), base)
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if number, ok = strings.CutSuffix(number, ext); !ok {
			continue
		}
		first, err := strconv.ParseInt(number, 10, 64)
		if err != nil || first < 1 || strconv.FormatInt(first, 10) != number {
			continue
		}
		list = append(list, olderName{filepath.Join(dir, e.Name()), first})
	}
	slices.SortFunc(list, func(a, b olderName) int { return cmp.Compare(a.first, b.first) })
	return list, nil
}

// lastOlder returns the last number of the older files beside path, 0 for none.
func lastOlder(path string) (int64, error) {
	older, err := openOlder(path, math.MaxInt64)
	if err != nil || len(older) == 0 {
		return 0, err
	}
	l := &Log{files: older}
	defer l.Close()
	f := older[len(older)-1]
	return lastNumber(f, f.size)
}
