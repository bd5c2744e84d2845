package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A new tcpdump begins with number 0, whatever is there. So that it overwrites
// nothing, what another one has left is put on the shelf first: it gets the
// numbers from shelved on, which no tcpdump of ours reaches.
const (
	maxFiles = 1000
	shelved  = maxFiles
)

// numbered is a file of one container's ring.
type numbered struct {
	Capture
	number int
}

// numberedFiles are the container's files with a number, in capture order. next
// is the first number of the shelf that has nothing behind it.
func numberedFiles(dir, name string) (files []numbered, next int, err error) {
	all, err := Ring{Dir: dir}.List()
	if err != nil {
		return nil, 0, err
	}
	next = shelved
	for _, c := range all {
		n, err := strconv.Atoi(strings.TrimPrefix(c.Name, name+".pcap"))
		if c.Container != name || err != nil {
			continue // another's, or one without a number, which tcpdump does not write
		}
		files = append(files, numbered{c, n})
		next = max(next, n+1)
	}
	return files, next, nil
}

// shelve makes way for a new tcpdump. A file without a packet is not kept.
func (r *Recorder) shelve() error {
	if err := r.checkSlots(); err != nil {
		return err
	}
	files, next, err := numberedFiles(r.Dir, r.Name)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.number >= shelved {
			continue
		}
		from := filepath.Join(r.Dir, f.Name)
		if f.Bytes <= headerSize {
			if err := os.Remove(from); err != nil {
				return fmt.Errorf("make way for a new capture: delete %q: %w", from, bare(err))
			}
			continue
		}
		if err := os.Rename(from, filepath.Join(r.Dir, fmt.Sprintf("%s.pcap%d", r.Name, next))); err != nil {
			return fmt.Errorf("make way for a new capture: rename %q: %w", from, bare(err))
		}
		next++
	}
	return nil
}

// checkSlots refuses what tcpdump would write to though it is no file: a link
// would lead it anywhere.
func (r *Recorder) checkSlots() error {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return bare(err)
	}
	for _, e := range entries {
		if of, ok := NameOf(e.Name()); ok && of == r.Name && !e.Type().IsRegular() {
			return fmt.Errorf("%q is no regular file", filepath.Join(r.Dir, e.Name()))
		}
	}
	return nil
}

// trim deletes what is beyond the ring: the oldest file of the shelf, as long as
// the others hold what a ring has left when it overwrites its oldest. Files that
// were cut short are many for that: there are at most maxFiles.
func (r *Recorder) trim() error {
	files, _, err := numberedFiles(r.Dir, r.Name)
	if err != nil {
		return err
	}
	total, shelf := int64(0), []numbered(nil)
	for _, f := range files {
		total += f.Bytes
		if f.number >= shelved {
			shelf = append(shelf, f)
		}
	}
	slices.SortFunc(shelf, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	keep := int64(r.files()-1) * int64(r.fileMB()) * 1e6
	for i, f := range shelf {
		if total-f.Bytes < keep && len(shelf)-i <= maxFiles {
			return nil
		}
		path := filepath.Join(r.Dir, f.Name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %q, which is beyond the ring: %w", path, bare(err))
		}
		total -= f.Bytes
	}
	return nil
}
