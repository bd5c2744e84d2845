package origin

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A multiplexed is a connection of HTTP/2. Its answers' heads are always the same
// bytes: what a server's encoder costs is no proxy's affair.
type multiplexed struct {
	br      *bufio.Reader
	out     *bufio.Writer
	fr      *http2.Framer
	decoder *hpack.Decoder
	path    string // of the head that is being decoded

	window  int64               // of a new stream
	credit  int64               // of the connection
	streams map[uint32]*content // whose answers have not been sent whole
	waiting []uint32            // in the order in which they are sent a piece
}

// A content is what is left of an answer's.
type content struct {
	of     []byte // again and again
	left   int64
	credit int64
}

const (
	initialWindow = 65_535   // RFC 9113 §6.9.2
	frameSize     = 16 << 10 // RFC 9113 §4.2: what everybody takes
)

// serveHTTP2 answers requests until the connection ends.
func serveHTTP2(c net.Conn) {
	m := &multiplexed{
		br: bufio.NewReaderSize(c, 64<<10), out: bufio.NewWriterSize(c, 64<<10),
		window: initialWindow, credit: initialWindow, streams: map[uint32]*content{},
	}
	m.fr = http2.NewFramer(m.out, m.br)
	m.fr.SetReuseFrames()
	m.decoder = hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == ":path" {
			m.path = f.Value
		}
	})
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(m.br, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	m.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1000})
	for {
		f, err := m.fr.ReadFrame()
		if err == nil {
			err = m.take(f)
		}
		if err == nil {
			err = m.send()
		}
		if err == nil && m.br.Buffered() == 0 {
			err = m.out.Flush()
		}
		if err != nil {
			return
		}
	}
}

// take takes one frame.
func (m *multiplexed) take(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
			m.window = int64(size)
		}
		return m.fr.WriteSettingsAck()
	case *http2.PingFrame:
		if f.IsAck() {
			return nil
		}
		return m.fr.WritePing(true, f.Data)
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			m.credit += int64(f.Increment)
		} else if s := m.streams[f.StreamID]; s != nil {
			s.credit += int64(f.Increment)
		}
	case *http2.HeadersFrame:
		if _, err := m.decoder.Write(f.HeaderBlockFragment()); err != nil {
			return err
		}
		return m.answer(f.StreamID)
	case *http2.GoAwayFrame:
		return io.EOF
	}
	return nil
}

var errUnknown = errors.New("no such path")

// answer begins the answer of a stream.
func (m *multiplexed) answer(id uint32) error {
	s := &content{of: jsonBody, left: JSONBytes, credit: m.window}
	head := jsonHead
	if m.path != JSON {
		n, err := strconv.ParseInt(strings.TrimPrefix(m.path, Bytes), 10, 64)
		if err != nil {
			return errUnknown
		}
		s.of, s.left = block, n
		head = headHTTP2("application/octet-stream", n)
	}
	m.streams[id] = s
	m.waiting = append(m.waiting, id)
	return m.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head, EndHeaders: true})
}

// send sends a piece of each answer in turn, as far as the windows are open.
func (m *multiplexed) send() error {
	for shut := 0; shut < len(m.waiting); {
		id := m.waiting[0]
		m.waiting = append(m.waiting[:0], m.waiting[1:]...)
		s := m.streams[id]
		n := min(s.left, s.credit, m.credit, frameSize, int64(len(s.of)))
		if n <= 0 && s.left > 0 {
			m.waiting = append(m.waiting, id)
			shut++
			continue
		}
		shut = 0
		s.left -= n
		s.credit -= n
		m.credit -= n
		if err := m.fr.WriteData(id, s.left == 0, s.of[:n]); err != nil {
			return err
		}
		if s.left == 0 {
			delete(m.streams, id)
		} else {
			m.waiting = append(m.waiting, id)
		}
	}
	return nil
}

var jsonHead = headHTTP2("application/json", JSONBytes)

// headHTTP2 is head in HTTP/2, without entries for the other side's table.
func headHTTP2(contentType string, length int64) []byte {
	var b bytes.Buffer
	encoder := hpack.NewEncoder(&b)
	encoder.SetMaxDynamicTableSize(0)
	for _, f := range []hpack.HeaderField{
		{Name: ":status", Value: "200"},
		{Name: "server", Value: "bench"},
		{Name: "date", Value: "Wed, 04 Mar 2026 05:06:07 GMT"},
		{Name: "content-type", Value: contentType},
		{Name: "content-length", Value: strconv.FormatInt(length, 10)},
		{Name: "cache-control", Value: "no-store"},
		{Name: "vary", Value: "Accept-Encoding"},
		{Name: "x-request-id", Value: "0123456789abcdef"},
	} {
		encoder.WriteField(f)
	}
	return b.Bytes()
}
