package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// A Ring is a folder of captures, of one container or of several.
type Ring struct {
	Dir string

	// Temp is the folder of the copies, which have no name there. Empty means
	// os.TempDir(). A copy that costs nothing, on a file system that can share
	// blocks (XFS, Btrfs), stands in Dir if that can be written.
	Temp string
}

// A Capture is one file of a ring.
type Capture struct {
	Name       string    `json:"name"`
	Container  string    `json:"container"` // Name without ".pcap" and the number
	Bytes      int64     `json:"bytes"`
	ModifiedAt time.Time `json:"modified_at"` // UTC
}

// List returns what is captured, ordered by container, then by when it was last
// written, then by name: each container's files in the order in which they were
// captured, which is not the numbers', as the ring wraps. Only regular files are
// captures; links are not, wherever they lead. A folder that is not there has
// none.
func (r Ring) List() ([]Capture, error) {
	entries, err := os.ReadDir(r.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("list the captures of %q: %w", r.Dir, bare(err))
	}
	var all []Capture
	for _, e := range entries {
		of, ok := NameOf(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info() // of the name itself, not of what a link leads to
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been renamed or deleted
		} else if err != nil {
			return nil, fmt.Errorf("list the captures of %q: look at %q: %w", r.Dir, e.Name(), bare(err))
		}
		if info.Mode().IsRegular() {
			all = append(all, newCapture(e.Name(), of, info))
		}
	}
	slices.SortFunc(all, func(a, b Capture) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), a.ModifiedAt.Compare(b.ModifiedAt), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

func newCapture(name, container string, info fs.FileInfo) Capture {
	return Capture{Name: name, Container: container, Bytes: info.Size(), ModifiedAt: info.ModTime().UTC()}
}

// bare drops the path from an error: the caller names it.
func bare(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
