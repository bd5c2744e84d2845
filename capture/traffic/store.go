package traffic

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentenv/netlog/capture"
)

// headRoom holds a capture's header and its first packet, however large.
const headRoom = 24 + 16 + 256<<10

// store brings a download into the folder as f, unless it is there already.
func (n *collection) store(d *Download, f File) error {
	in := bufio.NewReaderSize(&counted{n, d, f}, headRoom)
	begin, err := in.Peek(headRoom)
	if err != nil && err != io.EOF {
		return err
	}
	if err := f.identify(begin); err != nil {
		return err
	}
	old := n.find(f)
	if old != nil && !f.news(*old, d.Size) {
		return nil
	}
	t, err := createTemp(n.Dir)
	if err != nil {
		return err
	}
	defer t.remove() // when it has no name by then
	sum := sha256.New()
	if f.Size, err = io.Copy(io.MultiWriter(t, sum), in); err != nil {
		return err
	}
	if d.Size >= 0 && f.Size != d.Size {
		return fmt.Errorf("%d bytes have come of %d", f.Size, d.Size)
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if old != nil && (!f.news(*old, f.Size) || f.SHA256 == old.SHA256) {
		return nil
	}
	if err := t.finish(); err != nil {
		return err
	}
	return n.place(t, f, old)
}

// counted tells of what arrives.
type counted struct {
	n *collection
	r io.Reader
	f File
}

func (c *counted) Read(b []byte) (int, error) {
	k, err := c.r.Read(b)
	c.n.done += int64(k)
	if c.n.Progress != nil {
		name := c.f.Capture
		if name == "" {
			name = harName
		}
		c.n.Progress(Progress{File: name, Done: c.n.done, Total: c.n.total})
	}
	return k, err
}

var started = regexp.MustCompile(`"startedDateTime"\s*:\s*"([^"\\]{1,64})"`)

// identify says which file it is, by how it begins.
func (f *File) identify(begin []byte) error {
	if f.Container == "" {
		if m := started.FindSubmatch(begin); m != nil {
			f.FirstEntry = string(m[1])
		}
		return nil
	}
	h, err := capture.ReadHead(bytes.NewReader(begin), int64(len(begin)))
	if err != nil {
		return err
	}
	if !h.First.IsZero() {
		f.FirstPacket = h.First.Format(time.RFC3339Nano)
	}
	return nil
}

// news says whether a file of that size (-1: not known) has something that old,
// which began the same, has not. A capture only grows; a HAR may do anything.
func (f *File) news(old File, size int64) bool {
	return f.Container == "" || size < 0 || size > old.Size
}

// find returns the file in the manifest that f is a later state of; nil for none.
// One that had nothing yet is told by its name at the server.
func (n *collection) find(f File) *File {
	for i := range n.manifest.Files {
		if old := &n.manifest.Files[i]; f.continues(*old) {
			return old
		}
	}
	return nil
}

func (f *File) continues(old File) bool {
	switch {
	case f.Container != old.Container:
		return false
	case f.Container == "":
		return old.FirstEntry == f.FirstEntry || old.FirstEntry == ""
	case old.FirstPacket == "":
		return old.Capture == f.Capture
	}
	return old.FirstPacket == f.FirstPacket
}

// place gives a file its name and the manifest its line, as nearly at once as two
// renames are: what can fail comes before them.
func (n *collection) place(t *temp, f File, old *File) (err error) {
	var was []File // what the file's line was, if it had one
	if old != nil {
		f.Name, was = old.Name, []File{*old}
		*old = f
	} else {
		f.Name = n.name(f)
		n.manifest.Files = append(n.manifest.Files, f)
	}
	defer func() {
		if err != nil {
			i := slices.Index(n.manifest.Files, f)
			n.manifest.Files = slices.Replace(n.manifest.Files, i, i+1, was...)
		}
	}()
	if len(n.manifest.Files) > manyFiles && time.Since(n.saved) < time.Second {
		return t.rename(f.Name) // the manifest is long, and to be saved soon
	}
	n.set(errUnfinished)
	commit, discard, err := n.manifest.prepare(n.Dir)
	if err != nil {
		return err
	}
	if err := t.rename(f.Name); err != nil {
		discard()
		return err
	}
	if err := commit(); err != nil {
		discard()
		return err
	}
	n.saved = time.Now()
	if n.Saved != nil {
		n.Saved()
	}
	return nil
}

const manyFiles = 1000

// name is a new one: that of the same file when it is gone from the folder, else
// the number after the container's last. No other file has it.
func (n *collection) name(f File) string {
	i := slices.IndexFunc(n.gone, func(g File) bool { return f.continues(g) && n.free(g.Name) })
	if i >= 0 {
		name := n.gone[i].Name
		n.gone = slices.Delete(n.gone, i, i+1)
		return name
	}
	next := n.next[f.Container]
	for !n.free(f.numbered(next)) {
		next++
	}
	n.next[f.Container] = next + 1
	return f.numbered(next)
}

func (n *collection) free(name string) bool {
	_, err := os.Lstat(filepath.Join(n.Dir, name))
	return errors.Is(err, fs.ErrNotExist)
}

// numbered is the name of the container's file of that number; of HARs the first
// has none.
func (f *File) numbered(number int) string {
	switch {
	case f.Container != "":
		return fmt.Sprintf("%s-%02d.pcap", f.Container, number)
	case number == 0:
		return harName
	}
	return fmt.Sprintf("network-%02d.har", number)
}

// number is the inverse of numbered.
func (f *File) number(name string) (int, bool) {
	if f.Container == "" && name == harName {
		return 0, true
	}
	begin, end := f.Container+"-", ".pcap"
	if f.Container == "" {
		begin, end = "network-", ".har"
	}
	digits, ok := strings.CutPrefix(name, begin)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, end); !ok {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil && number >= 0 && f.numbered(number) == name
}
