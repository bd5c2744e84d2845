package har

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/agentenv/netlog/netlog"
)

// A coder is one way to apply a coding.
type coder struct {
	name   string // for the test
	coding string // for Content-Encoding
	writer func(io.Writer) io.WriteCloser
}

var coders = []coder{
	{"gzip", "gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
	{"x-gzip", "x-gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
	{"zlib", "deflate", func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }},
	{"raw", "deflate", func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 6); return z }},
	{"br", "br", func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }},
	{"zstd", "zstd", func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		return z
	}},
}

// encode applies the coding; a reader can have the first half from the first
// half's bytes.
func (c coder) encode(b []byte) []byte { return c.encodeParts(nil, b[:len(b)/2], b[len(b)/2:]) }

// encodeParts flushes after each part and tells at where the next one begins.
func (c coder) encodeParts(at func(offset int), parts ...[]byte) []byte {
	var out bytes.Buffer
	w := c.writer(&out)
	for _, part := range parts {
		if at != nil {
			at(out.Len())
		}
		if _, err := w.Write(part); err != nil {
			panic(err)
		}
		if err := w.(interface{ Flush() error }).Flush(); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// sample is a text that compresses, but not to nothing.
func sample(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 0, n+16)
	for len(b) < n {
		b = fmt.Appendf(b, "{\"item\":%d,\"é\":\"%x\"},", len(b), r.Uint32()%1000)
	}
	return b[:n:n]
}

func TestDecodeEveryCoding(t *testing.T) {
	var d decoder
	defer d.close()
	for _, c := range coders {
		for _, n := range []int{1, 100, 70_000, 1 << 20} {
			want := sample(n)
			out, more, err := d.decode([]string{c.coding}, &source{data: c.encode(want)}, 1<<20, false)
			if err != nil || more || !bytes.Equal(out, want) {
				t.Errorf("%s, %d bytes: got %d, more %v, error %v", c.name, n, len(out), more, err)
			}
		}
	}
}

// Cut anywhere, a body decodes as far as it goes where the log cut it, and is
// no decoded body where the wire did.
func TestDecodeCutAtEveryByte(t *testing.T) {
	want := sample(3000)
	var d decoder
	defer d.close()
	for _, c := range coders {
		whole := c.encode(want)
		longest := 0
		for cut := range whole {
			in := whole[:cut]
			if _, _, err := d.decode([]string{c.coding}, &source{data: in}, 1<<20, false); err == nil {
				t.Fatalf("%s cut at %d of %d: no error", c.name, cut, len(whole))
			}
			out, more, err := d.decode([]string{c.coding}, &source{data: in}, 1<<20, true)
			if err != nil || more || !bytes.HasPrefix(want, out) {
				t.Fatalf("%s cut at %d of %d: %d bytes, more %v, error %v", c.name, cut, len(whole), len(out), more, err)
			}
			longest = max(longest, len(out))
		}
		if longest < len(want)/2 {
			t.Errorf("%s: a cut body never gave more than %d of %d bytes", c.name, longest, len(want))
		}
		out, _, err := d.decode([]string{c.coding}, &source{data: whole}, 1<<20, false)
		if err != nil || !bytes.Equal(out, want) {
			t.Errorf("%s after broken ones: %d bytes, error %v", c.name, len(out), err)
		}
	}
}

func TestDecodeMembersAndWhatFollows(t *testing.T) {
	one, two := sample(1000), []byte("the second member")
	z := coders[0]
	members := append(z.encode(one), z.encode(two)...)
	var d decoder
	defer d.close()
	tests := []struct {
		name   string
		coding string
		in     []byte
		want   string
		broken bool
	}{
		{"two members", "gzip", members, string(one) + string(two), false},
		{"the second cut in its magic", "gzip", members[:len(z.encode(one))+1], "", true},
		{"the second cut in its header", "gzip", members[:len(z.encode(one))+5], "", true},
		{"the second cut in its data", "gzip", members[:len(members)-3], "", true},
		{"what has its magic alone behind", "gzip", append(z.encode(one), "\x1f\x8bthis is none"...), string(one), false},
		{"zeros behind", "gzip", append(z.encode(one), 0, 0, 0), string(one), false},
		{"a wrong checksum", "gzip", flip(z.encode(one), -8), "", true},
		{"a wrong Adler checksum", "deflate", flip(coders[2].encode(one), -1), "", true},
		{"no gzip at all", "gzip", []byte("<html>"), "", true},
		{"two zstd frames", "zstd", append(coders[5].encode(one), coders[5].encode(two)...), string(one) + string(two), false},
		{"unknown", "compress", []byte("abc"), "", true},
	}
	for _, test := range tests {
		out, _, err := d.decode([]string{test.coding}, &source{data: test.in}, 1<<20, false)
		if (err != nil) != test.broken || (err == nil && string(out) != test.want) {
			t.Errorf("%s: %d bytes, error %v", test.name, len(out), err)
		}
	}
}

// flip changes the byte at i, from the end when i is negative.
func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[(i+len(b))%len(b)] ^= 0x55
	return b
}

func TestDecodeStacked(t *testing.T) {
	want := sample(5000)
	var d decoder
	defer d.close()
	for _, inner := range coders {
		for _, outer := range coders {
			in := outer.encode(inner.encode(want))
			out, more, err := d.decode([]string{inner.coding, outer.coding}, &source{data: in}, 1<<20, false)
			if err != nil || more || !bytes.Equal(out, want) {
				t.Errorf("%s in %s: %d bytes, error %v", inner.name, outer.name, len(out), err)
			}
			out, _, err = d.decode([]string{inner.coding, outer.coding}, &source{data: in[:len(in)/2]}, 1<<20, true)
			if err != nil || !bytes.HasPrefix(want, out) {
				t.Errorf("%s in %s, cut: %d bytes, error %v", inner.name, outer.name, len(out), err)
			}
		}
	}
	six := []string{"gzip", "gzip", "gzip", "gzip", "gzip", "gzip"}
	if _, _, err := d.decode(six, &source{data: want}, 1<<20, false); err == nil {
		t.Error("six codings were taken")
	}
}

// zeros writes n zeros to w.
func zeros(w io.Writer, n int64) error {
	_, err := io.CopyN(w, zeroReader{}, n)
	return err
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A bomb costs the limit, whatever it would come to.
func TestDecodeBomb(t *testing.T) {
	const limit = 1 << 20
	for _, c := range coders {
		var bomb bytes.Buffer
		w := c.writer(&bomb)
		if err := zeros(w, 16<<20); err != nil {
			t.Fatal(err)
		}
		w.Close()
		checkBomb(t, c.name, []string{c.coding}, bomb.Bytes(), limit)
		var twice bytes.Buffer
		w = c.writer(&twice)
		w.Write(bomb.Bytes())
		w.Close()
		checkBomb(t, c.name+" twice", []string{c.coding, c.coding}, twice.Bytes(), limit)
	}
}

// Ten GiB of zeros, made of repeated members and of one block repeated.
func TestDecodeHugeBomb(t *testing.T) {
	var member, inner bytes.Buffer
	w, _ := gzip.NewWriterLevel(&member, 9)
	if err := zeros(w, 10<<20); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for range 1024 {
		inner.Write(member.Bytes())
	}
	checkBomb(t, "members", []string{"gzip"}, inner.Bytes(), 1<<20)
	checkBomb(t, "members in gzip", []string{"gzip", "gzip"}, coders[0].encode(inner.Bytes()), 1<<20)
	frame := zstdBomb(80 << 10) // 10 GiB in 320 KiB
	checkBomb(t, "zstd blocks", []string{"zstd"}, frame, 1<<20)
	checkBomb(t, "zstd blocks in gzip", []string{"zstd", "gzip"}, coders[0].encode(frame), 1<<20)
}

// zstdBomb is so many blocks of 128 KiB of one repeated byte, each of which takes
// four bytes (RFC 8878 §3.1.1.2.2).
func zstdBomb(blocks int) []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58} // a window of 2 MiB
	for i := range blocks {
		last := byte(0)
		if i == blocks-1 {
			last = 1
		}
		frame = append(frame, 0x02|last, 0x00, 0x10, 'a')
	}
	return frame
}

// checkBomb decodes a bomb and looks at what it cost: the output, and the
// readers' own windows, in bytes allocated.
func checkBomb(t *testing.T, name string, codings []string, bomb []byte, limit int64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var d decoder
	defer d.close()
	out, more, err := d.decode(codings, &source{data: bomb}, limit, false)
	runtime.ReadMemStats(&after)
	if err != nil || !more || int64(len(out)) != limit {
		t.Errorf("%s: %d bytes, more %v, error %v", name, len(out), more, err)
	}
	if c := int64(cap(d.out[0]) + cap(d.out[1])); c > 2*limit {
		t.Errorf("%s: buffers of %d bytes for a limit of %d", name, c, limit)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 48<<20 {
		t.Errorf("%s: %d MiB allocated for a limit of %d bytes", name, n>>20, limit)
	}
}

// What bodies come to in an entry.
func TestContent(t *testing.T) {
	text := sample(2000)
	gz := coders[0].encode(text)
	big := sample(wholeBody + 5)
	coded := netlog.Header{Name: "Content-Encoding", Value: "gzip"}
	cutBody := func(b []byte, keep int) *netlog.Body {
		body := kept(b)
		body.Kept, body.Truncated = netlog.Bytes(b[:keep]), true
		return body
	}
	notKept := kept(text)
	notKept.Kept = nil
	number := func(n int64) *int64 { return &n }
	str := func(s string) *string { return &s }
	tests := []struct {
		name string
		resp *netlog.Response
		want Content
	}{
		{name: "identity", resp: ok("application/json", text),
			want: Content{Size: 2000, Compression: number(0), MimeType: "application/json", Text: str(string(text))}},
		{name: "gzip", resp: ok("application/json", gz, coded),
			want: Content{Size: 2000, Compression: number(2000 - int64(len(gz))), MimeType: "application/json", Text: str(string(text))}},
		{name: "empty", resp: ok("text/plain", nil), want: Content{MimeType: "text/plain", Text: str("")}},
		{name: "no type", resp: ok("", []byte("abc")), want: Content{Size: 3, Compression: number(0), MimeType: "x-unknown", Text: str("abc")}},
		{name: "binary", resp: ok("image/png", []byte("\x89PNG\x00")),
			want: Content{Size: 5, Compression: number(0), MimeType: "image/png", Text: str("iVBORwA="), Encoding: "base64"}},
		{name: "past the limit", resp: ok("application/json", coders[0].encode(big), coded),
			want: Content{Size: wholeBody, MimeType: "application/json", Text: str(string(big[:wholeBody])),
				BodyNote: BodyNote{Truncated: true, KeptSize: number(int64(len(coders[0].encode(big))))}}},
		{name: "not kept", resp: &netlog.Response{Status: 200, Headers: []netlog.Header{{Name: "Content-Type", Value: "font/woff2"}}, Body: notKept},
			want: Content{Size: 2000, Compression: number(0), MimeType: "font/woff2"}},
		{name: "coded and not kept", resp: &netlog.Response{Status: 200, Headers: []netlog.Header{coded}, Body: notKept},
			want: Content{Size: 2000, MimeType: "x-unknown"}},
		{name: "truncated", resp: &netlog.Response{Status: 200, Headers: []netlog.Header{{Name: "Content-Type", Value: "text/plain"}}, Body: cutBody(text, 100)},
			want: Content{Size: 2000, Compression: number(0), MimeType: "text/plain", Text: str(string(text[:100])),
				BodyNote: BodyNote{Truncated: true, KeptSize: number(100)}}},
		{name: "coded and broken", resp: ok("text/html", []byte("<html>"), coded),
			want: Content{Size: 6, MimeType: "text/html", Text: str(base64.StdEncoding.EncodeToString([]byte("<html>"))), Encoding: "base64",
				BodyNote: BodyNote{Undecoded: "gzip: gzip: invalid header"}}},
		{name: "coded and cut on the wire", resp: ok("text/html", gz[:len(gz)-9], coded),
			want: Content{Size: 2000, MimeType: "text/html", Text: str(string(text)), BodyNote: BodyNote{Misencoded: "gzip: unexpected EOF"}}},
		{name: "coded and cut before anything", resp: ok("text/html", gz[:11], coded),
			want: Content{Size: 11, MimeType: "text/html", Text: str(base64.StdEncoding.EncodeToString(gz[:11])), Encoding: "base64",
				BodyNote: BodyNote{Undecoded: "gzip: unexpected EOF"}}},
		{name: "a wrong checksum", resp: ok("text/html", flip(gz, -8), coded),
			want: Content{Size: 2000, MimeType: "text/html", Text: str(string(text)), BodyNote: BodyNote{Misencoded: "gzip: gzip: invalid checksum"}}},
		{name: "br and more", resp: ok("text/html", append(coders[4].encode(text), "more"...), netlog.Header{Name: "Content-Encoding", Value: "br"}),
			want: Content{Size: 2000, MimeType: "text/html", Text: str(string(text)), BodyNote: BodyNote{Misencoded: "br: brotli: excessive input"}}},
		{name: "cut inside another coding", resp: ok("text/html", coders[4].encode(gz[:len(gz)-9]), netlog.Header{Name: "Content-Encoding", Value: "gzip, br"}),
			want: Content{Size: 2000, MimeType: "text/html", Text: str(string(text)), BodyNote: BodyNote{Misencoded: "gzip, br: gzip: unexpected EOF"}}},
		{name: "text that a coding would take for its beginning", resp: ok("application/json", []byte("{}"), netlog.Header{Name: "Content-Encoding", Value: "deflate"}),
			want: Content{Size: 2, MimeType: "application/json", Text: str("e30="), Encoding: "base64",
				BodyNote: BodyNote{Undecoded: "deflate: unexpected EOF"}}},
		{name: "unknown coding", resp: ok("text/html", []byte("abc\x00"), netlog.Header{Name: "content-encoding", Value: "gzip, dcb"}),
			want: Content{Size: 4, MimeType: "text/html", Text: str("YWJjAA=="), Encoding: "base64",
				BodyNote: BodyNote{Undecoded: "gzip, dcb: dcb: unknown coding"}}},
		{name: "a charset for a coding", resp: ok("application/json", []byte(`{"a":"\u017e"}`), netlog.Header{Name: "Content-Encoding", Value: "UTF-8"}),
			want: Content{Size: 14, Compression: number(0), MimeType: "application/json", Text: str(`{"a":"\u017e"}`),
				BodyNote: BodyNote{Misencoded: "utf-8: unknown coding"}}},
		{name: "many codings", resp: ok("text/html", []byte("abc"), netlog.Header{Name: "content-encoding", Value: strings.Repeat("gzip, ", 502)}),
			want: Content{Size: 3, MimeType: "text/html", Text: str("YWJj"), Encoding: "base64",
				BodyNote: BodyNote{Undecoded: "502 codings, more than 5"}}},
		{name: "a long coding", resp: ok("text/html", []byte("abc"), netlog.Header{Name: "content-encoding", Value: strings.Repeat("x", 1000)}),
			want: Content{Size: 3, Compression: number(0), MimeType: "text/html", Text: str("abc"),
				BodyNote: BodyNote{Misencoded: strings.Repeat("x", 200) + "…"}}},
	}
	for _, test := range tests {
		e := one(t, get("https://a.example/"), test.resp)
		got := e.Response.Content
		test.want.SHA256 = test.resp.Body.SHA256
		if diff := jsonDiff(got, test.want); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if e.Response.BodySize != test.resp.Body.Size {
			t.Errorf("%s: bodySize %d, want %d", test.name, e.Response.BodySize, test.resp.Body.Size)
		}
	}
}

func FuzzDecodeGzip(f *testing.F)    { fuzzCoder(f, 0) }
func FuzzDecodeDeflate(f *testing.F) { fuzzCoder(f, 2, 3) }
func FuzzDecodeBrotli(f *testing.F)  { fuzzCoder(f, 4) }
func FuzzDecodeZstd(f *testing.F)    { fuzzCoder(f, 5) }

func fuzzCoder(f *testing.F, which ...int) {
	for _, i := range which {
		f.Add(coders[i].encode(sample(300)))
		f.Add(coders[i].encode(sample(300))[:40])
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, i := range which {
			fuzzDecode(t, coders[i], in)
		}
	})
}

// fuzzDecode decodes in as it is, and what coding in gives.
func fuzzDecode(t *testing.T, c coder, in []byte) {
	const limit = 64 << 10
	var d decoder
	defer d.close()
	for _, cut := range []bool{false, true} {
		out, _, err := d.decode([]string{c.coding}, &source{data: in}, limit, cut)
		if len(out) > limit {
			t.Fatalf("%d bytes for a limit of %d", len(out), limit)
		}
		if cut && errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("a cut body gave %v", err)
		}
	}
	out, more, err := d.decode([]string{c.coding}, &source{data: c.encode(in)}, limit, false)
	if err != nil || !bytes.Equal(out, in[:min(len(in), limit)]) || more != (len(in) > limit) {
		t.Fatalf("round trip of %d bytes: %d, more %v, error %v", len(in), len(out), more, err)
	}
}

func BenchmarkDecode(b *testing.B) {
	text := sample(100_000)
	for _, c := range coders {
		in := c.encode(text)
		b.Run(c.name, func(b *testing.B) {
			var d decoder
			defer d.close()
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := d.decode([]string{c.coding}, &source{data: in}, 1<<20, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCodings(t *testing.T) {
	got := codings([]netlog.Header{{Name: "content-encoding", Value: " GZip ,identity,, br"}, {Name: "Content-Encoding", Value: "zstd"}})
	if strings.Join(got, " ") != "gzip br zstd" {
		t.Errorf("got %q", got)
	}
}
