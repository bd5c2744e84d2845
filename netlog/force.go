package netlog

import "time"

// A forcing is the log's way to the disk: fsync(2), for which no line waits, as a
// slow disk may take many seconds for one. Only the writing goroutine uses it.
type forcing struct {
	dirty   bool       // something was written since the last one began
	wanted  bool       // an end line among it
	running chan error // gets what the one under way gives; nil: none is
	ended   time.Time  // when the last one did
}

// force begins an fsync(2) if one is due and none is under way.
func (w *Writer) force() {
	f := &w.forcing
	select {
	case err := <-f.running:
		w.haveForced(err)
	default:
	}
	if f.running != nil || !f.dirty {
		return
	}
	if w.sync == SyncEnd && f.wanted || w.sync == SyncInterval && time.Since(f.ended) >= w.interval {
		w.beginForcing()
	}
}

func (w *Writer) beginForcing() {
	file, done := w.file, make(chan error, 1)
	w.forcing.dirty, w.forcing.wanted, w.forcing.running = false, false, done
	go func() { done <- bare(file.Sync()) }()
}

// haveForced takes note of the end of the one under way.
func (w *Writer) haveForced(err error) {
	w.forcing.running, w.forcing.ended = nil, time.Now()
	w.forced(err)
}

// forceAll is the last one.
func (w *Writer) forceAll() {
	if w.sync == SyncNever {
		return
	}
	if w.forcing.running != nil {
		w.haveForced(<-w.forcing.running)
	}
	if w.forcing.dirty {
		w.beginForcing()
		w.haveForced(<-w.forcing.running)
	}
}

// untilForced is how long it is until one is due, when that is for the clock to say.
func (w *Writer) untilForced() (wait time.Duration, ok bool) {
	if w.sync != SyncInterval || !w.forcing.dirty || w.forcing.running != nil {
		return 0, false
	}
	return time.Until(w.forcing.ended.Add(w.interval)), true
}

// forced takes note of what an fsync(2) has given, and reports the first that fails.
func (w *Writer) forced(err error) {
	w.mu.Lock()
	failed := w.unforced != nil
	w.unforced = err
	if err != nil {
		w.stats.Failures++
	}
	w.mu.Unlock()
	if err != nil && !failed {
		w.log.Error("the network log could not be forced to the disk", "log", w.path, "error", err)
	}
}
