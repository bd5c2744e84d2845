package netlog

import (
	"encoding/base64"
	"slices"
	"time"
)

const (
	// roughly is what a line without its bodies is taken to be, when room is
	// asked for before it is encoded.
	roughly = 2 << 10

	// batchBytes is how much goes out in one write. A longer line is a batch of
	// its own and is not copied.
	batchBytes = 256 << 10
	longLine   = batchBytes / 4

	// pooledLine is up to how many bytes what a long line was encoded in is used
	// again: an answer's body as far as it is kept by default, and then some.
	pooledLine = 2 << 20
)

// A batch is one or more whole lines.
type batch struct {
	b     []byte
	own   bool  // one long line, or the start line of a file
	line  *line // the long one; nil for others
	ended bool  // holds an end line
	first int64 // the number of that start line; 0 for any other
}

// An owed end is that of an exchange or a tunnel which this process can't give
// the end that it had.
type owed struct {
	id     int64
	opened int64 // its open line's t
	code   Code
	reason string
}

// A line is encoded without a lock, from headRoom on. Its beginning is put in
// front when its number is known.
type line struct {
	encoder
}

func (w *Writer) newLine(size int64) *line {
	lines, room := &w.lines, int64(8<<10)
	if size > longLine {
		lines, room = &w.longLines, headRoom+size
	}
	l, ok := lines.Get().(*line)
	if !ok || size > longLine && int64(cap(l.b)) < room {
		l = &line{encoder{b: make([]byte, headRoom, room)}}
	}
	l.b, l.err = l.b[:headRoom], nil
	return l
}

// encoded is what the body takes in a line, as far as it is long.
func (b *Body) encoded() int64 {
	if b == nil {
		return 0
	}
	n := int64(len(b.Chunks)) * 16
	if b.Kept != nil {
		n += int64(base64.StdEncoding.EncodedLen(int(b.Kept.Len())))
	}
	return n
}

// reserve waits until size bytes of a line of id have room, in the order of the calls;
// id is 0 for the line that opens one. It is false when id is not open, or when lines
// are given up, for a stall or after Close.
func (w *Writer) reserve(id, size int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stalled || w.closed {
		return false
	}
	if _, ok := w.opened[id]; !ok && id != 0 {
		return false
	}
	ticket := w.tickets
	w.tickets++
	for ticket != w.serving || w.queued > 0 && w.queued+size > w.limit {
		if w.stallWatch == nil {
			w.stallWatch = time.AfterFunc(w.patience(), w.look)
		}
		w.room.Wait()
		if ticket < w.serving { // all that waited were sent away
			return false
		}
	}
	w.serving++
	w.queued += size
	if w.serving < w.tickets {
		w.room.Broadcast()
	}
	return true
}

func (w *Writer) unreserve(size int64) {
	w.queued -= size
	w.room.Broadcast()
}

// look sends those away that wait for room when nothing was written for too long.
func (w *Writer) look() {
	if stalled, cause := w.looked(); stalled {
		w.log.Error("the network log can't be written: exchanges go without lines", "log", w.path, "error", cause)
	}
}

func (w *Writer) looked() (stalled bool, cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stallWatch = nil; w.serving == w.tickets || w.closed {
		return false, nil
	}
	if wait := w.patience(); wait > 0 {
		w.stallWatch = time.AfterFunc(wait, w.look)
		return false, nil
	}
	w.stalled = true
	w.dismiss()
	if w.stats.Err == nil {
		return true, errHangs
	}
	return true, w.stats.Err
}

// patience is how long the next write may take before it is a stall.
func (w *Writer) patience() time.Duration {
	if w.pending == 0 { // room is held by lines that are still being encoded
		w.progress = time.Now()
	}
	return time.Until(w.progress.Add(w.stall))
}

// dismiss sends all away that wait for room.
func (w *Writer) dismiss() {
	w.serving = w.tickets
	w.room.Broadcast()
}

func (w *Writer) loseOpen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.lost++
		w.stats.Lost++
	}
}

func (w *Writer) loseEnd(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	opened, ok := w.opened[id]
	if !ok || w.closed {
		return
	}
	delete(w.opened, id)
	w.stats.Cut++
	w.owed = append(w.owed, owed{id, opened, CodeLost, "the log could not be written in time"})
	w.rouse()
}

// rouse has the writing goroutine look at the queue.
func (w *Writer) rouse() {
	if !w.idle {
		return
	}
	w.idle = false
	select {
	case w.wake <- struct{}{}:
	default: // it has been told
	}
}

// put numbers an encoded line and queues it; size was reserved for it.
func (w *Writer) put(l *line, event Event, id, t, size int64) {
	b := w.number(l, event, id, t)
	w.queued += int64(len(b)) - size
	if len(b) > longLine {
		w.queue = append(w.queue, batch{b: b, own: true, line: l})
	} else {
		w.add(b)
		w.lines.Put(l)
	}
	if event == EventEnd {
		w.queue[len(w.queue)-1].ended = true
	}
	if event != EventStart {
		w.putTurn()
	}
	w.rouse()
}

// number puts an encoded line's beginning in front of it.
func (w *Writer) number(l *line, event Event, id, t int64) []byte {
	var front [headRoom]byte
	head := appendHead(front[:0], &Head{
		N:     w.next,
		Event: event,
		ID:    id,
		Time:  w.began.Add(time.Duration(t) * time.Microsecond),
		Lost:  w.lost,
	})
	w.next++
	w.lost = 0
	w.stats.Lines++
	l.b = append(l.b, '}', '\n')
	b := l.b[headRoom-len(head):]
	copy(b, head)
	if w.pending == 0 {
		w.progress = time.Now()
	}
	w.pending += int64(len(b))
	w.size += int64(len(b))
	return b
}

// add copies a short line to the batch that is growing.
func (w *Writer) add(b []byte) {
	if n := len(w.queue); n > 0 {
		if last := &w.queue[n-1]; !last.own && len(last.b)+len(b) <= cap(last.b) {
			last.b = append(last.b, b...)
			return
		}
	}
	var buf []byte
	if n := len(w.spare); n > 0 {
		buf, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		buf = make([]byte, 0, batchBytes)
	}
	w.queue = append(w.queue, batch{b: append(buf, b...)})
}

// take returns the batch that is to be written next. It is false when there is
// none: wake will then be sent to, unless last says that no more will come.
func (w *Writer) take() (b batch, ok, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	if len(w.queue) == 0 {
		w.idle = !w.closed
		return batch{}, false, w.closed
	}
	b = w.queue[0]
	w.queue = slices.Delete(w.queue, 0, 1)
	return b, true, false
}

// settle queues ends that are owed, as far as there is room.
func (w *Writer) settle() {
	if w.stalled {
		return
	}
	for len(w.owed) > 0 && w.queued < w.limit {
		o := w.owed[0]
		w.owed = w.owed[1:]
		t := w.micros(time.Time{})
		l := w.newLine(0)
		l.end(&End{
			Timings: NoTimings(t - o.opened),
			Failed:  &Failed{Phase: PhaseProxy, Code: o.code, Reason: o.reason},
		})
		w.put(l, EventEnd, o.id, t, 0)
	}
}
