package proxy

import (
	"bytes"
	"compress/flate"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/agentenv/netlog/proxy/wire"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The examples of RFC 7692 §7.2.3, each message after the ones before it.
func TestInflate(t *testing.T) {
	for _, test := range []struct {
		name     string
		takeover bool
		messages []string // in hex
		want     []string // "?" for one that can't be inflated
	}{
		{"one block", true, []string{"f248cdc9c90700"}, []string{"Hello"}},
		{"the window is shared", true, []string{"f248cdc9c90700", "f200110000"}, []string{"Hello", "Hello"}},
		{"the window is not shared", false, []string{"f248cdc9c90700", "f248cdc9c90700"}, []string{"Hello", "Hello"}},
		{"a window that is missed", false, []string{"f248cdc9c90700", "f200110000", "f248cdc9c90700"}, []string{"Hello", "?", "Hello"}},
		{"a block without compression", true, []string{"000500faff48656c6c6f00"}, []string{"Hello"}},
		{"a last block", true, []string{"f348cdc9c9070000", "f200110000"}, []string{"Hello", "Hello"}},
		{"two blocks", true, []string{"f248050000 00ffffcac9c90700"}, []string{"Hello"}},
		{"a last block, then another", true, []string{"f348cdc9c9070000 0000ffff f200110000"}, []string{"HelloHello"}},
		{"nothing", true, []string{"00", "02 00"}, []string{"", ""}},
		{"no DEFLATE", true, []string{"ffffffff", "f248cdc9c90700"}, []string{"?", "?"}},
		{"cut short", true, []string{"f248cdc9", "f248cdc9c90700"}, []string{"?", "?"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &inflater{pool: new(sync.Pool), takeover: test.takeover}
			for i, m := range test.messages {
				p := unhex(t, m)
				got, size, ok := f.message(p, int64(len(p)))
				if !ok {
					got, size = []byte("?"), 1
				}
				if string(got) != test.want[i] || size != int64(len(test.want[i])) {
					t.Errorf("message %d: %q of %d bytes, want %q", i, got, size, test.want[i])
				}
			}
		})
	}
}

// A deflater compresses messages as a sender does.
type deflater struct {
	w        *flate.Writer
	buf      bytes.Buffer
	takeover bool
}

func newDeflater(t testing.TB, takeover bool) *deflater {
	d := &deflater{takeover: takeover}
	var err error
	if d.w, err = flate.NewWriter(&d.buf, flate.BestCompression); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *deflater) message(s string) string {
	d.buf.Reset()
	if !d.takeover {
		d.w.Reset(&d.buf)
	}
	d.w.Write([]byte(s))
	d.w.Flush()
	return strings.TrimSuffix(d.buf.String(), "\x00\x00\xff\xff")
}

// Messages of every kind, whose beginnings reach back to the ones before them.
func TestInflateSequences(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 200<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for _, takeover := range []bool{true, false} {
		d, f := newDeflater(t, takeover), &inflater{pool: new(sync.Pool), takeover: takeover}
		for i := range 300 {
			from := random.IntN(len(noise))
			m := string(noise[from:min(len(noise), from+random.IntN(1<<(i%18)+1))])
			if i%3 == 0 {
				m = strings.Repeat(m[:min(len(m), 40)], i)
			}
			p := []byte(d.message(m))
			got, size, ok := f.message(p, int64(len(p)))
			if !ok || size != int64(len(m)) || string(got) != m[:min(len(m), keepOfMessage)] {
				t.Fatalf("takeover %v, message %d of %d bytes: %d of %d, %v", takeover, i, len(m), len(got), size, ok)
			}
			if len(f.window) > maxWindow {
				t.Fatalf("a window of %d bytes", len(f.window))
			}
		}
	}
}

// A message that inflates without end is given up, and with it what builds on it.
func TestInflateBomb(t *testing.T) {
	bomb := []byte(newDeflater(t, true).message(strings.Repeat("\x00", maxInflated+maxInflated/8)))
	if len(bomb) > maxDeflated {
		t.Fatalf("a bomb of %d bytes", len(bomb))
	}
	for _, takeover := range []bool{true, false} {
		f := &inflater{pool: new(sync.Pool), takeover: takeover}
		if _, size, ok := f.message(bomb, int64(len(bomb))); ok {
			t.Errorf("inflated to %d bytes", size)
		}
		hello := unhex(t, "f248cdc9c90700")
		if _, _, ok := f.message(hello, int64(len(hello))); ok == takeover {
			t.Errorf("takeover %v: the next message was inflated: %v", takeover, ok)
		}
	}
}

func TestAgreedDeflate(t *testing.T) {
	for _, test := range []struct {
		extensions []string
		want       deflate
		ok         bool
	}{
		{nil, deflate{}, false},
		{[]string{"permessage-deflate"}, deflate{true, true}, true},
		{[]string{"Permessage-Deflate ; client_no_context_takeover"}, deflate{false, true}, true},
		{[]string{`permessage-deflate; server_no_context_takeover; client_max_window_bits="10"`}, deflate{true, false}, true},
		{[]string{"permessage-deflate;server_no_context_takeover;client_no_context_takeover"}, deflate{false, false}, true},
		{[]string{"x-webkit-deflate-frame"}, deflate{}, false},
		{[]string{"permessage-deflate", "bbf-usp-protocol"}, deflate{}, false},
		{[]string{"permessage-deflate, permessage-deflate"}, deflate{}, false},
	} {
		var fields wire.FieldList
		for _, e := range test.extensions {
			fields = append(fields, wire.Field{Name: []byte("Sec-WebSocket-Extensions"), Value: []byte(e)})
		}
		if got, ok := agreedDeflate(fields); ok != test.ok || ok && got != test.want {
			t.Errorf("%q: %v, %v", test.extensions, got, ok)
		}
	}
}

// Whatever was agreed on, no bytes of a message do more than to be not inflated.
func FuzzInflate(f *testing.F) {
	for _, s := range []string{"f248cdc9c90700", "f348cdc9c9070000", "000500faff48656c6c6f00", "f200110000"} {
		f.Add(unhex(f, s), "text", true)
	}
	f.Fuzz(func(t *testing.T, p []byte, text string, takeover bool) {
		pool := new(sync.Pool)
		in := &inflater{pool: pool, takeover: takeover}
		in.message(p, int64(len(p)))
		if len(in.window) > maxWindow {
			t.Errorf("a window of %d bytes", len(in.window))
		}
		d := newDeflater(t, takeover)
		in = &inflater{pool: pool, takeover: takeover} // what p has left in the pool disturbs nothing
		for range 2 {
			m := []byte(d.message(text))
			if got, size, ok := in.message(m, int64(len(m))); !ok || size != int64(len(text)) || !strings.HasPrefix(text, string(got)) {
				t.Errorf("%q came back as %q of %d bytes, %v", text, got, size, ok)
			}
		}
	})
}
