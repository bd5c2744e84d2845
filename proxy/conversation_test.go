package proxy

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// A plan is how one exchange goes; the server finds it in the request's head.
type plan struct {
	ID      int
	Method  string
	Up      int    // bytes of the request's body
	Chunks  bool   // it is chunked
	Expect  bool   // and announced
	Early   bool   // the answer begins before the body is read
	Hints   int    // informational answers
	Status  int    // of the answer
	Down    int    // bytes of its body
	Framing string // length, chunked or close
	Cut     bool   // it breaks off half way
	Dies    bool   // a connection that was used before ends without an answer, once
}

// planned is a plan for a request that may have its connection end, or not.
func planned(r *rand.Rand, id int, mayEnd bool) plan {
	pick := func(percent int) bool { return r.IntN(100) < percent }
	p := plan{ID: id, Method: []string{"GET", "POST", "PUT", "HEAD"}[r.IntN(4)], Status: []int{200, 200, 200, 404, 204, 304}[r.IntN(6)], Framing: "length"}
	if p.Method == "POST" || p.Method == "PUT" {
		p.Up, p.Chunks, p.Expect, p.Early = sizeOf(r), pick(40), pick(20), mayEnd && pick(15)
	} else {
		p.Dies = pick(15)
	}
	if pick(20) {
		p.Hints = 1 + r.IntN(2)
	}
	if pick(40) {
		p.Framing = "chunked"
	}
	if mayEnd && pick(10) {
		p.Framing = "close"
	}
	if p.hasBody() {
		p.Down = sizeOf(r)
		p.Cut = mayEnd && p.Framing != "close" && p.Down > 1 && pick(10)
	}
	return p
}

func sizeOf(r *rand.Rand) int {
	return []int{0, 1, 2 + r.IntN(100), r.IntN(5_000), 16_384, r.IntN(150_000)}[r.IntN(6)]
}

func (p *plan) hasBody() bool { return p.Method != "HEAD" && p.Status != 204 && p.Status != 304 }

func (p *plan) ends() bool { return p.Cut || p.Framing == "close" }

// content is a body that is like no other.
func content(seed byte, id, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = 'a' + byte(i*7+id+int(seed))%26
	}
	return b
}

// framed is a body as it goes over the wire.
func framed(r *rand.Rand, b []byte, chunked bool) []byte {
	if !chunked {
		return b
	}
	var w bytes.Buffer
	for len(b) > 0 {
		n := 1 + r.IntN(len(b))
		fmt.Fprintf(&w, "%x\r\n%s\r\n", n, b[:n])
		b = b[n:]
	}
	w.WriteString("0\r\n\r\n")
	return w.Bytes()
}

// A chopper writes what it is given in pieces.
type chopper struct {
	net.Conn
	mu   sync.Mutex
	rand *rand.Rand
}

func (c *chopper) Write(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n < len(p) {
		m := len(p) - n
		if c.rand.IntN(3) == 0 {
			m = 1 + c.rand.IntN(m)
		}
		if _, err := c.Conn.Write(p[n : n+m]); err != nil {
			return n, err
		}
		n += m
	}
	return n, nil
}

// A stage is where exchanges go as they were planned.
type stage struct {
	t    *testing.T
	mu   sync.Mutex
	died map[int]bool
	seed uint64
}

func (s *stage) dies(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.died[id]
	s.died[id] = true
	return !before
}

// serve answers each request as it is planned.
func (s *stage) serve(conn net.Conn) {
	s.mu.Lock()
	s.seed++
	r := rand.New(rand.NewPCG(s.seed, 2))
	s.mu.Unlock()
	b := newParty(s.t, conn)
	for used := false; ; used = true {
		request, err := http.ReadRequest(b.br)
		if err != nil {
			return
		}
		var p plan
		if err := json.Unmarshal([]byte(request.Header.Get("X-Plan")), &p); err != nil {
			s.t.Error(err)
			return
		}
		if p.Dies && used && s.dies(p.ID) {
			return
		}
		upload := func() {
			got, err := io.ReadAll(request.Body)
			if want := content('u', p.ID, p.Up); !bytes.Equal(got, want) || err != nil {
				s.t.Errorf("%+v: the server got %d bytes (%v)", p, len(got), err)
			}
		}
		if p.Expect {
			b.send("HTTP/1.1 100 Continue\r\n\r\n")
		}
		if !p.Early {
			upload()
		}
		if !s.answer(b, r, &p) {
			return
		}
		if p.Early {
			upload()
		}
		if p.Framing == "close" {
			return
		}
	}
}

// answer sends p's answer; false when it has broken off.
func (s *stage) answer(b *party, r *rand.Rand, p *plan) bool {
	var w bytes.Buffer
	for range p.Hints {
		w.WriteString("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
	}
	fmt.Fprintf(&w, "HTTP/1.1 %d Planned\r\nContent-Type: text/plain\r\n", p.Status)
	switch {
	case p.Framing == "length" && p.Status != 204:
		fmt.Fprintf(&w, "Content-Length: %d\r\n", p.Down)
	case p.Framing == "chunked" && p.hasBody():
		w.WriteString("Transfer-Encoding: chunked\r\n")
	case p.Framing == "close":
		w.WriteString("Connection: close\r\n")
	}
	w.WriteString("\r\n")
	if p.hasBody() {
		body := framed(r, content('d', p.ID, p.Down), p.Framing == "chunked")
		if p.Cut {
			body = body[:len(body)/2]
		}
		w.Write(body)
	}
	b.Write(w.Bytes())
	return !p.Cut
}

// write sends p's request.
func (s *stage) write(b *party, r *rand.Rand, url, host string, p *plan) {
	text, _ := json.Marshal(p)
	var w bytes.Buffer
	fmt.Fprintf(&w, "%s %s/%d HTTP/1.1\r\nHost: %s\r\nX-Plan: %s\r\n", p.Method, url, p.ID, host, text)
	switch {
	case p.Chunks:
		w.WriteString("Transfer-Encoding: chunked\r\n")
	case p.Method == "POST" || p.Method == "PUT":
		fmt.Fprintf(&w, "Content-Length: %d\r\n", p.Up)
	}
	if p.Expect {
		w.WriteString("Expect: 100-continue\r\n")
	}
	w.WriteString("\r\n")
	if p.Method == "POST" || p.Method == "PUT" {
		w.Write(framed(r, content('u', p.ID, p.Up), p.Chunks))
	}
	b.Write(w.Bytes())
}

// read reads p's answer.
func (s *stage) read(b *party, p *plan) {
	informational := p.Hints
	if p.Expect {
		informational++
	}
	request := &http.Request{Method: p.Method}
	for {
		a, err := http.ReadResponse(b.br, request)
		if err != nil {
			s.t.Errorf("%+v: %v", p, err)
			return
		}
		if a.StatusCode < 200 {
			informational--
			continue
		}
		got, err := io.ReadAll(a.Body)
		want := content('d', p.ID, p.Down)
		switch {
		case a.StatusCode != p.Status || informational != 0:
			s.t.Errorf("%+v: the browser got %d, and of 1xx %d too few", p, a.StatusCode, informational)
		case p.Cut:
			if err == nil || !bytes.HasPrefix(want, got) {
				s.t.Errorf("%+v: the browser got %d bytes (%v)", p, len(got), err)
			}
		case !bytes.Equal(got, want) || err != nil:
			s.t.Errorf("%+v: the browser got %d bytes (%v)", p, len(got), err)
		}
		return
	}
}

// check compares an entry with its plan.
func (s *stage) check(e pair, p *plan) {
	bad := func(what string, got, want any) {
		s.t.Errorf("%+v: %s is %v, want %v", p, what, got, want)
	}
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
		}
	}
	a := e.end.Response
	if a == nil || a.Status != p.Status || a.Complete == p.Cut || (e.end.Failed != nil) != p.Cut {
		bad("the entry", e, "as planned")
		return
	}
	body("the request's body", e.requestBody(), content('u', p.ID, p.Up))
	if !p.Cut {
		body("the answer's body", a.Body, content('d', p.ID, p.Down))
	}
	hints := p.Hints
	if p.Expect {
		hints++
	}
	if len(a.Informational) != hints {
		bad("the number of 1xx", len(a.Informational), hints)
	}
	if sum := e.phases(); sum != e.end.Timings.Total {
		bad("the sum of the timings", sum, e.end.Timings.Total)
	}
}

// Whatever exchanges follow each other on connections, in whatever pieces they come,
// each side gets each byte of them, and so does the log.
func TestConversations(t *testing.T) {
	for _, version := range []uint16{0, tls.VersionTLS12, tls.VersionTLS13} {
		for _, pipelined := range []bool{false, true} {
			name := "in the clear"
			if version != 0 {
				name = tls.VersionName(version)
			}
			if pipelined {
				name += ", pipelined"
			}
			t.Run(name, func(t *testing.T) { converse(t, version, pipelined) })
		}
	}
}

func converse(t *testing.T, version uint16, pipelined bool) {
	const browsers, each = 6, 12
	w := newWorld(t, nil)
	s := &stage{t: t, died: map[int]bool{}}
	config := &tls.Config{MaxVersion: version, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.ca.leaf("127.0.0.1") }}
	addr := w.origin(func(p *party) {
		conn := net.Conn(&chopper{Conn: p.Conn, rand: rand.New(rand.NewPCG(1, 3))})
		if version != 0 {
			session := tls.Server(conn, config)
			defer session.Close()
			conn = session
		}
		s.serve(conn)
	})
	var plans [browsers * each]plan
	var running sync.WaitGroup
	for i := range browsers {
		r := rand.New(rand.NewPCG(uint64(i), uint64(version)))
		mine := plans[i*each : (i+1)*each]
		for j := range mine {
			mine[j] = planned(r, i*each+j, !pipelined)
		}
		running.Go(func() {
			for len(mine) > 0 {
				mine = s.conversation(w, r, addr, version, pipelined, mine)
			}
		})
	}
	running.Wait()
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

// conversation has a new connection's exchanges, and gives the plans that are left.
func (s *stage) conversation(w *world, r *rand.Rand, addr string, version uint16, pipelined bool, plans []plan) []plan {
	url, conn := "http://"+addr, w.browser().Conn
	conn = &chopper{Conn: conn, rand: rand.New(rand.NewPCG(uint64(plans[0].ID), 4))}
	if version != 0 {
		url = ""
		b := newParty(s.t, conn)
		b.send("CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		b.head()
		conn = tls.Client(conn, &tls.Config{MaxVersion: version, ServerName: "127.0.0.1", RootCAs: w.ca.pool})
	}
	b := newParty(s.t, conn)
	defer b.Close()
	var writing sync.WaitGroup
	defer writing.Wait()
	if pipelined {
		writing.Go(func() {
			for i := range plans {
				s.write(b, r, url, addr, &plans[i])
			}
		})
	}
	for i := range plans {
		if !pipelined {
			writing.Go(func() { s.write(b, r, url, addr, &plans[i]) })
		}
		if s.read(b, &plans[i]); plans[i].ends() || s.t.Failed() {
			return plans[i+1:]
		}
		if !pipelined {
			writing.Wait()
		}
	}
	return nil
}
