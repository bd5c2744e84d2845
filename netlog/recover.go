package netlog

import (
	"cmp"
	"os"
	"slices"
)

// recover ends what the file's last process left open: the file's first size
// bytes are what that process wrote.
func (w *Writer) recover(f *os.File, size int64) {
	left, err := w.leftOpen(f, size)
	if err != nil {
		w.log.Error("what the last process left open could not be found", "log", w.path, "error", err)
	}
	if len(left) > 0 {
		w.log.Info("ending what the last process left open", "log", w.path, "entries", len(left))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recovering = false
	w.owed = append(w.owed, left...)
	w.rouse()
}

// leftOpen scans for ids that have an open line, or stand in a start line, and
// no end line. It returns nothing when Close is called meanwhile: then the next
// process finds them.
func (w *Writer) leftOpen(f *os.File, size int64) ([]owed, error) {
	const reason = "the proxy was restarted"
	log := &Log{files: []logFile{{File: f, size: size, live: true}}}
	open := make(map[int64]owed)
	var buf []byte
	s := log.scanFrom(0, 0)
	for lines := 0; s.Next(); lines++ {
		if lines%1024 == 0 && w.isClosed() {
			return nil, nil
		}
		h := s.Head()
		switch h.Event {
		case EventOpen:
			open[h.ID] = owed{h.ID, w.micros(h.Time), CodeRestarted, reason}
		case EventEnd:
			delete(open, h.ID)
		case EventStart:
			var err error
			if buf, err = log.ReadLine(s.Pos(), buf); err != nil {
				return nil, err
			}
			l, err := ParseLine(buf)
			if err != nil || l.Start == nil {
				continue
			}
			for _, id := range l.Start.Open {
				if _, ok := open[id]; !ok {
					open[id] = owed{id, w.micros(h.Time), CodeRestarted, reason}
				}
			}
		}
	}
	list := make([]owed, 0, len(open))
	for _, o := range open {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b owed) int { return cmp.Compare(a.id, b.id) })
	return list, s.Err()
}

func (w *Writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}
