package netlog

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// lookEvery is how often the Writer looks whether its path still names its file.
const lookEvery = time.Second

// A watch is what the writing goroutine knows of its file's fate.
type watch struct {
	looked  time.Time // when the path was last looked at
	said    string    // what is wrong, as it was reported
	turning bool      // a start line for the file after a moved one is queued
}

// attend sees to it that a log that was cut to nothing, deleted or moved away by
// somebody else goes on where it is looked for, before b is written.
func (w *Writer) attend(b batch) {
	live, ok := w.file.(*os.File)
	if !ok || b.first > 0 {
		return
	}
	info, err := live.Stat()
	if err != nil {
		return
	}
	deleted := links(info) == 0
	if !deleted && info.Size() == 0 {
		w.beginAgain(b)
		return
	}
	if time.Since(w.watch.looked) < lookEvery && !(deleted && w.watch.said == "") {
		return
	}
	w.watch.looked = time.Now()
	switch named, err := os.Lstat(w.path); {
	case err == nil && os.SameFile(info, named):
		w.found()
	case err == nil:
		w.astray(errTaken.Error())
	case !errors.Is(err, fs.ErrNotExist) || w.watch.turning || w.isRecovering():
	case deleted:
		w.replace(live, b)
	default:
		w.follow()
	}
}

func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// isCut says whether f, which had lines, has none.
func isCut(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Size() == 0 && links(info) > 0
}

// beginAgain writes a start line into the file that was cut to nothing.
func (w *Writer) beginAgain(b batch) {
	line := w.startBefore(b)
	if line == nil {
		return
	}
	w.mu.Lock()
	w.queued += int64(len(line))
	w.pending += int64(len(line))
	w.stats.Renewed++
	w.mu.Unlock()
	w.log.Error("the network log was cut to nothing and goes on", "log", w.path)
	w.write(line)
}

// replace makes a file in the place of the deleted one. Nothing that is still to
// be written is lost.
func (w *Writer) replace(live *os.File, b batch) {
	line := w.startBefore(b)
	if line == nil {
		return
	}
	next, _, err := w.rotation.turn(live, line)
	if err != nil {
		w.astray("it was deleted, and no other can be begun: " + err.Error())
		return
	}
	w.mu.Lock()
	w.stats.Writes++
	w.stats.Bytes += int64(len(line))
	w.size = int64(len(line)) + w.pending
	w.mu.Unlock()
	w.renewed()
	w.goOn(live, next)
}

// follow queues the start line of a file in the place of the one that was moved
// away: what is queued before it still goes to that.
func (w *Writer) follow() {
	if err := w.rotation.try(); err != nil {
		w.astray("it was moved away, and no other can be begun: " + err.Error())
		return
	}
	w.watch.turning = true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.putNext()
}

// astray reports, once, why lines go to a file that the path does not name.
func (w *Writer) astray(reason string) {
	w.mu.Lock()
	w.stats.Gone = true
	w.mu.Unlock()
	if w.watch.said != reason {
		w.watch.said = reason
		w.log.Error("the network log is written to a file that has lost its name", "log", w.path, "reason", reason)
	}
}

// renewed reports that a file was begun in the place of another.
func (w *Writer) renewed() {
	w.mu.Lock()
	w.stats.Renewed++
	w.stats.Gone = false
	w.mu.Unlock()
	w.watch.said = ""
	w.log.Error("the network log was deleted or moved away: a new one is begun", "log", w.path)
}

// found reports that the path names the file again.
func (w *Writer) found() {
	if w.watch.said == "" {
		return
	}
	w.watch.said = ""
	w.mu.Lock()
	w.stats.Gone = false
	w.mu.Unlock()
	w.log.Warn("the network log has its name again", "log", w.path)
}

func (w *Writer) isRecovering() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.recovering
}

// startBefore is a start line for a file whose next line is the first of b and the
// queue. It has the number before that, whose line is gone, and names what was open
// then. It is nil when what comes next is itself a start line.
func (w *Writer) startBefore(b batch) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.start
	next := int64(0)
	at := w.began.Add(time.Duration(w.micros(time.Time{})) * time.Microsecond)
	for _, waiting := range append([]batch{b}, w.queue...) {
		for raw := range bytes.Lines(waiting.b) {
			h, _, ok := parseHead(raw)
			if !ok {
				continue
			}
			if next == 0 {
				if h.Event == EventStart {
					return nil
				}
				next, at = h.N, h.Time
			}
			if h.Event == EventEnd && h.ID < next {
				s.Open = append(s.Open, h.ID)
			}
		}
	}
	if next == 0 {
		next = w.next
	}
	if next == 1 {
		return nil
	}
	for id := range w.opened {
		if id < next {
			s.Open = append(s.Open, id)
		}
	}
	for _, o := range w.owed {
		if o.id < next {
			s.Open = append(s.Open, o.id)
		}
	}
	slices.Sort(s.Open)
	line, _ := AppendLine(nil, &Line{Head: Head{N: next - 1, Event: EventStart, Time: at}, Start: &s})
	return line
}
