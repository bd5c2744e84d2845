package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/agentenv/netlog/netlog"
)

const (
	// maxCodings is how many stacked codings are undone.
	maxCodings = 5
	// maxZstdWindow is what RFC 9659 allows for the zstd content coding.
	maxZstdWindow = 8 << 20
)

// A decoder undoes content codings (RFC 9110 §8.4.1). Its readers and buffers
// are used again from body to body. The zero value is ready.
type decoder struct {
	gzip  *gzip.Reader
	zlib  io.ReadCloser
	flate io.ReadCloser
	br    *brotli.Reader
	zstd  *zstd.Decoder
	out   [2][]byte // a stack's codings take turns
}

func (d *decoder) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// decode undoes codings, which stand in the order in which they were applied.
// No more than limit bytes come out of each: more says that there was more. With
// lenient, one that isForgiven is decoded as far as it goes. The result is valid
// until the next call.
func (d *decoder) decode(codings []string, in *source, limit int64, lenient bool) (out []byte, more bool, err error) {
	if len(codings) > maxCodings {
		return nil, false, fmt.Errorf("%d codings, more than %d", len(codings), maxCodings)
	}
	for i := len(codings) - 1; i >= 0; i-- {
		to := &sink{buf: d.out[i%2][:0], limit: limit}
		in.to = to
		err := d.undo(codings[i], in, to)
		d.out[i%2] = to.buf
		if err != nil && !(lenient && isForgiven(err)) {
			return nil, false, fmt.Errorf("%s: %w", codings[i], err)
		}
		out, more, lenient = to.buf, more || to.more, lenient || to.more
		in = &source{data: out}
	}
	return out, more, nil
}

// isForgiven says whether browsers show what came before err: the end is missing,
// or all is there and what stands behind it is wrong.
func isForgiven(err error) bool {
	excess := strings.HasSuffix(err.Error(), "brotli: excessive input") // it has no name
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || excess
}

// undo gives to what coding makes of in. At an error to has what came before it.
func (d *decoder) undo(coding string, in *source, to *sink) error {
	if len(in.data) == 0 {
		return io.ErrUnexpectedEOF // zstd takes nothing for no frames
	}
	switch coding {
	case "gzip", "x-gzip":
		return d.members(in, to)
	case "deflate":
		// Some servers send raw deflate where RFC 9110 §8.4.1.2 asks for zlib's
		// format; browsers take both.
		if !looksZlib(in.data) {
			return d.raw(in.reader(), to)
		}
		err := d.wrapped(in.reader(), to)
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		to.buf = to.buf[:0]
		if d.raw(in.reader(), to) != nil {
			return err
		}
		return nil
	case "br":
		if d.br == nil {
			d.br = brotli.NewReader(in.reader())
		} else if err := d.br.Reset(in.reader()); err != nil {
			return err
		}
		return to.from(d.br)
	case "zstd":
		if d.zstd == nil {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecodeBuffersBelow(0))
			if err != nil {
				return err
			}
			d.zstd = z
		}
		if err := d.zstd.Reset(in.reader()); err != nil {
			return err
		}
		return to.from(d.zstd)
	}
	return errUnknownCoding
}

var errUnknownCoding = errors.New("unknown coding")

// members reads every gzip member (RFC 1952 §2.2). What follows the last and
// is none is passed over, as browsers do.
func (d *decoder) members(in *source, to *sink) error {
	if !beginsMember(in.data) {
		return gzip.ErrHeader
	}
	r := in.reader()
	for n := 0; beginsMember(in.rest()); n++ {
		var err error
		if d.gzip == nil {
			d.gzip, err = gzip.NewReader(r)
		} else {
			err = d.gzip.Reset(r)
		}
		if n > 0 && errors.Is(err, gzip.ErrHeader) {
			return nil
		} else if err != nil {
			return err
		}
		d.gzip.Multistream(false)
		if err := to.from(d.gzip); err != nil || to.more {
			return err
		}
	}
	return nil
}

// beginsMember says whether b begins with gzip's two bytes, or is one of them.
func beginsMember(b []byte) bool {
	const magic = "\x1f\x8b"
	return len(b) > 0 && strings.HasPrefix(magic, string(b[:min(len(b), len(magic))]))
}

// wrapped reads deflate in zlib's format (RFC 1950).
func (d *decoder) wrapped(in flate.Reader, to *sink) error {
	if d.zlib == nil {
		r, err := zlib.NewReader(in)
		if err != nil {
			return err
		}
		d.zlib = r
	} else if err := d.zlib.(zlib.Resetter).Reset(in, nil); err != nil {
		return err
	}
	return to.from(d.zlib)
}

// raw reads deflate as it is (RFC 1951).
func (d *decoder) raw(in flate.Reader, to *sink) error {
	if d.flate == nil {
		d.flate = flate.NewReader(in)
	} else if err := d.flate.(flate.Resetter).Reset(in, nil); err != nil {
		return err
	}
	return to.from(d.flate)
}

// looksZlib says whether b begins with zlib's two bytes (RFC 1950 §2.2).
func looksZlib(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0f == 8 && b[0]>>4 <= 7 && (int(b[0])<<8|int(b[1]))%31 == 0
}

// A sink takes what a reader gives, up to limit bytes.
type sink struct {
	buf   []byte
	limit int64
	more  bool // there was more
}

func (s *sink) from(r io.Reader) error {
	var probe [1]byte
	for idle := 0; idle < 100; {
		into := probe[:] // full: is there more?
		if room := s.limit - int64(len(s.buf)); room > 0 {
			if len(s.buf) == cap(s.buf) {
				grown := make([]byte, len(s.buf), min(max(2*int64(cap(s.buf)), 4<<10), s.limit))
				copy(grown, s.buf)
				s.buf = grown
			}
			into = s.buf[len(s.buf):min(int64(cap(s.buf)), s.limit)]
		}
		n, err := r.Read(into)
		if int64(len(s.buf)) == s.limit {
			s.more = n > 0
		} else {
			s.buf = s.buf[:len(s.buf)+n]
		}
		if s.more || err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		idle++
		if n > 0 {
			idle = 0
		}
	}
	return io.ErrNoProgress
}

// A source is a body's kept bytes.
type source struct {
	data   []byte
	chunks []netlog.Chunk // when they came, where that is known
	marks  []int          // how much had been decoded when each chunk was first asked for
	to     *sink
	plain  bytes.Reader
	paced  pacedReader
}

// reader gives the bytes from the first on. The compressors know how to read
// fast from a bytes.Reader.
func (s *source) reader() flate.Reader {
	if len(s.chunks) == 0 {
		s.plain.Reset(s.data)
		return &s.plain
	}
	s.marks, s.paced = s.marks[:0], pacedReader{source: s}
	return &s.paced
}

// rest is what has not been read.
func (s *source) rest() []byte {
	if len(s.chunks) == 0 {
		return s.data[len(s.data)-s.plain.Len():]
	}
	return s.data[s.paced.off:]
}

// A pacedReader hands a source's bytes out chunk by chunk and sets its marks.
type pacedReader struct {
	*source
	off int
}

// end is where the bytes that may be handed out now end.
func (p *pacedReader) end() int {
	for len(p.marks) < len(p.chunks) && p.chunks[len(p.marks)].Offset <= int64(p.off) {
		p.marks = append(p.marks, len(p.to.buf))
	}
	if len(p.marks) < len(p.chunks) {
		return int(min(p.chunks[len(p.marks)].Offset, int64(len(p.data))))
	}
	return len(p.data)
}

func (p *pacedReader) Read(b []byte) (int, error) {
	if p.off == len(p.data) {
		return 0, io.EOF
	}
	n := copy(b, p.data[p.off:p.end()])
	p.off += n
	return n, nil
}

// ReadByte keeps readers from reading ahead through a buffer of their own.
func (p *pacedReader) ReadByte() (byte, error) {
	if p.off == len(p.data) {
		return 0, io.EOF
	}
	p.end()
	p.off++
	return p.data[p.off-1], nil
}

// codings lists the content codings of an answer or a request, in the order in
// which they were applied.
func codings(headers []netlog.Header) []string {
	var list []string
	for _, h := range headers {
		if !strings.EqualFold(h.Name, "Content-Encoding") {
			continue
		}
		for coding := range strings.SplitSeq(h.Value, ",") {
			coding = strings.ToLower(strings.Trim(coding, " \t"))
			if coding != "" && coding != "identity" {
				list = append(list, coding)
			}
		}
	}
	return list
}

// keptBytes returns what the log kept of a body.
func keptBytes(b *netlog.Body) []byte {
	switch k := b.Kept.(type) {
	case nil:
		return nil
	case netlog.Bytes:
		return k
	default:
		var buf bytes.Buffer
		if _, err := k.WriteTo(&buf); err != nil {
			return nil
		}
		return buf.Bytes()
	}
}
