package h2

import "time"

// A budget bounds what a peer may do that costs work and brings nothing. It is
// refilled by the second, and by what does bring something.
type budget struct {
	most, rate int
	left       int
	at         time.Time
}

// The budgets of one connection. A browser that aborts what it asked for stays far
// below them; who opens streams to reset them (CVE-2023-44487), or sends frames
// that only want to be answered, does not.
func idleFrames() budget { return budget{most: 10_000, rate: 1_000, left: 10_000} }
func resets() budget     { return budget{most: 1_000, rate: 50, left: 1_000} }

// spend takes one; false when there is none.
func (b *budget) spend() bool {
	if b.left == 0 {
		now := time.Now()
		if !b.at.IsZero() {
			b.earn(int(min(now.Sub(b.at).Seconds(), 3600) * float64(b.rate)))
		}
		b.at = now
		if b.left == 0 {
			return false
		}
	}
	if b.at.IsZero() {
		b.at = time.Now()
	}
	b.left--
	return true
}

// earn adds n.
func (b *budget) earn(n int) { b.left = min(b.left+n, b.most) }
