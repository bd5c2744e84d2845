package har

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// typical is an exchange as a browser makes most of them: some twenty header
// fields and 4 KiB of JSON, of which gzip leaves a part.
func typical(i int) (*netlog.Request, *netlog.Response) {
	req := &netlog.Request{
		Method: "GET", URL: fmt.Sprintf("https://shop.example/api/items?page=%d&sort=price", i), Version: "HTTP/1.1", HeaderBytes: 612,
		Headers: h("Host", "shop.example", "Connection", "keep-alive", "sec-ch-ua-platform", `"Linux"`,
			"User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
			"sec-ch-ua", `"Chromium";v="141", "Not?A_Brand";v="8"`, "sec-ch-ua-mobile", "?0", "Accept", "application/json",
			"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Referer", "https://shop.example/",
			"Accept-Encoding", "gzip, deflate, br, zstd", "Accept-Language", "en-US,en;q=0.9", "Cookie", "sid=0123456789abcdef; theme=dark"),
		Body: &netlog.Body{},
	}
	resp := ok("application/json; charset=utf-8", sample(4096), h("Date", "Wed, 04 Mar 2026 05:06:07 GMT", "Server", "nginx",
		"Connection", "keep-alive", "Vary", "Accept-Encoding", "Set-Cookie", "seen=1; Path=/; HttpOnly", "Cache-Control", "no-store")...)
	return req, resp
}

// BenchmarkEntry makes one entry of its lines and writes it.
func BenchmarkEntry(b *testing.B) {
	req, resp := typical(1)
	coded := *resp
	coded.Headers = append(coded.Headers, netlog.Header{Name: "Content-Encoding", Value: "gzip"})
	coded.Body = kept(coders[0].encode(sample(4096)))
	for _, bench := range []struct {
		name string
		resp *netlog.Response
	}{{"identity", resp}, {"gzip", &coded}} {
		r := &record{id: 2, open: &netlog.Open{Time: time.Unix(1772600767, 0), Kind: netlog.KindExchange, Request: req},
			end: &netlog.End{Response: bench.resp, Timings: netlog.NoTimings(0)}}
		b.Run(bench.name, func(b *testing.B) {
			var c builder
			defer c.decoder.close()
			e := newEncoder(io.Discard)
			b.ReportAllocs()
			b.SetBytes(4096)
			for b.Loop() {
				e.entry(c.entry(process{first: 1}, r))
			}
		})
	}
}

// BenchmarkConvert converts logs of one thousand and ten thousand entries: a
// log ten times as long takes ten times as long.
func BenchmarkConvert(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFixture(b)
			for i := range n {
				f.exchange(typical(i))
			}
			log := f.log()
			b.SetBytes(int64(f.buf.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Convert(log, io.Discard, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
