package netlog

import (
	"strings"
	"testing"
	"time"
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

func TestAppendTime(t *testing.T) {
	for _, at := range []time.Time{
		{}, time.Unix(0, 0), time.Unix(0, 999_999_999), time.Date(2026, 11, 29, 23, 59, 59, 999_999_000, time.UTC), time.Date(2024, 2, 29, 1, 2, 3, 4_005_678, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(987, 6, 5, 4, 3, 2, 1_000, time.FixedZone("", 5*3600+1800)), time.Now(),
	} {
		want := "x" + at.UTC().Format(timeLayout)
		if got := string(appendTime([]byte("x"), at)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func BenchmarkAppendTime(b *testing.B) {
	var buf []byte
	for b.Loop() {
		buf = appendTime(buf[:0], at)
	}
}
