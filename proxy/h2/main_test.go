package h2

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test; nothing takes it unless it fails.
const patience = 2 * time.Minute

// sockets are the two ends of a TCP connection.
func sockets(t testing.TB) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if far, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if near, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		near.Close()
		far.Close()
	})
	return near, far
}

// A served is a Conn in a test's hands and the raw peer at its other end.
type served struct {
	*Conn
	*peer
	ended chan error // what Serve returned
}

// serve serves c, whose peer is at far.
func serve(t testing.TB, c *Conn, far net.Conn) *served {
	s := &served{Conn: c, peer: newPeer(t, far), ended: make(chan error, 1)}
	go func() { s.ended <- c.Serve() }()
	t.Cleanup(func() {
		far.Close()
		c.Close(net.ErrClosed)
		s.wait()
	})
	return s
}

// wait is what Serve returned.
func (s *served) wait() error {
	select {
	case err := <-s.ended:
		s.ended <- err
		return err
	case <-time.After(patience):
		s.t.Fatal("the connection does not end")
		return nil
	}
}

// A peer speaks HTTP/2 frame by frame.
type peer struct {
	t  testing.TB
	nc net.Conn
	fr *http2.Framer

	block bytes.Buffer
	enc   *hpack.Encoder
	dec   *hpack.Decoder
}

func newPeer(t testing.TB, nc net.Conn) *peer {
	nc.SetDeadline(time.Now().Add(patience))
	p := &peer{t: t, nc: nc, fr: http2.NewFramer(nc, nc), dec: hpack.NewDecoder(4096, nil)}
	p.fr.AllowIllegalWrites = true
	p.enc = hpack.NewEncoder(&p.block)
	return p
}

// greet sends a browser's preface.
func (p *peer) greet(settings ...http2.Setting) {
	io.WriteString(p.nc, http2.ClientPreface)
	p.fr.WriteSettings(settings...)
}

// fields makes a header list of "name value" pairs.
func fields(pairs ...string) (fs []Field) {
	for i := 0; i < len(pairs); i += 2 {
		fs = append(fs, Field{Name: pairs[i], Value: pairs[i+1]})
	}
	return fs
}

// get is a request's header list.
func get(path string, more ...string) []Field {
	return fields(append([]string{":method", "GET", ":scheme", "https", ":authority", "a.test", ":path", path}, more...)...)
}

func post(path string, more ...string) []Field {
	fs := get(path, more...)
	fs[0].Value = "POST"
	return fs
}

// encode is a header block.
func (p *peer) encode(fs []Field) []byte {
	p.block.Reset()
	for _, f := range fs {
		p.enc.WriteField(f)
	}
	return bytes.Clone(p.block.Bytes())
}

// head sends a header list in one frame.
func (p *peer) head(id uint32, end bool, fs []Field) {
	p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(fs), EndStream: end, EndHeaders: true})
}

// next reads a frame; one that only belongs to the connection's beginning is passed over.
func (p *peer) next() http2.Frame {
	p.t.Helper()
	for {
		f, err := p.fr.ReadFrame()
		if err != nil {
			p.t.Fatal("reading a frame: ", err)
		}
		switch f.(type) {
		case *http2.SettingsFrame, *http2.WindowUpdateFrame:
		default:
			return f
		}
	}
}

// want reads the next frame, which is to be an F.
func want[F http2.Frame](p *peer) F {
	p.t.Helper()
	f := p.next()
	got, ok := f.(F)
	if !ok {
		p.t.Fatalf("got %v, want a %T", f, got)
	}
	return got
}

// decode reads a whole header block, of one frame.
func (p *peer) decode(f *http2.HeadersFrame) []Field {
	p.t.Helper()
	fs, err := p.dec.DecodeFull(f.HeaderBlockFragment())
	if err != nil {
		p.t.Fatal(err)
	}
	return fs
}

// wantReset reads up to a reset of the stream by that code.
func (p *peer) wantReset(id uint32, code http2.ErrCode) {
	p.t.Helper()
	f := want[*http2.RSTStreamFrame](p)
	if f.StreamID != id || f.ErrCode != code {
		p.t.Fatalf("got %v %v, want stream %d %v", f, f.ErrCode, id, code)
	}
}

// wantGoAway reads up to the connection's end by that code.
func (p *peer) wantGoAway(code http2.ErrCode) *http2.GoAwayFrame {
	p.t.Helper()
	for {
		f, err := p.fr.ReadFrame()
		if err != nil {
			p.t.Fatal("reading up to a GOAWAY: ", err)
		}
		if away, ok := f.(*http2.GoAwayFrame); ok {
			if away.ErrCode != code {
				p.t.Fatalf("GOAWAY %v %q, want %v", away.ErrCode, away.DebugData(), code)
			}
			return away
		}
	}
}

// wantEnd reads up to the connection's end.
func (p *peer) wantEnd() {
	p.t.Helper()
	if _, err := io.Copy(io.Discard, p.nc); err != nil {
		p.t.Fatal("reading up to the end: ", err)
	}
}

// newServed is a server's Conn that has made its offer; requests come to streams.
func newServed(t testing.TB, change func(*Config)) (s *served, streams chan *Stream) {
	near, far := sockets(t)
	streams = make(chan *Stream, 1000)
	cfg := Config{Stream: func(s *Stream) { streams <- s }, StreamWindow: 1 << 17, Window: 1 << 18}
	if change != nil {
		change(&cfg)
	}
	c := NewServer(near, cfg)
	c.Offer(Offer{MaxStreams: 100})
	s = serve(t, c, far)
	return s, streams
}

// newDialled is a client's Conn whose server has greeted it.
func newDialled(t testing.TB, settings ...http2.Setting) *served {
	near, far := sockets(t)
	settled := make(chan bool, 100)
	s := serve(t, NewClient(near, Config{StreamWindow: 1 << 17, Window: 1 << 18, Settings: func(Settings) { settled <- true }}), far)
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(far, preface); err != nil || string(preface) != http2.ClientPreface {
		t.Fatalf("preface: %q %v", preface, err)
	}
	s.fr.WriteSettings(settings...)
	<-settled
	return s
}

// eventually polls until ok says so.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("never came: " + what)
		}
	}
}
