package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// A Journal changes files of a system so that they can be made again what they
// were, byte for byte, by another process: it writes down first, in a file that
// only its owner reads, what each held.
type Journal struct {
	tree  *tree
	lock  *os.File
	file  string
	state journalState
}

type journalState struct {
	Files     []record  `json:"files,omitempty"`
	Made      []listing `json:"made,omitempty"`      // folders whose files a tool makes
	Folders   []string  `json:"folders,omitempty"`   // that were made, each above those behind it
	Databases []string  `json:"databases,omitempty"` // NSS databases, and folders above them, that were made
	Trusting  []string  `json:"trusting,omitempty"`  // NSS databases that were given the certificate
	Stale     []string  `json:"stale,omitempty"`     // stores whose tool has not been told yet of what was undone
}

// A record is what a file was and what it became.
type record struct {
	Path   string      `json:"path"`
	Before []byte      `json:"before,omitempty"`
	Was    bool        `json:"was"` // it was there
	Mode   fs.FileMode `json:"mode,omitempty"`
	After  string      `json:"after,omitempty"` // the SHA-256 of what it became; "": not done yet
}

// An Edit is a change of one file. It is the same to make and to undo.
type Edit struct {
	Path string
	Mode fs.FileMode // of a file that is made; 0: 0644
	// Apply gives the content with ours in it; old is nil when there is no file.
	Apply func(old []byte) ([]byte, error)
	// Revert gives the content without ours, when others have changed the file since;
	// nil: the file is deleted.
	Revert func(now []byte) []byte
}

// OpenJournal reads what the journal at file, a path within root, has written down.
// Root is the folder that holds the system; "" or "/": this one. Until it is closed
// there is no other journal of that system: another process waits for a minute.
func OpenJournal(root, file string) (*Journal, error) {
	t, err := openTree(root)
	if err != nil {
		return nil, err
	}
	lock, err := t.lock(lockWait)
	if err != nil {
		t.close()
		return nil, err
	}
	j := &Journal{tree: t, lock: lock, file: file}
	raw, _, err := t.read(file)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &j.state)
	}
	if err != nil {
		j.Close()
		return nil, fmt.Errorf("read what was changed, in %q: %w", file, err)
	}
	return j, nil
}

// Close ends the use of the journal, which stays.
func (j *Journal) Close() {
	j.tree.unlock(j.lock)
	j.tree.close()
}

// Empty tells a journal in which nothing stands.
func (j *Journal) Empty() bool {
	return len(j.state.Files)+len(j.state.Made)+len(j.state.Folders)+len(j.state.Databases)+len(j.state.Trusting)+len(j.state.Stale) == 0
}

// stale notes that a store's tool is to be told of what is being undone. It is saved
// with that.
func (s *journalState) stale(store string) {
	if !slices.Contains(s.Stale, store) {
		s.Stale = append(s.Stale, store)
	}
}

func (j *Journal) freshened(store string) error {
	j.state.Stale = slices.DeleteFunc(j.state.Stale, func(s string) bool { return s == store })
	return j.save()
}

func (j *Journal) save() error {
	made, err := j.tree.makeFolder(path.Dir(j.file))
	if err != nil {
		return err
	}
	j.state.Folders = append(j.state.Folders, made...)
	raw, err := json.Marshal(j.state)
	if err != nil {
		return err
	}
	return j.tree.replace(j.file, raw, 0o600)
}

func (j *Journal) record(path string) *record {
	for i := range j.state.Files {
		if j.state.Files[i].Path == path {
			return &j.state.Files[i]
		}
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Begin makes the journal, and the folder that it is in.
func (j *Journal) Begin() error { return j.save() }

// Read gives a file of the system's; nil when it is not there.
func (j *Journal) Read(path string) ([]byte, error) {
	content, _, err := j.tree.read(path)
	return content, err
}

// Edit makes the change. A file that it has changed before is first what it would
// be without.
func (j *Journal) Edit(e Edit) error {
	now, mode, err := j.tree.read(e.Path)
	if err != nil {
		return err
	}
	r := j.record(e.Path)
	switch {
	case r == nil:
		j.state.Files = append(j.state.Files, record{Path: e.Path, Before: now, Was: now != nil, Mode: mode})
		r = &j.state.Files[len(j.state.Files)-1]
	case now != nil && digest(now) == r.After:
		now = r.content()
	case now != nil:
		now = e.Revert(now)
		r.Before, r.Was = now, now != nil
	default:
		r.Before, r.Was = nil, false
	}
	changed, err := e.Apply(now)
	if err != nil {
		return fmt.Errorf("%q: %w", e.Path, err)
	}
	made, err := j.tree.makeFolder(path.Dir(e.Path))
	j.state.Folders = append(j.state.Folders, made...)
	if err != nil {
		return err
	}
	r.After = digest(changed)
	if err := j.save(); err != nil {
		return err
	}
	mode = e.Mode
	if mode == 0 {
		mode = 0o644
	}
	return j.tree.write(e.Path, changed, mode)
}

// content is what the file was; nil when it was not.
func (r *record) content() []byte {
	if !r.Was {
		return nil
	}
	if r.Before == nil {
		return []byte{}
	}
	return r.Before
}

// Undo makes the file of an edit what it was, or takes ours out of it when others
// have changed it. A file that was not changed by the journal stays.
func (j *Journal) Undo(e Edit) error {
	r := j.record(e.Path)
	if r == nil {
		return nil
	}
	now, _, err := j.tree.read(e.Path)
	if err != nil {
		return err
	}
	if now != nil {
		want := r.content()
		if digest(now) != r.After && !bytes.Equal(now, want) {
			want = e.Revert(now)
		}
		if want == nil {
			err = j.tree.remove(e.Path)
		} else {
			err = j.tree.write(e.Path, want, r.Mode)
		}
		if err != nil {
			return err
		}
	}
	return j.forget(e.Path)
}

func (j *Journal) forget(path string) error {
	j.state.Files = slices.DeleteFunc(j.state.Files, func(r record) bool { return r.Path == path })
	return j.save()
}

// Finish removes the folders that were made, as far as they are empty, and the
// journal itself once nothing stands in it.
func (j *Journal) Finish() error {
	if len(j.state.Files)+len(j.state.Made)+len(j.state.Trusting)+len(j.state.Stale) > 0 {
		return errors.New("not everything could be made what it was")
	}
	if err := j.tree.remove(j.file); err != nil {
		return err
	}
	for _, folder := range slices.Backward(j.state.Folders) {
		j.tree.remove(folder) // which fails when others have come to use it
	}
	j.state = journalState{}
	return nil
}
