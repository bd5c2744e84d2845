package h2

import (
	"os"
	"sync"
	"time"
)

// A waiting is what a stream's reader, or its writer, waits on.
type waiting struct {
	sync.Cond
	by time.Time // the time limit; zero: none
	at int       // where it is in waits.list, while it waits
}

// waits are those of a connection's streams that have a time limit. They share one
// timer: most end long before it, and one for each would have to be set and stopped.
type waits struct {
	list  []*waiting
	timer *time.Timer
	next  time.Time // when timer goes off; zero: it is not set
}

// wait waits, under the lock, until there may be something new, or for the time
// limit.
func (c *Conn) wait(w *waiting) error {
	if w.by.IsZero() {
		w.Wait()
		return nil
	}
	if !time.Now().Before(w.by) {
		return os.ErrDeadlineExceeded
	}
	c.wakeBy(w.by)
	ws := &c.waits
	w.at = len(ws.list)
	ws.list = append(ws.list, w)
	w.Wait()
	last := len(ws.list) - 1
	ws.list[w.at] = ws.list[last]
	ws.list[w.at].at = w.at
	ws.list[last] = nil
	ws.list = ws.list[:last]
	return nil
}

// wakeBy sets the timer to a time that may be the earliest.
func (c *Conn) wakeBy(at time.Time) {
	switch ws := &c.waits; {
	case ws.timer == nil:
		ws.next, ws.timer = at, time.AfterFunc(time.Until(at), c.wake)
	case ws.next.IsZero() || at.Before(ws.next):
		ws.next = at
		ws.timer.Reset(time.Until(at))
	}
}

// wake wakes those whose time limit has passed.
func (c *Conn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits.next = time.Time{}
	now := time.Now()
	for _, w := range c.waits.list {
		if now.Before(w.by) {
			c.wakeBy(w.by)
		} else {
			w.Broadcast()
		}
	}
}
