package pcap

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/agentenv/netlog/proxy/hello"
)

// maxHead is the longest head of a request, and the longest line of a chunk.
const maxHead = 256 << 10

// maxTries is in how many segments a ClientHello may come.
const maxTries = 100

// The states of a talk.
const (
	stateBegin   = iota // nothing has come
	stateLost           // a request may begin with a segment
	stateHello          // in a ClientHello
	stateHead           // in a request's head
	stateBody           // in a body, or a chunk with its CRLF
	stateChunk          // in the line before a chunk
	stateTrailer        // in a line behind the last chunk
	stateOff            // nothing more is to be learnt
)

// A budget is what all talks of some captures may keep.
type budget struct {
	requests, bytes int   // request lines that may yet be kept
	refused         int64 // request lines that were not

	waiting int // bytes that may yet be held until more of them has come
}

// wait takes room for bytes that are held, or gives it back; false when there is
// none.
func (b *budget) wait(n int) bool {
	if b == nil {
		return true
	}
	b.waiting -= n
	return b.waiting >= 0
}

// spend says whether there is room for a request.
func (b *budget) spend(request string) bool {
	if b == nil {
		return true
	}
	if b.requests == 0 || b.bytes < len(request) {
		b.refused++
		return false
	}
	b.requests--
	b.bytes -= len(request)
	return true
}

// A talk is what one side of a connection says, as far as it is in the clear: a
// ClientHello or HTTP/1 requests. Bytes may be missing in it; then it is taken up
// again where a segment begins with a request.
type talk struct {
	state  int
	buffer []byte // of the hello, the head or the line
	line   int    // where in a head's buffer the last line begins
	tries  int    // to read the hello
	left   int64  // of the body
	then   int    // the state behind it
	inside bool   // of a tunnel that CONNECT asked for
	asks   bool   // there was a request, kept or not
	budget *budget

	tls        bool
	serverName string
	requests   []string // their request lines
	host       string   // of the first request's Host, unless that was sent to a proxy
}

// saysSomething tells a client from a server.
func (t *talk) saysSomething() bool { return t.tls || t.asks }

// lose says that so many bytes are missing.
func (t *talk) lose(n int) {
	switch {
	case t.state == stateOff:
	case t.state == stateBody && t.left >= int64(n):
		t.left -= int64(n)
		if t.left == 0 {
			t.to(t.then)
		}
	default:
		t.to(stateLost)
	}
}

func (t *talk) to(state int) {
	t.budget.wait(-len(t.buffer))
	t.state, t.buffer, t.line = state, nil, 0
}

// keep adds to the buffer. Without room for that the talk is lost.
func (t *talk) keep(b []byte) bool {
	room := t.budget.wait(len(b))
	t.buffer = append(t.buffer, b...)
	if !room {
		t.to(stateLost)
	}
	return room
}

// hear takes in what comes next, which begins a segment.
func (t *talk) hear(b []byte) {
	if t.state == stateLost {
		t.resume(b)
	}
	for len(b) > 0 && t.state != stateOff && t.state != stateLost {
		switch t.state {
		case stateBegin:
			b = t.begin(b)
		case stateHello:
			t.hello(b)
			return
		case stateHead:
			b = t.head(b)
		case stateBody:
			n := min(t.left, int64(len(b)))
			b, t.left = b[n:], t.left-n
			if t.left == 0 {
				t.to(t.then)
			}
		case stateChunk, stateTrailer:
			b = t.around(b)
		}
	}
}

// resume looks whether a segment begins with a request or a ClientHello.
func (t *talk) resume(b []byte) {
	if _, err := hello.Client(b); err == nil || errors.Is(err, hello.ErrShort) && len(b) >= 6 {
		t.to(stateHello)
		return
	}
	line, _, whole := bytes.Cut(b, []byte("\n"))
	if _, ok := requestLine(line); ok && whole {
		t.to(stateHead)
	}
}

// begin tells TLS from HTTP by as much as there is.
func (t *talk) begin(b []byte) []byte {
	switch {
	case b[0] == 22: // a handshake record
		t.to(stateHello)
	case letter(b[0]) || b[0] == '\r' || b[0] == '\n':
		t.to(stateHead)
	default:
		t.to(stateOff)
	}
	return b
}

func letter(c byte) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

// hello looks for the name in a ClientHello, behind which nothing can be read.
func (t *talk) hello(b []byte) {
	if !t.keep(b) {
		return
	}
	t.tries++
	h, err := hello.Client(t.buffer)
	switch {
	case errors.Is(err, hello.ErrShort) && t.tries < maxTries:
	case err == nil:
		t.tls, t.serverName = true, h.ServerName
		fallthrough
	default:
		t.to(stateOff)
	}
}

// head takes in a request's head line by line, up to the empty one.
func (t *talk) head(b []byte) (rest []byte) {
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		whole := n > 0
		if !whole {
			n = len(b)
		}
		if !t.keep(b[:n]) {
			return nil
		}
		b = b[n:]
		line := t.buffer[t.line:]
		empty := whole && len(bytes.TrimRight(line, "\r\n")) == 0
		switch {
		case t.line == 0 && empty: // before the request line, RFC 9112 §2.2
			t.to(stateHead)
			continue
		case t.line == 0 && !t.opens(line, whole), len(t.buffer) > maxHead:
			t.to(stateLost)
			return nil
		case empty:
			t.framed(t.buffer)
			return b
		case whole:
			t.line = len(t.buffer)
		}
	}
	return nil
}

// opens says whether a head may begin with a line.
func (t *talk) opens(line []byte, whole bool) bool {
	if !whole {
		return mayBeRequest(bytes.TrimPrefix(line, []byte("\r")))
	}
	_, ok := requestLine(line)
	return ok
}

// framed notes a request and finds out from its fields where the next one begins.
func (t *talk) framed(head []byte) {
	first, fields, _ := bytes.Cut(head, []byte("\n"))
	request, _ := requestLine(first)
	t.asks = true
	if t.budget.spend(request) {
		t.requests = append(t.requests, request)
	}
	method, target, _ := strings.Cut(request, " ")
	next, length, chunked, host := stateHead, int64(0), false, ""
	for line := range bytes.Lines(fields) {
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "host":
			host = value
		case "content-length":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				next = stateLost
			}
			length = n
		case "transfer-encoding":
			chunked = true
		case "upgrade":
			next = stateLost // if the server takes it, something else follows
		}
	}
	if t.host == "" && strings.HasPrefix(target, "/") && !t.inside {
		t.host = host
	}
	switch {
	case method == "CONNECT":
		t.inside = true
		t.to(stateBegin)
	case chunked:
		t.to(stateChunk)
		t.then = next
	case length > 0:
		t.to(stateBody)
		t.left, t.then = length, next
	default:
		t.to(next)
	}
}

// around takes in a line before a chunk or behind the last one.
func (t *talk) around(b []byte) (rest []byte) {
	line, rest, whole := bytes.Cut(b, []byte("\n"))
	if !t.keep(line) {
		return nil
	}
	if len(t.buffer) > maxHead {
		t.to(stateLost)
		return nil
	}
	if !whole {
		return nil
	}
	text := strings.TrimSuffix(string(t.buffer), "\r")
	if t.state == stateTrailer {
		if t.to(stateTrailer); text == "" {
			t.to(stateHead)
		}
		return rest
	}
	size, _, _ := strings.Cut(text, ";")
	n, err := strconv.ParseInt(strings.TrimSpace(size), 16, 62)
	switch {
	case err != nil || n < 0:
		t.to(stateLost)
		return nil
	case n == 0:
		t.to(stateTrailer)
	default:
		t.to(stateBody)
		t.left, t.then = n+2, stateChunk
	}
	return rest
}

// requestLine reads "METHOD TARGET HTTP/1.x", with its CR or without.
func requestLine(line []byte) (string, bool) {
	text := strings.TrimRight(string(line), "\r\n")
	method, rest, _ := strings.Cut(text, " ")
	at := strings.LastIndexByte(rest, ' ')
	if at <= 0 || !mayBeRequest([]byte(method)) {
		return "", false
	}
	version := rest[at+1:]
	return text, len(version) == len("HTTP/1.1") && strings.HasPrefix(version, "HTTP/1.")
}

// mayBeRequest says whether a line may become one. Methods are of letters, and in
// practice short.
func mayBeRequest(line []byte) bool {
	method, _, _ := bytes.Cut(line, []byte(" "))
	if len(method) > 32 {
		return false
	}
	for _, c := range method {
		if !letter(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
