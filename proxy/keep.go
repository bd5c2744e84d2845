package proxy

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentenv/netlog/netlog"
)

const (
	defaultBodyMemory = 96 << 20

	// smallChunk is the least and largeChunk the most that is taken from the memory
	// for bodies at once.
	smallChunk = 1 << 10
	largeChunk = 256 << 10

	// filePatience is how long a disk that does not answer holds a body up.
	filePatience = 5 * time.Second
)

var errDiskHangs = errors.New("the disk does not answer")

// A store is where kept bodies are until their lines are written: memory that
// they share and, when that is used up, temporary files.
type store struct {
	limit  int64
	folder string // of the files
	log    *slog.Logger

	used    atomic.Int64
	hanging atomic.Int64  // what is done to files and does not end
	patient time.Duration // how long that may take; 0: filePatience
	tells   sync.Once     // that there can be no files
}

// take takes n bytes of the memory, if there are so many.
func (s *store) take(n int) bool {
	if s.used.Add(int64(n)) > s.limit {
		s.used.Add(-int64(n))
		return false
	}
	return true
}

// file makes a file that has no name, so that nothing is left of it in the end.
func (s *store) file() (*os.File, error) {
	f, err := os.CreateTemp(s.folder, ".agentenv-netlog-body-")
	if err == nil {
		if err = os.Remove(f.Name()); err != nil {
			f.Close()
		}
	}
	return f, err
}

// patiently does something to a file, for as long as a disk may take: relaying goes
// on without a file then. While that is still going on, nothing else is begun.
func patiently[T any](s *store, do func() (T, error)) (v T, err error) {
	if s.hanging.Load() > 0 {
		return v, errDiskHangs
	}
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := do()
		done <- result{v, err}
	}()
	timer := time.NewTimer(cmp.Or(s.patient, filePatience))
	defer timer.Stop()
	select {
	case r := <-done:
		return r.v, r.err
	case <-timer.C:
	}
	s.hanging.Add(1)
	go func() {
		<-done
		s.hanging.Add(-1)
	}()
	return v, errDiskHangs
}

// A kept is the part of a body that is kept: pieces in memory and, behind
// them, what was too much for that in a file. It is a netlog.Kept.
type kept struct {
	store  *store
	pieces [][]byte
	held   int // the pieces' capacity
	file   *os.File
	copied []byte // what the file is given: it has to outlive a write that hangs
	memory int64  // bytes in pieces
	size   int64
}

// write takes p; expected is how much more is known to come with it, 0 where
// that is not known. It returns how much of p it has taken, which is less only
// when no place is left.
func (k *kept) write(p []byte, expected int64) int {
	n := 0
	for n < len(p) {
		if k.file != nil || !k.room(len(p)-n, expected-int64(n)) {
			m, _ := k.spill(p[n:])
			k.size += int64(m)
			return n + m
		}
		last := &k.pieces[len(k.pieces)-1]
		m := min(len(p)-n, cap(*last)-len(*last))
		*last = append(*last, p[n:n+m]...)
		n += m
		k.memory += int64(m)
		k.size += int64(m)
	}
	return n
}

// room makes sure that the last piece has some. Pieces grow, so that a small body
// takes little and a large one is copied but once.
func (k *kept) room(n int, expected int64) bool {
	want := smallChunk
	if i := len(k.pieces); i > 0 {
		last := k.pieces[i-1]
		if len(last) < cap(last) {
			return true
		}
		want = 2 * cap(last)
	}
	want = min(max(want, n), largeChunk)
	if expected > 0 {
		want = min(want, int(min(expected, largeChunk)))
	}
	if !k.store.take(want) {
		return false
	}
	k.held += want
	k.pieces = append(k.pieces, make([]byte, 0, want))
	return true
}

// spill writes p to the file.
func (k *kept) spill(p []byte) (n int, err error) {
	if k.file == nil {
		k.file, err = patiently(k.store, k.store.file)
	}
	if err == nil {
		k.copied = append(k.copied[:0], p...)
		f, b := k.file, k.copied
		n, err = patiently(k.store, func() (int, error) { return f.Write(b) })
	}
	if err != nil {
		k.store.tells.Do(func() {
			k.store.log.Warn("a body that is too large to be kept in memory could not be kept in a file", "folder", k.store.folder, "error", err)
		})
	}
	return n, err
}

// begin is the first n bytes, or as many as there are. n is at most smallChunk:
// they are all in memory or none is.
func (k *kept) begin(n int) []byte {
	if len(k.pieces) > 0 {
		return k.pieces[0][:min(n, len(k.pieces[0]))]
	}
	b := make([]byte, min(int64(n), k.size))
	if k.file != nil {
		n, _ = k.file.ReadAt(b, 0)
		b = b[:n]
	}
	return b
}

// Len is how many bytes were kept.
func (k *kept) Len() int64 { return k.size }

// WriteTo writes all of them.
func (k *kept) WriteTo(w io.Writer) (n int64, err error) {
	for _, p := range k.pieces {
		m, err := w.Write(p)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	if k.file != nil {
		m, err := io.Copy(w, io.NewSectionReader(k.file, 0, k.size-k.memory))
		return n + m, err
	}
	return n, nil
}

// logged is what the log is given of it; nil for nothing.
func (k *kept) logged() netlog.Kept {
	switch {
	case k.size == 0:
		return nil
	case len(k.pieces) == 1 && k.file == nil:
		return netlog.Bytes(k.pieces[0])
	}
	return k
}

// drop gives back what it takes up. It holds nothing any more.
func (k *kept) drop() {
	if k.file != nil {
		go k.file.Close() // which frees its space, and may hang
	}
	if k.held > 0 {
		k.store.used.Add(-int64(k.held))
	}
	*k = kept{store: k.store}
}
