package e2e

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
)

// A hostility is what a server does with a request over HTTP/2 that it may not do,
// or that is hard to get right. The request's path is its name.
type hostility struct {
	name string
	// do has the connection once the request, on stream 1, is there.
	do func(t *testing.T, f *framed)
	// came is what the browser gets: the status and how the answer ended.
	came string
	// ends is how the entry ends, in the first words of it.
	ends string
}

// A hostileServer does to each connection what its first request's path names.
type hostileServer struct {
	host    string
	running sync.WaitGroup
	did     chan string // what it has done, by its name
	mu      sync.Mutex
	conns   []net.Conn
}

func startHostile(t *testing.T, w *world, all []hostility) *hostileServer {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{w.ca.leaf.tls}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &hostileServer{host: l.Addr().String(), did: make(chan string, 10*len(all))}
	s.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			s.running.Go(func() { s.serve(t, conn, all) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.running.Wait()
	})
	return s
}

func (s *hostileServer) serve(t *testing.T, conn net.Conn, all []hostility) {
	defer conn.Close()
	f := newFramed(conn, s.host)
	f.within(patience)
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return // a connection that was not needed
	}
	if f.WriteSettings() != nil {
		return
	}
	s.running.Go(f.read)
	f.await(func() bool { return f.request(1) != "" })
	path := f.request(1)
	for _, h := range all {
		if path == "/"+h.name {
			h.do(t, f)
			s.did <- h.name
			// What was sent is to be read before the connection ends.
			f.await(f.over)
		}
	}
}

// begin sends the head of an answer of text.
func (f *framed) begin(id uint32, end bool, more ...string) error {
	return f.head(id, end, f.encoded(append([]string{":status", "200", "content-type", "text/plain"}, more...)...))
}

func (f *framed) body(id uint32, end bool, text string) error {
	return f.locked(func() error { return f.WriteData(id, end, []byte(text)) })
}

// repeated sends a frame until the proxy has had enough.
func repeated(send func(f *framed, i int) error) func(*testing.T, *framed) {
	return func(t *testing.T, f *framed) {
		for i := 0; i < 1_000_000 && !f.over(); i++ {
			if f.locked(func() error { return send(f, i) }) != nil {
				return
			}
		}
		f.await(f.over)
		f.goneWith(t, http2.ErrCodeEnhanceYourCalm)
	}
}

// behind does so behind the beginning of an answer.
func behind(send func(f *framed, i int) error) func(*testing.T, *framed) {
	return func(t *testing.T, f *framed) {
		f.begin(1, false)
		f.body(1, false, "begun")
		repeated(send)(t, f)
	}
}

func hostilities() []hostility {
	const flooded = "failed wait bad_answer: ENHANCE_YOUR_CALM"
	noBody := func(do func(f *framed) error) func(*testing.T, *framed) {
		return func(t *testing.T, f *framed) {
			if err := f.locked(func() error { return do(f) }); err != nil && !f.over() {
				t.Error(err)
			}
		}
	}
	list := []hostility{
		{name: "settings", do: repeated(func(f *framed, i int) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: uint32(i)})
		}), came: "502", ends: flooded},
		{name: "pings", do: repeated(func(f *framed, _ int) error { return f.WritePing(false, [8]byte{}) }), came: "502", ends: flooded},
		{name: "window-updates", do: repeated(func(f *framed, _ int) error { return f.WriteWindowUpdate(0, 1) }), came: "502", ends: flooded},
		{name: "goaways", do: repeated(func(f *framed, _ int) error { return f.WriteGoAway(1, http2.ErrCodeNo, nil) }), came: "502", ends: flooded},
		{name: "unknown-frames", do: repeated(func(f *framed, _ int) error { return f.WriteRawFrame(0xfe, 0, 1, nil) }), came: "502", ends: flooded},
		{name: "informational", do: func(t *testing.T, f *framed) {
			for range 1_000_000 {
				if f.over() || f.head(1, false, f.encoded(":status", "103", "link", "</style.css>; rel=preload")) != nil ||
					f.look(func() bool { return f.streams[1].reset != nil }) {
					break
				}
			}
		}, came: "502", ends: "failed wait bad_answer"},
		{name: "empty-data", do: behind(func(f *framed, _ int) error { return f.WriteData(1, false, nil) }), came: "200 reset INTERNAL_ERROR", ends: "200 failed receive"},
		{name: "continuations", do: func(t *testing.T, f *framed) {
			repeated(func(f *framed, i int) error {
				if i == 0 {
					return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.encoded(":status", "200")})
				}
				return f.WriteContinuation(1, false, slices.Repeat([]byte{0x88}, 16<<10)) // :status 200
			})(t, f)
		}, came: "502", ends: flooded},
		{name: "huge-head", do: func(t *testing.T, f *framed) {
			long := strings.Repeat("long", 4000)
			block := slices.Clone(f.encoded(":status", "200", "x-long", long))
			for range 100 {
				block = append(block, f.encoded("x-more", long)...)
			}
			f.locked(func() error {
				f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:16<<10], EndStream: true})
				for block = block[16<<10:]; len(block) > 16<<10; block = block[16<<10:] {
					f.WriteContinuation(1, false, block[:16<<10])
				}
				return f.WriteContinuation(1, true, block)
			})
		}, came: "502", ends: "failed wait bad_answer"},
		{name: "bomb", do: func(t *testing.T, f *framed) {
			block := slices.Clone(f.encoded(":status", "200", "x-bomb", strings.Repeat("bomb", 1000)))
			for range 12_000 {
				block = append(block, 0x80|62)
			}
			f.head(1, true, block)
		}, came: "502", ends: "failed wait bad_answer"},
		{name: "push", do: noBody(func(f *framed) error {
			return f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: f.get("/pushed"), EndHeaders: true})
		}), came: "502", ends: "failed wait bad_answer: PROTOCOL_ERROR"},
		{name: "even-stream", do: noBody(func(f *framed) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2, BlockFragment: f.encoded(":status", "200"), EndHeaders: true})
		}), came: "502", ends: "failed wait bad_answer: PROTOCOL_ERROR"},
		{name: "no-status", do: noBody(func(f *framed) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.encoded("content-type", "text/plain"), EndHeaders: true})
		}), came: "502", ends: "failed wait bad_answer: PROTOCOL_ERROR"},
		{name: "switching", do: noBody(func(f *framed) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.encoded(":status", "101"), EndHeaders: true})
		}), came: "502", ends: "failed wait bad_answer: PROTOCOL_ERROR"},
		{name: "body-first", do: noBody(func(f *framed) error { return f.WriteData(1, true, []byte("body")) }), came: "502", ends: "failed wait bad_answer: PROTOCOL_ERROR"},
		{name: "not-huffman", do: noBody(func(f *framed) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88, 0x00, 0x81, 0xff, 0x81, 0xff}, EndHeaders: true})
		}), came: "502", ends: "failed wait bad_answer: COMPRESSION_ERROR"},
		{name: "too-much", do: func(t *testing.T, f *framed) {
			f.begin(1, false)
			piece := strings.Repeat("more", 4096)
			for range 100_000 { // more than any window
				if f.over() || f.body(1, false, piece) != nil || f.look(func() bool { return f.streams[1].reset != nil }) {
					break
				}
			}
		}, came: "200 reset INTERNAL_ERROR", ends: "200 failed receive"},
		{name: "huge-trailers", do: func(t *testing.T, f *framed) {
			f.begin(1, false)
			f.body(1, false, "all of it")
			block := slices.Clone(f.encoded("x-bomb", strings.Repeat("bomb", 1000)))
			for range 12_000 {
				block = append(block, 0x80|62)
			}
			f.head(1, true, block)
		}, came: "200 reset INTERNAL_ERROR", ends: "200 failed receive bad_answer"},
		{name: "reset-before", do: func(t *testing.T, f *framed) {
			f.locked(func() error { return f.WriteRSTStream(1, http2.ErrCodeEnhanceYourCalm) })
		}, came: "reset ENHANCE_YOUR_CALM", ends: "failed wait reset: ENHANCE_YOUR_CALM"},
		{name: "reset-within", do: func(t *testing.T, f *framed) {
			f.begin(1, false)
			f.body(1, false, "some of it")
			f.locked(func() error { return f.WriteRSTStream(1, http2.ErrCodeConnect) })
		}, came: "200 reset CONNECT_ERROR", ends: "200 failed receive reset: CONNECT_ERROR"},
		{name: "closed-before", do: func(t *testing.T, f *framed) { f.conn.Close() }, came: "502", ends: "failed wait reset"},
		{name: "closed-within", do: func(t *testing.T, f *framed) {
			f.begin(1, false, "content-length", "100")
			f.body(1, false, "some of it")
			f.conn.Close()
		}, came: "200 reset INTERNAL_ERROR", ends: "200 failed receive reset"},
		{name: "goaway-error", do: func(t *testing.T, f *framed) {
			f.locked(func() error { return f.WriteGoAway(1, http2.ErrCodeInternal, []byte("out of order")) })
			f.conn.Close()
		}, came: "502", ends: "failed wait reset: INTERNAL_ERROR: out of order"},
		{name: "ended-early", do: func(t *testing.T, f *framed) { // an answer that wants no more of the request
			f.begin(1, false)
			f.body(1, true, "enough")
			f.locked(func() error { return f.WriteRSTStream(1, http2.ErrCodeNo) })
		}, came: "200", ends: "200"},
		{name: "odd-settings", do: func(t *testing.T, f *framed) {
			// Windows, tables and frames of all sizes, while an answer comes.
			f.begin(1, false)
			for i := range 200 {
				f.locked(func() error {
					return f.WriteSettings(
						http2.Setting{ID: http2.SettingInitialWindowSize, Val: []uint32{0, 1, 65535, math.MaxInt32}[i%4]},
						http2.Setting{ID: http2.SettingHeaderTableSize, Val: []uint32{0, 4096, 65536, math.MaxUint32}[i%4]},
						http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(i % 3)},
						http2.Setting{ID: http2.SettingMaxFrameSize, Val: []uint32{16384, 1<<24 - 1}[i%2]},
						http2.Setting{ID: http2.SettingID(0xfff0 + i%8), Val: uint32(i)},
					)
				})
				f.body(1, false, "piece ")
			}
			// The browser leaves with the last piece, and its connection ends with it.
			if !f.await(func() bool { return f.look(func() bool { return f.acks == 201 }) }) {
				t.Error("not all settings were acknowledged")
			}
			f.body(1, true, "last")
		}, came: "200", ends: "200"},
	}
	for _, setting := range []http2.Setting{
		{ID: http2.SettingInitialWindowSize, Val: math.MaxInt32 + 1},
		{ID: http2.SettingMaxFrameSize, Val: 1},
		{ID: http2.SettingEnablePush, Val: 1},
		{ID: http2.SettingEnableConnectProtocol, Val: 2},
	} {
		list = append(list, hostility{
			name: fmt.Sprintf("setting-%d", setting.ID), came: "502", ends: "failed wait bad_answer",
			do: noBody(func(f *framed) error { return f.WriteSettings(setting) }),
		})
	}
	return list
}

// ask is what a browser of HTTP/2 gets: the status, and how the answer broke off.
func ask(c *http.Client, url string) string {
	r, err := c.Get(url)
	var reset http2.StreamError
	switch {
	case errors.As(err, &reset):
		return "reset " + reset.Code.String()
	case err != nil:
		return err.Error()
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	switch {
	case errors.As(err, &reset):
		return fmt.Sprint(r.StatusCode, " reset ", reset.Code)
	case err != nil:
		return fmt.Sprint(r.StatusCode, " ", err)
	}
	return fmt.Sprint(r.StatusCode)
}

// Whatever a server does over HTTP/2, its browser gets an answer or is told that
// there is none, the log has why, others are served and no memory is taken for it.
func TestHostileServers(t *testing.T) {
	w := newQuietWorld(t, newPatient())
	p := w.proxy()
	all := hostilities()
	s := startHostile(t, w, all)
	before := p.vitals()
	b := p.bystander(w.origin.host)
	for _, h := range all {
		t.Run(h.name, func(t *testing.T) {
			c := p.multiplexing()
			is(t, "what the browser got", ask(c, "https://"+s.host+"/"+h.name), h.came)
			for <-s.did != h.name { // the server's connection ends with the browser's
			}
			c.CloseIdleConnections()
		})
	}
	after := p.vitals()
	close(b.stop)
	b.running.Wait()
	t.Logf("before: %v\nafter:  %v\n%d requests of bystanders, the slowest in %v", before, after, b.served, b.slowest)
	if grown := after.peak - before.resident; !raceEnabled && grown > 96<<20 {
		t.Errorf("%d MiB more at the peak", grown>>20)
	}
	p.stop()
	log := readLog(t, p.log)
	for _, h := range all {
		t.Run("log of "+h.name, func(t *testing.T) {
			end := ending(log.find(t, "GET", "https://"+s.host+"/"+h.name))
			if !strings.HasPrefix(end, h.ends) || h.ends == "200" && end != "200" {
				t.Errorf("it ended so: %s; want %s", end, h.ends)
			}
		})
	}
}
