package battery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A frame is one of HTTP/2 (RFC 9113 §4), as a case has a party send it or get it.
type frame struct {
	kind   http2.FrameType
	flags  http2.Flags
	stream uint32

	payload []byte // but of a header block's
	fields  []hpack.HeaderField
	raw     bool // payload is a header block's, too
}

const (
	endStream  = http2.FlagDataEndStream
	endHeaders = http2.FlagHeadersEndHeaders
)

// fieldList makes a header list of "name value" pairs.
func fieldList(pairs []string) (list []hpack.HeaderField) {
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

// head is a header list behind which more comes; pairs are its names and values.
func head(stream uint32, pairs ...string) frame {
	return frame{kind: http2.FrameHeaders, flags: endHeaders, stream: stream, fields: fieldList(pairs)}
}

// data is a piece of a body.
func data(stream uint32, s string) frame {
	return frame{kind: http2.FrameData, stream: stream, payload: []byte(s)}
}

// last is f as the last of its stream.
func last(f frame) frame {
	f.flags |= endStream
	return f
}

// part is f as a frame of a header block that is not its last.
func part(f frame) frame {
	f.flags &^= endHeaders
	return f
}

// block is a frame of a header block of those bytes.
func block(kind http2.FrameType, stream uint32, b string) frame {
	return frame{kind: kind, flags: endHeaders, stream: stream, payload: []byte(b), raw: true}
}

// more are fields in a CONTINUATION.
func more(stream uint32, pairs ...string) frame {
	f := head(stream, pairs...)
	f.kind = http2.FrameContinuation
	return f
}

func rst(stream uint32, code http2.ErrCode) frame {
	return frame{kind: http2.FrameRSTStream, stream: stream, payload: word(uint32(code))}
}

func goAway(lastStream uint32, code http2.ErrCode) frame {
	return frame{kind: http2.FrameGoAway, payload: append(word(lastStream), word(uint32(code))...)}
}

func odd(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) frame {
	return frame{kind: kind, flags: flags, stream: stream, payload: []byte(payload)}
}

func word(n uint32) []byte { return []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)} }

// String is how frames are compared and shown.
func (f frame) String() string {
	var b strings.Builder
	fmt.Fprint(&b, f.kind)
	if f.stream != 0 {
		fmt.Fprint(&b, " ", f.stream)
	}
	switch f.kind {
	case http2.FrameHeaders:
		for _, field := range f.fields {
			fmt.Fprintf(&b, " %s=%s", field.Name, strconv.Quote(field.Value))
		}
	case http2.FrameRSTStream:
		fmt.Fprint(&b, " ", code(f.payload))
	case http2.FrameGoAway: // how far it has come is of no matter to cases
		fmt.Fprint(&b, " ", code(f.payload[min(4, len(f.payload)):]))
	default:
		fmt.Fprint(&b, " ", clip(string(f.payload)))
	}
	if f.ends() {
		b.WriteString(", the last")
	}
	return b.String()
}

func (f frame) ends() bool {
	return (f.kind == http2.FrameHeaders || f.kind == http2.FrameData) && f.flags.Has(endStream)
}

func code(p []byte) http2.ErrCode {
	if len(p) < 4 {
		return 0xffffffff
	}
	return http2.ErrCode(p[0])<<24 | http2.ErrCode(p[1])<<16 | http2.ErrCode(p[2])<<8 | http2.ErrCode(p[3])
}

// A framing is HTTP/2 on a party's connection.
type framing struct {
	*http2.Framer
	block  bytes.Buffer
	enc    *hpack.Encoder
	dec    *hpack.Decoder
	greets bool // its preface was sent, or has come
	deaf   bool // SETTINGS are not acknowledged
}

// h2 is the party's.
func (p *party) h2() *framing {
	if p.framing == nil {
		fr := &framing{Framer: http2.NewFramer(p.Conn, p.br), dec: hpack.NewDecoder(4096, nil)}
		fr.AllowIllegalReads, fr.AllowIllegalWrites = true, true
		fr.SetMaxReadFrameSize(1 << 20)
		fr.enc = hpack.NewEncoder(&fr.block)
		p.framing = fr
	}
	return p.framing
}

// greet begins as a browser does.
func (p *party) greet(settings ...http2.Setting) {
	p.h2().greets = true
	p.send(http2.ClientPreface)
	p.h2().WriteSettings(settings...)
}

// greeted begins as a server does.
func (p *party) greeted(settings ...http2.Setting) error {
	if err := p.prefaced(); err != nil {
		return err
	}
	return p.h2().WriteSettings(settings...)
}

// prefaced reads a browser's beginning.
func (p *party) prefaced() error {
	if p.h2().greets {
		return nil
	}
	p.h2().greets = true
	return p.expect(http2.ClientPreface)
}

// sends writes frames. That they could not be is the reader's to find.
func (p *party) sends(frames ...frame) {
	p.wait()
	fr := p.h2()
	for _, f := range frames {
		payload := f.payload
		if (f.kind == http2.FrameHeaders || f.kind == http2.FrameContinuation) && !f.raw {
			fr.block.Reset()
			for _, field := range f.fields {
				fr.enc.WriteField(field)
			}
			payload = append(payload, fr.block.Bytes()...)
		}
		const most = 16 << 10
		for f.kind == http2.FrameHeaders && !f.raw && len(payload) > most { // a list that is long, not one that is odd
			fr.WriteRawFrame(f.kind, f.flags&^endHeaders, f.stream, payload[:most])
			payload, f.kind, f.flags = payload[most:], http2.FrameContinuation, f.flags&endHeaders
			for len(payload) > most {
				fr.WriteRawFrame(f.kind, 0, f.stream, payload[:most])
				payload = payload[most:]
			}
		}
		fr.WriteRawFrame(f.kind, f.flags, f.stream, payload)
	}
}

// frame reads the next frame that is not only the connection's own affair:
// SETTINGS and PINGs are acknowledged.
func (p *party) frame() (frame, error) {
	fr := p.h2()
	for {
		p.wait()
		got, err := fr.ReadFrame()
		if err != nil {
			return frame{}, err
		}
		h := got.Header()
		f := frame{kind: h.Type, flags: h.Flags, stream: h.StreamID}
		switch got := got.(type) {
		case *http2.SettingsFrame:
			if !got.IsAck() && !fr.deaf {
				fr.WriteSettingsAck()
			}
			continue
		case *http2.PingFrame:
			if !got.IsAck() {
				fr.WritePing(true, got.Data)
			}
			continue
		case *http2.WindowUpdateFrame:
			continue
		case *http2.HeadersFrame:
			f.fields, err = p.fields(got)
		case *http2.DataFrame:
			f.payload = bytes.Clone(got.Data())
		case *http2.RSTStreamFrame:
			f.payload = word(uint32(got.ErrCode))
		case *http2.GoAwayFrame:
			f.payload = append(append(word(got.LastStreamID), word(uint32(got.ErrCode))...), got.DebugData()...)
		}
		return f, err
	}
}

// fields decodes the header block that begins with f.
func (p *party) fields(f *http2.HeadersFrame) ([]hpack.HeaderField, error) {
	fr := p.h2()
	b, ended := bytes.Clone(f.HeaderBlockFragment()), f.HeadersEnded()
	for !ended {
		next, err := fr.ReadFrame()
		if err != nil {
			return nil, err
		}
		c, ok := next.(*http2.ContinuationFrame)
		if !ok {
			return nil, fmt.Errorf("%v in a header block", next)
		}
		b, ended = append(b, c.HeaderBlockFragment()...), c.HeadersEnded()
	}
	return fr.dec.DecodeFull(b)
}

// getsFrames reads what want says. A body's pieces may come in other cuts.
func (p *party) getsFrames(want ...frame) error {
	for _, w := range want {
		got, err := p.frame()
		for err == nil && w.kind == http2.FrameData && got.kind == w.kind && got.stream == w.stream && !got.ends() &&
			(len(got.payload) < len(w.payload) || w.ends()) && bytes.HasPrefix(w.payload, got.payload) {
			var rest frame
			rest, err = p.frame()
			if err == nil && rest.kind != w.kind {
				return fmt.Errorf("%s got %v and was to get the rest of %v", p.name, rest, w)
			}
			got.payload, got.flags = append(got.payload, rest.payload...), rest.flags
		}
		if err != nil {
			return fmt.Errorf("%s got %w and was to get %v", p.name, err, w)
		}
		if got.String() != w.String() {
			return fmt.Errorf("%s got %v and was to get %v", p.name, got, w)
		}
	}
	return nil
}

// goes reads up to the end of the connection; what comes until then is the error,
// but for a GOAWAY that says that no more is taken.
func (p *party) goes() error {
	for {
		f, err := p.frame()
		var late net.Error
		switch {
		case errors.As(err, &late) && late.Timeout():
			return fmt.Errorf("%s's connection does not end", p.name)
		case err != nil:
			return nil
		case f.kind != http2.FrameGoAway || code(f.payload[4:]) != http2.ErrCodeNo:
			return fmt.Errorf("%s got %v and was to get its connection's end", p.name, f)
		}
	}
}

// abandoned reads up to the end of the connection, on which nothing but resets may
// come that nothing more is wanted.
func (p *party) abandoned() error {
	for {
		f, err := p.frame()
		var late net.Error
		switch {
		case errors.As(err, &late) && late.Timeout():
			return fmt.Errorf("%s's connection does not end", p.name)
		case err != nil:
			return nil
		case f.kind == http2.FrameRSTStream && code(f.payload) == http2.ErrCodeCancel:
		case f.kind == http2.FrameGoAway && code(f.payload[4:]) == http2.ErrCodeNo:
		default:
			return fmt.Errorf("%s got %v and was to get its connection's end", p.name, f)
		}
	}
}

// leftFrames is leftOver in HTTP/2.
func (p *party) leftFrames() string {
	raw := p.leftOver()
	if !p.h2().greets {
		raw = strings.TrimPrefix(raw, http2.ClientPreface)
	}
	fr := http2.NewFramer(io.Discard, strings.NewReader(raw))
	fr.AllowIllegalReads = true
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return ""
		}
		switch f := f.(type) {
		case *http2.SettingsFrame, *http2.PingFrame, *http2.WindowUpdateFrame:
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				return fmt.Sprint(f, f.ErrCode)
			}
		case *http2.RSTStreamFrame:
			if f.ErrCode != http2.ErrCodeNo && f.ErrCode != http2.ErrCodeCancel {
				return fmt.Sprint(f, f.ErrCode)
			}
		default:
			return fmt.Sprint(f)
		}
	}
}
