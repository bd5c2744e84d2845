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

// A progress is what was written and counted at the last report.
type progress struct {
	captured int64
	files    []string
	stuck    bool // packets were counted before it, and none written
}

// check compares a report with the last one. That once nothing was written may be
// so since the packets came between a report and the look at the files, but not
// twice in a row.
func (p *progress) check(r *Recorder, captured int64) error {
	files, _, err := numberedFiles(r.Dir, r.Name)
	if err != nil {
		return err
	}
	before := *p
	*p = progress{captured: captured}
	for _, f := range files {
		if f.number < shelved {
			p.files = append(p.files, fmt.Sprint(f.Name, " ", f.Bytes))
		}
	}
	p.stuck = captured > before.captured && slices.Equal(p.files, before.files)
	if p.stuck && before.stuck {
		return errNotWritten
	}
	return nil
}
