package load

import (
	"bufio"
	"bytes"
	"fmt"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A multiplexed is a connection of HTTP/2 on which some requests are going at a time.
type multiplexed struct {
	*conn
	fr      *http2.Framer
	out     *bufio.Writer
	fields  []hpack.HeaderField
	encoder *hpack.Encoder
	block   bytes.Buffer
	decoder *hpack.Decoder
	status  string // of the head that is being decoded

	next  uint32               // stream
	begun map[uint32]time.Time // of the requests that are going
	owed  int64                // what came and was not given back
}

// Windows that are never in the way.
const (
	streamWindow     = 1 << 24
	connectionWindow = 1 << 30
)

// multiplex speaks HTTP/2 on a connection that has agreed on it.
func multiplex(c *conn, config *Config) (*multiplexed, error) {
	m := &multiplexed{conn: c, out: bufio.NewWriterSize(c, 64<<10), next: 1, begun: map[uint32]time.Time{}}
	m.fr = http2.NewFramer(m.out, c.br)
	m.fr.SetReuseFrames()
	m.encoder = hpack.NewEncoder(&m.block)
	m.decoder = hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == ":status" {
			m.status = f.Value
		}
	})
	// As a browser sends them: see request.
	m.fields = []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":authority", Value: config.Authority}, {Name: ":scheme", Value: "https"}, {Name: ":path", Value: config.Target},
		{Name: "sec-ch-ua-platform", Value: `"Linux"`},
		{Name: "user-agent", Value: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"},
		{Name: "sec-ch-ua", Value: `"Chromium";v="141", "Not?A_Brand";v="8"`}, {Name: "sec-ch-ua-mobile", Value: "?0"},
		{Name: "accept", Value: "application/json"},
		{Name: "sec-fetch-site", Value: "same-origin"}, {Name: "sec-fetch-mode", Value: "cors"}, {Name: "sec-fetch-dest", Value: "empty"},
		{Name: "referer", Value: "https://" + config.Authority + "/"},
		{Name: "accept-encoding", Value: "gzip, deflate, br, zstd"}, {Name: "accept-language", Value: "en-US,en;q=0.9"},
		{Name: "cookie", Value: "sid=0123456789abcdef"}, {Name: "cookie", Value: "theme=dark"},
	}
	m.out.WriteString(http2.ClientPreface)
	m.fr.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
	)
	m.fr.WriteWindowUpdate(0, connectionWindow)
	return m, m.out.Flush()
}

// run keeps so many requests going until the time has come, and waits for the last
// answers. It calls answered for each with how long it took.
func (m *multiplexed) run(streams int, until time.Time, answered func(time.Duration)) (received int64, err error) {
	for range streams {
		if err := m.ask(time.Now()); err != nil {
			return 0, err
		}
	}
	for len(m.begun) > 0 {
		if m.br.Buffered() == 0 {
			if err := m.out.Flush(); err != nil {
				return received, err
			}
			m.tcp.SetDeadline(time.Now().Add(patience))
		}
		f, err := m.fr.ReadFrame()
		if err != nil {
			return received, err
		}
		n, ended, err := m.take(f)
		if err != nil {
			return received, err
		}
		received += n
		if !ended {
			continue
		}
		id, now := f.Header().StreamID, time.Now()
		answered(now.Sub(m.begun[id]))
		delete(m.begun, id)
		if now.Before(until) {
			if err := m.ask(now); err != nil {
				return received, err
			}
		}
	}
	return received, m.out.Flush()
}

// ask sends a request.
func (m *multiplexed) ask(now time.Time) error {
	m.block.Reset()
	for _, f := range m.fields {
		m.encoder.WriteField(f)
	}
	id := m.next
	m.next += 2
	m.begun[id] = now
	return m.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: m.block.Bytes(), EndHeaders: true, EndStream: true})
}

// take takes a frame: how much of a body it holds, and whether it is an answer's last.
func (m *multiplexed) take(f http2.Frame) (n int64, ended bool, err error) {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			err = m.fr.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			err = m.fr.WritePing(true, f.Data)
		}
	case *http2.HeadersFrame:
		if _, err := m.decoder.Write(f.HeaderBlockFragment()); err != nil {
			return 0, false, err
		}
		if m.status != "200" {
			return 0, false, fmt.Errorf("status %q", m.status)
		}
		return 0, f.StreamEnded(), nil
	case *http2.DataFrame:
		n = int64(len(f.Data()))
		if m.owed += n; m.owed >= connectionWindow/2 {
			err = m.fr.WriteWindowUpdate(0, uint32(m.owed))
			m.owed = 0
		}
		return n, f.StreamEnded(), err
	case *http2.RSTStreamFrame:
		err = fmt.Errorf("a stream was reset: %v", f.ErrCode)
	case *http2.GoAwayFrame:
		err = fmt.Errorf("the connection was ended: %v %q", f.ErrCode, f.DebugData())
	}
	return 0, false, err
}
