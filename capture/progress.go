package capture

import (
	"errors"
	"fmt"
	"slices"
)

// errNotWritten says what tcpdump does not: it goes on counting packets as
// captured when they can't be written.
var errNotWritten = errors.New("tcpdump can't write its files: the disk may be full")

// hasBegun wants the header that tcpdump writes before it listens.
func (r *Recorder) hasBegun() error {
	files, _, err := numberedFiles(r.Dir, r.Name)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(files, func(f numbered) bool { return f.number < shelved && f.Bytes >= headerSize }) {
		return errNotWritten
	}
	return nil
}

// A progress is what was written and counted at the last report. tcpdump counts
// no packet before it has written the one before it: what it has counted since
// that report, the files can't have had when that report was asked for.
type progress struct {
	captured int64
	files    []string // as they were before it was asked for
	asked    []string // the same, of the report that is still to come; nil: none is
}

// ask is called before a report is asked for.
func (p *progress) ask(r *Recorder) (err error) {
	if p.asked == nil {
		p.asked, err = ringFiles(r)
	}
	return err
}

// check compares a report with the last one.
func (p *progress) check(r *Recorder, captured int64) error {
	files, err := ringFiles(r)
	if err != nil {
		return err
	}
	if captured > p.captured && slices.Equal(files, p.files) {
		return errNotWritten
	}
	p.captured = captured
	if p.asked != nil {
		p.files, p.asked = p.asked, nil
	}
	return nil
}

// ringFiles are the names and sizes of what tcpdump writes.
func ringFiles(r *Recorder) ([]string, error) {
	files, _, err := numberedFiles(r.Dir, r.Name)
	names := []string{}
	for _, f := range files {
		if f.number < shelved {
			names = append(names, fmt.Sprint(f.Name, " ", f.Bytes))
		}
	}
	return names, err
}
