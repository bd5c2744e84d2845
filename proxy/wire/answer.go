package wire

import (
	"bufio"
	"bytes"
)

// Answer is an answer's head. Its slices are valid until the next ReadAnswer
// into it. The zero value is ready.
type Answer struct {
	Raw     []byte // all that was taken, from the status line (or empty lines before it) to the blank line
	Line    []byte // the status line with its CRLF
	Version string // "HTTP/1.0", "HTTP/1.1", or another HTTP/1 version as it came
	Minor   int    // 0, or 1 for every later one (RFC 9110 §2.5)
	Status  int    // 100 to 999
	Reason  []byte // may be empty
	Fields  FieldList

	top int // where the status line begins in Raw
}

// maxSlop is how many bytes of empty lines before a status line are taken as part
// of the head: browsers pass over as many, left by servers behind a body.
const maxSlop = 4

// ReadAnswer reads an answer's head of at most limit bytes into a.
//
// An *Unreadable says that it is no HTTP/1; then only Raw counts, and what br
// still holds goes on behind it. Unreadable are: another protocol or version
// (seen at the first byte that differs), a bare LF, a bare CR or a NUL anywhere,
// a field line without a colon, with no name or with whitespace before its colon
// (RFC 9112 §5.1 has a proxy remove that; relayed unread, the browser judges
// itself), whitespace before the first field, and what passes a limit. Read as
// they are: any reason or none, a name that is no token, other control bytes,
// bytes from 0x80 on, folded lines.
func ReadAnswer(br *bufio.Reader, a *Answer, limit int) error {
	raw, fields := reuse(a.Raw, a.Fields)
	*a = Answer{Raw: raw, Fields: fields}
	raw, err := expectStatusLine(br, raw)
	a.Raw, a.top = raw, len(raw)
	if err != nil {
		return answerError(raw, err)
	}
	raw, err = appendLine(br, raw, limit)
	a.Raw = raw
	if err != nil {
		return answerError(raw, err)
	}
	if err := a.parseLine(raw[a.top:]); err != nil {
		return err
	}
	end := len(raw)
	raw, good, err := readFields(br, raw, limit, checkAnswerField)
	a.Raw = raw
	a.parseLine(raw[a.top:end]) // again: raw may have moved
	a.Fields = appendFields(fields, raw[end:good])
	if err != nil {
		return answerError(raw, err)
	}
	if tooManyOptions(a.Fields) {
		return &Unreadable{"the Connection field names too many fields"}
	}
	return nil
}

// expectStatusLine takes empty lines and then looks, without taking it, at the
// beginning of the status line. Bytes that begin none are taken at once, so that
// what waits for no LF is not held back.
func expectStatusLine(br *bufio.Reader, raw []byte) ([]byte, error) {
	const begin = "HTTP/1."
	for len(raw) < maxSlop {
		p, err := br.Peek(1)
		if err != nil {
			return raw, err
		}
		if p[0] != '\r' {
			break
		}
		if p, err = br.Peek(2); err != nil {
			return take(br, raw, len(p)), err
		}
		raw = take(br, raw, 2)
		if p[1] != '\n' {
			return raw, &Unreadable{"a bare CR before the status line"}
		}
	}
	for i := range len(begin) {
		p, err := br.Peek(i + 1)
		if err != nil {
			return take(br, raw, len(p)), err
		}
		if p[i] != begin[i] {
			return take(br, raw, i+1), &Unreadable{"no HTTP/1 status line"}
		}
	}
	return raw, nil
}

func take(br *bufio.Reader, raw []byte, n int) []byte {
	p, _ := br.Peek(n)
	raw = append(raw, p...)
	br.Discard(len(p))
	return raw
}

func answerError(raw []byte, err error) error {
	if err == errLimit || err == errFields {
		return &Unreadable{err.Error()}
	}
	return midHead(raw, err)
}

// parseLine reads a status line: HTTP/1.x, spaces, three digits and, behind a
// space, the reason.
func (a *Answer) parseLine(line []byte) error {
	if reason := dangerous(line); reason != "" {
		return &Unreadable{reason}
	}
	text := line[:len(line)-2]
	version, rest, _ := bytes.Cut(text, space)
	if len(version) != len("HTTP/1.1") || !isDigit(version[7]) {
		return &Unreadable{"the status line has no HTTP/1 version"}
	}
	switch version[7] {
	case '0':
		a.Version, a.Minor = "HTTP/1.0", 0
	case '1':
		a.Version, a.Minor = "HTTP/1.1", 1
	default:
		a.Version, a.Minor = string(version), 1
	}
	status, reason, _ := bytes.Cut(bytes.TrimLeft(rest, " "), space)
	if len(status) != 3 || status[0] < '1' || !isDigit(status[0]) || !isDigit(status[1]) || !isDigit(status[2]) {
		return &Unreadable{"the status line has no status of three digits"}
	}
	a.Status = int(status[0]-'0')*100 + int(status[1]-'0')*10 + int(status[2]-'0')
	a.Line, a.Reason = line, reason
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// dangerous names what RFC 9110 §5.5 and RFC 9112 §2.2 let no recipient keep in a line.
func dangerous(line []byte) string {
	if !endsInCRLF(line) {
		return "a line ends in a bare LF"
	}
	text := line[:len(line)-2]
	if bytes.IndexByte(text, '\r') >= 0 {
		return "a line has a bare CR"
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return "a line has a NUL"
	}
	return ""
}

// checkAnswerField is the tolerant rule for one line of an answer's fields or trailers.
func checkAnswerField(line []byte, first bool) error {
	if reason := dangerous(line); reason != "" {
		return &Unreadable{reason}
	}
	if isSpace(line[0]) {
		if first {
			return &Unreadable{"whitespace before the first field"}
		}
		return nil
	}
	colon := bytes.IndexByte(line, ':')
	switch {
	case colon < 0:
		return &Unreadable{"a field line has no colon"}
	case colon == 0:
		return &Unreadable{"a field has no name"}
	case isSpace(line[colon-1]):
		return &Unreadable{"a field has whitespace before its colon"}
	}
	return nil
}

// KeepAlive says whether the server means to keep this connection open (RFC 9112 §9.3).
func (a *Answer) KeepAlive() bool { return persistent(a.Minor, a.Fields) }
