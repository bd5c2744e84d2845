package capture

import "testing"

func TestCountsAreReadFromWhatTcpdumpSays(t *testing.T) {
	for _, c := range []struct {
		line string
		want counts
		ok   bool
	}{
		{"tcpdump: 5 packets captured, 10 packets received by filter, 3 packets dropped by kernel", counts{5, 10, 3, 0}, true},
		{"tcpdump: 1 packet captured, 1 packet received by filter, 0 packets dropped by kernel, 7 packets dropped by interface", counts{1, 1, 0, 7}, true},
		{"5000000000 packets captured", counts{captured: 5000000000}, true},
		{"1 packet received by filter", counts{received: 1}, true},
		{"2 packets dropped by kernel", counts{dropped: 2}, true},
		{"2 packets dropped by interface", counts{droppedByInterface: 2}, true},
		{"", counts{}, false},
		{"tcpdump: pcap_loop: The interface disappeared", counts{}, false},
		{"99999999999999999999 packets captured", counts{}, false},
		{"many packets captured", counts{}, false},
		{"3 packets eaten", counts{}, false},
	} {
		var got counts
		if ok := got.read(c.line); ok != c.ok || got != c.want {
			t.Errorf("%q: %+v, %v; want %+v, %v", c.line, got, ok, c.want, c.ok)
		}
	}
}
