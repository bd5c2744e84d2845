package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Why there is no copy of a capture.
var (
	ErrBadName     = errors.New("not the name of a capture")
	ErrNotFound    = errors.New("there is no such capture")
	ErrUnavailable = errors.New("no copy can be taken now, ask again")
)

// A Snapshot is a copy of a capture. Whoever took it closes its File.
type Snapshot struct {
	Capture // Bytes are the copy's

	// ETag is an HTTP entity tag, quoted, of this round of this file. It holds
	// while the file grows: what one copy has, the next one begins with. So it is
	// for If-Range, and not for If-None-Match.
	ETag string

	// File is the copy, at its beginning. Nothing has a name for it, so that it is
	// gone once it is closed.
	File *os.File
}

// settled is after what time a file without a header will get none, as the disk
// is full for example.
const settled = 2 * time.Second

// tries are how often a copy is begun anew because the ring turned under it.
const tries = 3

// Snapshot copies a capture, whole and up to its last whole packet. The copy is
// taken again when the ring has turned meanwhile, so that it never has packets of
// two rounds. The error is ErrBadName for what List could not give, ErrNotFound,
// ErrUnavailable, that of the context, or the system's.
func (r Ring) Snapshot(ctx context.Context, name string) (*Snapshot, error) {
	of, ok := NameOf(name)
	if !ok {
		return nil, fmt.Errorf("%q: %w", name, ErrBadName)
	}
	var err error
	for try := range tries {
		if try > 0 {
			if err := pause(ctx, 10*time.Millisecond<<try); err != nil {
				return nil, fmt.Errorf("copy %q: %w", name, err)
			}
		}
		var s *Snapshot
		if s, err = r.snapshot(ctx, name, of); err == nil {
			return s, nil
		}
		if !errors.Is(err, errTurned) {
			return nil, fmt.Errorf("copy %q: %w", name, err)
		}
	}
	return nil, fmt.Errorf("copy %q: %w: %w", name, ErrUnavailable, err)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errTurned = errors.New("it was overwritten while it was read")

// snapshot is one try.
func (r Ring) snapshot(ctx context.Context, name, container string) (*Snapshot, error) {
	from, info, err := openCapture(filepath.Join(r.Dir, name))
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := r.copy(ctx, from, info.Size())
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Capture: newCapture(name, container, info), File: to}
	if err := s.finish(from, inode(info)); err != nil {
		to.Close()
		return nil, err
	}
	return s, nil
}

// openCapture opens a regular file. Whatever else has the name is not even
// opened, since that alone may hang or do something, and is as if it were not
// there.
func openCapture(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotFound
	}
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENAMETOOLONG):
		return nil, nil, ErrNotFound
	case err != nil:
		return nil, nil, bare(err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = ErrNotFound
	}
	if err != nil {
		f.Close()
		return nil, nil, bare(err)
	}
	return f, info, nil
}

func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}

// copy copies the first size bytes into a file without a name.
func (r Ring) copy(ctx context.Context, from *os.File, size int64) (*os.File, error) {
	if to, ok := reflink(from, r.Dir); ok {
		return to, nil
	}
	to, err := os.CreateTemp(r.Temp, "capture-*.tmp") // 0600
	if err != nil {
		return nil, fmt.Errorf("make a file for the copy: %w", err)
	}
	err = os.Remove(to.Name())
	for left := size; left > 0 && err == nil; {
		if err = ctx.Err(); err != nil {
			break
		}
		var n int64
		// In the kernel where it can; in parts, as the context may end.
		if n, err = io.CopyN(to, from, min(left, 8<<20)); err == io.EOF {
			err = errTurned // it has become shorter
		}
		left -= n
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		to.Close()
		return nil, err
	}
	return to, nil
}

// finish makes sure that the copy is of one round, cuts it back to its last
// whole packet and names its round.
//
// Within a round a file only grows, and the next round begins with another first
// packet. So all of the copy is of the round that it begins with when the file
// still begins with that.
func (s *Snapshot) finish(from *os.File, inode uint64) error {
	info, err := s.File.Stat()
	if err != nil {
		return bare(err)
	}
	copied, err := head(s.File, info.Size())
	if err != nil {
		return bare(err)
	}
	now := make([]byte, len(copied))
	if err := readAt(from, now, 0); errors.Is(err, io.ErrUnexpectedEOF) {
		return errTurned
	} else if err != nil {
		return bare(err)
	}
	source, err := from.Stat()
	if err != nil {
		return bare(err)
	}
	if source.Size() < info.Size() || !bytes.Equal(copied, now) {
		return errTurned
	}
	if beginsFormat(copied) && time.Since(source.ModTime()) < settled {
		return errTurned // its header is about to be written
	}
	if s.Bytes, err = wholePackets(s.File, info.Size()); err != nil {
		return bare(err)
	}
	if s.Bytes < info.Size() {
		if err := s.File.Truncate(s.Bytes); err != nil {
			return bare(err)
		}
	}
	h, err := ReadHead(s.File, s.Bytes)
	if err != nil {
		return bare(err)
	}
	s.ETag = fmt.Sprintf(`"%x-%s"`, inode, h.Digest)
	_, err = s.File.Seek(0, io.SeekStart)
	return bare(err)
}
