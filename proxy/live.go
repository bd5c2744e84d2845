package proxy

import (
	"sync/atomic"
	"time"
)

// endGrace is how long, without a byte, the second direction of a tunnel or an
// upgraded connection may go on when the first has ended.
const endGrace = 30 * time.Second

// A live is the common life of two directions: bytes in either keep both alive,
// and the end of one bounds the other's.
type live struct {
	idle time.Duration // that ends them
	last atomic.Int64  // when bytes passed last, in nanoseconds since 1970
	half atomic.Bool   // one direction has ended
}

func newLive(idle time.Duration) *live {
	l := &live{idle: idle}
	l.touch()
	return l
}

func (l *live) touch() { l.last.Store(time.Now().UnixNano()) }

// left is how long a silence may still last.
func (l *live) left() time.Duration {
	limit := l.idle
	if l.half.Load() {
		limit = min(limit, endGrace)
	}
	return time.Until(time.Unix(0, l.last.Load()).Add(limit))
}

// halve notes that one direction is over, and makes the other, which reads what
// wake belongs to, look at what is left for it.
func (l *live) halve(wake func(time.Time) error) {
	l.touch()
	l.half.Store(true)
	wake(past)
}

// await sets the next moment at which a read gives up to look at the silence;
// false when it has lasted too long.
func (l *live) await(set func(time.Time) error) bool {
	left := l.left()
	if left <= 0 {
		return false
	}
	set(time.Now().Add(min(left, time.Minute)))
	return true
}
