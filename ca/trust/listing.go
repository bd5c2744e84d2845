package trust

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
)

// A listing is what the files and links in a folder were, and what a tool made of
// them.
type listing struct {
	Path   string `json:"path"`
	Before []item `json:"before,omitempty"`
	After  string `json:"after,omitempty"` // the digest of the items then; "": not done yet
}

// An item is a file or a link in a folder.
type item struct {
	Name    string      `json:"name"`
	Link    string      `json:"link,omitempty"` // what it points to
	Content []byte      `json:"content,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
}

// items are those of a folder, by name; folders in it are none of them.
func (t *tree) items(folder string) ([]item, error) {
	var all []item
	for _, name := range t.list(folder) {
		info, err := t.lstat(path.Join(folder, name))
		if err != nil {
			return nil, err
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := t.readlink(path.Join(folder, name))
			if err != nil {
				return nil, err
			}
			all = append(all, item{Name: name, Link: target})
		case info.Mode().IsRegular():
			content, mode, err := t.read(path.Join(folder, name))
			if err != nil {
				return nil, err
			}
			all = append(all, item{Name: name, Content: content, Mode: mode})
		}
	}
	return all, nil
}

func digestItems(items []item) string {
	raw, err := json.Marshal(items)
	if err != nil {
		panic(err) // names and bytes have no way to fail
	}
	return digest(raw)
}

func (j *Journal) listing(folder string) *listing {
	for i := range j.state.Made {
		if j.state.Made[i].Path == folder {
			return &j.state.Made[i]
		}
	}
	return nil
}

// around notes what is in folders before and after work, a tool's, so that restore
// can bring it back.
func (j *Journal) around(folders []string, work func() error) error {
	for _, folder := range folders {
		now, err := j.tree.items(folder)
		if err != nil {
			return err
		}
		l := j.listing(folder)
		switch {
		case l == nil:
			j.state.Made = append(j.state.Made, listing{Path: folder, Before: now})
		case digestItems(now) != l.After: // others' doing
			l.Before = now
		}
	}
	if err := j.save(); err != nil {
		return err
	}
	err := work()
	for _, folder := range folders {
		now, e := j.tree.items(folder)
		err = errors.Join(err, e)
		j.listing(folder).After = digestItems(now)
	}
	return errors.Join(err, j.save())
}

// restore has work, a tool's, take ours out of folders, and then brings back what
// was in those that nobody has changed since around. When it fails, it may be called
// again.
func (j *Journal) restore(folders []string, work func() error) error {
	untouched := map[string]bool{}
	for _, folder := range folders {
		now, err := j.tree.items(folder)
		if err != nil {
			return err
		}
		l := j.listing(folder)
		untouched[folder] = l != nil && l.After == digestItems(now)
	}
	err := work()
	for _, folder := range folders {
		if l := j.listing(folder); untouched[folder] {
			err = errors.Join(err, j.tree.bringBack(folder, l.Before))
			l.After = digestItems(l.Before)
		}
	}
	if err != nil {
		return errors.Join(err, j.save())
	}
	j.state.Made = slices.DeleteFunc(j.state.Made, func(l listing) bool { return slices.Contains(folders, l.Path) })
	return j.save()
}

// bringBack makes a folder's files and links what they were.
func (t *tree) bringBack(folder string, before []item) error {
	now, err := t.items(folder)
	if err != nil {
		return err
	}
	for _, i := range now {
		if !slices.ContainsFunc(before, func(b item) bool { return b.same(i) }) {
			err = errors.Join(err, t.remove(path.Join(folder, i.Name)))
		}
	}
	for _, b := range before {
		switch at := path.Join(folder, b.Name); {
		case slices.ContainsFunc(now, b.same):
		case b.Link != "":
			err = errors.Join(err, t.symlink(b.Link, at))
		default:
			err = errors.Join(err, t.write(at, b.Content, b.Mode))
		}
	}
	return err
}

func (i item) same(other item) bool {
	return i.Name == other.Name && i.Link == other.Link && i.Mode == other.Mode && string(i.Content) == string(other.Content)
}
