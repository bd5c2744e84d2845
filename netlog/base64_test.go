package netlog

import (
	"encoding/base64"
	"testing"
)

func TestAppendBase64(t *testing.T) {
	p := make([]byte, 300)
	for i := range p {
		p[i] = byte(i*37 + i/7)
	}
	for n := range p {
		for from := range 3 {
			in := p[from:max(n, from)]
			want := "before" + base64.StdEncoding.EncodeToString(in)
			if got := string(appendBase64([]byte("before"), in)); got != want {
				t.Fatalf("%d bytes: got %s, want %s", len(in), got, want)
			}
		}
	}
	var all []byte // each group of twelve bits in each place
	for v := range 1 << 12 {
		all = append(all, byte(v>>4), byte(v<<4|v>>8), byte(v))
	}
	all = append(all, all[1:]...)
	if got, want := string(appendBase64(nil, all)), base64.StdEncoding.EncodeToString(all); got != want {
		t.Fatal("all groups of twelve bits: not what encoding/base64 gives")
	}
}
