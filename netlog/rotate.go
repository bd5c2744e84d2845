package netlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A rotation makes the live file one of the older ones when it has grown to its
// size: it is given its second name, then a file that is locked and begun takes
// its first one. There is no moment without a log, and after a crash at any
// point all of it is there. Only the goroutine that writes uses it.
//
// The start line of the new file gets its number, and names the ids that are open,
// when it is put into the queue, behind the lines that still go to the old file.
// Where the turn fails, an unrotated line takes its number in the old file.
type rotation struct {
	path string
	max  int64 // bytes; 0: there is none
	keep int   // files; 0: all
	sync bool  // force what is renamed to the disk
}

// nextName is the name of a file that is to become the live one.
func nextName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".next")
}

// nameOf is the name that the live file gets whose first line is n.
func nameOf(path string, n int64) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "." + strconv.FormatInt(n, 10) + ext
}

// tidy removes what a crash in the middle of a turn has left: a file that did not
// become the live one, and the live file's second name.
func (r *rotation) tidy(live *os.File) error {
	if err := os.Remove(nextName(r.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	first, err := firstOf(live)
	if err != nil || first == 0 {
		return err
	}
	if older := nameOf(r.path, first); isNamed(live, older) {
		return os.Remove(older)
	}
	return nil
}

// firstOf is the number of the first line that is in f now; 0 for none.
func firstOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return firstNumber(f, info.Size())
}

// try finds out, before it is needed, whether files can be made and linked in the folder.
func (r *rotation) try() error {
	f, err := r.make(0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	next := nextName(r.path)
	defer os.Remove(next)
	other := next + ".link"
	if err := os.Link(next, other); err != nil {
		return err
	}
	return os.Remove(other)
}

// isNamed tells whether name is one of f.
func isNamed(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, named)
}

// make makes and locks the next file.
func (r *rotation) make(mode os.FileMode) (*os.File, error) {
	name := nextName(r.path)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, mode)
	if err != nil {
		return nil, err
	}
	if err = f.Chmod(mode); err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		f.Close()
		os.Remove(name)
		return nil, err
	}
	return f, nil
}

// turn makes a file that begins with the line the live one, in the place of live
// or, where that was deleted or moved away, where it was: then older is "".
func (r *rotation) turn(live *os.File, line []byte) (next *os.File, older string, err error) {
	info, err := live.Stat()
	if err != nil {
		return nil, "", err
	}
	switch named, err := os.Lstat(r.path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, "", err
	case !os.SameFile(info, named):
		return nil, "", errTaken
	default:
		first, err := firstNumber(live, info.Size())
		if err != nil {
			return nil, "", err
		}
		if first == 0 {
			return nil, "", errors.New("it has no line")
		}
		older = nameOf(r.path, first)
	}
	if next, err = r.make(info.Mode().Perm()); err != nil {
		return nil, "", err
	}
	if _, err = next.Write(line); err == nil && r.sync {
		err = errors.Join(live.Sync(), next.Sync())
	}
	if err == nil {
		err = r.place(live, older)
	}
	if err != nil {
		next.Close()
		return nil, "", errors.Join(err, r.tidy(live))
	}
	return next, older, nil
}

var errTaken = errors.New("another file has its name by now")

// place gives the next file the live one's name, and that the older one, if it is
// still there. No name that is taken by another file is taken from it.
func (r *rotation) place(live *os.File, older string) error {
	next := nextName(r.path)
	if older == "" {
		if err := os.Link(next, r.path); err != nil {
			return err
		}
		return os.Remove(next)
	}
	if err := os.Link(r.path, older); err != nil && !(errors.Is(err, fs.ErrExist) && isNamed(live, older)) {
		return err
	}
	return os.Rename(next, r.path)
}

// drop deletes the oldest files when there are too many with the live one.
func (r *rotation) drop(live *os.File) error {
	if r.keep == 0 {
		return nil
	}
	first, err := firstOf(live)
	if err != nil {
		return err
	}
	older, err := openOlder(r.path, first)
	if err != nil {
		return err
	}
	defer (&Log{files: older}).Close()
	for _, f := range older[:max(len(older)-max(r.keep-1, 0), 0)] {
		if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncFolder forces the names in a file's folder to the disk.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// putTurn queues the start line of the next file when the live one has grown to
// its size: not while what the last process left open is still to be found in it.
func (w *Writer) putTurn() {
	if w.rotation.max > 0 && w.size >= w.rotation.max && !w.recovering && !w.stats.Gone {
		w.putNext()
	}
}

// putNext queues the start line of the next file.
func (w *Writer) putNext() {
	w.size = 0
	s := w.start
	for id := range w.opened {
		s.Open = append(s.Open, id)
	}
	for _, o := range w.owed {
		s.Open = append(s.Open, o.id)
	}
	slices.Sort(s.Open)
	l := w.newLine(int64(len(s.Open)) * 20)
	l.start(&s)
	first := w.next
	b := w.number(l, EventStart, 0, w.micros(time.Time{}))
	w.queued += int64(len(b))
	w.queue = append(w.queue, batch{b: b, own: true, first: first})
}

// turn makes the next file, which b begins, the live one, or goes on with the old
// one. It is false when Close has given up.
func (w *Writer) turn(b batch) bool {
	live, ok := w.file.(*os.File)
	if !ok || isCut(live) {
		return w.write(b.b) // it is begun in its own place
	}
	w.watch.turning = false
	next, older, err := w.rotation.turn(live, b.b)
	if err != nil {
		w.refused(err)
		return w.write(w.unrotated(b.b))
	}
	w.refused(nil)
	w.wrote(len(b.b), nil)
	if older == "" {
		w.renewed()
	}
	w.goOn(live, next)
	return true
}

// unrotated is the line that takes the number of a start line.
func (w *Writer) unrotated(start []byte) []byte {
	h, _, _ := parseHead(start)
	h.Event = EventUnrotated
	b, _ := AppendLine(nil, &Line{Head: h})
	w.mu.Lock()
	defer w.mu.Unlock()
	less := int64(len(start) - len(b))
	w.queued -= less
	w.pending -= less
	return b
}

// goOn makes next the live file.
func (w *Writer) goOn(live, next *os.File) {
	w.mu.Lock()
	w.file = next
	w.mu.Unlock()
	if w.forcing.running != nil { // of live, which the turn has forced too
		w.haveForced(<-w.forcing.running)
	}
	live.Close()
	if w.rotation.sync {
		w.forced(syncFolder(w.path))
	}
	if err := w.rotation.drop(next); err != nil {
		w.log.Error("the oldest file of the network log could not be deleted", "log", w.path, "error", err)
	}
}

// refused reports why there is no next file, once, and when there is one again.
func (w *Writer) refused(err error) {
	switch {
	case err == nil && w.refusal != "":
		w.log.Warn("the network log can be rotated again", "log", w.path)
		w.refusal = ""
	case err != nil && w.refusal != err.Error():
		w.log.Error("the network log can't be rotated and goes on as it is", "log", w.path, "error", err)
		w.refusal = err.Error()
	}
}
