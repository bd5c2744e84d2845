package proxy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentenv/netlog/proxy/h2"
)

// ask has p's exchange on a stream of a browser's, whose server speaks HTTP/1.
func (s *stage) ask(b *h2browser, p *plan) {
	bad := func(what string, got ...any) { s.t.Errorf("%+v: %s: %v", p, what, got) }
	text, _ := json.Marshal(p)
	head := b.get(fmt.Sprint("/", p.ID), "x-plan", string(text))
	head[0].Value = p.Method
	uploads := p.Method == "POST" || p.Method == "PUT"
	if uploads && !p.Chunks {
		head = append(head, h2.Field{Name: "content-length", Value: strconv.Itoa(p.Up)})
	}
	if p.Expect {
		head = append(head, h2.Field{Name: "expect", Value: "100-continue"})
	}
	st, err := b.NewStream()
	if err != nil {
		bad("no stream", err)
		return
	}
	defer st.Close()
	st.SetReadDeadline(time.Now().Add(patience))
	st.SetWriteDeadline(time.Now().Add(patience))
	if err := st.WriteHead(head, !uploads); err != nil {
		bad("the request's head", err)
		return
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	if uploads {
		sending.Go(func() {
			if err := speak(st, 'u', p.ID, []int{p.Up / 3, p.Up - p.Up/3}, nil); err != nil && !p.Cut {
				bad("the request's body", err)
			}
		})
	}
	a := answerTo(st)
	informational := p.Hints
	if p.Expect {
		informational++
	}
	want := string(content('d', p.ID, p.Down))
	switch {
	case a.head == nil || a.head.Status() != p.Status || len(a.early) != informational:
		bad("the answer", a, len(a.early))
	case p.Cut:
		if a.err == nil || !strings.HasPrefix(want, a.body) {
			bad("the answer that is cut", len(a.body), a.err)
		}
	case a.err != nil || a.body != want:
		bad("the answer's body", len(a.body), a.err)
	}
}

// The same through streams of HTTP/2, many at once, each of which takes a connection to
// a server of HTTP/1.
func TestConversationsFromHTTP2ToHTTP1(t *testing.T) {
	const browsers, each = 3, 40
	var gateway string
	w := newWorld(t, routed(&gateway))
	s := &stage{t: t, died: map[int]bool{}}
	gateway = w.origin(func(p *party) {
		s.serve(&chopper{Conn: p.Conn, rand: rand.New(rand.NewPCG(1, 3))})
	})
	var plans [browsers * each]plan
	for i := range browsers {
		r := rand.New(rand.NewPCG(5, uint64(i)))
		b := w.h2browser("127.0.0.1:443")
		var running sync.WaitGroup
		for j := range each {
			p := &plans[i*each+j]
			*p = planned(r, i*each+j, true)
			running.Go(func() { s.ask(b, p) })
			if r.IntN(10) == 0 {
				running.Wait()
			}
		}
		running.Wait()
		b.Shutdown() // at once, though some is still on its way
	}
	entries := w.waitFor(len(plans))
	for _, e := range entries {
		id, err := strconv.Atoi(e.open.Request.URL[strings.LastIndexByte(e.open.Request.URL, '/')+1:])
		if err != nil {
			t.Fatal(err)
		}
		s.check(e, &plans[id])
	}
	if len(entries) != len(plans) {
		t.Errorf("%d entries of %d exchanges", len(entries), len(plans))
	}
}
