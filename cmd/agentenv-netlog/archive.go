package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
)

// An archive is where entries come from: a log or a HAR.
type archive interface {
	// each gives the entries that the filter keeps, with their bodies or without.
	each(f *har.Filter, bodies bool, do func(*har.Entry) error) error
	Close() error
}

// openArchive tells a log from a HAR by what it holds. maxBody is for a log's
// bodies, as in [har.Options].
func openArchive(path string, maxBody int64) (archive, error) {
	log, err := netlog.OpenLog(path)
	if err == nil {
		if hasLines(log) {
			return &logArchive{log: log, maxBody: maxBody}, nil
		}
		err = errors.Join(netlog.ErrNotLog, log.Close())
	}
	if !errors.Is(err, netlog.ErrNotLog) {
		return nil, unreadableArchive(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadableArchive(err)
	}
	a := &harArchive{f}
	if err := a.probe(); err != nil {
		f.Close()
		return nil, unreadableArchive(err)
	}
	return a, nil
}

// hasLines says whether a log has a line that can be read, or is empty: the
// first line of an indented HAR may pass for a log's that was cut short.
func hasLines(log *netlog.Log) bool {
	s := log.Scan()
	return s.Next() || s.Unreadable() == 0
}

func unreadableArchive(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed(err, "name a log, the folder of one, or a HAR")
	case errors.Is(err, fs.ErrPermission):
		return failed(err, "logs and HARs are readable by the user who wrote them; run this as that user")
	case errors.Is(err, har.ErrTooLong):
		return failed(err, "an entry may have 32 MiB besides its bodies; check says what is in it, whatever its size")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return failed(err, "the file is cut in the middle; make it or fetch it again")
	}
	return failed(err, "name a log that proxy or record has written (network.jsonl), or a HAR of any program")
}

type logArchive struct {
	log     *netlog.Log
	maxBody int64
}

func (a *logArchive) Close() error { return a.log.Close() }

func (a *logArchive) each(f *har.Filter, bodies bool, do func(*har.Entry) error) error {
	_, err := har.Entries(a.log, har.Options{Filter: *f, MaxBody: a.maxBody, NoBodies: !bodies}, do)
	return err
}

type harArchive struct{ file *os.File }

// maxListed is how long an entry of a HAR may be, besides its bodies, to be held
// for a list.
const maxListed = 32 << 20

func (a *harArchive) Close() error { return a.file.Close() }

// probe looks whether entries begin, so that what is no HAR is told before
// anything is printed.
func (a *harArchive) probe() error {
	r, err := a.reader(false)
	if err == nil {
		r.Next()
		err = r.Err()
	}
	if errors.Is(err, har.ErrNotHAR) || r == nil {
		return fmt.Errorf("open %q: neither a network log nor a HAR: %w", a.file.Name(), err)
	}
	return nil
}

// reader reads the file from its beginning.
func (a *harArchive) reader(bodies bool) (*har.Reader, error) {
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	in, err := har.Unpack(a.file)
	if err != nil {
		return nil, err
	}
	if bodies {
		return har.NewReader(in), nil
	}
	r := har.NewReader(har.WithoutBodies(in))
	r.MaxEntry = maxListed
	return r, nil
}

func (a *harArchive) each(f *har.Filter, bodies bool, do func(*har.Entry) error) error {
	r, err := a.reader(bodies)
	if err != nil {
		return err
	}
	for r.Next() {
		if !f.Keeps(r.Entry()) {
			continue
		}
		if err := do(r.Entry()); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil {
		return unreadableArchive(fmt.Errorf("show %q: %w", a.file.Name(), err))
	}
	return nil
}
