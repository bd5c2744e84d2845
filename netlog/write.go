package netlog

import (
	"errors"
	"fmt"
	"io"
	"os"
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
	l := w.newLine(0)
	l.start(&Start{
		Format:  Format,
		Program: c.Program,
		Version: c.Version,
		PID:     os.Getpid(),
		Mode:    c.Mode,
		Limits:  c.Limits,
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if mend != "" {
		w.queued += int64(len(mend))
		w.add([]byte(mend))
	}
	w.put(l, EventStart, 0, 0, 0)
}

// run writes what is queued until Close.
func (w *Writer) run() {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	dirty := false
	synced := time.Now()
	for {
		b, ok, last := w.take()
		switch {
		case ok:
			if !w.write(b.b) {
				return
			}
			w.recycle(b)
			dirty = true
			if w.sync == SyncEnd && b.ended || w.sync == SyncInterval && time.Since(synced) >= w.interval {
				w.flush()
				dirty, synced = false, time.Now()
			}
		case last:
			if dirty && w.sync != SyncNever {
				w.flush()
			}
			return
		case dirty && w.sync == SyncInterval:
			timer.Reset(time.Until(synced.Add(w.interval)))
			select {
			case <-w.wake:
			case <-timer.C:
				w.flush()
				dirty, synced = false, time.Now()
			}
		default:
			<-w.wake
		}
	}
}

// write writes all of b, however often it takes. It is false when Close has
// given up.
func (w *Writer) write(b []byte) bool {
	const first, most = 10 * time.Millisecond, time.Second
	pause := first
	for {
		n, err := w.file.Write(b)
		if b = b[n:]; err == nil && len(b) > 0 {
			err = io.ErrShortWrite
		}
		w.wrote(n, err)
		if len(b) == 0 {
			return true
		}
		if n > 0 {
			pause = first
		}
		select {
		case <-w.quit:
			return false
		case <-time.After(pause):
			pause = min(2*pause, most)
		}
	}
}

// wrote takes note of a write of n bytes.
func (w *Writer) wrote(n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Writes++
	if err != nil {
		w.stats.Failures++
		if w.stats.Err == nil {
			w.log.Error("writing the network log failed: it is tried again", "log", w.path, "error", err)
		}
	}
	w.stats.Err = err
	if n == 0 {
		return
	}
	w.stats.Bytes += int64(n)
	w.queued -= int64(n)
	w.progress = time.Now()
	if w.stalled {
		w.stalled = false
		w.log.Info("the network log can be written again", "log", w.path, "lost", w.stats.Lost, "cut", w.stats.Cut)
	}
	if w.serving < w.tickets {
		w.room.Broadcast()
	}
}

func (w *Writer) flush() {
	err := w.file.Sync()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.stats.Failures++
		if !w.unsynced {
			w.log.Error("the network log could not be forced to the disk", "log", w.path, "error", err)
		}
	}
	w.unsynced = err != nil
}

func (w *Writer) recycle(b batch) {
	const keep = 4
	w.mu.Lock()
	defer w.mu.Unlock()
	if !b.own && len(w.spare) < keep {
		w.spare = append(w.spare, b.b[:0])
	}
}

// Close ends what is still open as stopped, writes what is queued, forces it to
// the disk unless that is never to be done, and unlocks the file. It gives up
// with an error when nothing can be written for as long as a stall takes.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		<-w.done
		return nil
	}
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
	w.scan.Wait()

	err := w.await()
	if e := w.file.Close(); err == nil && e != nil {
		err = fmt.Errorf("close network log %q: %w", w.path, e)
	}
	return err
}

var errHangs = errors.New("the disk does not answer")

// await waits for the last line to be written, as long as something is.
func (w *Writer) await() error {
	for {
		w.mu.Lock()
		wait := time.Until(w.progress.Add(w.stall))
		queued, cause := w.queued, w.stats.Err
		w.mu.Unlock()
		if wait <= 0 {
			close(w.quit)
			if cause == nil {
				cause = errHangs
			}
			return fmt.Errorf("close network log %q: %d bytes could not be written: %w", w.path, queued, cause)
		}
		select {
		case <-w.done:
			return nil
		case <-time.After(wait):
		}
	}
}
