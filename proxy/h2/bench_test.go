package h2

import (
	"bufio"
	"bytes"
	"io"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// browserGet is a request's header list as browsers make most of them, and
// serverOK its answer's.
var (
	browserGet = get("/api/items?page=3&sort=price",
		"sec-ch-ua-platform", `"Linux"`,
		"user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
		"sec-ch-ua", `"Chromium";v="141", "Not?A_Brand";v="8"`, "sec-ch-ua-mobile", "?0", "accept", "application/json",
		"sec-fetch-site", "same-origin", "sec-fetch-mode", "cors", "sec-fetch-dest", "empty", "referer", "https://a.test/",
		"accept-encoding", "gzip, deflate, br, zstd", "accept-language", "en-US,en;q=0.9",
		"cookie", "sid=0123456789abcdef", "cookie", "theme=dark", "priority", "u=1, i")
	serverOK = fields(":status", "200", "server", "nginx", "date", "Wed, 04 Mar 2026 05:06:07 GMT", "content-type", "application/json",
		"content-length", "1536", "cache-control", "no-store", "vary", "Accept-Encoding", "x-request-id", "0123456789abcdef")
)

// BenchmarkExchange is a request and its answer of 1.5 KB, of 100 at a time on one
// connection; the peer's part is in it.
func BenchmarkExchange(b *testing.B) {
	const atOnce = 100
	near, far := sockets(b)
	body := bytes.Repeat([]byte("{}"), 768)
	c := NewServer(near, Config{StreamWindow: 1 << 17, Window: 1 << 18, Stream: func(st *Stream) {
		go func() {
			defer st.Close()
			if st.WriteHead(serverOK, false) == nil {
				st.Write(body, true)
			}
		}()
	}})
	c.Offer(Offer{MaxStreams: atOnce})
	s := serve(b, c, far)
	far.SetDeadline(time.Time{})
	out := bufio.NewWriterSize(far, 64<<10)
	s.fr = http2.NewFramer(out, bufio.NewReaderSize(far, 64<<10))
	s.fr.SetReuseFrames()
	io.WriteString(out, http2.ClientPreface)
	s.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 24})
	s.fr.WriteWindowUpdate(0, 1<<30)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	id, going, owed := uint32(1), 0, 0
	for b.Loop() {
		for ; going < atOnce; going++ {
			s.head(id, true, browserGet)
			id += 2
		}
		check(b, out.Flush())
		for ended := false; !ended; {
			if f, ok := s.peer.next().(*http2.DataFrame); ok {
				owed += len(f.Data())
				ended = f.StreamEnded()
			}
		}
		if going--; owed > 1<<29 {
			s.fr.WriteWindowUpdate(0, uint32(owed))
			owed = 0
		}
	}
}

// BenchmarkBody takes 16 KiB of an upload, in one frame.
func BenchmarkBody(b *testing.B) {
	s, streams := newServed(b, nil)
	s.peer.nc.SetDeadline(time.Time{})
	go io.Copy(io.Discard, s.peer.nc) // windows
	s.greet()
	s.head(1, false, post("/upload"))
	st := <-streams
	defer st.Close()
	piece := make([]byte, 16<<10)
	b.ReportAllocs()
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		check(b, s.fr.WriteData(1, false, piece))
		for n := 0; n < len(piece); {
			p, _, err := st.Next()
			check(b, err)
			n += len(p)
			st.Took(len(p))
		}
	}
}
