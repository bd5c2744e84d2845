package proxy

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/agentenv/netlog/proxy/h2"
)

// An h2peer speaks HTTP/2 frame by frame.
type h2peer struct {
	t     *testing.T
	conn  net.Conn
	fr    *http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
	dec   *hpack.Decoder
}

func newH2Peer(t *testing.T, conn net.Conn) *h2peer {
	conn.SetDeadline(time.Now().Add(patience))
	p := &h2peer{t: t, conn: conn, fr: http2.NewFramer(conn, conn), dec: hpack.NewDecoder(4096, nil)}
	p.fr.AllowIllegalWrites = true
	p.enc = hpack.NewEncoder(&p.block)
	return p
}

// greet begins as a browser does.
func (p *h2peer) greet() {
	io.WriteString(p.conn, http2.ClientPreface)
	p.fr.WriteSettings()
}

// newH2Listener serves each connection to a new address, for 127.0.0.1, by serve.
func newH2Listener(w *world, serve func(*h2peer)) string {
	w.t.Helper()
	l := listen(w.t)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				session := tls.Server(conn, &tls.Config{NextProtos: []string{"h2"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.ca.leaf("127.0.0.1") }})
				p := newH2Peer(w.t, session)
				preface := make([]byte, len(http2.ClientPreface))
				if _, err := io.ReadFull(session, preface); err != nil {
					return
				}
				p.fr.WriteSettings()
				serve(p)
				session.CloseWrite()
				io.Copy(io.Discard, conn) // lest the end be a reset
			})
		}
	})
	w.t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// next reads a frame, but for those that only belong to the connection; nil at its end.
func (p *h2peer) next() http2.Frame {
	for {
		f, err := p.fr.ReadFrame()
		if err != nil {
			return nil
		}
		switch f.(type) {
		case *http2.SettingsFrame, *http2.WindowUpdateFrame:
		default:
			return f
		}
	}
}

// request reads a request's head, and passes over anything else; 0 at the end.
func (p *h2peer) request() (id uint32, path string) {
	for {
		switch f := p.next().(type) {
		case nil:
			return 0, ""
		case *http2.HeadersFrame:
			for _, field := range p.decode(f) {
				if field.Name == ":path" {
					path = field.Value
				}
			}
			return f.StreamID, path
		}
	}
}

// body reads a request's to its end; false: there is none.
func (p *h2peer) body() (body string, whole bool) {
	for {
		switch f := p.next().(type) {
		case nil:
			return body, false
		case *http2.DataFrame:
			body += string(f.Data())
			if f.StreamEnded() {
				return body, true
			}
		}
	}
}

func (p *h2peer) decode(f *http2.HeadersFrame) []h2.Field {
	fs, err := p.dec.DecodeFull(f.HeaderBlockFragment())
	if err != nil {
		p.t.Error(err)
	}
	return fs
}

func (p *h2peer) encode(fs []h2.Field) []byte {
	p.block.Reset()
	for _, f := range fs {
		p.enc.WriteField(f)
	}
	return bytes.Clone(p.block.Bytes())
}

func (p *h2peer) head(id uint32, end bool, fs []h2.Field) {
	p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(fs), EndHeaders: true, EndStream: end})
}

// headWith is a request's with a priority.
func (p *h2peer) headWith(id uint32, fs []h2.Field, priority http2.PriorityParam) {
	p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(fs), EndHeaders: true, EndStream: true, Priority: priority})
}
