package proxy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/proxy/h2"
)

// A script is how one exchange of HTTP/2 goes; the server finds it in the request's
// head.
type script struct {
	ID       int
	Method   string
	Up, Down []int // the pieces of the bodies, in bytes; Up nil: none
	UpEnd    bool  // trailers come behind it
	DownEnd  bool
	UpLength bool // it is told of
	Length   bool
	Crumbs   int    // cookies
	Hints    int    // informational answers
	Status   int    // of the answer
	Early    bool   // it comes whole before the request's body
	Refused  bool   // it is refused once, unprocessed
	End      string // how it breaks: see the constants; "": it does not
	Code     http2.ErrCode
}

// Who ends an exchange, and where.
const (
	endsServerBefore  = "the server, before its answer"
	endsServerHead    = "the server, behind its answer's head"
	endsServerBody    = "the server, within its answer's body"
	endsBrowserUpload = "the browser, within its request's body"
	endsBrowserWait   = "the browser, before the answer"
	endsBrowserBody   = "the browser, within the answer's body"
)

func scripted(r *rand.Rand, id int) script {
	pick := func(percent int) bool { return r.IntN(100) < percent }
	pieces := func() (sizes []int) {
		for range r.IntN(5) {
			sizes = append(sizes, sizeOf(r))
		}
		return append(sizes, sizeOf(r))
	}
	s := script{
		ID: id, Method: []string{"GET", "POST", "PUT", "HEAD", "DELETE"}[r.IntN(5)],
		Status: []int{200, 200, 200, 404, 204, 304, 302}[r.IntN(7)],
		Crumbs: r.IntN(3), Length: pick(50), DownEnd: pick(30), Refused: pick(10),
	}
	if s.Method == "POST" || s.Method == "PUT" {
		s.Up, s.UpEnd, s.UpLength, s.Early, s.Refused = pieces(), pick(20), pick(50), pick(20), false
	}
	if pick(20) {
		s.Hints = 1 + r.IntN(2)
	}
	if s.hasBody() {
		s.Down = pieces()
	}
	if pick(40) {
		s.Code = http2.ErrCode(1 + r.IntN(13))
		s.Refused, s.Early = false, false
		s.End = []string{endsServerBefore, endsServerHead, endsServerBody, endsBrowserUpload, endsBrowserWait, endsBrowserBody}[r.IntN(6)]
		switch s.End {
		case endsBrowserUpload:
			s.Method, s.Up = "POST", []int{1 + r.IntN(60_000), 1}
		case endsServerBody, endsBrowserBody:
			s.Method, s.Up, s.UpEnd, s.Status, s.Down = "GET", nil, false, 200, []int{1 + r.IntN(60_000), 10}
		case endsServerBefore:
			if s.Code == http2.ErrCodeRefusedStream && s.Up == nil {
				s.Code = http2.ErrCodeCancel
			}
		}
	}
	return s
}

func (s *script) hasBody() bool { return s.Method != "HEAD" && s.Status != 204 && s.Status != 304 }

func total(sizes []int) (n int) {
	for _, size := range sizes {
		n += size
	}
	return n
}

// head is the request's.
func (s *script) head(addr string) []h2.Field {
	text, _ := json.Marshal(s)
	fs := fields(":method", s.Method, ":scheme", "https", ":authority", addr, ":path", fmt.Sprint("/", s.ID), "x-plan", string(text))
	for i := range s.Crumbs {
		fs = append(fs, h2.Field{Name: "cookie", Value: fmt.Sprintf("c%d=%d", i, s.ID)}, h2.Field{Name: fmt.Sprint("x-", i), Value: strings.Repeat("caf\xe9 ", s.ID%40)})
	}
	if s.Up != nil && s.UpLength {
		fs = append(fs, h2.Field{Name: "content-length", Value: strconv.Itoa(total(s.Up))})
	}
	return fs
}

func (s *script) answer() []h2.Field {
	fs := fields(":status", strconv.Itoa(s.Status), "content-type", "text/plain", "set-cookie", fmt.Sprint("a=", s.ID), "x-id", strconv.Itoa(s.ID), "set-cookie", "b=2")
	if s.Status == 302 {
		fs = append(fs, h2.Field{Name: "location", Value: "/there"})
	}
	if s.Length && s.Status != 204 {
		fs = append(fs, h2.Field{Name: "content-length", Value: strconv.Itoa(total(s.Down))})
	}
	return fs
}

func (s *script) trailers(of string) []h2.Field {
	return fields("x-sum", fmt.Sprint(of, s.ID), "x-empty", "")
}

// speak sends a body in its pieces.
func speak(st *h2.Stream, seed byte, id int, sizes []int, trailers []h2.Field) error {
	all := content(seed, id, total(sizes))
	for i, n := range sizes {
		if err := st.Write(all[:n], i == len(sizes)-1 && trailers == nil); err != nil {
			return err
		}
		all = all[n:]
	}
	if trailers != nil {
		return st.WriteHead(trailers, true)
	}
	return nil
}
