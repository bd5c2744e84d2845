package ca

import (
	"fmt"
	"testing"
)

// BenchmarkLeaf signs a certificate for a name that was never asked for, and finds
// one that was.
func BenchmarkLeaf(b *testing.B) {
	a, err := Create(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name  string
		names int // that are asked for in turn
	}{{"signed", 2 * maxNames}, {"kept", 100}} {
		b.Run(bench.name, func(b *testing.B) {
			leaves, err := NewLeaves(a)
			if err != nil {
				b.Fatal(err)
			}
			names := make([]string, bench.names)
			for i := range names {
				names[i] = fmt.Sprintf("www%d.shop.example", i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := leaves.Leaf(names[i%len(names)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
