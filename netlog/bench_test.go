package netlog

import (
	"bytes"
	"crypto/sha256"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// exchange is one that keeps size bytes of its answer.
func exchange(size int) (*Open, *End) {
	session := &TLS{Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", ALPN: "http/1.1", SNI: "shop.example.test"}
	o := &Open{Kind: KindExchange, Via: ViaMITM, Client: "127.0.0.1:50123", Connection: 7, Request: &Request{
		Method: "GET", URL: "https://shop.example.test/api/items?page=3&sort=name", Version: "HTTP/1.1", HeaderBytes: 420,
		Headers: []Header{
			{"Host", "shop.example.test"}, {"Connection", "keep-alive"}, {"sec-ch-ua-platform", `"Linux"`},
			{"User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"},
			{"Accept", "application/json"}, {"Accept-Encoding", "gzip, deflate, br, zstd"}, {"Accept-Language", "en-US,en;q=0.9"},
			{"Cookie", "session=0123456789abcdef0123456789abcdef; theme=dark"},
		},
		Body: &Body{},
	}}
	kept := bytes.Repeat([]byte(`{"id":17,"name":"teapot"},`), size/26+1)[:size]
	e := &End{
		Response: &Response{Status: 200, Reason: "OK", Version: "HTTP/1.1", HeaderBytes: 210, Complete: true,
			Headers: []Header{
				{"Server", "nginx"}, {"Date", "Sun, 29 Nov 2026 16:00:00 GMT"}, {"Content-Type", "application/json"},
				{"Content-Length", "4096"}, {"Connection", "keep-alive"}, {"Cache-Control", "no-store"},
			},
			Body: &Body{Size: int64(size), SHA256: strings.Repeat("0f", 32), Kept: Bytes(kept)},
		},
		Server: &Server{Address: "192.0.2.1:443", Connection: 7, Reused: true, TLS: session}, ClientTLS: session,
		Timings: Timings{Absent, Absent, Absent, Absent, 100, 200, 300, 600},
	}
	return o, e
}

func BenchmarkEncode(b *testing.B) {
	o, e := exchange(4 << 10)
	opened := &Line{Head: Head{N: 2, Event: EventOpen, ID: 2, Time: at}, Open: o}
	ended := &Line{Head: Head{N: 3, Event: EventEnd, ID: 2, Time: at}, End: e}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = AppendLine(buf[:0], opened)
		buf, _ = AppendLine(buf, ended)
	}
	b.SetBytes(int64(len(buf)))
}

// BenchmarkWrite is an exchange from Open to End, on the disk of the test's folder.
func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name string
		kept int
	}{{"4KiB", 4 << 10}, {"1MiB", 1 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			w, err := OpenWriter(WriterConfig{Path: filepath.Join(b.TempDir(), LiveName), Sync: SyncNever})
			if err != nil {
				b.Fatal(err)
			}
			o, e := exchange(c.kept)
			b.ReportAllocs()
			b.SetBytes(int64(c.kept))
			report := cpu(b)
			for b.Loop() {
				o.Time = time.Now()
				id := w.Open(o)
				e.Time = time.Now()
				w.End(id, e)
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			report()
		})
	}
}

func benchLog(b *testing.B, size int64) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), LiveName)
	w, err := OpenWriter(WriterConfig{Path: path, Sync: SyncNever})
	if err != nil {
		b.Fatal(err)
	}
	o, e := exchange(4 << 10)
	for n := int64(0); n < size; n += 8 << 10 {
		w.End(w.Open(o), e)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

func BenchmarkScan(b *testing.B) {
	log, err := OpenLog(benchLog(b, 64<<20))
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	b.ReportAllocs()
	b.SetBytes(log.files[0].size)
	for b.Loop() {
		s := log.Scan()
		for s.Next() {
		}
		if s.Err() != nil {
			b.Fatal(s.Err())
		}
	}
}

func BenchmarkParseLine(b *testing.B) {
	_, e := exchange(4 << 10)
	line, err := AppendLine(nil, &Line{Head: Head{N: 3, Event: EventEnd, ID: 2, Time: at}, End: e})
	if err != nil {
		b.Fatal(err)
	}
	var p Parser
	for _, c := range []struct {
		name  string
		parse func([]byte) (*Line, error)
	}{{"kept", ParseLine}, {"reused", func(b []byte) (*Line, error) { p.Release(); return p.ParseLine(b) }}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := c.parse(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPageAtEnd asks for the last lines of a log of 256 MiB.
func BenchmarkPageAtEnd(b *testing.B) {
	r := NewReader(benchLog(b, 256<<20))
	p, err := r.Page(0, 1)
	if err != nil {
		b.Fatal(err)
	}
	log, err := OpenLog(r.path)
	if err != nil {
		b.Fatal(err)
	}
	last, err := lastNumber(log.files[0], log.files[0].size)
	log.Close()
	if err != nil || last <= p.Next {
		b.Fatal(last, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if p, err = r.Page(last-10, 1<<20); err != nil || len(p.Lines) != 10 {
			b.Fatal(len(p.Lines), err)
		}
	}
}

// BenchmarkTraffic is what a proxy at work asks for: 32 exchanges at a time, each
// with something else to do between its lines.
func BenchmarkTraffic(b *testing.B) {
	w, err := OpenWriter(WriterConfig{Path: filepath.Join(b.TempDir(), LiveName), Sync: SyncNever})
	if err != nil {
		b.Fatal(err)
	}
	work := func(p []byte) {
		for range 4 {
			sha256.Sum256(p)
			runtime.Gosched()
		}
	}
	o, e := exchange(4 << 10)
	p := make([]byte, 8<<10)
	report := cpu(b)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		p := bytes.Clone(p)
		for pb.Next() {
			work(p)
			id := w.Open(o)
			work(p)
			w.End(id, e)
		}
	})
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	report()
	b.ReportMetric(float64(w.Stats().Writes)/float64(b.N), "writes/op")
}

// BenchmarkOpenWriter goes on with a log of 256 MiB.
func BenchmarkOpenWriter(b *testing.B) {
	path := benchLog(b, 256<<20)
	for b.Loop() {
		w, err := OpenWriter(WriterConfig{Path: path, Sync: SyncNever})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
