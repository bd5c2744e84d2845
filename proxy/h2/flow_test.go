package h2

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// frames reads as much DATA as comes before the answer to a PING.
func (s *served) dataBeforePong() (n int, ended bool) {
	s.t.Helper()
	s.fr.WritePing(false, [8]byte{7})
	for {
		switch f := s.peer.next().(type) {
		case *http2.DataFrame:
			n += len(f.Data())
			ended = ended || f.StreamEnded()
		case *http2.PingFrame:
			return n, ended
		case *http2.HeadersFrame:
		default:
			s.t.Fatalf("got %v", f)
		}
	}
}

// Nothing is given back of what has come before it has gone on: a peer has no more
// than a window of a stream outstanding.
func TestAWindowIsGivenBackOnlyForWhatHasGoneOn(t *testing.T) {
	const window = 1 << 17
	s, streams := newServed(t, nil)
	s.greet()
	s.head(1, false, post("/"))
	st := <-streams
	defer st.Close()
	for range window / frameSize {
		s.fr.WriteData(1, false, make([]byte, frameSize))
	}
	s.fr.WritePing(false, [8]byte{})
	for { // with next, updates would be passed over
		f, err := s.fr.ReadFrame()
		check(t, err)
		if u, ok := f.(*http2.WindowUpdateFrame); ok && u.StreamID == 1 {
			t.Fatalf("given back before it was read: %v", u)
		}
		if _, ok := f.(*http2.PingFrame); ok {
			break
		}
	}
	if st.held.size != window {
		t.Errorf("held: %d", st.held.size)
	}
	given := 0
	for given == 0 {
		piece, _, err := st.Next()
		check(t, err)
		st.Took(len(piece))
		if st.held.size == 0 {
			break
		}
	}
	for given < window {
		f, err := s.fr.ReadFrame()
		check(t, err)
		if u, ok := f.(*http2.WindowUpdateFrame); ok && u.StreamID == 1 {
			given += int(u.Increment)
		}
	}
	if given != window {
		t.Errorf("given back %d", given)
	}
}

// Padding, and what nobody reads, does not use the connection's window up.
func TestWhatIsDroppedIsGivenBack(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	for i := range uint32(40) { // ten times the connection's window
		id := 2*i + 1
		s.head(id, false, post("/"))
		st := <-streams
		for range 4 {
			s.fr.WriteDataPadded(id, false, make([]byte, frameSize-256), make([]byte, 255))
		}
		s.fr.WritePing(false, [8]byte{})
		want[*http2.PingFrame](s.peer)
		st.Next() // held by its reader when it is dropped
		st.Close()
		st.Took(10)
		s.wantReset(id, http2.ErrCodeCancel)
		s.fr.WriteData(id, false, make([]byte, frameSize)) // on its way
	}
	s.fr.WritePing(false, [8]byte{})
	want[*http2.PingFrame](s.peer)
}

// What is sent keeps to the stream's window and to the connection's, as they are
// opened, closed and below zero.
func TestSendingKeepsToTheWindows(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	s.head(1, true, get("/"))
	st := <-streams
	defer st.Close()
	check(t, st.WriteHead(fields(":status", "200"), false))
	written := make(chan error, 1)
	go func() { written <- st.Write(make([]byte, 100_000), true) }()
	step := func(what string, want int) {
		t.Helper()
		n := 0
		eventually(t, what, func() bool {
			more, _ := s.dataBeforePong()
			n += more
			return n >= want
		})
		if more, _ := s.dataBeforePong(); n+more != want {
			t.Errorf("%s: %d bytes, want %d", what, n+more, want)
		}
	}
	step("the first window", 10)
	s.fr.WriteWindowUpdate(1, 5)
	step("an update", 5)
	s.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}) // ten below zero
	s.fr.WriteWindowUpdate(1, 10)
	step("at zero", 0)
	s.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 7})
	step("a setting", 7)
	s.fr.WriteWindowUpdate(1, 1<<20)
	step("the connection's window", initialWindow-22)
	s.fr.WriteWindowUpdate(0, 1)
	step("a byte of it", 1)
	select {
	case err := <-written:
		t.Fatal("written: ", err)
	default:
	}
	s.fr.WriteWindowUpdate(0, 1<<20)
	step("the rest", 100_000-initialWindow-1)
	check(t, <-written)
}

// A stream without window holds up no other; one that waits can be given up.
func TestAStuckStreamHoldsUpNoOther(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	s.fr.WriteWindowUpdate(0, 1<<20)
	stuck := make(chan error, 1)
	for id := uint32(1); id < 40; id += 2 {
		s.head(id, true, get("/"))
		st := <-streams
		check(t, st.WriteHead(fields(":status", "200"), false))
		want[*http2.HeadersFrame](s.peer)
		if id == 1 {
			go func() { stuck <- st.Write(make([]byte, initialWindow+1), true) }()
			eventually(t, "its window's end", func() bool { return st.creditLeft() == 0 })
			s.dataBeforePong()
			continue
		}
		go st.Write(make([]byte, 100), true)
		eventually(t, "another's body", func() bool { _, ended := s.dataBeforePong(); return ended })
		st.Close()
		if id == 21 {
			s.fr.WriteRSTStream(1, http2.ErrCodeCancel)
			var e *Error
			if err := <-stuck; !errors.As(err, &e) || e.Code != http2.ErrCodeCancel {
				t.Errorf("the stuck one: %v", err)
			}
		}
	}
}

func (s *Stream) creditLeft() int64 {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.credit
}

// Streams take turns: none is sent whole while others wait.
func TestStreamsTakeTurns(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	const each = 1 << 20
	for id := uint32(1); id < 8; id += 2 {
		s.head(id, true, get("/"))
		st := <-streams
		defer st.Close()
		go func() {
			st.WriteHead(fields(":status", "200"), false)
			st.Write(make([]byte, each), true)
		}()
	}
	eventually(t, "all waiting for the connection's window", func() bool {
		s.Conn.mu.Lock()
		defer s.Conn.mu.Unlock()
		return len(s.starved.list) == 4
	})
	s.fr.WriteWindowUpdate(0, 1<<24)
	got := map[uint32]int{}
	for total := 0; total < 4*each; {
		if f, ok := s.peer.next().(*http2.DataFrame); ok {
			got[f.StreamID] += len(f.Data())
			total += len(f.Data())
			if got[f.StreamID] > total/4+2*initialWindow {
				t.Fatalf("stream %d had %d of %d bytes", f.StreamID, got[f.StreamID], total)
			}
		}
	}
}

// A browser that reads nothing holds its streams up, and nothing is queued for it
// but the buffer; time limits end the waits.
func TestABrowserThatDoesNotRead(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: maxWindow})
	s.fr.WriteWindowUpdate(0, maxWindow-initialWindow)
	s.head(1, true, get("/"))
	st := <-streams
	defer st.Close()
	check(t, st.WriteHead(fields(":status", "200"), false))
	sent := make(chan error, 1)
	go func() {
		for {
			if err := st.Write(make([]byte, 1<<20), false); err != nil {
				sent <- err
				return
			}
		}
	}()
	eventually(t, "a full buffer", func() bool {
		s.Conn.mu.Lock()
		defer s.Conn.mu.Unlock()
		if n := len(s.out); n > outRoom+frameSize+frameHead {
			t.Errorf("%d bytes wait to be written", n)
		}
		return len(s.out) >= outRoom
	})
	st.SetWriteDeadline(time.Now())
	if err := <-sent; !isTimeout(err) {
		t.Error(err)
	}
}

// The time limit of one does not end another's wait, be it set before or behind it.
func TestTimeLimitsOfManyStreams(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	ends := map[uint32]chan error{}
	for i, limit := range []time.Duration{time.Hour, 3 * time.Millisecond, 2 * time.Hour, time.Millisecond, 5 * time.Millisecond} {
		id := uint32(2*i + 1)
		s.head(id, false, post("/"))
		st := <-streams
		defer st.Close()
		st.SetReadDeadline(time.Now().Add(limit))
		end := make(chan error, 1)
		ends[id] = end
		go func() {
			_, _, err := st.Next()
			end <- err
		}()
	}
	for _, id := range []uint32{3, 7, 9} {
		if err := <-ends[id]; !isTimeout(err) {
			t.Errorf("stream %d: %v", id, err)
		}
	}
	for _, id := range []uint32{1, 5} {
		s.fr.WriteData(id, false, []byte("x"))
		check(t, <-ends[id])
	}
}

func TestReadDeadlines(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	s.head(1, false, post("/"))
	st := <-streams
	defer st.Close()
	st.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, _, err := st.Next(); !isTimeout(err) {
		t.Error(err)
	}
	st.SetReadDeadline(time.Time{})
	s.fr.WriteData(1, false, []byte("x"))
	if piece, _, err := st.Next(); string(piece) != "x" || err != nil {
		t.Error(piece, err)
	}
	st.SetReadDeadline(time.Unix(1, 0))
	if piece, _, err := st.Next(); string(piece) != "x" || err != nil { // what has come is there
		t.Error(piece, err)
	}
	st.Took(1)
	if _, _, err := st.Next(); !isTimeout(err) {
		t.Error(err)
	}
}

// A browser that goes away, or resets, ends what waits and says so once.
func TestABrowserThatGoesAway(t *testing.T) {
	for name, leave := range map[string]func(*served){
		"reset":  func(s *served) { s.fr.WriteRSTStream(1, http2.ErrCodeCancel) },
		"closed": func(s *served) { s.peer.nc.Close() },
		"ours":   func(s *served) { s.Conn.Close(net.ErrClosed) },
	} {
		t.Run(name, func(t *testing.T) {
			gone := make(chan error, 2)
			read := make(chan error, 1)
			s, _ := newServed(t, func(c *Config) {
				c.Stream = func(st *Stream) {
					st.OnGone(func(err error) { gone <- err })
					go func() {
						_, _, err := st.Next()
						read <- err
						st.Close()
					}()
				}
			})
			s.greet()
			s.head(1, false, post("/"))
			s.fr.WritePing(false, [8]byte{})
			want[*http2.PingFrame](s.peer)
			leave(s)
			if err := <-gone; err == nil || err != <-read {
				t.Error(err)
			}
			if len(gone) > 0 {
				t.Error("told twice")
			}
		})
	}
}

// What is held comes out as it went in, in whatever pieces.
func TestHeld(t *testing.T) {
	var b Buffers
	var h held
	var in, out bytes.Buffer
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := 1 + rnd.IntN(1+rnd.IntN(chunkSize))
		c := b.chunk()
		for i := range n {
			c[i] = byte(rnd.Uint32())
		}
		if in.Len()-out.Len() < 100_000 {
			in.Write(c[:n])
			if !h.add(c, n) {
				b.put(c)
			}
			if m := len(h.pieces) * chunkSize; m > 2*(h.size+chunkSize) {
				t.Fatalf("%d bytes take up %d", h.size, m)
			}
		}
		for range rnd.IntN(4) {
			piece := h.first()
			n := 0
			if len(piece) > 0 {
				n = rnd.IntN(len(piece) + 1)
			}
			out.Write(piece[:n])
			if got := h.take(n, &b); got != n {
				t.Fatalf("took %d of %d", got, n)
			}
		}
		if h.size != in.Len()-out.Len() {
			t.Fatalf("size %d, want %d", h.size, in.Len()-out.Len())
		}
	}
	for h.size > 0 {
		piece := h.first()
		out.Write(piece)
		h.take(len(piece), &b)
	}
	if !bytes.Equal(in.Bytes(), out.Bytes()) {
		t.Error("it did not come out as it went in")
	}
	h.add(b.chunk(), 10_000)
	h.add(b.chunk(), 10_000)
	if n := h.drop(&b); n != 20_000 || h.size != 0 || h.first() != nil {
		t.Errorf("dropped %d", n)
	}
}
