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
// No more than limit bytes come out of each: more says that there was more. An
// in that is cut is decoded as far as it goes. The result is valid until the
// next call.
func (d *decoder) decode(codings []string, in *source, limit int64, cut bool) (out []byte, more bool, err error) {
	if len(codings) > maxCodings {
		return nil, false, fmt.Errorf("%d codings, more than %d", len(codings), maxCodings)
	}
	for i := len(codings) - 1; i >= 0; i-- {
		buf := &d.out[i%2]
		var over bool
		*buf, over, err = d.undo(codings[i], in, (*buf)[:0], limit)
		if err != nil && !(cut && errors.Is(err, io.ErrUnexpectedEOF)) {
			return nil, false, fmt.Errorf("%s: %w", codings[i], err)
		}
		out, more, cut = *buf, more || over, cut || over
		in = &source{data: out}
	}
	return out, more, nil
}

// undo appends what coding makes of in to out, up to limit bytes. At an error
// it returns what came before it.
func (d *decoder) undo(coding string, in *source, out []byte, limit int64) ([]byte, bool, error) {
	in.out = func() int { return len(out) }
	defer func() { in.out = nil }()
	if len(in.data) == 0 {
		return out, false, io.ErrUnexpectedEOF // zstd takes nothing for no frames
	}
	var more bool
	read := func(r io.Reader) (err error) {
		out, more, err = readUpTo(r, out, limit)
		return err
	}
	switch coding {
	case "gzip", "x-gzip":
		err := d.members(in, read, &more)
		return out, more, err
	case "deflate":
		// Some servers send raw deflate where RFC 9110 §8.4.1.2 asks for zlib's
		// format; browsers take both.
		if looksZlib(in.data) {
			err := d.readZlib(in, read)
			if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
				return out, more, err
			}
			zlibOut, zlibErr := out, err
			in.rewind()
			out = nil
			if d.readRaw(in, read) != nil {
				return zlibOut, false, zlibErr
			}
			return out, more, nil
		}
		err := d.readRaw(in, read)
		return out, more, err
	case "br":
		if d.br == nil {
			d.br = brotli.NewReader(in)
		} else if err := d.br.Reset(in); err != nil {
			return out, false, err
		}
		err := read(d.br)
		return out, more, err
	case "zstd":
		if d.zstd == nil {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecodeBuffersBelow(0))
			if err != nil {
				return out, false, err
			}
			d.zstd = z
		}
		if err := d.zstd.Reset(in); err != nil {
			return out, false, err
		}
		err := read(d.zstd)
		return out, more, err
	}
	return out, false, errors.New("unknown coding")
}

// members reads every gzip member (RFC 1952 §2.2). What follows the last and
// is none is passed over, as browsers do.
func (d *decoder) members(in *source, read func(io.Reader) error, more *bool) error {
	for {
		var err error
		if d.gzip == nil {
			d.gzip, err = gzip.NewReader(in)
		} else {
			err = d.gzip.Reset(in)
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
		d.gzip.Multistream(false)
		if err := read(d.gzip); err != nil || *more {
			return err
		}
		const magic = "\x1f\x8b"
		rest := in.rest()
		if len(rest) == 0 || !strings.HasPrefix(magic, string(rest[:min(len(rest), len(magic))])) {
			return nil
		}
	}
}

func (d *decoder) readZlib(in *source, read func(io.Reader) error) error {
	if d.zlib == nil {
		r, err := zlib.NewReader(in)
		if err != nil {
			return err
		}
		d.zlib = r
	} else if err := d.zlib.(zlib.Resetter).Reset(in, nil); err != nil {
		return err
	}
	return read(d.zlib)
}

func (d *decoder) readRaw(in *source, read func(io.Reader) error) error {
	if d.flate == nil {
		d.flate = flate.NewReader(in)
	} else if err := d.flate.(flate.Resetter).Reset(in, nil); err != nil {
		return err
	}
	return read(d.flate)
}

// looksZlib says whether b begins with zlib's two bytes (RFC 1950 §2.2).
func looksZlib(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0f == 8 && b[0]>>4 <= 7 && (int(b[0])<<8|int(b[1]))%31 == 0
}

// readUpTo appends r's bytes to out until there are limit of them, and says
// whether more would have come.
func readUpTo(r io.Reader, out []byte, limit int64) ([]byte, bool, error) {
	for int64(len(out)) < limit {
		if len(out) == cap(out) {
			grown := make([]byte, len(out), min(max(2*int64(cap(out)), 4<<10), limit))
			copy(grown, out)
			out = grown
		}
		n, err := r.Read(out[len(out):min(int64(cap(out)), limit)])
		out = out[:len(out)+n]
		if err == io.EOF {
			return out, false, nil
		} else if err != nil {
			return out, false, err
		}
	}
	var one [1]byte
	for {
		n, err := r.Read(one[:])
		if n > 0 {
			return out, true, nil
		} else if err == io.EOF {
			return out, false, nil
		} else if err != nil {
			return out, false, err
		}
	}
}

// A source is a body's kept bytes, handed out chunk by chunk where it is known
// when they came: marks then tells how much had been decoded when each chunk
// was first asked for.
type source struct {
	data   []byte
	off    int
	chunks []netlog.Chunk
	marks  []int
	out    func() int // how much has been decoded so far
}

func (s *source) rest() []byte { return s.data[s.off:] }

func (s *source) rewind() { s.off, s.marks = 0, s.marks[:0] }

// end is where the bytes that may be handed out now end.
func (s *source) end() int {
	for len(s.marks) < len(s.chunks) && s.chunks[len(s.marks)].Offset <= int64(s.off) {
		s.marks = append(s.marks, s.out())
	}
	if len(s.marks) < len(s.chunks) {
		return int(min(s.chunks[len(s.marks)].Offset, int64(len(s.data))))
	}
	return len(s.data)
}

// Read hands out bytes of one chunk.
func (s *source) Read(p []byte) (int, error) {
	if s.off == len(s.data) {
		return 0, io.EOF
	}
	n := copy(p, s.data[s.off:s.end()])
	s.off += n
	return n, nil
}

// ReadByte keeps readers from reading ahead through a buffer of their own.
func (s *source) ReadByte() (byte, error) {
	if s.off == len(s.data) {
		return 0, io.EOF
	}
	s.end()
	s.off++
	return s.data[s.off-1], nil
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
