package proxy

import (
	"testing"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/proxy/h2"
)

// sendInParts sends a head with a priority and padding in three frames, and gives their
// size.
func (p *h2peer) sendInParts(id uint32, end bool, fs []h2.Field) (size int64) {
	block := p.encode(fs)
	p.fr.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: block[:5], EndStream: end,
		PadLength: 7, Priority: http2.PriorityParam{Weight: 9},
	})
	p.fr.WriteContinuation(id, false, block[5:5])
	p.fr.WriteContinuation(id, true, block[5:])
	return int64(9 + 1 + 5 + 5 + 7 + 9 + 9 + len(block) - 5)
}

// The size of a head is that of its frames as they came, whatever they were cut into,
// and that of no other head.
func TestTheSizeOfAHeadInHTTP2(t *testing.T) {
	w := newWorld(t, nil)
	var up, down int64
	addr := newH2Listener(w, func(p *h2peer) {
		id, _ := p.request()
		if _, whole := p.body(); !whole {
			return
		}
		p.sendInParts(id, false, fields(":status", "103", "link", "</early>"))
		down = p.sendInParts(id, false, fields(":status", "200", "content-type", "text/plain"))
		p.fr.WriteDataPadded(id, false, []byte("down"), make([]byte, 100))
		p.sendInParts(id, true, fields("x-sum", "behind"))
		p.next()
	})
	p := newH2Peer(t, w.secureFor(addr, "127.0.0.1", "h2").Conn)
	p.greet()
	up = p.sendInParts(1, false, fields(":method", "POST", ":scheme", "https", ":authority", addr, ":path", "/", "x-long", "value"))
	p.fr.WriteDataPadded(1, true, []byte("up"), make([]byte, 50))
	for ended := false; !ended; {
		switch f := p.next().(type) {
		case nil:
			t.Fatal("the connection has ended")
		case *http2.HeadersFrame:
			ended = f.StreamEnded()
		}
	}
	p.conn.Close()
	e := w.waitFor(1)[0]
	if r := e.open.Request; r.HeaderBytes != up || e.requestBody().Size != 2 {
		t.Errorf("the request's head has %d bytes, want %d; its body %d", r.HeaderBytes, up, e.requestBody().Size)
	}
	if a := e.end.Response; a.HeaderBytes != down || a.Body.Size != 4 || len(a.Trailers) != 1 {
		t.Errorf("the answer's head has %d bytes, want %d; its body %d", a.HeaderBytes, down, a.Body.Size)
	}
}
