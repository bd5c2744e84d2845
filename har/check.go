package har

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
)

// A Fault says where an archive is not as HAR 1.2 has it, or not as a reader
// wants it.
type Fault struct {
	Offset  int64  // in the JSON, unpacked
	Entry   int64  // the entry's place, from 1; 0: not an entry's
	ID      string // the entry's _id, cut and in ASCII; "": none
	Field   string // the path in the entry or, without one, in the archive: response.content.size; "": all of it
	Rule    string // one of the Rule constants, or a reader's name
	Text    string // what is wrong, in printable ASCII, values quoted and cut
	Warning bool   // readers take the file all the same
}

// The rules that hold whoever reads an archive.
const (
	// RuleJSON: it is JSON (RFC 8259), as strict parsers have it.
	RuleJSON = "json"
	// RuleSchema: it passes har-validator 5.1.5, whose schema is what most
	// programs mean by HAR 1.2.
	RuleSchema = "har-validator"
	// RuleHAR: what the schema can't say: sums, sizes, order. A warning but for
	// archives of ours, and for what is lost.
	RuleHAR = "har"
	// RuleOurs: what archives of ours have besides: pure ASCII, no null, every
	// field of timings, digests.
	RuleOurs = "agentenv-netlog"
)

// Readers are the programs whose own rules a check knows, by the name of the
// rules. A fault is what the reader refuses the file for, or an entry that it
// loses; a warning is what it misreads.
func Readers() []string { return slices.Clone(readers[:]) }

var readers = [...]string{"chromehar", "devtools", "haralyzer", "httptoolkit", "httpwatch", "k6", "mitmproxy",
	"openapi", "perfcascade", "playwright", "python", "safari", "v8", "webarena", "zap"}

// CheckOptions are how an archive is checked.
type CheckOptions struct {
	// Readers are those whose rules count. Nil: all.
	Readers []string

	// Fault is told of each fault, those of an entry behind it. Its error ends
	// the check, which returns it. Nil: they are only counted.
	Fault func(Fault) error

	// Progress is told now and then how many bytes of the file are read. Its
	// error ends the check. Nil: nobody is told.
	Progress func(done int64) error
}

// CheckStats counts what a check saw.
type CheckStats struct {
	Entries  int64
	Faults   int64
	Warnings int64
	Ours     bool // this program wrote it
}

// Check holds the archive in r, of any program, against HAR 1.2 and against what
// its readers want, and goes on behind each fault but what is no JSON. An archive
// of any size takes little memory, also when it is packed with gzip. An error is
// r's, or CheckOptions'.
func Check(r io.Reader, o CheckOptions) (CheckStats, error) { return newChecker(r, o).check() }

func newChecker(r io.Reader, o CheckOptions) *checker {
	if o.Fault == nil {
		o.Fault = func(Fault) error { return nil }
	}
	if o.Progress == nil {
		o.Progress = func(int64) error { return nil }
	}
	return &checker{options: o, file: &checkedFile{r: r, tell: o.Progress}, pages: pageList{ids: make(map[string]bool)}, longest: maxString}
}

func (c *checker) check() (CheckStats, error) {
	err := c.archive()
	if c.err != nil {
		err = c.err
	}
	return c.stats, err
}

// A checkedFile tells how much of r is read.
type checkedFile struct {
	r    io.Reader
	n    int64
	tell func(int64) error
}

func (s *checkedFile) Read(p []byte) (int, error) {
	if err := s.tell(s.n); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	s.n += int64(n)
	return n, err
}

// A checker is the state of a check.
type checker struct {
	options CheckOptions
	stats   CheckStats
	err     error // what an option's function returned
	file    *checkedFile
	json    *jsonReader
	longest int64 // V8's limit
	ended   bool  // the reading has, before the file's end

	path    []pathStep // from the archive's beginning, or the entry's
	held    []Fault
	names   []string        // of the members of the objects around what is read
	decoded [decodeLen]byte // what a bodySink has decoded
	facts   entryFacts
	entry   *entryFacts // nil: none is being read

	log   logFacts
	pages pageList
}

// A pathStep is a member's name or, when that is not -1, an element's index.
type pathStep struct {
	name  string
	index int
}

// archive reads all of the file.
func (c *checker) archive() error {
	b := bufio.NewReaderSize(c.file, 64<<10)
	var in io.Reader = b
	if mark, _ := b.Peek(2); string(mark) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(b)
		if err != nil {
			return c.unpacking(err)
		}
		defer unpacked.Close()
		c.report(Fault{Rule: RuleHAR, Text: "is packed with gzip: most readers want it unpacked", Warning: true})
		b = bufio.NewReaderSize(unpacked, 64<<10)
		in = b
	}
	mark, _ := b.Peek(3)
	switch {
	case string(mark) == "\ufeff":
		b.Discard(3)
		c.report(Fault{Rule: RuleJSON, Text: "begins with a byte order mark, which JSON.parse and Python's json refuse"})
	case strings.HasPrefix(string(mark), "\xff\xfe"), strings.HasPrefix(string(mark), "\xfe\xff"):
		c.report(Fault{Rule: RuleJSON, Text: "is in UTF-16, not UTF-8"})
		return nil
	}
	c.json = newJSONReader(in, func(offset int64, format string, args ...any) {
		c.report(Fault{Offset: offset, Field: c.field(), Rule: RuleJSON, Text: fmt.Sprintf(format, args...)})
	}, c.field)
	c.root()
	c.json.end()
	if syntax := c.json.broken(); syntax != nil {
		c.broken(syntax)
		return nil
	} else if c.json.err != nil {
		return c.unpacking(c.json.err)
	}
	return nil
}

// unpacking tells what is wrong with a file from not being able to read it.
func (c *checker) unpacking(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &corrupt):
		c.broken(&syntaxError{text: "can't be unpacked: " + strconv.QuoteToASCII(err.Error())})
		return nil
	}
	return err
}

// broken reports what ended the reading.
func (c *checker) broken(syntax *syntaxError) {
	c.ended = true
	c.report(Fault{Offset: syntax.offset, Field: syntax.field, Rule: RuleJSON, Text: syntax.text + "; what follows is not checked"})
	if c.entry != nil {
		c.release(c.entry.id())
	}
}

// logFacts are what is known of the archive as a whole.
type logFacts struct {
	entries value
	creator value
	last    time.Time // the start of the entry before
	lastID  int64     // the highest _id
	process int64     // the first number of the last entry's process
	first   string    // the first entry's startedDateTime
	counted Stats     // of the entries, as far as _stats has it
	stats   map[string]value
}

// A pageList is what is known of the pages.
type pageList struct {
	value  value
	count  int
	ids    map[string]bool
	starts value // the first one's startedDateTime
	read   bool
	refs   []pageRef // of the entries before the pages
}

// A pageRef is an entry's pageref that could not be looked up yet.
type pageRef struct {
	entry int64
	id    string
	value value
}

// Bounds of what is held for pages.
const (
	maxPages    = 10_000
	maxPageRefs = 10_000
)
