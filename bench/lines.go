package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// exchange is the lines of an exchange as browsers make most of them, with an
// answer's body of the given size that is kept.
func exchange(i, size int, at time.Time) (*netlog.Open, *netlog.End) {
	const item = `{"id":1234,"name":"an item of the list","price":12.5,"tags":["one","two"]},`
	body := bytes.Repeat([]byte(item), size/len(item)+1)[:size]
	sum := sha256.Sum256(body)
	open := &netlog.Open{
		Time: at, Kind: netlog.KindExchange, Via: netlog.ViaMITM, Client: "127.0.0.1:50000", Connection: 1,
		Request: &netlog.Request{
			Method: "GET", URL: fmt.Sprintf("https://shop.example/api/items?page=%d&sort=price", i), Version: "HTTP/1.1", HeaderBytes: 612,
			Headers: []netlog.Header{
				{Name: "Host", Value: "shop.example"},
				{Name: "Connection", Value: "keep-alive"},
				{Name: "sec-ch-ua-platform", Value: `"Linux"`},
				{Name: "User-Agent", Value: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"},
				{Name: "sec-ch-ua", Value: `"Chromium";v="141", "Not?A_Brand";v="8"`},
				{Name: "Accept", Value: "application/json"},
				{Name: "Sec-Fetch-Site", Value: "same-origin"},
				{Name: "Sec-Fetch-Mode", Value: "cors"},
				{Name: "Sec-Fetch-Dest", Value: "empty"},
				{Name: "Referer", Value: "https://shop.example/"},
				{Name: "Accept-Encoding", Value: "gzip, deflate, br, zstd"},
				{Name: "Accept-Language", Value: "en-US,en;q=0.9"},
				{Name: "Cookie", Value: "sid=0123456789abcdef; theme=dark"},
			},
			Body: &netlog.Body{},
		},
	}
	end := &netlog.End{
		Time: at.Add(12 * time.Millisecond), Timings: netlog.NoTimings(12_000),
		Server: &netlog.Server{Address: "127.0.0.1:443", Connection: 1, Reused: true},
		Response: &netlog.Response{
			Status: 200, Reason: "OK", Version: "HTTP/1.1", HeaderBytes: 301, Complete: true,
			Headers: []netlog.Header{
				{Name: "Date", Value: "Wed, 04 Mar 2026 05:06:07 GMT"},
				{Name: "Server", Value: "nginx"},
				{Name: "Content-Type", Value: "application/json; charset=utf-8"},
				{Name: "Content-Length", Value: fmt.Sprint(size)},
				{Name: "Connection", Value: "keep-alive"},
				{Name: "Vary", Value: "Accept-Encoding"},
				{Name: "Set-Cookie", Value: "seen=1; Path=/; HttpOnly"},
				{Name: "Cache-Control", Value: "no-store"},
			},
			Body: &netlog.Body{Size: int64(size), SHA256: hex.EncodeToString(sum[:]), Kept: netlog.Bytes(body)},
		},
	}
	return open, end
}

// crawlLog is the log of a crawl, and gibLog one of somewhat more than a GiB. They
// are written when they are asked for first.
func (b *bench) crawlLog() (string, error) {
	return b.keptLog("crawl.jsonl", crawlEntries, crawlBody)
}

func (b *bench) gibLog() (string, error) {
	return b.keptLog("gib.jsonl", gibEntries, gibBody)
}

func (b *bench) keptLog(name string, entries, body int) (path string, err error) {
	path = filepath.Join(b.dir, name)
	if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		err = writeLog(path, entries, body)
	}
	return path, err
}

// writeLog makes a log of so many entries at path.
func writeLog(path string, entries, body int) error {
	return writeLines(path, entries, func(i int, at time.Time) (*netlog.Open, *netlog.End) { return exchange(i, body, at) })
}

// writeBombs makes a log of answers each of which is some 300 bytes, and nine
// MiB once it is decompressed: in zstd a block of 128 KiB of one byte takes four
// (RFC 8878 §3.1.1.2.2).
func writeBombs(path string, entries int) error {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58}
	for range 72 {
		frame = append(frame, 0x02, 0x00, 0x10, 'a')
	}
	frame = append(frame, 0x03, 0x00, 0x10, 'a')
	sum := sha256.Sum256(frame)
	return writeLines(path, entries, func(i int, at time.Time) (*netlog.Open, *netlog.End) {
		open, end := exchange(i, 0, at)
		end.Response.Headers = append(end.Response.Headers, netlog.Header{Name: "Content-Encoding", Value: "zstd"})
		end.Response.Body = &netlog.Body{Size: int64(len(frame)), SHA256: hex.EncodeToString(sum[:]), Kept: netlog.Bytes(frame)}
		return open, end
	})
}

func writeLines(path string, entries int, lines func(i int, at time.Time) (*netlog.Open, *netlog.End)) error {
	w, err := netlog.OpenWriter(netlog.WriterConfig{
		Path: path, Program: "bench", Mode: "proxy", Sync: netlog.SyncNever,
		Limits: netlog.Limits{RequestBody: 10 * mib, ResponseBody: mib, Types: "text"},
	})
	if err != nil {
		return err
	}
	began := time.Now()
	for i := range entries {
		open, end := lines(i, began.Add(time.Duration(i)*time.Millisecond))
		w.End(w.Open(open), end)
	}
	return w.Close()
}
