package e2e

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A framed is one end of an HTTP/2 connection that sends what its test wants, right
// or wrong, and keeps what comes.
type framed struct {
	*http2.Framer // for whoever sends; one goroutine at a time but for acknowledgements
	conn          net.Conn
	authority     string
	encoder       *hpack.Encoder
	block         bytes.Buffer
	sending       sync.Mutex
	deaf          bool // does not acknowledge the other side's settings, nor answer its pings

	mu      sync.Mutex
	streams map[uint32]*framedStream
	set     map[http2.SettingID]uint32
	away    []http2.ErrCode
	acks    int // of our settings
	err     error
}

// A framedStream is what has come on a stream.
type framedStream struct {
	head  map[string]string // of the last header list but trailers
	data  int64
	ended bool
	reset *http2.ErrCode
}

func newFramed(conn net.Conn, authority string) *framed {
	f := &framed{conn: conn, authority: authority, streams: map[uint32]*framedStream{}, set: map[http2.SettingID]uint32{}}
	f.Framer = http2.NewFramer(conn, conn)
	f.AllowIllegalWrites = true
	f.SetMaxReadFrameSize(1<<24 - 1)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.MaxHeaderListSize = 16 << 20
	f.encoder = hpack.NewEncoder(&f.block)
	return f
}

// browse opens a connection with a host as a browser does, and sends its preface.
func (p *proxy) browse(host string, settings ...http2.Setting) (*framed, error) {
	conn, err := p.session(host, "h2")
	if err != nil {
		return nil, err
	}
	f := newFramed(conn, host)
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		conn.Close()
		return nil, err
	}
	return f, f.WriteSettings(settings...)
}

// read keeps what comes until the connection ends.
func (f *framed) read() {
	for {
		frame, err := f.ReadFrame()
		f.mu.Lock()
		if err != nil {
			f.err = err
			f.mu.Unlock()
			return
		}
		answer := f.keep(frame)
		if answer == nil || f.deaf {
			f.mu.Unlock()
			continue
		}
		f.sending.Lock() // whoever sees the frame finds its answer sent
		f.mu.Unlock()
		answer()
		f.sending.Unlock()
	}
}

// keep takes note of a frame; answer is what it wants to be answered with.
func (f *framed) keep(frame http2.Frame) (answer func() error) {
	s := f.streams[frame.Header().StreamID]
	if s == nil {
		s = &framedStream{}
		f.streams[frame.Header().StreamID] = s
	}
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if frame.IsAck() {
			f.acks++
			return nil
		}
		frame.ForeachSetting(func(s http2.Setting) error {
			f.set[s.ID] = s.Val
			return nil
		})
		return f.WriteSettingsAck
	case *http2.PingFrame:
		if data := frame.Data; !frame.IsAck() {
			return func() error { return f.WritePing(true, data) }
		}
	case *http2.MetaHeadersFrame:
		if s.head == nil || !frame.StreamEnded() {
			s.head = map[string]string{}
			for _, field := range frame.Fields {
				s.head[field.Name] = field.Value
			}
		}
		s.ended = frame.StreamEnded()
	case *http2.DataFrame:
		s.data += int64(len(frame.Data()))
		s.ended = frame.StreamEnded()
	case *http2.RSTStreamFrame:
		code := frame.ErrCode
		s.reset = &code
	case *http2.GoAwayFrame:
		f.away = append(f.away, frame.ErrCode)
	}
	return nil
}

// look has what has come be looked at.
func (f *framed) look(at func() bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return at()
}

// settled tells whether the other side's settings have come, and nothing of ours is
// between other frames any more.
func (f *framed) settled() bool {
	return f.look(func() bool { return len(f.set) > 0 }) && f.locked(func() error { return nil }) == nil
}

// over tells whether the connection has ended.
func (f *framed) over() bool { return f.look(func() bool { return f.err != nil }) }

// await polls a condition until it is true, or the connection has ended: false. The
// connection's deadline bounds it.
func (f *framed) await(ok func() bool) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if f.over() {
			return ok()
		}
		<-tick.C
	}
	return true
}

// encoded is a header block of pairs.
func (f *framed) encoded(pairs ...string) []byte {
	f.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		f.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return f.block.Bytes()
}

// get are the fields of a request, with more behind them.
func (f *framed) get(path string, more ...string) []byte {
	return f.encoded(append([]string{":method", "GET", ":scheme", "https", ":authority", f.authority, ":path", path}, more...)...)
}

// head sends a header block in one HEADERS frame.
func (f *framed) head(id uint32, end bool, block []byte) error {
	f.sending.Lock()
	defer f.sending.Unlock()
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: end})
}

// locked sends something else.
func (f *framed) locked(send func() error) error {
	f.sending.Lock()
	defer f.sending.Unlock()
	return send()
}

// within bounds how long anything may take on the connection.
func (f *framed) within(d time.Duration) { f.conn.SetDeadline(time.Now().Add(d)) }

// goneWith checks that the connection ended with a GOAWAY of this code.
func (f *framed) goneWith(t *testing.T, code http2.ErrCode) {
	t.Helper()
	until(t, "the connection's end", f.over)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.away) == 0 || f.away[len(f.away)-1] != code {
		t.Errorf("it ended with %v and the GOAWAYs %v, want %v", f.err, f.away, code)
	}
}

// answered is the status of a stream's answer, and how it ended.
func (f *framed) answered(id uint32) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[id]
	if s == nil {
		return ""
	}
	said := []string{s.head[":status"]}
	if s.ended {
		said = append(said, "ended")
	}
	if s.reset != nil {
		said = append(said, fmt.Sprint(*s.reset))
	}
	return strings.Join(said, " ")
}
