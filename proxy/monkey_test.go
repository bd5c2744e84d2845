package proxy

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/proxy/h2"
)

// A monkey sends frames, most of which make sense.
type monkey struct {
	*h2peer
	rand *rand.Rand
	seen uint32   // a server's: the highest stream that it was asked on
	used []uint32 // a browser's: its streams
	left int      // frames that it will still send
}

// plays answers whatever comes with up to two frames of act's, until the end.
func (m *monkey) plays(act func() error) {
	for {
		f, err := m.fr.ReadFrame()
		if err != nil {
			return
		}
		if h, ok := f.(*http2.HeadersFrame); ok && h.StreamID > m.seen {
			m.seen = h.StreamID
		}
		if p, ok := f.(*http2.PingFrame); ok && p.IsAck() { // so that there is always something to come
			m.fr.WritePing(false, [8]byte{2})
		}
		for range m.rand.IntN(3) {
			if act() != nil {
				return
			}
		}
	}
}

func (m *monkey) chance(percent int) bool { return m.rand.IntN(100) < percent }

func (m *monkey) stream() uint32 {
	if m.used != nil {
		return m.used[max(0, len(m.used)-1-m.rand.IntN(8))]
	}
	return uint32(max(1, int(m.seen)-2*m.rand.IntN(8)))
}

// list is a header list with some more fields, now and then odd ones.
func (m *monkey) list(fs []h2.Field) []h2.Field {
	for range m.rand.IntN(4) {
		fs = append(fs, h2.Field{Name: fmt.Sprint("x-", m.rand.IntN(9)), Value: strings.Repeat("v", m.rand.IntN(500))})
	}
	if m.chance(4) {
		odd := [][2]string{{"Upper", "x"}, {":path", "/"}, {"connection", "x"}, {"content-length", "7"}, {"", "x"}, {"x", "a\r\nb"}, {"te", "gzip"}, {"host", "other.test"}}
		f := odd[m.rand.IntN(len(odd))]
		fs = append(fs, h2.Field{Name: f[0], Value: f[1]})
	}
	return fs
}

// request begins one.
func (m *monkey) request(authority string) error {
	id := uint32(1)
	if n := len(m.used); n > 0 {
		id = m.used[n-1] + 2
	}
	m.used = append(m.used, id)
	method := []string{"GET", "POST", "HEAD", "DELETE"}[m.rand.IntN(4)]
	return m.sendHead(id, m.chance(60), m.list(fields(":method", method, ":scheme", "https", ":authority", authority, ":path", fmt.Sprint("/", id))))
}

func (m *monkey) sendHead(id uint32, end bool, fs []h2.Field) error {
	block := m.encode(fs)
	cut := len(block)
	if m.chance(10) {
		cut = m.rand.IntN(cut + 1)
	}
	if err := m.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:cut], EndHeaders: cut == len(block), EndStream: end}); err != nil || cut == len(block) || m.chance(3) {
		return err
	}
	return m.fr.WriteContinuation(id, true, block[cut:])
}

// other is a frame that either side may send.
func (m *monkey) other() error {
	id := m.stream()
	switch m.rand.IntN(12) {
	case 0, 1, 2:
		return m.fr.WriteData(id, m.chance(30), make([]byte, m.rand.IntN(3000)))
	case 3:
		return m.fr.WriteDataPadded(id, m.chance(30), make([]byte, m.rand.IntN(10)), make([]byte, m.rand.IntN(200)))
	case 4:
		return m.fr.WriteRSTStream(id, http2.ErrCode(m.rand.IntN(14)))
	case 5, 6:
		return m.fr.WriteWindowUpdate(id*uint32(m.rand.IntN(2)), 1+m.rand.Uint32N(100_000))
	case 7:
		return m.fr.WritePing(m.chance(10), [8]byte{1})
	case 8:
		return m.fr.WritePriority(id, http2.PriorityParam{StreamDep: m.stream(), Weight: uint8(m.rand.IntN(256))})
	case 9:
		return m.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: m.rand.Uint32N(1 << uint(m.rand.IntN(24)))},
			http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: m.rand.Uint32N(20)}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: m.rand.Uint32N(9000)})
	case 10:
		return m.fr.WriteSettingsAck()
	}
	switch m.rand.IntN(12) {
	case 0:
		return m.fr.WriteGoAway(id, http2.ErrCode(m.rand.IntN(14)), []byte("enough"))
	case 1:
		return m.fr.WriteWindowUpdate(id, math.MaxInt32)
	case 2:
		return m.fr.WriteContinuation(id, true, nil)
	}
	return m.fr.WriteRawFrame(http2.FrameType(m.rand.IntN(40)+16), 0xff, id, []byte("what?"))
}

// browse has monkeys ask addr, one after the other, and looks at what came of it: every
// request has its two lines, nothing is left of it, and the proxy goes on.
func (w *world) browse(addr string, seed uint64) {
	for n := range uint64(6) {
		session := w.secureFor(addr, "127.0.0.1", "h2").Conn
		m := &monkey{h2peer: newH2Peer(w.t, session), rand: rand.New(rand.NewPCG(seed, 1000+n)), left: 400}
		m.greet()
		m.fr.WritePing(false, [8]byte{2})
		m.request(addr)
		m.plays(func() error {
			if m.left--; m.left < 0 {
				return io.EOF
			}
			if m.chance(30) {
				return m.request(addr)
			}
			return m.other()
		})
		session.Close()
	}
	eventually(w.t, "the end of all exchanges", func() bool { return w.proxy.Stats().Exchanges == 0 })
	for _, p := range w.pairs() {
		if p.end.Time.Before(p.open.Time) || p.end.Failed == nil && p.end.Refused == nil && p.end.Response == nil {
			w.t.Errorf("%v has the end %+v", p, p.end)
		}
	}
}

// Both sides may send each other what they like.
func TestMonkeysOverHTTP2(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			var conns atomic.Uint64
			w.browse(newH2Listener(w, func(p *h2peer) {
				m := &monkey{h2peer: p, rand: rand.New(rand.NewPCG(seed, conns.Add(1)))}
				m.plays(func() error {
					id := m.stream()
					switch {
					case m.seen == 0:
						return nil
					case m.chance(25):
						return m.sendHead(id, m.chance(30), m.list(fields(":status", []string{"200", "204", "404", "103", "100", "302"}[m.rand.IntN(6)])))
					case m.chance(5):
						return m.sendHead(id, true, m.list(fields("grpc-status", "0")))
					}
					return m.other()
				})
				p.conn.Close()
			}), seed)
		})
	}
}

// So may a browser of HTTP/2 and a server of HTTP/1.
func TestMonkeysFromHTTP2ToHTTP1(t *testing.T) {
	answers := []struct {
		text string
		last bool // of its connection
	}{
		{"", true},
		{"garbage\r\n\r\n", true},
		{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", true},
		{"HTTP/1.1 200 OK\r\n\r\nuntil the end", true},
		{"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n0\r\nX-T: y\r\n\r\n", false},
		{"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 2\r\n\r\nno", false},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false},
	}
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var addr string
			w := newWorld(t, routed(&addr))
			var conns atomic.Uint64
			addr = w.origin(func(p *party) {
				r := rand.New(rand.NewPCG(seed, conns.Add(1)))
				for {
					for blank := false; !blank; { // bodies are no lines that matter
						line, err := p.br.ReadString('\n')
						if err != nil {
							return
						}
						blank = line == "\r\n"
					}
					a := answers[r.IntN(len(answers))]
					if p.send(a.text); a.last {
						return
					}
				}
			})
			w.browse(addr, seed)
		})
	}
}
