package h2

// maxPast is how many streams are remembered: as many as are open at once, since a
// connection's end may close them all.
const maxPast = 256

// A past is the streams that were closed last.
type past struct {
	ids  [maxPast]uint32
	ours [maxPast]bool
	next int
}

// add notes that a stream is closed; ours: by a reset, behind which more may come.
func (p *past) add(id uint32, ours bool) {
	p.ids[p.next], p.ours[p.next] = id, ours
	p.next = (p.next + 1) % len(p.ids)
}

// has tells whether a stream is among them, and how it came there.
func (p *past) has(id uint32) (ours, theirs bool) {
	for i, other := range p.ids {
		if other == id && id != 0 {
			return p.ours[i], !p.ours[i]
		}
	}
	return false, false
}
