package traffic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ManifestName is a manifest's in its folder.
const ManifestName = "manifest.json"

// A State is what has come of a collection.
type State string

const (
	Collected State = "collected" // all that the env had
	Partial   State = "partial"   // something is missing
	Failed    State = "failed"    // there is nothing
)

// A Manifest says what a folder has of an env. It is saved with each file, so that
// it is true whatever happens to who collects; when there are very many, with those
// of a second.
type Manifest struct {
	Address    string   `json:"address"`         // whom the last collection asked
	State      State    `json:"state"`           //
	Error      string   `json:"error,omitempty"` // why something is missing, at most 500 bytes
	Bytes      int64    `json:"bytes"`           // of all files
	Containers []string `json:"containers"`      // those of the captures
	Files      []File   `json:"files"`           // by container and first packet; HARs come last
	Notes      []string `json:"notes,omitempty"` // what went by, and is nobody's fault
}

// A File is one that was brought here whole.
type File struct {
	Name      string `json:"name"`                // in the folder
	Container string `json:"container,omitempty"` // empty: it is a HAR
	Capture   string `json:"capture,omitempty"`   // what the server called it
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`

	// FirstPacket is when that was captured, and FirstEntry when that of a HAR
	// began; empty when there is none. A file of the server's with another one is
	// another file.
	FirstPacket string `json:"first_packet,omitempty"`
	FirstEntry  string `json:"first_entry,omitempty"`
}

const maxManifestError = 500

// ReadManifest reads a folder's manifest. The error wraps fs.ErrNotExist when
// there is none.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the manifest %q: %w", path, bare(err))
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil || m.State == "" {
		return nil, fmt.Errorf("read the manifest %q: it is none", path)
	}
	return m, nil
}

// count brings up to date what follows from the files.
func (m *Manifest) count() {
	slices.SortStableFunc(m.Files, func(a, b File) int {
		return cmp.Or(last(a.Container == "", b.Container == ""), cmp.Compare(a.Container, b.Container), a.first().Compare(b.first()), cmp.Compare(a.Name, b.Name))
	})
	m.Bytes, m.Containers = 0, []string{}
	for _, f := range m.Files {
		m.Bytes += f.Size
		if n := len(m.Containers); f.Container != "" && (n == 0 || m.Containers[n-1] != f.Container) {
			m.Containers = append(m.Containers, f.Container)
		}
	}
}

// last is the order of two of which those that are something come last.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// first is when the first packet was captured, or the first entry began.
func (f File) first() time.Time {
	t, _ := time.Parse(time.RFC3339Nano, f.FirstPacket+f.FirstEntry)
	return t
}

// prepare writes the manifest beside the one that there is. What it returns puts
// it in its place.
func (m *Manifest) prepare(dir string) (commit func() error, discard func(), err error) {
	m.count()
	if m.Files == nil {
		m.Files = []File{}
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, nil, err
	}
	f, err := createTemp(dir)
	if err != nil {
		return nil, nil, err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.finish()); err != nil {
		f.remove()
		return nil, nil, err
	}
	return func() error { return f.rename(ManifestName) }, f.remove, nil
}

// tempPattern names the files that are not whole. No capture's name begins so.
const tempPattern = ".fetch-*.tmp"

// A temp is a file in the folder that is not there yet.
type temp struct {
	*os.File
	dir string
}

func createTemp(dir string) (*temp, error) {
	f, err := os.CreateTemp(dir, tempPattern) // 0600
	if err != nil {
		return nil, &localError{fmt.Errorf("make a file in %q: %w", dir, bare(err))}
	}
	return &temp{f, dir}, nil
}

func (t *temp) Write(b []byte) (int, error) {
	n, err := t.File.Write(b)
	if err != nil {
		err = &localError{fmt.Errorf("write in %q: %w", t.dir, bare(err))}
	}
	return n, err
}

// finish makes sure that the file is on the disk.
func (t *temp) finish() error {
	if err := errors.Join(t.Sync(), t.Close()); err != nil {
		return &localError{fmt.Errorf("write in %q: %w", t.dir, bare(err))}
	}
	return nil
}

func (t *temp) rename(name string) error {
	if err := os.Rename(t.Name(), filepath.Join(t.dir, name)); err != nil {
		return &localError{fmt.Errorf("name a file %q: %w", filepath.Join(t.dir, name), bare(err))}
	}
	return nil
}

func (t *temp) remove() {
	t.Close()
	os.Remove(t.Name())
}

// A localError is the disk's, not the server's.
type localError struct{ err error }

func (e *localError) Error() string { return e.err.Error() }
func (e *localError) Unwrap() error { return e.err }

// bare drops the path from an error: it may be that of a file with no name of its
// own.
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
