package proxy

import (
	"bytes"
	"io"
)

// A speech is what a connection is used for after its CONNECT.
type speech int

const (
	speaksOther speech = iota
	speaksTLS
	speaksHTTP
)

// Bounds of what is looked at to tell an HTTP request line.
const (
	maxMethod      = 32
	maxRequestLine = 16 << 10
)

// firstBytes looks at what the browser sends first, or finds that the server
// speaks first.
func (c *client) firstBytes(e *early) (speech, error) {
	for {
		if len(c.tcp.ahead) > 0 {
			if kind, sure := speechOf(c.tcp.ahead); sure {
				return kind, nil
			}
		}
		if err := c.tcp.look(); err != nil {
			if e.spoke.Load() || len(c.tcp.ahead) > 0 && (err == io.EOF || isTimeout(err)) {
				return speaksOther, nil
			}
			return speaksOther, err
		}
	}
}

// speechOf tells TLS and HTTP/1 by their first bytes; sure is false while more
// are needed. A whole request line is asked for, as other protocols begin much
// like one (SSH-2.0-…).
func speechOf(p []byte) (kind speech, sure bool) {
	if p[0] == 0x16 { // a TLS handshake record (RFC 8446 §5.1)
		return speaksTLS, true
	}
	line, _, whole := bytes.Cut(p, []byte("\n"))
	method, _, spaced := bytes.Cut(line, []byte(" "))
	for _, b := range method {
		if !isMethodByte(b) {
			return speaksOther, true
		}
	}
	switch {
	case len(method) == 0, len(method) > maxMethod, len(line) > maxRequestLine:
		return speaksOther, true
	case !whole:
		return speaksOther, false
	case !spaced:
		return speaksOther, true
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	if bytes.HasSuffix(line, []byte(" HTTP/1.1")) || bytes.HasSuffix(line, []byte(" HTTP/1.0")) {
		return speaksHTTP, true
	}
	return speaksOther, true
}

// isMethodByte tells the letters that methods are made of, and the hyphen of
// M-SEARCH, VERSION-CONTROL and the like.
func isMethodByte(b byte) bool {
	return 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '_'
}
