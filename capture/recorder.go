package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"
)

// A Recorder runs tcpdump and keeps it running. It is not to be changed once Run
// was called.
type Recorder struct {
	Name string // of the capture: see [ValidName]
	Dir  string // the ring's folder, which is there

	Interface string   // empty means "any": all of them, loopback too
	Files     int      // of the ring, 2 to 1000; 0 means 10
	FileMB    int      // millions of bytes of each; 0 means 20
	BufferKiB int      // the kernel's buffer; 0 means 65536
	User      string   // tcpdump's -Z: whom it becomes; empty leaves that to it
	Namespace string   // path of a network namespace; empty means our own
	Filter    []string // tcpdump's expression; nil means every packet

	Logger *slog.Logger // for warnings; nil means none
	Ready  func()       // called once, when tcpdump listens; nil means nobody asks

	every time.Duration // between reports; 0 means reportEvery
}

func (r *Recorder) device() string { return cmp.Or(r.Interface, "any") }
func (r *Recorder) files() int     { return cmp.Or(r.Files, 10) }
func (r *Recorder) fileMB() int    { return cmp.Or(r.FileMB, 20) }
func (r *Recorder) bufferKiB() int { return cmp.Or(r.BufferKiB, 64<<10) }

const (
	reportEvery = 2 * time.Second        // tcpdump is asked for its counts
	drainEvery  = 100 * time.Millisecond // the same, at the end
	drainFor    = 2 * time.Second        // the kernel hands a block of packets on within one
	endWithin   = 10 * time.Second       // a tcpdump that was told to
	lockWithin  = 2 * time.Second        // an earlier tcpdump may be ending, or Check looking
	steadyAfter = 10 * time.Second       // a tcpdump that ran so long is started again at once
	retryFirst  = time.Second            // before the next start of one that did not
	retryMax    = 5 * time.Second        // the same, after many
)

// Run captures until the context ends. A tcpdump that ends is started again; an
// error says that the first one could not be, with ErrNoTcpdump, ErrNotAllowed or
// ErrLocked where that is why, or that the folder can't be written.
func (r *Recorder) Run(ctx context.Context) error {
	switch {
	case !ValidName(r.Name):
		return fmt.Errorf("capture %q: %w", r.Name, ErrBadName)
	case r.files() < 2 || r.files() > maxFiles || r.fileMB() < 1 || r.bufferKiB() < 1:
		return fmt.Errorf("capture %q: no ring has %d files of %d MB, with a buffer of %d KiB", r.Name, r.files(), r.fileMB(), r.bufferKiB())
	}
	if err := r.run(ctx); err != nil {
		return fmt.Errorf("capture %q in %q: %w", r.Name, r.Dir, err)
	}
	return nil
}

func (r *Recorder) run(ctx context.Context) error {
	l, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	w := &watch{Recorder: r, lock: l, once: r.device() == "any"}
	w.status = Status{Name: r.Name, State: StateStarting, StartedAt: time.Now().UTC()}
	if r.Namespace != "" {
		// Held open, so that each tcpdump is in the same one, whatever has its path.
		w.namespace, err = os.Open(r.Namespace)
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%w: %w", ErrNotAllowed, err)
		} else if err != nil {
			return fmt.Errorf("find the network namespace: %w", err)
		}
		defer w.namespace.Close()
	}
	if err := w.tell(StateStarting, nil); err != nil {
		return fmt.Errorf("write its status: %w", err)
	}
	t, err := w.start(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return w.tell(StateStopped, nil)
		}
		w.tell(StateFailed, err)
		return err
	}
	if r.Ready != nil {
		r.Ready()
	}
	for t != nil {
		began := time.Now()
		err := w.until(ctx, t)
		if ctx.Err() != nil {
			break
		}
		t = w.again(ctx, err, time.Since(began))
	}
	return w.tell(StateStopped, nil)
}

// lock takes the name, which may be about to become free.
func (r *Recorder) lock(ctx context.Context) (*os.File, error) {
	for deadline := time.Now().Add(lockWithin); ; {
		l, err := lock(r.Dir, r.Name)
		if !errors.Is(err, ErrLocked) || time.Now().After(deadline) {
			return l, err
		}
		if pause(ctx, drainEvery) != nil {
			return nil, err
		}
	}
}

func (r *Recorder) warn(message string, args ...any) {
	if r.Logger != nil {
		r.Logger.Warn(message, append([]any{"capture", r.Name}, args...)...)
	}
}

// A watch is a Recorder at work. All of it is Run's goroutine's.
type watch struct {
	*Recorder
	lock      *os.File
	namespace *os.File
	once      bool // loopback's packets are kept from the buffer a second time
	status    Status
	ended     counts        // of the tcpdumps that have ended
	now       counts        // of the one that runs
	said      string        // its last words, but for counts
	files     progress      // of its files
	wait      time.Duration // before the next start
}

// start makes way for a tcpdump and returns it when it captures.
func (w *watch) start(ctx context.Context) (*tcpdump, error) {
	if err := w.shelve(); err != nil {
		return nil, err
	}
	t, err := w.listening(ctx)
	if err != nil && w.once && w.status.Restarts == 0 && ctx.Err() == nil {
		// libpcap before 1.10 knows no "ifindex". If that was not it, the error comes
		// again, and says what was asked for and no more.
		w.once = false
		t, err = w.listening(ctx)
	}
	if err != nil {
		return nil, err
	}
	w.status.PID = t.process.Pid
	if err := w.tell(StateRunning, nil); err != nil {
		w.warn("the status can't be written", "error", err)
	}
	return t, nil
}

func (w *watch) listening(ctx context.Context) (*tcpdump, error) {
	t, err := w.startTcpdump(w.lock, w.namespace, w.once)
	if err != nil {
		return nil, err
	}
	prefer(t.process)
	if err := t.listen(ctx); err != nil {
		return nil, err
	}
	if err := w.hasBegun(); err != nil {
		return nil, errors.Join(err, w.end(t))
	}
	return t, nil
}

// again starts a tcpdump when one has ended with err after it ran so long: at
// once, but less and less often if it always ends soon. It returns nil when the
// context ends.
func (w *watch) again(ctx context.Context, err error, ran time.Duration) *tcpdump {
	if ran > steadyAfter {
		w.wait = 0
	}
	for {
		w.warn("tcpdump has ended and is started again", "error", err, "in", w.wait)
		w.tell(StateRestarting, err)
		if pause(ctx, w.wait) != nil {
			return nil
		}
		w.wait = min(max(2*w.wait, retryFirst), retryMax)
		w.status.Restarts++
		var t *tcpdump
		if t, err = w.start(ctx); err == nil {
			return t
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// until watches a tcpdump until it ends, which is the error, or until the context
// does; then it ends it.
func (w *watch) until(ctx context.Context, t *tcpdump) error {
	defer func() { w.ended, w.now, w.said, w.files = w.ended.plus(w.now), counts{}, "", progress{} }()
	ask := time.NewTicker(cmp.Or(w.every, reportEvery))
	defer ask.Stop()
	for {
		select {
		case line, ok := <-t.lines:
			if !ok {
				return w.death(<-t.ended)
			}
			err := w.hear(line)
			if err == nil {
				err = w.files.check(w.Recorder, w.now.captured)
			}
			if err != nil {
				return errors.Join(err, w.end(t))
			}
		case <-ask.C:
			if err := w.files.ask(w.Recorder); err != nil {
				return errors.Join(err, w.end(t))
			}
			t.process.Signal(syscall.SIGUSR1)
			if err := w.trim(); err != nil {
				w.warn("the ring takes more room than it should", "error", err)
			}
		case <-ctx.Done():
			return w.stop(t)
		}
	}
}

// death is the error of a tcpdump that ended by itself.
func (w *watch) death(err error) error {
	switch {
	case err == nil && w.said == "":
		return errors.New("tcpdump ended")
	case err == nil:
		return fmt.Errorf("tcpdump ended: %s", w.said)
	case w.said == "":
		return fmt.Errorf("tcpdump ended: %w", err)
	}
	return fmt.Errorf("tcpdump ended: %s: %w", w.said, err)
}

// hear takes in a line of tcpdump's. The error is errNotWritten.
func (w *watch) hear(line string) error {
	before := w.now
	if !w.now.read(line) {
		w.said = strings.TrimPrefix(line, "tcpdump: ")
		w.warn("tcpdump says something", "line", w.said)
		return nil
	}
	if lost := w.now.dropped - before.dropped; lost > 0 {
		w.warn("packets were dropped: the kernel's buffer was full", "dropped", lost, "dropped_in_all", w.ended.dropped+w.now.dropped, "buffer_kib", w.bufferKiB())
	}
	err := w.tell(w.status.State, nil)
	if err != nil {
		w.warn("the status can't be written", "error", err)
	}
	// It stands beside the files: where it has no room, the last packets had none
	// either, and none may come for long that would show it.
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return errNotWritten
	}
	return nil
}

// stop ends tcpdump when it has written what had come until now: it would drop
// what the kernel has not handed on yet.
func (w *watch) stop(t *tcpdump) error {
	ask := time.NewTicker(drainEvery)
	defer ask.Stop()
	limit := time.NewTimer(drainFor)
	defer limit.Stop()
	t.process.Signal(syscall.SIGUSR1)
	had := int64(-1) // what had been received when we were told to stop
	for waiting := true; waiting; {
		select {
		case line, ok := <-t.lines:
			if !ok {
				return <-t.ended
			}
			w.hear(line)
			if had < 0 {
				had = w.now.received
			}
			waiting = w.now.captured+w.now.dropped < had
		case <-ask.C:
			t.process.Signal(syscall.SIGUSR1)
		case <-limit.C:
			waiting = false
		}
	}
	return w.end(t)
}

// end ends tcpdump.
func (w *watch) end(t *tcpdump) error {
	t.process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(endWithin, func() { t.process.Kill() })
	defer kill.Stop()
	for line := range t.lines {
		w.hear(line)
	}
	return <-t.ended
}

// tell writes the status. Where there is no room beside the last one, which would go
// on saying that it is running, it takes that one's.
func (w *watch) tell(state string, err error) error {
	s := &w.status
	s.State, s.UpdatedAt = state, time.Now().UTC()
	if err != nil {
		s.Error = err.Error()
	}
	if state != StateRunning {
		s.PID = 0
	}
	all := w.ended.plus(w.now)
	s.Captured, s.Received, s.Dropped, s.DroppedByInterface = all.captured, all.received, all.dropped, all.droppedByInterface
	written := s.write(w.Dir)
	if written != nil && state != StateRunning && os.Remove(statusPath(w.Dir, s.Name)) == nil {
		written = s.write(w.Dir)
	}
	return written
}
