package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// A theatre is where they are played.
type theatre struct {
	t       *testing.T
	mu      sync.Mutex
	refused map[int]bool
}

func (th *theatre) refuses(id int) bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	before := th.refused[id]
	th.refused[id] = true
	return !before
}

// serve is the server's part.
func (th *theatre) serve(st *h2.Stream) {
	gone := make(chan error, 1)
	st.OnGone(func(err error) { gone <- err })
	text, _ := st.Head().Get("x-plan")
	var s script
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		th.t.Error(err)
		return
	}
	bad := func(what string, got ...any) { th.t.Errorf("%+v: the server has %s: %v", s, what, got) }
	authority, _ := st.Head().Get(":authority")
	if want := s.head(authority); !slices.Equal(st.Head().Fields, want) {
		bad("another head", st.Head().Fields)
	}
	left := func() {
		var e *h2.Error
		if err := <-gone; !errors.As(err, &e) || !e.Remote || !e.Stream || e.Code != s.Code {
			bad("another end", err)
		}
	}
	upload := func() {
		got, err := bodyOf(st)
		if err != nil || got != string(content('u', s.ID, total(s.Up))) {
			bad("another body", len(got), err)
		}
		switch tr := st.Trailers(); {
		case s.UpEnd != (tr != nil), tr != nil && !slices.Equal(tr.Fields, s.trailers("up")):
			bad("other trailers", tr)
		}
	}
	switch {
	case s.Refused && th.refuses(s.ID):
		st.Reset(http2.ErrCodeRefusedStream)
		return
	case s.End == endsBrowserUpload:
		if piece, _, err := st.Next(); err != nil || len(piece) == 0 {
			bad("no upload", err)
		}
		st.WriteHead(fields(":status", "103"), false)
		left()
		return
	}
	if !s.Early {
		upload()
	}
	for range s.Hints {
		st.WriteHead(fields(":status", "103", "link", "</a>", "link", "</b>"), false)
	}
	if s.End == endsBrowserWait {
		st.WriteHead(fields(":status", "103"), false)
		left()
		return
	}
	if s.End == endsServerBefore {
		st.Reset(s.Code)
		return
	}
	var trailers []h2.Field
	if s.DownEnd {
		trailers = s.trailers("down")
	}
	whole := !s.hasBody() && !s.DownEnd
	if err := st.WriteHead(s.answer(), whole && s.End == ""); err != nil {
		bad("no way to answer", err)
	}
	switch s.End {
	case endsServerHead:
		st.Reset(s.Code)
		return
	case endsServerBody, endsBrowserBody:
		st.Write(content('d', s.ID, total(s.Down))[:s.Down[0]], false)
		if s.End == endsServerBody {
			st.Reset(s.Code)
		} else {
			left()
		}
		return
	}
	if !whole {
		if err := speak(st, 'd', s.ID, s.Down, trailers); err != nil {
			bad("no way to answer whole", err)
		}
	}
	if s.Early {
		upload()
	}
}

// browse is the browser's.
func (th *theatre) browse(b *h2browser, s *script) {
	bad := func(what string, got ...any) { th.t.Errorf("%+v: the browser has %s: %v", s, what, got) }
	st, err := b.NewStream()
	if err != nil {
		bad("no stream", err)
		return
	}
	defer st.Close()
	st.SetReadDeadline(time.Now().Add(patience))
	st.SetWriteDeadline(time.Now().Add(patience))
	if err := st.WriteHead(s.head(b.addr), s.Up == nil); err != nil {
		bad("no way to ask", err)
		return
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	if s.Up != nil {
		sizes, trailers := s.Up, []h2.Field(nil)
		if s.UpEnd {
			trailers = s.trailers("up")
		}
		if s.End == endsBrowserUpload {
			st.Write(content('u', s.ID, total(sizes))[:sizes[0]], false)
		} else {
			sending.Go(func() {
				if err := speak(st, 'u', s.ID, sizes, trailers); err != nil && !strings.HasPrefix(s.End, "the server") {
					bad("no way to send", err)
				}
			})
		}
	}
	var e *h2.Error
	ended := func(err error) bool { return errors.As(err, &e) && e.Remote && e.Stream && e.Code == s.Code }
	hints := s.Hints
	if s.End == endsBrowserUpload || s.End == endsBrowserWait {
		hints = 1
		if s.End == endsBrowserWait {
			hints += s.Hints
		}
	}
	for range hints {
		if h, err := st.ReadHead(); err != nil || h.Status() != 103 {
			bad("no hint", h, err)
			return
		}
	}
	if s.End == endsBrowserUpload || s.End == endsBrowserWait {
		st.Reset(s.Code)
		return
	}
	h, err := st.ReadHead()
	if s.End == endsServerBefore {
		if !ended(err) {
			bad("another end", h, err)
		}
		return
	}
	if err != nil || !slices.Equal(h.Fields, s.answer()) {
		bad("another answer", h, err)
		return
	}
	want := content('d', s.ID, total(s.Down))
	if s.End == endsBrowserBody {
		if piece, _, err := st.Next(); err != nil || !bytes.HasPrefix(want, piece) {
			bad("another piece", err)
		}
		st.Reset(s.Code)
		return
	}
	got, err := bodyOf(st)
	if s.End != "" {
		if !ended(err) || s.End == endsServerBody && len(got) != s.Down[0] {
			bad("another end within", len(got), err)
		}
		return
	}
	if err != nil || got != string(want) {
		bad("another body", len(got), err)
	}
	if tr := st.Trailers(); s.DownEnd != (tr != nil) || tr != nil && !slices.Equal(tr.Fields, s.trailers("down")) {
		bad("other trailers", tr)
	}
}

// check compares the entry with its script.
func (th *theatre) check(e pair, s *script, addr string) {
	bad := func(what string, got, want any) { th.t.Errorf("%+v: %s: %v, want %v", s, what, got, want) }
	body := func(what string, b *netlog.Body, want []byte) {
		sum := ""
		if len(want) > 0 {
			sum = fmt.Sprintf("%x", sha256.Sum256(want))
		}
		switch {
		case b == nil:
			bad(what, "absent", "there")
		case b.Size != int64(len(want)) || b.SHA256 != sum || b.Truncated:
			bad(what, fmt.Sprint(b.Size, " ", b.SHA256, " ", b.Truncated), fmt.Sprint(len(want), " ", sum))
		case len(want) > 0 && !bytes.Equal([]byte(b.Kept.(netlog.Bytes)), want):
			bad(what, "other bytes", "the same")
		}
	}
	list := func(what string, got []netlog.Header, want []h2.Field) {
		var g []h2.Field
		for _, h := range got {
			g = append(g, h2.Field{Name: h.Name, Value: h.Value})
		}
		if !slices.Equal(g, want) {
			bad(what, g, want)
		}
	}
	list("pseudo", e.open.Request.Pseudo, s.head(addr)[:4])
	list("headers", e.open.Request.Headers, s.head(addr)[4:])
	want := fmt.Sprintf("exchange mitm %s https://%s/%d", s.Method, addr, s.ID)
	switch s.End {
	case "":
		want += fmt.Sprint(" ", s.Status)
	case endsServerBefore:
		want += " failed wait reset"
	case endsServerHead:
		want += fmt.Sprint(" ", s.Status, " failed receive reset")
	case endsServerBody:
		want += " 200 failed receive reset"
	case endsBrowserUpload, endsBrowserWait:
		want += " failed wait client_gone"
	case endsBrowserBody:
		want += " 200 failed receive client_gone"
	}
	if e.String() != want {
		bad("entry", e, want)
		return
	}
	if f := e.end.Failed; f != nil && !strings.HasPrefix(f.Reason, s.Code.String()+": ") {
		bad("reason", f.Reason, s.Code)
	}
	if s.End != endsBrowserUpload {
		body("request's body", e.requestBody(), content('u', s.ID, total(s.Up)))
		trailers := e.open.Request.Trailers
		if e.end.Request != nil {
			trailers = e.end.Request.Trailers
		}
		if s.UpEnd {
			list("request's trailers", trailers, s.trailers("up"))
		}
	} else if b := e.requestBody(); b == nil || b.Size > int64(s.Up[0]) {
		bad("request's body", b, s.Up[0])
	}
	if a := e.end.Response; a != nil {
		if a.Complete != (s.End == "") {
			bad("complete", a.Complete, s.End == "")
		}
		if len(a.Informational) != s.Hints {
			bad("informational", a.Informational, s.Hints)
		}
		list("answer's headers", a.Headers, s.answer()[1:])
		if s.End == "" {
			body("answer's body", a.Body, content('d', s.ID, total(s.Down)))
			if s.DownEnd {
				list("answer's trailers", a.Trailers, s.trailers("down"))
			}
		}
		if s.End == endsServerBody {
			body("answer's body", a.Body, content('d', s.ID, total(s.Down))[:s.Down[0]])
		}
	}
	if sum := e.phases(); sum != e.end.Timings.Total {
		bad("sum of the timings", sum, e.end.Timings.Total)
	}
}

// Whatever exchanges share a connection of HTTP/2, and however they end, each side gets
// each byte of them, and so does the log.
func TestScripts(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { play(t, seed) })
	}
}

func play(t *testing.T, seed uint64) {
	const browsers, each = 3, 60
	w := newWorld(t, nil)
	th := &theatre{t: t, refused: map[int]bool{}}
	s := w.h2server(th.serve)
	var scripts [browsers * each]script
	var running sync.WaitGroup
	for i := range browsers {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		b := w.h2browser(s.addr)
		<-b.settled
		for j := range each - 1 {
			id := i*each + j
			scripts[id] = scripted(r, id)
			running.Go(func() { th.browse(b, &scripts[id]) })
			if r.IntN(10) == 0 {
				running.Wait()
			}
		}
		running.Wait()
		last := &scripts[i*each+each-1] // by its end all others' have been seen
		*last = script{ID: i*each + each - 1, Method: "GET", Status: 204}
		th.browse(b, last)
		b.Close(net.ErrClosed)
	}
	entries := w.waitFor(len(scripts))
	if len(entries) != len(scripts) {
		t.Errorf("%d entries of %d exchanges", len(entries), len(scripts))
	}
	for _, e := range entries {
		id, _ := strconv.Atoi(e.open.Request.URL[strings.LastIndexByte(e.open.Request.URL, '/')+1:])
		th.check(e, &scripts[id], s.addr)
	}
}
