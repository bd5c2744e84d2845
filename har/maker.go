package har

import (
	"runtime"
	"sync"
)

const (
	// maxMakers is how many makers work ahead: they and what they have made are
	// what a conversion's memory is.
	maxMakers = 4

	// largeEntry is from how many bytes on, of lines or of a decoded body, an entry
	// is made alone.
	largeEntry = 1 << 20
)

// A maker makes entries.
type maker struct {
	reader  recordReader
	builder builder
	rewrite func(*Entry) bool
}

func (c *converter) maker() *maker {
	return &maker{
		reader:  recordReader{log: c.log, index: c.index, noMessages: c.options.NoBodies},
		builder: builder{maxBody: c.options.MaxBody, noBodies: c.options.NoBodies},
		rewrite: c.options.Rewrite,
	}
}

func (m *maker) close() { m.builder.decoder.close() }

// A job is to make an item's entry.
type job struct {
	item    *item
	process process
	done    chan struct{} // has one when the fields below are those of the item

	entry      *Entry // nil: its open line can't be used
	stays      bool
	unreadable int64 // lines
	large      bool  // it is still to be made
	err        error
}

func (m *maker) make(j *job) {
	j.entry, j.stays, j.large = nil, false, false
	m.reader.unreadable = 0
	r, err := m.reader.read(j.item)
	j.unreadable, j.err = m.reader.unreadable, err
	if r == nil {
		return
	}
	m.builder.cut = false
	j.entry = m.builder.entry(j.process, r)
	if m.builder.cut {
		j.entry, j.large = nil, true
		return
	}
	j.stays = m.rewrite == nil || m.rewrite(j.entry)
}

// makers are a few makers, each on a goroutine of its own, and the jobs that
// they are at.
type makers struct {
	jobs    []job // a ring
	work    chan *job
	workers sync.WaitGroup
}

func startMakers(c *converter) *makers {
	n := min(runtime.GOMAXPROCS(0), maxMakers)
	m := &makers{jobs: make([]job, n+2)}
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
				one.make(j)
				j.done <- struct{}{}
			}
		})
	}
	return m
}

func (m *makers) stop() {
	close(m.work)
	m.workers.Wait()
}

// send has the entry of item i made, or says that it is large. The job before
// it in its place must have been taken.
func (m *makers) send(i int, x *index) {
	j := &m.jobs[i%len(m.jobs)]
	j.item = x.items.at(i)
	j.process = x.process(i)
	j.large = x.length(j.item) > largeEntry
	if j.large {
		j.done <- struct{}{}
		return
	}
	m.work <- j
}

// take waits for the job of item i.
func (m *makers) take(i int) *job {
	j := &m.jobs[i%len(m.jobs)]
	<-j.done
	return j
}
