package h2

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
)

func TestARequestAndItsAnswerPass(t *testing.T) {
	s, streams := newServed(t, nil)
	s.greet()
	request := post("/a?b", "x-a", "1", "cookie", "a=1", "x-b", "", "cookie", "b=2")
	request[6].Sensitive = true
	s.head(1, false, request)
	s.fr.WriteData(1, false, []byte("hel"))
	s.fr.WriteData(1, false, []byte("lo"))
	s.head(1, true, fields("x-sum", "5"))

	st := <-streams
	if !reflect.DeepEqual(st.Head().Fields, request) || st.Head().Malformed != "" || st.Head().End {
		t.Errorf("head: %+v", st.Head())
	}
	if got := st.Head().Regular(); len(got) != 4 || got[0].Name != "x-a" {
		t.Errorf("regular: %v", got)
	}
	if got := readAll(t, st); got != "hello" {
		t.Errorf("body: %q", got)
	}
	if tr := st.Trailers(); tr == nil || !reflect.DeepEqual(tr.Fields, fields("x-sum", "5")) {
		t.Errorf("trailers: %+v", tr)
	}

	early := fields(":status", "103", "link", "</x>")
	answer := fields(":status", "200", "set-cookie", "a", "set-cookie", "b")
	answer[2].Sensitive = true
	check(t, st.WriteHead(early, false))
	check(t, st.WriteHead(answer, false))
	check(t, st.Write([]byte("good"), false))
	check(t, st.WriteHead(fields("x-end", "1"), true))
	for _, wanted := range [][]Field{early, answer} {
		if got := s.decode(want[*http2.HeadersFrame](s.peer)); !reflect.DeepEqual(got, wanted) {
			t.Errorf("got %v, want %v", got, wanted)
		}
	}
	if f := want[*http2.DataFrame](s.peer); string(f.Data()) != "good" || f.StreamEnded() {
		t.Errorf("got %v", f)
	}
	f := want[*http2.HeadersFrame](s.peer)
	if got := s.decode(f); !reflect.DeepEqual(got, fields("x-end", "1")) || !f.StreamEnded() {
		t.Errorf("trailers: %v", got)
	}
	st.Close()
}

// readAll reads a stream's body.
func readAll(t testing.TB, st *Stream) string {
	t.Helper()
	var b bytes.Buffer
	for {
		piece, end, err := st.Next()
		if err != nil {
			t.Fatalf("after %q: %v", b.String(), err)
		}
		b.Write(piece)
		st.Took(len(piece))
		if end {
			return b.String()
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// echo answers with what was sent.
func echo(st *Stream) {
	defer st.Close()
	if st.WriteHead(fields(":status", "200"), false) != nil {
		return
	}
	for {
		piece, end, err := st.Next()
		if err != nil {
			return
		}
		if st.Write(piece, end && st.Trailers() == nil) != nil {
			return
		}
		st.Took(len(piece))
		if end {
			if tr := st.Trailers(); tr != nil {
				st.WriteHead(tr.Fields, true)
			}
			return
		}
	}
}

// The standard library's client, and many streams at once.
func TestOthersClient(t *testing.T) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			c := NewServer(nc, Config{Stream: func(st *Stream) { go echo(st) }})
			c.Offer(Offer{MaxStreams: 10})
			running.Go(func() { c.Serve() })
		}
	})
	defer running.Wait()
	defer l.Close()
	client := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	defer client.CloseIdleConnections()
	done := make(chan error)
	const streams = 20
	for i := range streams {
		go func() {
			body := strings.Repeat(string(rune('a'+i)), 300_000+i)
			r, err := client.Post("http://"+l.Addr().String()+"/", "text/plain", strings.NewReader(body))
			if err == nil {
				got, readErr := io.ReadAll(r.Body)
				if err = readErr; string(got) != body {
					t.Errorf("stream %d: got %d bytes of %d", i, len(got), len(body))
				}
			}
			done <- err
		}()
	}
	for range streams {
		check(t, <-done)
	}
}
