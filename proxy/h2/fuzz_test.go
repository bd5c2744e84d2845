package h2

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A script is a connection whose peer sends what is in it, in pieces, and takes
// whatever it is sent.
type script struct {
	net.Conn // nil: what is not below is not called
	in       []byte
	piece    int
	out      bytes.Buffer
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.piece)], s.in)
	s.in = s.in[n:]
	return n, nil
}

func (s *script) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *script) Close() error                     { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// play has a connection read what a peer sends, and tells what came of it.
func play(t *testing.T, server bool, in []byte, piece int) string {
	var told []string
	tell := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	nc := &script{in: in, piece: piece}
	var c *Conn
	if server {
		nc.in = append([]byte(http2.ClientPreface), in...)
		c = NewServer(nc, Config{Stream: func(st *Stream) {
			h := *st.head
			h.Refused = nil // a pointer; it is told of below
			tell("%d %+v, refused: %v", st.id, h, st.head.Refused)
			st.OnGone(func(err error) { tell("%d %v", st.id, err) })
			if st.id%4 == 1 { // some are answered at once
				st.c.mu.Lock()
				st.sending, st.isHead, st.andEnd, st.fields = true, true, true, fields(":status", "200")
				st.queue()
				st.c.pump()
				st.c.unlock()
			}
		}})
		c.Offer(Offer{MaxStreams: 10, Connect: true})
	} else {
		c = NewClient(nc, Config{})
		for range 3 {
			st := newStream(c)
			st.OnGone(func(err error) { tell("%d %v", st.id, err) })
			c.mu.Lock()
			st.sending, st.isHead, st.fields = true, true, get("/")
			c.opening.push(st)
			c.openNext()
			c.unlock()
		}
	}
	err := c.Serve()
	if len(c.streams) > 0 || c.opened > 0 {
		t.Errorf("%d streams, %d opened are left", len(c.streams), c.opened)
	}
	if c.window < 0 || c.credit > maxWindow {
		t.Errorf("windows: %d, %d", c.window, c.credit)
	}
	slices.Sort(told) // the streams that a connection's end ends have no order
	return strings.Join(told, "\n") + fmt.Sprintf("\n%v\n%x", err, nc.out.Bytes())
}

// sample is what a well-behaved peer sends; more: but for what it sends at last.
func sample(server bool, more func(*peer)) []byte {
	var b bytes.Buffer
	p := &peer{fr: http2.NewFramer(&b, nil)}
	p.fr.AllowIllegalWrites = true
	p.enc = hpack.NewEncoder(&p.block)
	p.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 100})
	p.fr.WriteSettingsAck()
	p.fr.WriteWindowUpdate(0, 1000)
	p.fr.WritePing(false, [8]byte{1})
	if server {
		block := p.encode(get("/", "a", "b"))
		p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:5], Priority: http2.PriorityParam{Weight: 3}, PadLength: 4})
		p.fr.WriteContinuation(1, true, block[5:])
		p.fr.WriteDataPadded(1, false, []byte("hello"), []byte{0, 0})
		p.head(1, true, fields("trailer", "x"))
		p.head(3, false, post("/x", "content-length", "3"))
		p.fr.WriteData(3, true, []byte("abc"))
		p.fr.WriteRSTStream(3, http2.ErrCodeCancel)
		p.fr.WritePriorityUpdate(3, "u=1")
	} else {
		p.head(1, false, fields(":status", "100"))
		p.head(1, false, fields(":status", "200"))
		p.fr.WriteData(1, true, []byte("hello"))
		p.head(3, true, fields(":status", "204"))
		p.fr.WriteRSTStream(5, http2.ErrCodeRefusedStream)
	}
	p.fr.WriteRawFrame(0x77, 1, 9, []byte("?"))
	if more != nil {
		more(p)
		return b.Bytes()
	}
	p.fr.WriteGoAway(3, http2.ErrCodeNo, []byte("bye"))
	return b.Bytes()
}

// What comes of a connection does not depend on how it was cut.
func TestAnyCut(t *testing.T) {
	for _, server := range []bool{true, false} {
		in := sample(server, nil)
		for end := range len(in) + 1 {
			whole := play(t, server, in[:end], len(in))
			for _, piece := range []int{1, 10} {
				if got := play(t, server, in[:end], piece); got != whole {
					t.Fatalf("the first %d bytes in pieces of %d:\n%s\nwant\n%s", end, piece, got, whole)
				}
			}
		}
	}
}

func FuzzServer(f *testing.F) { fuzzRole(f, true) }

func FuzzClient(f *testing.F) { fuzzRole(f, false) }

func fuzzRole(f *testing.F, server bool) {
	f.Add(sample(server, nil))
	f.Add(sample(server, func(p *peer) { bomb(p, 5, get("/")) }))
	f.Add(sample(server, func(p *peer) { // a block that another frame breaks into
		p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, BlockFragment: p.encode(get("/"))})
		p.fr.WriteWindowUpdate(5, 0)
	}))
	f.Add(sample(server, func(p *peer) { // more requests than are offered, or answers to nothing
		for id := uint32(5); id < 300; id += 2 {
			p.head(id, false, get("/"))
		}
	}))
	f.Add(sample(server, func(p *peer) { p.fr.WriteRawFrame(http2.FrameHeaders, 4, 5, []byte("\xff\xff\xff")) }))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole := play(t, server, in, len(in)+1)
		if got := play(t, server, in, 1); got != whole {
			t.Errorf("byte by byte:\n%s\nwhole:\n%s", got, whole)
		}
	})
}

// What one side sends the other gets, whatever it is.
func FuzzRoundTrip(f *testing.F) {
	f.Add("x-a\x00b\x00cookie\x00a=1\x00cookie\x00\xff\n", uint16(5), uint16(0))
	f.Add(strings.Repeat("x\x00y\x00", 200), uint16(65_535), uint16(50_000))
	near, far := sockets(f)
	streams := make(chan *Stream, 1)
	s := NewServer(near, Config{Stream: func(st *Stream) { streams <- st }, MaxHeaderList: 1 << 24})
	s.Offer(Offer{MaxStreams: 100})
	c := NewClient(far, Config{MaxHeaderList: 1 << 24})
	ended := make(chan error, 2)
	go func() { ended <- s.Serve() }()
	go func() { ended <- c.Serve() }()
	f.Cleanup(func() {
		c.Shutdown()
		<-ended
		<-ended
	})
	f.Fuzz(func(t *testing.T, list string, upTo, downTo uint16) {
		up, down := bytes.Repeat([]byte("up"), int(upTo)), bytes.Repeat([]byte("down"), int(downTo))
		words := strings.Split(list, "\x00")
		if len(words) > 9000 || len(list) > 1<<20 {
			return
		}
		fs := fields(words[:len(words)&^1]...)
		for i := range fs {
			fs[i].Sensitive = i%3 == 0
		}
		sent := append(fields(":method", "POST"), fs...)
		st, err := c.NewStream()
		check(t, err)
		defer st.Close()
		check(t, st.WriteHead(sent, false))
		got := <-streams
		defer got.Close()
		if h := got.Head(); h.ListSize() > freeList { // which may be longer than its bytes allow
			if n := len(h.Fields); h.TooLong && reflect.DeepEqual(h.Fields, sent[:n]) || reflect.DeepEqual(h.Fields, sent) {
				return
			}
		}
		if !reflect.DeepEqual(got.Head().Fields, sent) {
			t.Errorf("the request:\n%q\nwant\n%q", got.Head().Fields, sent)
		}
		go st.Write(up, true)
		if length := got.length; length >= 0 && length != int64(len(up)) {
			return // it is turned down
		}
		if body := readAll(t, got); body != string(up) {
			t.Errorf("up: %d bytes of %d", len(body), len(up))
		}
		answer := append(fields(":status", "200"), fs...)
		check(t, got.WriteHead(answer, false))
		go got.Write(down, true)
		h, err := st.ReadHead()
		check(t, err)
		if !reflect.DeepEqual(h.Fields, answer) {
			t.Errorf("the answer:\n%q\nwant\n%q", h.Fields, answer)
		}
		if body := readAll(t, st); body != string(down) {
			t.Errorf("down: %d bytes of %d", len(body), len(down))
		}
	})
}
