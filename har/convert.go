package har

import (
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/agentenv/netlog/netlog"
)

// Options are how a HAR is made.
type Options struct {
	// Version is the program's, for the archive's creator. Zero: "devel".
	Version string

	// Title names the page of a log in which no document was loaded, usually
	// the log's file name. Zero: "network".
	Title string

	// MaxBody bounds a decoded body, in bytes. Zero: what the log's process
	// kept of a body, as its start line says.
	MaxBody int64

	// Filter says which entries there are. Zero: all. Stats.Filtered counts what
	// it leaves out.
	Filter Filter

	// Rewrite is given each entry that passed the filter. It may change what it
	// likes and says whether the entry stays; Stats.Filtered counts what does not.
	// It is called by several goroutines at once, for one entry each. Nil: all
	// stay as they are. A [Profile] has one.
	Rewrite func(*Entry) bool

	// Format is what Convert and WriteFile write. Zero: JSON.
	Format Format

	// NoBodies leaves the bodies out, which takes a fraction of the time: what is
	// told of one is its size on the wire and its hash. No postData is given.
	NoBodies bool

	// Progress is told what is done of how much in each pass: now and then of
	// lines, whose total is not known (0), then before each entry. Its error ends
	// the conversion, which returns it. Nil: nobody is told.
	Progress func(done, total int64) error
}

// A Format is a form in which entries are written.
type Format int

// The formats.
const (
	JSON  Format = iota // a HAR
	Gzip                // a HAR, compressed
	Trace               // a Playwright trace with the entries in its trace.network, in a ZIP
)

// Convert writes the HAR of log's lines, as they are when it is called, to w
// and says what it saw. An error is w's or that of reading the log's files;
// lines that can't be used are only counted. After an error w holds a part.
func Convert(log *netlog.Log, w io.Writer, o Options) (Stats, error) {
	c, err := newConverter(log, o)
	if err != nil {
		return Stats{}, err
	}
	switch o.Format {
	case Gzip:
		z := gzip.NewWriter(w)
		if err = c.archive(z); err == nil {
			err = z.Close()
		}
	case Trace:
		err = newTracer(w, o.Title).write(c.entries)
	default:
		err = c.archive(w)
	}
	return c.stats, err
}

// Entries gives each entry that [Convert] would write to each, in the same
// order. An error of each ends it and is returned. The entry is each's to keep.
func Entries(log *netlog.Log, o Options, each func(*Entry) error) (Stats, error) {
	c, err := newConverter(log, o)
	if err != nil {
		return Stats{}, err
	}
	err = c.entries(each)
	return c.stats, err
}

// A converter makes the second pass.
type converter struct {
	log     *netlog.Log
	index   *index
	options Options
	found   Stats // by the first pass and the filter
	stats   Stats
}

// newConverter makes the first pass.
func newConverter(log *netlog.Log, o Options) (*converter, error) {
	if o.Progress == nil {
		o.Progress = func(int64, int64) error { return nil }
	}
	index, err := makeIndex(log, o.Progress)
	if err != nil {
		return nil, err
	}
	c := &converter{log: log, index: index, options: o, found: index.stats}
	return c, c.filter(&o.Filter)
}

func (c *converter) archive(w io.Writer) error {
	a := newArchive(w, c.options)
	if err := c.entries(a.add); err != nil {
		return err
	}
	return a.end(&c.stats)
}

// entries makes the index's entries, a few at a time ahead of each, which gets
// them in their order. It may be called again.
func (c *converter) entries(each func(*Entry) error) error {
	c.stats = c.found
	ahead := startMakers(c)
	defer ahead.stop()
	alone := c.maker() // makes what is large
	defer alone.close()
	total := c.index.items.n
	for first := 0; first < total; first += jobItems {
		for i, m := range ahead.take(first) {
			if err := c.options.Progress(int64(first+i), int64(total)); err != nil {
				return err
			}
			if m.large {
				m = alone.make(first + i)
			}
			if err := c.give(m, each); err != nil {
				return err
			}
		}
		ahead.send()
	}
	return nil
}

// give counts what became of an item, and gives its entry to each.
func (c *converter) give(m made, each func(*Entry) error) error {
	if m.err != nil {
		return m.err
	}
	c.stats.Unreadable += m.unreadable
	if m.entry == nil {
		return nil
	} else if !m.stays {
		c.stats.Filtered++
		return nil
	}
	c.count(m.entry)
	return each(m.entry)
}

func (c *converter) count(e *Entry) {
	add := func(n *int64, when bool) {
		if when {
			*n++
		}
	}
	notes := []BodyNote{e.Response.Content.BodyNote}
	if e.Request.PostData != nil {
		notes = append(notes, e.Request.PostData.BodyNote)
	}
	truncated, undecoded := false, false
	for _, n := range notes {
		truncated = truncated || n.Truncated
		undecoded = undecoded || n.Undecoded != ""
	}
	c.stats.Entries++
	add(&c.stats.Open, e.Open)
	add(&c.stats.Failed, e.Failed != nil)
	add(&c.stats.Refused, e.Refused != nil)
	add(&c.stats.Truncated, truncated)
	add(&c.stats.Undecoded, undecoded)
}
