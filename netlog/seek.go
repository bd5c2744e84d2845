package netlog

import (
	"bytes"
	"io"
)

// A place is where the lines after a number begin.
type place struct {
	file   int
	offset int64
	last   int64 // the number of the last line before it; 0 for none
}

// seek finds where the lines after number n begin: behind the last line whose
// number is not above n. It looks at a few dozen lines, however long the log is,
// unless the log does not have n.
func (l *Log) seek(n int64) (place, error) {
	if n <= 0 {
		return place{}, nil
	}
	for i := len(l.files) - 1; i >= 0; i-- {
		s := l.scanFrom(i, 0)
		if !s.Next() || int(s.Pos().File) != i || s.Head().N > n {
			if s.err != nil {
				return place{}, s.err
			}
			continue
		}
		p, err := l.bisect(i, n)
		if err != nil || p.last == n {
			return p, err
		}
		break
	}
	return l.seekSlowly(n)
}

// seekSlowly is seek for a log without the number: it was begun again, or it is
// damaged, and then bisection may have been led astray.
func (l *Log) seekSlowly(n int64) (place, error) {
	var p place
	s := l.Scan()
	for s.Next() && s.Head().N <= n {
		pos := s.Pos()
		p = place{int(pos.File), pos.Offset + int64(pos.Length) + 1, s.Head().N}
	}
	return p, s.Err()
}

// bisect is seek in one file.
func (l *Log) bisect(file int, n int64) (place, error) {
	const window = 32 << 10 // what is gone through line by line at the end
	f := l.files[file]
	size, err := afterNewline(f, f.size)
	if err != nil {
		return place{}, err
	}
	b := bisection{f: f, buf: make([]byte, 8<<10)}
	p := place{file: file}
	lo, hi := int64(0), size // no line begins before lo above n, nor at hi or later up to n
	for hi-lo > window && b.err == nil {
		mid := lo + (hi-lo)/2
		at, h, ok := b.lineFrom(mid, hi)
		if ok && h.N <= n {
			lo, p.last = at+1, h.N
		} else {
			hi = mid
		}
	}
	p.offset = b.start(lo, size)
	for at := p.offset; at < hi && b.err == nil; {
		h, ok := b.head(at)
		if ok && h.N > n {
			break
		}
		at = b.start(at+1, size)
		if ok {
			p.offset, p.last = at, h.N
		}
	}
	return p, b.err
}

// A bisection reads pieces of a file. After the first error it finds nothing.
type bisection struct {
	f   io.ReaderAt
	buf []byte
	err error
}

// lineFrom finds the first line with a head that begins in [from, to).
func (b *bisection) lineFrom(from, to int64) (at int64, h Head, ok bool) {
	for at = b.start(from, to); at < to && b.err == nil; at = b.start(at+1, to) {
		if h, ok = b.head(at); ok {
			return at, h, true
		}
	}
	return 0, Head{}, false
}

// start returns where the first line begins in [from, to), to when none does.
func (b *bisection) start(from, to int64) int64 {
	if from == 0 {
		return 0
	}
	for at := from - 1; at < to-1; {
		p := b.read(at, to-1)
		if len(p) == 0 {
			break
		}
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			return at + int64(i) + 1
		}
		at += int64(len(p))
	}
	return to
}

func (b *bisection) head(at int64) (Head, bool) {
	h, _, ok := parseHead(b.read(at, at+headRoom))
	return h, ok
}

// read returns what is at [from, to), at most as much as buf holds.
func (b *bisection) read(from, to int64) []byte {
	if b.err != nil {
		return nil
	}
	n, err := b.f.ReadAt(b.buf[:min(to-from, int64(len(b.buf)))], from)
	if err != nil && err != io.EOF {
		b.err = bare(err)
	}
	return b.buf[:n]
}
