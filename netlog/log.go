package netlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
// older files beside it, network.<first number>.jsonl. It sees the files as long
// as they were when it was opened. It may be used by many goroutines.
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
	l, err := openSet(path)
	if err != nil {
		return nil, fmt.Errorf("open network log %q: %w", path, err)
	}
	for _, f := range l.files {
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

// openSet opens the files of a log.
func openSet(path string) (*Log, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, LiveName)
	}
	for range 10 {
		l, rotated, err := tryOpenSet(path)
		if err != nil {
			return nil, err
		}
		if !rotated {
			return l, nil
		}
		l.Close()
	}
	return nil, errors.New("it is rotated again and again")
}

// tryOpenSet opens the files of a log, the live one first: a rotation in between
// shows in that the live file has an older one's name alone.
func tryOpenSet(path string) (l *Log, rotated bool, err error) {
	l = new(Log)
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	live, liveErr := openRead(path)
	if liveErr != nil && !errors.Is(liveErr, fs.ErrNotExist) {
		return l, false, liveErr
	}
	older, err := rotatedFiles(path)
	if err != nil {
		return l, false, err
	}
	for _, name := range older {
		f, err := openRead(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted as the oldest
		} else if err != nil {
			return l, false, err
		}
		if liveErr == nil && sameFile(f, live) {
			// Its second name: it is to be rotated, or was meanwhile.
			f.Close()
			rotated = !isNamed(live.File, path)
			continue
		}
		l.files = append(l.files, f)
	}
	if liveErr == nil {
		live.live = true
		l.files = append(l.files, live)
	}
	if len(l.files) == 0 {
		return l, false, liveErr
	}
	return l, rotated, nil
}

func sameFile(a, b logFile) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

// openRead opens a regular file to read it, and never hangs on another.
func openRead(path string) (logFile, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
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

// rotatedFiles lists the older files of the log whose live file is path, in the
// order of their numbers.
func rotatedFiles(path string) ([]string, error) {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, bare(err)
	}
	ext := filepath.Ext(path)
	base := strings.TrimSuffix(filepath.Base(path), ext) + "."
	type older struct {
		path  string
		first int64
	}
	var list []older
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), base)
		if !ok {
			continue
		}
		if number, ok = strings.CutSuffix(number, ext); !ok {
			continue
		}
		first, err := strconv.ParseInt(number, 10, 64)
		if err != nil || first < 1 || strconv.FormatInt(first, 10) != number {
			continue
		}
		list = append(list, older{filepath.Join(dir, e.Name()), first})
	}
	slices.SortFunc(list, func(a, b older) int { return cmp.Compare(a.first, b.first) })
	paths := make([]string, len(list))
	for i := range list {
		paths[i] = list[i].path
	}
	return paths, nil
}

// lastRotated returns the last number of the rotated files beside path, 0 for none.
func lastRotated(path string) (int64, error) {
	older, err := rotatedFiles(path)
	if err != nil || len(older) == 0 {
		return 0, err
	}
	f, err := openRead(older[len(older)-1])
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return lastNumber(f, f.size)
}
