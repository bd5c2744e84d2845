package proxy

import (
	"bytes"
	"fmt"
	"net"
	"testing"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/netlog"
)

// However much of an answer comes before its connection ends, the browser and the log
// have the same of it, and neither takes it for whole when it is not.
func TestAnswersOfHTTP2ThatAreCut(t *testing.T) {
	for _, clean := range []bool{false, true} {
		t.Run(fmt.Sprint(clean), func(t *testing.T) {
			w := newWorld(t, nil)
			cut, whole := make(chan int, 1), make(chan int, 1)
			addr := newH2Listener(w, func(p *h2peer) {
				id, _ := p.request()
				var b bytes.Buffer
				fr := p.fr
				p.fr = http2.NewFramer(&b, nil)
				p.head(id, false, fields(":status", "103", "link", "</a>"))
				p.head(id, false, fields(":status", "200", "content-type", "text/plain"))
				p.fr.WriteData(id, false, []byte("some"))
				p.fr.WriteData(id, false, []byte(" more"))
				p.head(id, true, fields("x-sum", "1"))
				if clean {
					p.fr.WriteGoAway(id, http2.ErrCodeNo, nil)
				}
				p.fr = fr
				whole <- b.Len()
				p.conn.Write(b.Bytes()[:min(<-cut, b.Len())])
			})
			n := 0
			type seen struct {
				status int
				body   string
				whole  bool
			}
			var all []seen
			for k := 0; ; k++ {
				b := w.h2browser(addr)
				cut <- k
				a := b.do(b.get(fmt.Sprint("/", k)))
				s := seen{body: a.body, whole: a.err == nil}
				if a.head != nil {
					s.status = a.head.Status()
				}
				all = append(all, s)
				n++
				b.Close(net.ErrClosed)
				if k >= <-whole {
					break
				}
			}
			for i, e := range w.waitFor(n) {
				s := all[i]
				a := e.end.Response
				switch {
				case s.status == 502:
					if a != nil || e.end.Failed == nil || e.end.Failed.Phase != netlog.PhaseWait {
						t.Errorf("%d: %v, the browser has %+v", i, e, s)
					}
				case a == nil || a.Status != s.status || a.Complete != s.whole || (e.end.Failed == nil) != s.whole || a.Body.Size != int64(len(s.body)):
					t.Errorf("%d: %v %+v, the browser has %+v", i, e, a, s)
				}
			}
		})
	}
}
