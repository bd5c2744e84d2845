package capture

import (
	"strconv"
	"strings"
)

// counts are what a tcpdump says of its packets, on SIGUSR1 in one line and at
// its end in several.
type counts struct {
	captured, received, dropped, droppedByInterface int64
}

// read takes in a line; false when that says something else.
func (c *counts) read(line string) bool {
	any := false
	for part := range strings.SplitSeq(strings.TrimPrefix(line, "tcpdump: "), ", ") {
		number, what, _ := strings.Cut(part, " packet")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return any
		}
		switch strings.TrimPrefix(what, "s") {
		case " captured":
			c.captured = n
		case " received by filter":
			c.received = n
		case " dropped by kernel":
			c.dropped = n
		case " dropped by interface":
			c.droppedByInterface = n
		default:
			return any
		}
		any = true
	}
	return any
}

func (c counts) plus(d counts) counts {
	return counts{c.captured + d.captured, c.received + d.received, c.dropped + d.dropped, c.droppedByInterface + d.droppedByInterface}
}
