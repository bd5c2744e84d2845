package wire

import (
	"bufio"
	"bytes"
)

// Request is a request's head. Its slices are valid until the next ReadRequest
// into it. The zero value is ready.
type Request struct {
	Raw     []byte // from the request line to the blank line; after an error, all that was taken
	Line    []byte // the request line with its CRLF
	Method  []byte // a token, as spelled
	Target  []byte // no control byte and no space; bytes from 0x80 on as they came
	Version string // "HTTP/1.0" or "HTTP/1.1"
	Minor   int    // 0 or 1
	Fields  FieldList
}

// maxEmptyLines bounds the empty lines before a request line, which RFC 9112
// §2.2 asks a server to ignore.
const maxEmptyLines = 8

// ReadRequest reads a request's head of at most limit bytes into r.
//
// A *Refusal says that it must not be passed on; Raw then ends with the line that
// is to blame, Line to Minor are set when the request line was good, and Fields
// has the good fields before the bad one. Empty lines before the request line are skipped, up to
// eight, and are in no part of r. An HTTP/1.2 or later is refused like any other
// unknown version: no browser sends it, and passed on as it came it would
// promise the server what we don't know.
func ReadRequest(br *bufio.Reader, r *Request, limit int) error {
	raw, fields := reuse(r.Raw, r.Fields)
	*r = Request{Raw: raw, Fields: fields}
	if err := skipEmptyLines(br); err != nil {
		return err
	}
	raw, err := appendLine(br, raw, limit)
	r.Raw = raw
	if err != nil {
		return requestError(raw, err)
	}
	if err := r.parseLine(raw); err != nil {
		return err
	}
	top := len(raw)
	raw, good, err := readFields(br, raw, limit, checkField)
	r.Raw = raw
	r.parseLine(raw[:top]) // again: raw may have moved
	r.Fields = appendFields(fields, raw[top:good])
	if err != nil {
		return requestError(raw, err)
	}
	return r.check()
}

// HeadIsHere tells whether a request's whole head is in br's buffer: ReadRequest will
// not read then. It may be false for one that is.
func HeadIsHere(br *bufio.Reader) bool {
	p, _ := br.Peek(br.Buffered())
	return len(p) > 0 && p[0] != '\r' && bytes.Contains(p, blankLine)
}

// skipEmptyLines takes empty lines, and refuses what can't begin a request line
// before more has come: a TLS record may never have an LF.
func skipEmptyLines(br *bufio.Reader) error {
	for range maxEmptyLines {
		p, err := br.Peek(1)
		if err != nil {
			return err
		}
		if p[0] != '\r' {
			return checkFirst(p[0])
		}
		if p, err = br.Peek(2); err != nil {
			return midHead(p, err)
		}
		if p[1] != '\n' {
			return bad("a bare CR before the request line")
		}
		br.Discard(2)
	}
	p, err := br.Peek(1)
	if err != nil {
		return err
	}
	return checkFirst(p[0])
}

func checkFirst(c byte) error {
	switch {
	case tokenBytes[c]:
		return nil
	case c == '\r':
		return bad("too many empty lines before the request line")
	case c == '\n':
		return bad("a bare LF before the request line")
	case c == 0x16:
		return bad("a TLS record where a request line was due")
	}
	return bad("no request line")
}

func requestError(raw []byte, err error) error {
	if err == errLimit || err == errFields {
		return tooLong(err.Error())
	}
	return midHead(raw, err)
}

func (r *Request) parseLine(line []byte) error {
	if !endsInCRLF(line) {
		return bad("the request line ends in a bare LF")
	}
	text := line[:len(line)-2]
	for _, c := range text {
		if isControl(c) {
			return bad("the request line has a control byte")
		}
	}
	method, rest, ok := bytes.Cut(text, space)
	if !ok {
		return bad("no request line: it has no target")
	}
	if !isToken(method) {
		return bad("the request line's method is no token")
	}
	target, version, ok := bytes.Cut(rest, space)
	switch {
	case len(target) == 0:
		return bad("the request line has no target, or more than one space before it")
	case !ok:
		return bad("the request line has no version: an HTTP/0.9 request")
	case len(version) == 0 || bytes.IndexByte(version, ' ') >= 0:
		return bad("the request line has more than two spaces")
	case string(text) == "PRI * HTTP/2.0":
		return bad("an HTTP/2 preface where HTTP/1 was due")
	case string(version) == "HTTP/1.1":
		r.Version, r.Minor = "HTTP/1.1", 1
	case string(version) == "HTTP/1.0":
		r.Version, r.Minor = "HTTP/1.0", 0
	default:
		return bad("the request line's version is neither HTTP/1.0 nor HTTP/1.1")
	}
	r.Line, r.Method, r.Target = line, method, target
	return nil
}

var space = []byte{' '}

// checkField is the strict rule for one field line of a request or its trailer section.
func checkField(line []byte, first bool) error {
	if isSpace(line[0]) {
		if first {
			return bad("whitespace before the first field")
		}
		return bad("a folded field line")
	}
	if !endsInCRLF(line) {
		return bad("a field line ends in a bare LF")
	}
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return bad("a field line without a colon")
	}
	name := line[:colon]
	if !isToken(name) {
		if colon > 0 && isSpace(name[colon-1]) {
			return badField(trimSpace(name), "has a space before its colon")
		}
		return badField(name, "has a name that is no token")
	}
	for _, c := range line[colon+1 : len(line)-2] {
		if isControl(c) && c != '\t' {
			return badField(name, "has a control byte in its value")
		}
	}
	return nil
}

// check is what can be said only of the whole head.
func (r *Request) check() error {
	host, _ := r.Fields.Get("host")
	switch n := r.Fields.Count("host"); {
	case n > 1:
		return bad("more than one Host field")
	case n == 0 && r.Minor > 0:
		return bad("no Host field in an HTTP/1.1 request")
	case len(host) > 0: // an empty one is right where the target has no authority (RFC 9112 §3.2)
		if _, err := parseAuthority(host); err != nil {
			return bad("the Host field is no host and port: " + err.Error())
		}
	}
	if tooManyOptions(r.Fields) {
		return bad("the Connection field names too many fields")
	}
	_, err := r.Framing()
	return err
}

// KeepAlive says whether the client means to send another request on this
// connection (RFC 9112 §9.3). Proxy-Connection is not asked: it was never a standard.
func (r *Request) KeepAlive() bool { return persistent(r.Minor, r.Fields) }
