// Command floor is what no proxy that decrypts can go below: after a CONNECT it
// ends TLS on both sides and copies bytes, and knows nothing of HTTP. With
// -tunnel it relays the connection as it is, the kernel moving the bytes
// (splice(2)).
//
// It is for the benchmarks alone: it connects to loopback whatever is asked.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"

	"github.com/agentenv/netlog/bench/internal/party"
)

func main() { party.Main(serve) }

func serve(l net.Listener, s party.Setup) error {
	leaf, err := party.Leaf(s.Authority)
	if err != nil {
		return err
	}
	f := &floor{
		tunnel: s.Tunnel,
		down: &tls.Config{
			Certificates: []tls.Certificate{leaf}, NextProtos: []string{"h2", "http/1.1"},
			DynamicRecordSizingDisabled: true,
		},
		up: map[string]*tls.Config{},
	}
	for _, protocol := range f.down.NextProtos {
		f.up[protocol] = &tls.Config{
			ServerName: party.Host, RootCAs: s.Roots, NextProtos: []string{protocol},
			DynamicRecordSizingDisabled: true,
		}
	}
	return party.Accept(l, f.handle)
}

type floor struct {
	tunnel bool
	down   *tls.Config
	up     map[string]*tls.Config // by what the browser has agreed on
}

// A stream is a connection whose writing side can end alone.
type stream interface {
	net.Conn
	CloseWrite() error
}

func (f *floor) handle(browser net.Conn) {
	authority, err := readConnect(browser)
	if err != nil {
		return
	}
	server, err := party.Dial(context.Background(), "tcp", authority)
	if err != nil {
		return
	}
	defer server.Close()
	if _, err := io.WriteString(browser, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	if f.tunnel {
		relay(browser.(stream), server.(stream), io.Copy)
		return
	}
	down := tls.Server(browser, f.down)
	if down.Handshake() != nil {
		return
	}
	up := tls.Client(server, f.up[down.ConnectionState().NegotiatedProtocol])
	if up.Handshake() != nil {
		return
	}
	relay(down, up, copyRecords)
}

// readConnect reads a CONNECT's head. The client waits for its answer, so that
// nothing is lost with the reader.
func readConnect(browser net.Conn) (authority string, err error) {
	br := bufio.NewReader(browser)
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return "", err
		}
		if rest, ok := strings.CutPrefix(line, "CONNECT "); ok {
			authority, _, _ = strings.Cut(rest, " ")
		}
		if line == "\r\n" {
			return authority, nil
		}
	}
}

// relay copies both ways until both have ended.
func relay(a, b stream, copy func(io.Writer, io.Reader) (int64, error)) {
	done := make(chan struct{})
	one := func(dst, src stream) {
		if _, err := copy(dst, src); err != nil {
			dst.Close()
			src.Close()
		}
		dst.CloseWrite()
	}
	go func() {
		defer close(done)
		one(b, a)
	}()
	one(a, b)
	<-done
}

// onlyWriter and onlyReader hide the methods by which io.CopyBuffer would not
// use its buffer.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// copyRecords copies with a buffer that takes two whole TLS records.
func copyRecords(dst io.Writer, src io.Reader) (int64, error) {
	return io.CopyBuffer(onlyWriter{dst}, onlyReader{src}, make([]byte, 32<<10))
}
