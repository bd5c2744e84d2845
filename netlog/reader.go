package netlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Reader gives the lines of a log that may still grow, from a number on. It
// holds no file open and nothing in memory between two calls, so that the log may
// be rotated, cut or replaced at any time. Its methods may be called at the same
// time; but only the first call after the log was begun again is told so, hence
// each party that follows a log should have a Reader of its own.
type Reader struct {
	path string

	mu    sync.Mutex
	used  bool      // a line was seen, and
	began time.Time // line 1 had this time; zero when it was not there
}

// A Page is a run of lines.
type Page struct {
	Lines [][]byte // as they are in the log, without their newlines
	Next  int64    // what to ask for next: the last line's number, or what was asked for
	More  bool     // there are more lines already

	// BegunAgain says that the log is another one than that of the number asked
	// for, and that the page is its beginning: its last number is lower, or its
	// line 1 is another than it was. A rotation is neither.
	BegunAgain bool

	// Unreadable is how many lines were passed over: up to the last line of the
	// page or, when there are no more, up to the log's end.
	Unreadable int64

	// Missing is how many numbers above the one asked for (0 when begun again), up
	// to Next, have no line here: their file was deleted as the oldest before they
	// were asked for or, far less often, their lines are unreadable.
	Missing int64
}

// NewReader returns a Reader of the log whose live file, or whose folder, is
// path. There need not be one yet.
func NewReader(path string) *Reader { return &Reader{path: path} }

// Page returns the lines after the number, 0 for all, at most limit bytes of
// them with their newlines, but one at least when there is one. A last line that
// is not whole yet is not given. A log that is not there has no lines.
func (r *Reader) Page(after int64, limit int) (*Page, error) {
	var err error
	for range 10 {
		var p *Page
		if p, err = r.page(after, limit); err == nil {
			return p, nil
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break // but for a log that was cut under our hands, this stays so
		}
	}
	return nil, fmt.Errorf("read network log %q: %w", r.path, err)
}

func (r *Reader) page(after int64, limit int) (*Page, error) {
	p := &Page{Next: after}
	log, err := openSet(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	} else if err != nil {
		return nil, err
	}
	defer log.Close()
	again, err := r.another(log)
	if err != nil {
		return nil, err
	}
	if again && after > 0 {
		p.BegunAgain, p.Next = true, 0
	}
	at, err := log.seek(p.Next)
	if err != nil {
		return nil, err
	}
	if err := p.read(log.scanFrom(at.file, at.offset), limit); err != nil {
		return nil, err
	}
	if len(p.Lines) == 0 && at.last > 0 && at.last < p.Next {
		// Its line 1 may have come since it was looked for; seen later, it would be
		// another one more.
		if _, err := r.another(log); err != nil {
			return nil, err
		}
		p = &Page{BegunAgain: true}
		err = p.read(log.Scan(), limit)
	}
	return p, err
}

// another says whether the log is not the one that was seen before.
func (r *Reader) another(log *Log) (bool, error) {
	s := log.Scan()
	if !s.Next() {
		return false, s.Err()
	}
	var began time.Time
	if s.Head().N == 1 {
		began = s.Head().Time
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// A log that no longer has its line 1 was rotated or cut, not begun again.
	again := r.used && !began.IsZero() && !began.Equal(r.began)
	r.used, r.began = true, began
	return again, nil
}

// read takes lines above p.Next from s.
func (p *Page) read(s *Scanner, limit int) error {
	after, invalid := p.Next, int64(0)
	defer func() { p.Missing = max(p.Next-after-int64(len(p.Lines)), 0) }()
	for size := 0; s.Next(); {
		if s.Head().N <= after {
			continue
		}
		if size += int(s.Pos().Length) + 1; size > limit && len(p.Lines) > 0 {
			p.More = true
			return nil
		}
		b, err := s.log.ReadLine(s.Pos(), nil)
		if err != nil {
			return err
		}
		if !validLine(b) {
			size -= len(b) + 1
			invalid++
			continue
		}
		p.Lines = append(p.Lines, b)
		p.Next = s.Head().N
		p.Unreadable = s.Unreadable() + invalid
	}
	p.Unreadable = s.Unreadable() + invalid
	return s.Err()
}

// Follow is Page that waits until there is a line, or the log was begun again.
// When ctx ends first it returns the empty page with ctx's error.
func (r *Reader) Follow(ctx context.Context, after int64, limit int) (*Page, error) {
	const interval = 20 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		seen := r.look()
		p, err := r.Page(after, limit)
		if err != nil || len(p.Lines) > 0 || p.BegunAgain {
			return p, err
		}
		for seen.same(r.look()) {
			select {
			case <-ctx.Done():
				return p, ctx.Err()
			case <-ticker.C:
			}
		}
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
	}
}

// A look is what tells at little cost whether the live file has changed.
type look struct{ info fs.FileInfo }

func (r *Reader) look() look {
	info, err := os.Stat(r.path)
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(r.path, LiveName))
	}
	if err != nil {
		return look{}
	}
	return look{info}
}

func (l look) same(o look) bool {
	if l.info == nil || o.info == nil {
		return l.info == nil && o.info == nil
	}
	return os.SameFile(l.info, o.info) && l.info.Size() == o.info.Size() && l.info.ModTime().Equal(o.info.ModTime())
}
