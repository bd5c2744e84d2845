package netlog

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// WriterConfig says where and how a Writer writes.
type WriterConfig struct {
	Path      string        // the live file, made when it is not there
	Program   string        // for the start line, as Version, Mode and Limits
	Version   string        //
	Mode      string        // "proxy", "record", "demo", "stand-in", "sites"
	Limits    Limits        // zero: nothing is kept of bodies
	FileMode  os.FileMode   // of a file that is made, whatever the umask; 0: 0600
	Sync      Sync          // when lines are forced to the disk
	SyncEvery time.Duration // the time of SyncInterval; 0: 1 s

	// MaxBytes is how large the live file may grow, up to a line's end, before it
	// becomes an older one; 0: as large as it gets. OpenWriter refuses a folder in
	// which files can't be made and linked.
	MaxBytes int64

	// MaxFiles is how many files of the log there may be, the live one with them:
	// the oldest is deleted. 0: any number.
	MaxFiles int

	// QueueBytes is how many bytes of lines may wait to be written before
	// Open, Message, Answer and End wait; 0: 64 MiB. A longer line is taken
	// alone.
	QueueBytes int64

	// Stall is how long nothing may have been written while the queue is full
	// before lines are given up; 0: 5 s.
	Stall time.Duration

	Logger *slog.Logger // hears of trouble with the file; nil: nobody does
}

// Sync says when a Writer calls fsync(2). No call of the Writer's but Close
// waits for it.
type Sync int

const (
	SyncInterval Sync = iota // at most WriterConfig.SyncEvery after a line was written
	SyncNever                // when the system likes
	SyncEnd                  // after each write that holds an end line
)

// A Writer appends lines to a log, the only one that does. Its methods may be
// called at the same time and do nothing on a nil Writer, so that a proxy
// without a log needs no other code.
type Writer struct {
	path     string
	start    Start
	began    time.Time // with its monotonic reading, whole microseconds
	file     file      // of the writing goroutine, which alone changes it, under mu
	sync     Sync
	interval time.Duration
	limit    int64
	stall    time.Duration
	log      *slog.Logger
	rotation rotation

	lines     sync.Pool // of *line, what short lines are encoded in
	longLines sync.Pool // likewise

	wake chan struct{}  // the queue is no longer empty, or no more will come
	quit chan struct{}  // closed when Close has given up
	done chan struct{}  // closed when the writing goroutine has ended
	scan sync.WaitGroup // recover, as long as it runs

	once    sync.Once // Close has been called
	closing error     // what it returns

	watch   watch   // only the writing goroutine's, as
	forcing forcing //
	refusal string  // why the last turn failed

	// mu guards what follows. The methods that put lines into the queue and make
	// room in it want it held: put, putTurn, putNext, number, add, settle, unreserve,
	// dismiss, rouse and patience.
	mu         sync.Mutex
	room       sync.Cond       // something was written, a stall began, or Close was called
	next       int64           // the next line's number
	opened     map[int64]int64 // the open ids, with their open lines' t
	owed       []owed          // ends that are still to be written
	queue      []batch         // numbered lines, the last batch still growing
	spare      [][]byte        // emptied batches
	queued     int64           // bytes promised or pending
	pending    int64           // bytes in the queue or being written
	idle       bool            // the writing goroutine waits for wake
	tickets    int64           // given to callers that want room
	serving    int64           // the ticket whose turn it is
	progress   time.Time       // when something was last written or, if later, became pending
	stallWatch *time.Timer     // looks for a stall while callers wait; nil when none does
	stalled    bool
	closed     bool
	size       int64 // bytes that were queued for the live file
	recovering bool  // what the last process left open is not found yet
	unforced   error // why the last fsync(2) failed; nil when it did not
	lost       int64 // exchanges and tunnels without lines, not yet told
	stats      WriterStats
}

// WriterStats are a Writer's figures since it was opened.
type WriterStats struct {
	Last     int64 // the number of the last line, written or queued
	Lines    int64 // lines numbered
	Writes   int64 // calls of write(2)
	Bytes    int64 // bytes written
	Queued   int64 // bytes that wait to be written
	Open     int64 // exchanges and tunnels that are open
	Lost     int64 // exchanges and tunnels without lines, for a stall
	Cut      int64 // exchanges and tunnels whose end was lost, for a stall
	Failures int64 // calls of write(2) and fsync(2) that failed
	Renewed  int64 // times the live file was cut to nothing, deleted or moved away, and a new one was begun
	Gone     bool  // the live file was deleted or moved away, and no new one could be begun: lines go where nobody may find them
	Stalled  bool  // the queue is full and nothing can be written
	Err      error // why the last write failed; nil when it did not
}

// OpenWriter makes the log at c.Path, or goes on with the one that is there:
// it ends a line that a crash cut short, numbers on, and ends in the background
// what its last process left open. It returns before the disk has been written
// to, and takes no longer for a longer log.
//
// The error wraps ErrNotRegular, ErrNotLog or ErrLocked when that is the reason,
// and the file is then as it was.
func OpenWriter(c WriterConfig) (*Writer, error) {
	live, err := openLive(c.Path, c.FileMode)
	if err != nil {
		return nil, fmt.Errorf("open network log %q: %w", c.Path, err)
	}
	r := rotation{path: c.Path, max: c.MaxBytes, keep: c.MaxFiles, sync: c.Sync != SyncNever}
	err = r.tidy(live.File)
	if err == nil && r.max > 0 {
		err = r.try()
	}
	if err != nil && r.max > 0 {
		live.leave(c.Path)
		return nil, fmt.Errorf("open network log %q: rotate: %w", c.Path, err)
	}
	w := newWriter(c, live.File, live.last+1)
	w.rotation, w.size, w.recovering = r, live.size, live.size > 0
	w.begin(c, live.mend)
	if live.size > 0 {
		w.scan.Go(func() { w.recover(live.File, live.size) })
	}
	return w, nil
}

func newWriter(c WriterConfig, f file, next int64) *Writer {
	now := time.Now()
	w := &Writer{
		path:     c.Path,
		began:    now.Add(-time.Duration(now.Nanosecond() % 1000)),
		file:     f,
		sync:     c.Sync,
		interval: orDefault(c.SyncEvery, time.Second),
		limit:    orDefault(c.QueueBytes, 64<<20),
		stall:    orDefault(c.Stall, 5*time.Second),
		log:      c.Logger,
		wake:     make(chan struct{}, 1),
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
		next:     next,
		opened:   make(map[int64]int64),
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	w.room.L = &w.mu
	go w.run()
	return w
}

func orDefault[T int64 | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// Open writes the line of an exchange or a tunnel that begins and returns its
// id. The id is 0 when it has no lines, because nothing can be written; every
// method takes that and does nothing. o may be used again after the return, as
// the arguments of the other methods may.
func (w *Writer) Open(o *Open) (id int64) {
	if w == nil {
		return 0
	}
	size := int64(roughly)
	if o.Request != nil {
		size += o.Request.Body.encoded()
	}
	if !w.reserve(0, size) {
		w.loseOpen()
		return 0
	}
	l := w.newLine(size)
	l.open(o)
	w.unread(l.err)

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0
	}
	t := w.micros(o.Time)
	id = w.next
	w.opened[id] = t
	w.put(l, EventOpen, id, t, size)
	return id
}

// Answer writes the line of an answer whose body is still coming.
func (w *Writer) Answer(id int64, a *Answer) {
	if w == nil || id == 0 || !w.reserve(id, roughly) {
		return // the end line has it all again
	}
	l := w.newLine(roughly)
	l.answer(a)

	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.opened[id]; !ok {
		w.unreserve(roughly)
		return
	}
	w.put(l, EventAnswer, id, w.micros(a.Time), roughly)
}

// Message writes the line of a WebSocket message.
func (w *Writer) Message(id int64, m *Message) {
	if w == nil || id == 0 {
		return
	}
	size := roughly + int64(len(m.Base64))*4/3
	if m.Text != nil {
		size += int64(len(*m.Text))
	}
	if !w.reserve(id, size) {
		w.loseEnd(id) // without this message the rest would be no record
		return
	}
	l := w.newLine(size)
	l.message(m)

	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.opened[id]; !ok {
		w.unreserve(size)
		return
	}
	w.put(l, EventMessage, id, w.micros(m.Time), size)
}

// End writes the line of an exchange or a tunnel that is over. Only the first
// end of an id counts.
func (w *Writer) End(id int64, d *End) {
	if w == nil || id == 0 {
		return
	}
	size := int64(roughly)
	if d.Request != nil {
		size += d.Request.Body.encoded()
	}
	if d.Response != nil {
		size += d.Response.Body.encoded()
	}
	if !w.reserve(id, size) {
		w.loseEnd(id)
		return
	}
	l := w.newLine(size)
	l.end(d)
	w.unread(l.err)

	w.mu.Lock()
	defer w.mu.Unlock()
	opened, ok := w.opened[id]
	if !ok {
		w.unreserve(size)
		return
	}
	delete(w.opened, id)
	t := w.micros(d.Time)
	// Both times and their difference were cut to microseconds: let them agree.
	if exact := opened + max(d.Timings.Total, 0); t-exact == 1 || exact-t == 1 {
		t = exact
	}
	w.put(l, EventEnd, id, t, size)
}

// Stats returns the Writer's figures; zero for a nil Writer.
func (w *Writer) Stats() WriterStats {
	if w == nil {
		return WriterStats{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Last = w.next - 1
	s.Queued = w.queued
	s.Open = int64(len(w.opened))
	s.Stalled = w.stalled
	return s
}

// unread reports a kept body that could not be read.
func (w *Writer) unread(err error) {
	if err != nil {
		w.log.Error("a kept body could not be read", "log", w.path, "error", err)
	}
}

// micros is a time as the log counts it: microseconds since the Writer began,
// by the monotonic clock where t has a reading of it.
func (w *Writer) micros(t time.Time) int64 {
	if t.IsZero() {
		t = time.Now()
	}
	return t.Sub(w.began).Microseconds()
}
