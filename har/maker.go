package har

import (
	"runtime"
	"sync"
)

const (
	// maxMakers is how many makers work ahead. They and what they have made are
	// what a conversion's memory is.
	maxMakers = 4

	// jobItems is how many entries a maker makes before it tells: goroutines that
	// wait for one another at each would take longer than the work.
	jobItems = 8

	// largeEntry is from how many bytes on, of lines or of a decoded body, an entry
	// is made alone.
	largeEntry = 512 << 10
)

// A maker makes entries.
type maker struct {
	index   *index
	reader  recordReader
	builder builder
	rewrite func(*Entry) bool
}

func (c *converter) maker() *maker {
	return &maker{
		index:   c.index,
		reader:  recordReader{log: c.log, index: c.index, noMessages: c.options.NoBodies},
		builder: builder{maxBody: c.options.MaxBody, noBodies: c.options.NoBodies},
		rewrite: c.options.Rewrite,
	}
}

func (m *maker) close() { m.builder.decoder.close() }

// A made is what became of an item.
type made struct {
	entry      *Entry // nil: its open line can't be used
	stays      bool
	unreadable int64 // lines
	large      bool  // it is still to be made
	err        error
}

// make makes item i.
func (m *maker) make(i int) (out made) {
	it := m.index.items.at(i)
	if m.builder.most > 0 && m.index.length(it) > m.builder.most {
		return made{large: true}
	}
	m.reader.unreadable = 0
	r, err := m.reader.read(it)
	if r == nil {
		return made{unreadable: m.reader.unreadable, err: err}
	}
	m.builder.cut = false
	e := m.builder.entry(m.index.process(i), r)
	if m.builder.cut {
		return made{large: true}
	}
	return made{entry: e, stays: m.rewrite == nil || m.rewrite(e), unreadable: m.reader.unreadable}
}

// A job is some items in a row.
type job struct {
	first int
	made  []made
	done  chan struct{} // has one when all are made
}

// makers are a few makers, each on a goroutine of its own, and the jobs that
// they are at.
type makers struct {
	total   int
	sent    int   // jobs
	jobs    []job // a ring
	work    chan *job
	workers sync.WaitGroup
}

func startMakers(c *converter) *makers {
	n := min(runtime.GOMAXPROCS(0), maxMakers)
	m := &makers{total: c.index.items.n, jobs: make([]job, n+2)}
	m.work = make(chan *job, len(m.jobs))
	for i := range m.jobs {
		m.jobs[i].done = make(chan struct{}, 1)
	}
	for range n {
		one := c.maker()
		one.builder.most = largeEntry
		m.workers.Go(func() {
			defer one.close()
			for j := range m.work {
				one.reader.readAhead(j.first, len(j.made))
				for i := range j.made {
					j.made[i] = one.make(j.first + i)
				}
				j.done <- struct{}{}
			}
		})
	}
	for range m.jobs {
		m.send()
	}
	return m
}

func (m *makers) stop() {
	close(m.work)
	m.workers.Wait()
}

// send has the next job done, in the place of the one that was taken last.
func (m *makers) send() {
	first := m.sent * jobItems
	if first >= m.total {
		return
	}
	j := &m.jobs[m.sent%len(m.jobs)]
	j.first, j.made = first, make([]made, min(jobItems, m.total-first))
	m.sent++
	m.work <- j
}

// take waits for the job that item i is the first of.
func (m *makers) take(i int) []made {
	j := &m.jobs[i/jobItems%len(m.jobs)]
	<-j.done
	list := j.made
	j.made = nil
	return list
}
