// Package origin is the server behind the proxies of the benchmarks. It answers
// from memory over bare sockets, in few writes and without net/http, so that it
// takes as little as can be of the processors that the proxies need too.
//
//	o, err := origin.Start(certificate)
//	defer o.Close()
//
// It answers each target that it knows and closes the connection on any other:
// it is no server for anything else.
package origin

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// What the origin serves.
const (
	JSON  = "/json"       // 1.5 KB of JSON
	Once  = "/json?close" // the same, and the connection ends
	Bytes = "/bytes/"     // followed by a number: so many bytes of no type that is text
	Sink  = "/sink"       // takes a body with a Content-Length and answers 204
	Echo  = "/echo"       // a WebSocket that echoes messages of up to 125 bytes
)

// JSONBytes is the length of JSON's body.
const JSONBytes = 1536

// An Origin serves over TLS at TLS, by HTTP/2 at HTTP2, and in the clear at Plain,
// each host:port.
type Origin struct {
	TLS, HTTP2, Plain string

	listeners []net.Listener
	running   sync.WaitGroup
	mu        sync.Mutex
	conns     map[net.Conn]struct{}
}

// Start serves on free ports of loopback.
func Start(certificate tls.Certificate) (*Origin, error) {
	o := &Origin{conns: map[net.Conn]struct{}{}}
	for _, at := range []struct {
		address  *string
		protocol string // "": no TLS
		serve    func(net.Conn)
	}{
		{&o.TLS, "http/1.1", serve},
		{&o.HTTP2, "h2", serveHTTP2},
		{&o.Plain, "", serve},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			o.Close()
			return nil, err
		}
		o.listeners = append(o.listeners, l)
		*at.address = l.Addr().String()
		if at.protocol != "" {
			l = tls.NewListener(l, &tls.Config{
				Certificates: []tls.Certificate{certificate}, NextProtos: []string{at.protocol},
				DynamicRecordSizingDisabled: true,
			})
		}
		o.running.Go(func() { o.accept(l, at.serve) })
	}
	return o, nil
}

// Close closes every connection and waits for their ends.
func (o *Origin) Close() {
	for _, l := range o.listeners {
		l.Close()
	}
	o.mu.Lock()
	for c := range o.conns {
		c.Close()
	}
	o.conns = nil
	o.mu.Unlock()
	o.running.Wait()
}

func (o *Origin) accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !o.add(c) {
			c.Close()
			return
		}
		o.running.Go(func() {
			defer o.remove(c)
			serve(c)
		})
	}
}

func (o *Origin) add(c net.Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conns == nil {
		return false
	}
	o.conns[c] = struct{}{}
	return true
}

func (o *Origin) remove(c net.Conn) {
	c.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.conns, c)
}

// serve answers one request after the other.
func serve(c net.Conn) {
	br := bufio.NewReaderSize(c, 16<<10)
	for {
		r, err := readHead(br)
		if err != nil || answer(c, br, r) != nil {
			return
		}
	}
}

// A request is what matters of a head.
type request struct {
	path   string // of its target
	length int64  // of its body
	key    string // of the WebSocket that it asks for
}

func readHead(br *bufio.Reader) (r request, err error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return r, err
	}
	parts := bytes.Fields(line)
	if len(parts) != 3 {
		return r, errors.New("no request line")
	}
	r.path = string(parts[1])
	if _, rest, absolute := strings.Cut(r.path, "://"); absolute {
		r.path = rest[max(strings.IndexByte(rest, '/'), 0):]
	}
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return r, err
		}
		if len(line) <= 2 {
			return r, nil
		}
		if value, ok := field(line, "content-length:"); ok {
			r.length, err = strconv.ParseInt(string(value), 10, 64)
		} else if value, ok := field(line, "sec-websocket-key:"); ok {
			r.key = string(value)
		}
		if err != nil {
			return r, err
		}
	}
}

// field is the value of a header line that begins with the name in any case.
func field(line []byte, name string) (value []byte, ok bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

var errOnce = errors.New("the connection is to end")

func answer(c net.Conn, br *bufio.Reader, r request) error {
	switch {
	case r.path == JSON:
		_, err := c.Write(jsonAnswer)
		return err
	case r.path == Once:
		c.Write(onceAnswer)
		return errOnce
	case r.path == Sink:
		if _, err := io.CopyN(io.Discard, br, r.length); err != nil {
			return err
		}
		_, err := c.Write(sinkAnswer)
		return err
	case r.path == Echo:
		return echo(c, br, r.key)
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(r.path, Bytes), 10, 64)
	if err != nil {
		return err
	}
	_, err = c.Write(head("application/octet-stream", n, ""))
	for ; n > 0 && err == nil; n -= int64(len(block)) {
		_, err = c.Write(block[:min(n, int64(len(block)))])
	}
	return err
}

// The answers, made once and never changed.
var (
	jsonAnswer = append(head("application/json", int64(len(jsonBody)), ""), jsonBody...)
	onceAnswer = append(head("application/json", int64(len(jsonBody)), "Connection: close\r\n"), jsonBody...)
	sinkAnswer = []byte("HTTP/1.1 204 No Content\r\nServer: bench\r\n\r\n")
	jsonBody   = makeJSON(JSONBytes)
	block      = makeBlock(256 << 10)
)

func head(contentType string, length int64, more string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Wed, 04 Mar 2026 05:06:07 GMT\r\nContent-Type: %s\r\n"+
		"Content-Length: %d\r\nCache-Control: no-store\r\nVary: Accept-Encoding\r\nX-Request-Id: 0123456789abcdef\r\n%s\r\n",
		contentType, length, more)
}

// makeJSON is a JSON document of n bytes.
func makeJSON(n int) []byte {
	b := []byte(`{"items":[`)
	for i := 0; len(b) < n-80; i++ {
		b = fmt.Appendf(b, `{"id":%d,"name":"item number %d","price":%d.5},`, i, i, i)
	}
	b = append(b, `"`...)
	for len(b) < n-3 {
		b = append(b, '.')
	}
	return append(b, `"]}`...)
}

// makeBlock is n bytes without a pattern that anything could profit from.
func makeBlock(n int) []byte {
	b := make([]byte, n)
	x := uint64(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}
