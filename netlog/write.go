package netlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"
)

// A file is what of an *os.File a Writer uses once it is open.
type file interface {
	io.Writer
	Sync() error
	Close() error
}

// begin queues the start line, behind what ends a line that was cut short.
func (w *Writer) begin(c WriterConfig, mend string) {
	w.start = Start{
		Format:  Format,
		Program: c.Program,
		Version: c.Version,
		PID:     os.Getpid(),
		Mode:    c.Mode,
		Limits:  c.Limits,
	}
	l := w.newLine(0)
	l.start(&w.start)
	w.mu.Lock()
	defer w.mu.Unlock()
	if mend != "" {
		w.add([]byte(mend))
		w.queued, w.pending = int64(len(mend)), int64(len(mend))
		w.progress = time.Now()
	}
	w.put(l, EventStart, 0, 0, 0)
}

// run writes what is queued until Close.
func (w *Writer) run() {
	defer close(w.done)
	defer w.scan.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	w.forcing.ended = time.Now()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	begun := false // the file holds a line of this process
	for {
		b, ok, last := w.take()
		switch {
		case ok:
			if begun {
				w.attend(b)
			}
			begun = true
			if b.first > 0 && !w.turn(b) || b.first == 0 && !w.write(b.b) {
				return
			}
			w.recycle(b)
			w.forcing.dirty = true
			w.forcing.wanted = w.forcing.wanted || b.ended
		case last:
			w.forceAll()
			return
		default:
			if wait, ok := w.untilForced(); ok {
				timer.Reset(wait)
			}
			select {
			case <-w.wake:
			case <-timer.C:
			case err := <-w.forcing.running:
				w.haveForced(err)
			case <-look.C:
				w.attend(batch{})
			}
		}
		w.force()
		if !ok {
			runtime.Gosched() // who is about to add lines adds them to this write
		}
	}
}

// write writes all of b, however often it takes. It is false when Close has
// given up.
func (w *Writer) write(b []byte) bool {
	for {
		n, err := w.file.Write(b)
		err = bare(err) // the file may have another name by now
		if b = b[n:]; err == nil && len(b) > 0 {
			err = io.ErrShortWrite
		}
		w.wrote(n, err)
		if len(b) == 0 {
			return true
		}
		if !w.pause() {
			return false
		}
	}
}

// pause waits before something that failed is tried again. It is false when Close
// has given up.
func (w *Writer) pause() bool {
	select {
	case <-w.quit:
		return false
	case <-time.After(50 * time.Millisecond):
		return true
	}
}

// wrote takes note of a write of n bytes, and reports the first that fails and
// the first that does not.
func (w *Writer) wrote(n int, err error) {
	w.mu.Lock()
	w.stats.Writes++
	w.stats.Bytes += int64(n)
	failed := w.stats.Err != nil || w.stalled && n > 0
	w.stats.Err = err
	if err != nil {
		w.stats.Failures++
	}
	if n > 0 {
		w.queued -= int64(n)
		w.pending -= int64(n)
		w.progress = time.Now()
		w.stalled = false
		if w.serving < w.tickets {
			w.room.Broadcast()
		}
	}
	s := w.stats
	w.mu.Unlock()
	switch {
	case err != nil && !failed:
		w.log.Error("writing the network log failed: it is tried again", "log", w.path, "error", err)
	case err == nil && failed:
		w.log.Warn("the network log can be written again", "log", w.path, "lost", s.Lost, "cut", s.Cut)
	}
}

func (w *Writer) recycle(b batch) {
	const keep = 4
	if b.line != nil && cap(b.line.b) <= pooledLine {
		w.longLines.Put(b.line)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !b.own && len(w.spare) < keep {
		w.spare = append(w.spare, b.b[:0])
	}
}

// Close ends what is still open as stopped, writes what is queued, forces it to
// the disk unless that is never to be done, and unlocks the file. It gives up
// with an error when nothing can be written for as long as a stall takes. A disk
// that takes longer only to say that it has all of it is no error: Logger hears
// of it.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.once.Do(func() { w.closing = w.close() })
	return w.closing
}

func (w *Writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.dismiss()
	ids := make([]int64, 0, len(w.opened))
	for id := range w.opened {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		w.owed = append(w.owed, owed{id, w.opened[id], CodeStopped, "the proxy was stopped"})
	}
	clear(w.opened)
	w.progress = time.Now()
	w.rouse()
	w.mu.Unlock()

	err := w.await()
	w.mu.Lock()
	file := w.file
	w.mu.Unlock()
	if e := file.Close(); err == nil && e != nil {
		err = fmt.Errorf("close network log %q: %w", w.path, bare(e))
	}
	return err
}

var errHangs = errors.New("the disk does not answer")

// await waits for the last line to be written, as long as something is.
func (w *Writer) await() error {
	for {
		w.mu.Lock()
		wait := time.Until(w.progress.Add(w.stall))
		pending, owed, cause := w.pending, len(w.owed), w.stats.Err
		w.mu.Unlock()
		if wait <= 0 {
			close(w.quit)
			if pending == 0 && owed == 0 {
				w.log.Warn("the network log is written, but the disk has not confirmed it in time", "log", w.path)
				return nil
			}
			if cause == nil {
				cause = errHangs
			}
			return fmt.Errorf("close network log %q: %d bytes and %d ends could not be written: %w", w.path, pending, owed, cause)
		}
		select {
		case <-w.done:
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.unforced != nil {
				return fmt.Errorf("close network log %q: it is written, but could not be forced to the disk: %w", w.path, w.unforced)
			}
			return nil
		case <-time.After(wait):
		}
	}
}
