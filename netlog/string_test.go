package netlog

import (
	"strings"
	"testing"
)

// TestPlainLen puts every byte in every place of a text that is as long as to
// be looked at in both ways.
func TestPlainLen(t *testing.T) {
	for c := range 256 {
		for size := range 20 {
			for at := range size {
				for _, around := range []byte{'a', ' ', '~', 0x7f, 0xff, 0} {
					b := []byte(strings.Repeat(string([]byte{around}), size))
					for i := range at {
						b[i] = 'a'
					}
					b[at] = byte(c)
					want := 0
					for want < size && b[want] >= ' ' && b[want] < 0x80 && b[want] != '"' && b[want] != '\\' {
						want++
					}
					if got := plainLen(b); got != want {
						t.Fatalf("%q: got %d, want %d", b, got, want)
					}
					if got := plainLen(string(b)); got != want {
						t.Fatalf("%q as a string: got %d, want %d", b, got, want)
					}
				}
			}
		}
	}
}
