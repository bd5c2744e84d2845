package e2e

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// An onslaught is what a browser does over HTTP/2 that means the proxy ill.
type onslaught struct {
	name     string
	settings []http2.Setting
	// do does it. The queries of its requests' targets begin with tag.
	do func(t *testing.T, f *framed, tag string)
	// log checks its entries.
	log func(t *testing.T, all []entry)
}

// flood sends a piece again and again until the proxy has had enough, which it has
// to say with code, long before all have been sent.
func flood(code http2.ErrCode, piece func(f *framed, tag string, i int) error) func(*testing.T, *framed, string) {
	const most = 1_000_000
	return func(t *testing.T, f *framed, tag string) {
		until(t, "the proxy's settings", f.settled)
		f.head(1, false, f.get("/held?"+tag))
		for i := 0; i < most && !f.over(); i++ {
			if f.locked(func() error { return piece(f, tag, i) }) != nil {
				break
			}
		}
		f.goneWith(t, code)
	}
}

// few checks that there is at least one entry, no more than most, and how each ended.
func few(most int, ends ...string) func(*testing.T, []entry) {
	return func(t *testing.T, all []entry) {
		if len(all) == 0 || len(all) > most {
			t.Errorf("%d entries", len(all))
		}
		endedSo(t, all, ends...)
	}
}

// endedSo checks that each ended as one of these words say.
func endedSo(t *testing.T, all []entry, ends ...string) {
	t.Helper()
	odd := map[string]int{}
	for _, e := range all {
		if end := ending(e); !contained(ends, end) {
			odd[end]++
		}
	}
	for end, n := range odd {
		t.Errorf("%d of %d entries ended so: %s", n, len(all), end)
	}
}

func contained(list []string, s string) bool {
	for _, one := range list {
		if strings.HasPrefix(s, one) {
			return true
		}
	}
	return false
}

// ending is how an entry ended: the status, and why it failed or was refused.
func ending(e entry) string {
	said := ""
	if r := e.end.Response; r != nil {
		said = fmt.Sprint(r.Status)
	}
	if f := e.end.Failed; f != nil {
		said = fmt.Sprintf("%s failed %s %s: %s", said, f.Phase, f.Code, f.Reason)
	}
	if r := e.end.Refused; r != nil {
		said = fmt.Sprintf("%s refused %s: %s", said, r.Code, r.Reason)
	}
	return strings.TrimSpace(said)
}

func onslaughts() []onslaught {
	const calm = http2.ErrCodeEnhanceYourCalm
	request := func(f *framed, tag string, i int) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 3), BlockFragment: f.get(fmt.Sprint("/held?", tag, i)), EndHeaders: true, EndStream: true})
	}
	continuation := func(piece int) func(f *framed, tag string, i int) error {
		block := make([]byte, piece)
		for i := range block { // the static table's :method GET, which is one byte
			block[i] = 0x82
		}
		return func(f *framed, tag string, i int) error {
			if i == 0 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: f.get("/echo?" + tag)})
			}
			return f.WriteContinuation(3, false, block)
		}
	}
	gone := []string{"failed wait client_gone", "failed send client_gone", "failed wait bad_request", "failed send bad_request"}
	ended := few(1, gone...)
	unread := few(2, append(gone, "refused head_too_long: ENHANCE_YOUR_CALM")...)
	floods := []struct {
		name  string
		piece func(f *framed, tag string, i int) error
		log   func(*testing.T, []entry)
	}{
		{"settings", func(f *framed, _ string, i int) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(i) & 0xffff})
		}, ended},
		{"table-sizes", func(f *framed, _ string, i int) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: uint32(i)})
		}, ended},
		{"acknowledgements", func(f *framed, _ string, _ int) error { return f.WriteSettingsAck() }, ended},
		{"pings", func(f *framed, _ string, _ int) error { return f.WritePing(false, [8]byte{}) }, ended},
		{"window-updates", func(f *framed, _ string, i int) error { return f.WriteWindowUpdate(uint32(i&1), 1) }, ended},
		{"priorities", func(f *framed, _ string, i int) error {
			return f.WritePriority(uint32(2*i+1), http2.PriorityParam{StreamDep: uint32(i)})
		}, ended},
		{"empty-data", func(f *framed, _ string, _ int) error { return f.WriteData(1, false, nil) }, ended},
		{"padding", func(f *framed, _ string, _ int) error {
			return f.WriteDataPadded(1, false, nil, make([]byte, 255))
		}, ended},
		{"unknown-frames", func(f *framed, _ string, i int) error { return f.WriteRawFrame(0xfe, 0, uint32(i), []byte("what?")) }, ended},
		{"goaways", func(f *framed, _ string, _ int) error { return f.WriteGoAway(0, http2.ErrCodeNo, nil) }, ended},
		{"empty-continuations", continuation(0), unread},
		{"continuations", continuation(16 << 10), unread},
		{"above-what-was-offered", request, few(1300, append(gone, "200", "refused bad_request: REFUSED_STREAM")...)},
		{"rapid-reset", func(f *framed, tag string, i int) error {
			if err := request(f, tag, i); err != nil {
				return err
			}
			return f.WriteRSTStream(uint32(2*i+3), http2.ErrCodeCancel)
		}, few(1200, append(gone, "200", "failed connect client_gone", "failed connect bad_request", "refused bad_request: REFUSED_STREAM")...)},
		{"made-you-reset", func(f *framed, tag string, i int) error {
			if err := request(f, tag, i); err != nil {
				return err
			}
			return f.WriteWindowUpdate(uint32(2*i+3), 0)
		}, few(1200, append(gone, "200", "failed connect client_gone", "failed connect bad_request", "refused bad_request: REFUSED_STREAM")...)},
	}
	var list []onslaught
	for _, f := range floods {
		list = append(list, onslaught{name: f.name, do: flood(calm, f.piece), log: f.log})
	}
	return append(list,
		onslaught{name: "hpack-bomb", do: bomb, log: few(100, "200", "refused head_too_long")},
		onslaught{name: "no-window", settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, do: noWindow,
			log: few(100, "200 failed receive client_gone")},
		onslaught{name: "one-byte-windows", settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1}}, do: oneByte,
			log: few(1, "200 failed receive client_gone")},
		onslaught{name: "never-reads", settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: math.MaxInt32}}, do: neverReads,
			log: few(100, "200 failed receive client_gone", "failed wait client_gone")},
		onslaught{name: "never-sends", do: neverSends, log: few(100, "failed send client_gone")},
	)
}

// bomb names a long field of the dynamic table thousands of times in each of many
// header lists: kilobytes that mean megabytes.
func bomb(t *testing.T, f *framed, tag string) {
	long := strings.Repeat("bomb", 1000)
	f.head(1, true, f.get("/echo?"+tag, "x-bomb", long))
	for i := range 10 {
		block := f.get(fmt.Sprint("/echo?", tag, i))
		for range 15_000 {
			block = append(block, 0x80|62) // the newest entry of the dynamic table
		}
		f.head(uint32(2*i+3), true, block)
		id := uint32(2*i + 3)
		until(t, "an answer", func() bool { return f.answered(id) != "" || f.over() })
		if got := f.answered(id); got != "431 ended" {
			t.Errorf("list %d was answered %q", i, got)
			return
		}
	}
}

// noWindow lets none of many large answers come, and goes.
func noWindow(t *testing.T, f *framed, tag string) {
	for i := range 100 {
		f.head(uint32(2*i+1), true, f.get(fmt.Sprint("/endless?", tag, i)))
	}
	until(t, "all heads", func() bool {
		return f.look(func() bool { return len(f.streams) > 100 })
	})
	if n := f.look(func() bool { return f.streams[1].data > 0 }); n {
		t.Error("data came where there was no window")
	}
}

// oneByte lets an answer come byte by byte.
func oneByte(t *testing.T, f *framed, tag string) {
	f.head(1, true, f.get("/endless?"+tag))
	for i := range 2000 {
		until(t, "a byte", func() bool {
			return f.look(func() bool { return f.streams[1] != nil && f.streams[1].data == int64(i)+1 })
		})
		f.locked(func() error { return f.WriteWindowUpdate(1, 1) })
	}
}

// neverReads asks for answers without end and reads none of them.
func neverReads(t *testing.T, f *framed, tag string) {
	f.locked(func() error { return f.WriteWindowUpdate(0, math.MaxInt32-65535) })
	for i := range 100 {
		if f.head(uint32(2*i+1), true, f.get(fmt.Sprint("/endless?", tag, i))) != nil {
			break
		}
	}
}

// neverSends begins uploads and sends only a part of each, as much in all as it may
// before it is told anything.
func neverSends(t *testing.T, f *framed, tag string) {
	for i := range 100 {
		id := uint32(2*i + 1)
		f.head(id, false, f.encoded(":method", "POST", ":scheme", "https", ":authority", f.authority, ":path", fmt.Sprint("/sink?", tag, i), "content-length", "1000000"))
		f.locked(func() error { return f.WriteData(id, false, make([]byte, 500)) })
	}
}

// A bystander asks through the proxy, by both versions of HTTP, and is to be served
// whatever others do.
type bystander struct {
	stop    chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
	served  int
	slowest time.Duration
}

func (p *proxy) bystander(host string) *bystander {
	b := &bystander{stop: make(chan struct{})}
	for i, c := range []*http.Client{p.client(), p.multiplexing()} {
		b.running.Go(func() {
			defer c.CloseIdleConnections()
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-b.stop:
					return
				case <-tick.C:
				}
				began := time.Now()
				r, err := c.Get(fmt.Sprintf("https://%s/echo?bystander=%d-%d", host, i, n))
				if err == nil {
					_, err = io.Copy(io.Discard, r.Body)
					r.Body.Close()
				}
				if err != nil {
					p.t.Errorf("a bystander: %v", err)
					return
				}
				b.mu.Lock()
				b.served++
				b.slowest = max(b.slowest, time.Since(began))
				b.mu.Unlock()
			}
		})
	}
	return b
}

func (b *bystander) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.served
}

// Whatever a browser does over HTTP/2, the proxy takes no more memory for it, serves
// the others meanwhile, and has of it in the log what there was.
func TestHTTP2Onslaughts(t *testing.T) {
	w := newQuietWorld(t, newPatient())
	p := w.proxy("--keep-types", "none")
	before := p.vitals()
	b := p.bystander(w.origin.host)
	all := onslaughts()
	for _, o := range all {
		t.Run(o.name, func(t *testing.T) {
			f, err := p.browse(w.origin.host, o.settings...)
			if err != nil {
				t.Fatal(err)
			}
			f.within(patience)
			var reading sync.WaitGroup
			if o.name != "never-reads" {
				reading.Go(f.read)
			}
			served := b.count()
			o.do(t, f, o.name+"=")
			until(t, "the bystanders to be served", func() bool { return b.count() > served+4 })
			f.conn.(interface{ NetConn() net.Conn }).NetConn().Close()
			reading.Wait()
		})
	}
	after := p.vitals()
	close(b.stop)
	b.running.Wait()
	t.Logf("before: %v\nafter:  %v\n%d requests of bystanders, the slowest in %v", before, after, b.served, b.slowest)
	if grown := after.peak - before.resident; !raceEnabled && grown > 96<<20 {
		t.Errorf("%d MiB more at the peak", grown>>20)
	}
	if os.Getenv("NETLOG_E2E") == "all" {
		p.recovers(before)
	}
	p.stop()
	log := readLog(t, p.log)
	for _, o := range all {
		var its []entry
		for _, e := range log.exchanges {
			if strings.Contains(e.open.Request.URL, "?"+o.name+"=") {
				its = append(its, e)
			}
		}
		t.Run("log of "+o.name, func(t *testing.T) { o.log(t, its) })
	}
}

// Requests given up as soon as they are made, thousands after one another and on
// some connections at once, each as many as the proxy bears with: all are in the
// log, and nothing is left of them.
func TestStreamsOpenedAndReset(t *testing.T) {
	const each, atATime = 900, 4
	connections := 10
	if os.Getenv("NETLOG_E2E") == "all" && !raceEnabled {
		connections = 112 // 100,800 streams
	}
	w := newQuietWorld(t, newPatient())
	p := w.proxy()
	b := p.bystander(w.origin.host)
	before := p.vitals()
	var running sync.WaitGroup
	turns := make(chan int)
	for range atATime {
		running.Go(func() {
			for n := range turns {
				if err := p.openAndReset(w.origin.host, n, each); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range connections {
		turns <- n
	}
	close(turns)
	running.Wait()
	peak := p.vitals().peak
	close(b.stop)
	b.running.Wait()
	if grown := peak - before.resident; !raceEnabled && grown > 96<<20 {
		t.Errorf("%d MiB more at the peak", grown>>20)
	}
	if b.count() == 0 {
		t.Error("nobody else was served")
	}
	p.stop()
	var its []entry
	for _, e := range readLog(t, p.log).exchanges {
		if strings.Contains(e.open.Request.URL, "/held?") {
			its = append(its, e)
		}
	}
	is(t, "the number of entries", len(its), connections*each)
	// What came when those before it had not ended yet was more at once than is offered.
	endedSo(t, its, "failed wait client_gone: CANCEL", "failed send client_gone: CANCEL", "failed connect client_gone: CANCEL", "refused bad_request: REFUSED_STREAM")
}

// openAndReset does so on a connection of its own, and waits until the proxy has
// seen it all.
func (p *proxy) openAndReset(host string, n, streams int) error {
	f, err := p.browse(host)
	if err != nil {
		return err
	}
	defer f.conn.Close()
	f.within(patience)
	for i := range streams {
		id := uint32(2*i + 1)
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.get(fmt.Sprintf("/held?%d-%d", n, i)), EndHeaders: true, EndStream: true}); err != nil {
			return err
		}
		if err := f.WriteRSTStream(id, http2.ErrCodeCancel); err != nil {
			return err
		}
	}
	if err := f.WritePing(false, [8]byte{1}); err != nil {
		return err
	}
	for {
		frame, err := f.ReadFrame()
		switch frame.(type) {
		case nil:
			return fmt.Errorf("before the answer to the ping: %w", err)
		case *http2.PingFrame:
			return nil
		}
	}
}
