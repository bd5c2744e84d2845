package har

import (
	"errors"
	"io"

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

	// NoBodies leaves the bodies out, which takes a fraction of the time: what is
	// told of one is its size on the wire and its hash. No postData is given.
	NoBodies bool

	// Progress is told what is done of how much in each pass: now and then of
	// lines, whose total is not known (0), then before each entry. Its error ends
	// the conversion, which returns it. Nil: nobody is told.
	Progress func(done, total int64) error
}

// titleEntries is among how many first entries a document is looked for.
const titleEntries = 1000

// Convert writes the HAR of log's lines, as they are when it is called, to w
// and says what it saw. An error is w's or that of reading the log's files;
// lines that can't be used are only counted. After an error w holds a part.
func Convert(log *netlog.Log, w io.Writer, o Options) (Stats, error) {
	c, err := newConverter(log, o)
	if err != nil {
		return Stats{}, err
	}
	defer c.builder.decoder.close()
	c.enc = newEncoder(w)
	err = c.archive()
	return c.stats, err
}

// Entries gives each entry that [Convert] would write to each, in the same
// order. An error of each ends it and is returned. The entry is each's to keep.
func Entries(log *netlog.Log, o Options, each func(*Entry) error) (Stats, error) {
	c, err := newConverter(log, o)
	if err != nil {
		return Stats{}, err
	}
	defer c.builder.decoder.close()
	err = c.entries(each)
	return c.stats, err
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
	c := &converter{
		log:     log,
		index:   index,
		options: o,
		builder: builder{maxBody: o.MaxBody, noBodies: o.NoBodies},
		stats:   index.stats,
	}
	return c, c.filter(&o.Filter)
}

// A converter makes the second pass.
type converter struct {
	log     *netlog.Log
	index   *index
	options Options
	builder builder
	enc     *encoder
	stats   Stats
	buf     []byte // a line
}

func (c *converter) archive() error {
	version, title := c.options.Version, c.options.Title
	if version == "" {
		version = "devel"
	}
	if title == "" {
		title = "network"
	}
	page, err := c.page(title)
	if err != nil {
		return err
	}
	e := c.enc
	var failed error
	e.object("", func() {
		e.object("log", func() {
			e.string("version", "1.2")
			e.object("creator", func() {
				e.string("name", "agentenv-netlog")
				e.string("version", version)
			})
			e.open("pages", '[')
			if page != nil {
				e.page(page)
			}
			e.close(']')
			e.open("entries", '[')
			failed = c.entries(func(entry *Entry) error {
				if page != nil {
					entry.Pageref = pageID
				}
				e.entry(entry)
				return e.err
			})
			e.close(']')
			e.int("_unreadable", c.stats.Unreadable)
			e.stats(&c.stats)
		})
	})
	e.raw("\n")
	if failed != nil {
		return failed
	}
	return e.flush()
}

// page makes the one page, nil for a log without entries.
func (c *converter) page(title string) (*Page, error) {
	var page *Page
	for i := range min(c.index.items.n, titleEntries) {
		line, err := c.line(c.index.items.at(i).open)
		if err != nil {
			return nil, err
		}
		if line == nil || line.Open == nil {
			continue
		}
		if page == nil {
			page = &Page{
				ID: pageID, StartedDateTime: formatTime(line.Open.Time), Title: title,
				PageTimings: PageTimings{OnContentLoad: None, OnLoad: None},
			}
		}
		webSocket := wantsWebSocket(line.Open.Request)
		if resourceType(line.Open.Request, nil, webSocket) == "document" {
			page.Title = entryURL(line.Open, webSocket)
			break
		}
	}
	return page, nil
}

const pageID = "page_1"

func (c *converter) entries(each func(*Entry) error) error {
	total := int64(c.index.items.n)
	for _, p := range c.index.processes {
		for i := p.begin; i < p.end; i++ {
			if err := c.options.Progress(int64(i), total); err != nil {
				return err
			}
			r, err := c.record(c.index.items.at(i))
			if err != nil {
				return err
			}
			if r == nil {
				continue
			}
			entry := c.builder.entry(p.process, r)
			c.count(entry)
			if err := each(entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// record reads an entry's lines; nil when its open line can't be used.
func (c *converter) record(it *item) (*record, error) {
	line, err := c.use(it.open)
	if line == nil || line.Open == nil {
		return nil, err
	}
	r := &record{id: it.id, open: line.Open}
	if err := c.outcome(r, it, c.use); err != nil {
		return nil, err
	}
	for _, pos := range c.index.messages[it.open] {
		if c.options.NoBodies {
			break
		}
		if line, err = c.use(pos); err != nil {
			return nil, err
		}
		if line != nil && line.Message != nil {
			r.messages = append(r.messages, line.Message)
		}
	}
	return r, nil
}

// outcome reads how a record went on, so far as it did.
func (c *converter) outcome(r *record, it *item, read func(netlog.Pos) (*netlog.Line, error)) error {
	if it.end.Length > 0 {
		line, err := read(it.end)
		if err != nil {
			return err
		}
		if line != nil {
			r.end = line.End
		}
	}
	if pos, ok := c.index.answers[it.open]; ok && (r.end == nil || r.end.Response == nil) {
		line, err := read(pos)
		if err != nil {
			return err
		}
		if line != nil {
			r.answer = line.Answer
		}
	}
	return nil
}

// use reads a line and counts one that can't be used.
func (c *converter) use(pos netlog.Pos) (*netlog.Line, error) {
	line, err := c.line(pos)
	if line == nil && err == nil {
		c.stats.Unreadable++
	}
	return line, err
}

// line reads the line at pos; nil when it can't be used.
func (c *converter) line(pos netlog.Pos) (*netlog.Line, error) {
	b, err := c.log.ReadLine(pos, c.buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil // the file was cut since the first pass
	} else if err != nil {
		return nil, err
	}
	c.buf = b
	line, err := netlog.ParseLine(b)
	if err != nil {
		return nil, nil
	}
	return line, nil
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
