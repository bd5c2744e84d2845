package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	// maxFields bounds the fields of one head: each costs far more memory than
	// the four bytes that the shortest takes on the wire.
	maxFields = 10_000
	// maxConnection bounds the elements of a head's Connection fields, each of
	// which is looked for among all fields.
	maxConnection = 32
	// Buffers beyond these sizes are not kept for the next head.
	keepRaw, keepFields = 64 << 10, 1_000
)

var (
	errLimit  = errors.New("the head is too long")
	errFields = errors.New("the head has too many fields")
)

// appendLine takes what br holds up to the next LF, and with it, to raw's end.
// Once raw has limit bytes it takes and reads nothing more and returns errLimit.
func appendLine(br *bufio.Reader, raw []byte, limit int) ([]byte, error) {
	for {
		if len(raw) >= limit {
			return raw, errLimit
		}
		if _, err := br.Peek(1); err != nil {
			return raw, err
		}
		p, _ := br.Peek(min(br.Buffered(), limit-len(raw)))
		n := bytes.IndexByte(p, '\n') + 1
		whole := n > 0
		if !whole {
			n = len(p)
		}
		raw = append(raw, p[:n]...)
		br.Discard(n)
		if whole {
			return raw, nil
		}
	}
}

// readFields takes field lines up to and with the blank line to raw's end. An
// error is errLimit, errFields, check's (the line is then raw's last) or br's;
// good is the end of the last line that check let pass.
func readFields(br *bufio.Reader, raw []byte, limit int, check func(line []byte, first bool) error) (_ []byte, good int, err error) {
	good = len(raw)
	for lines := 0; ; lines++ {
		if raw, err = appendLine(br, raw, limit); err != nil {
			return raw, good, err
		}
		line := raw[good:]
		if isBlank(line) {
			return raw, good, nil
		}
		if lines == maxFields {
			return raw, good, errFields
		}
		if err := check(line, lines == 0); err != nil {
			return raw, good, err
		}
		good = len(raw)
	}
}

// isBlank says whether a line ends a head.
func isBlank(line []byte) bool { return len(line) == 2 && line[0] == '\r' && line[1] == '\n' }

// endsInCRLF tells a whole line from one that ends in a bare LF.
func endsInCRLF(line []byte) bool { return len(line) >= 2 && line[len(line)-2] == '\r' }

// midHead makes an end of the stream within a head an unexpected one.
func midHead(raw []byte, err error) error {
	if err == io.EOF && len(raw) > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// appendFields indexes the checked field lines in b.
func appendFields(fields FieldList, b []byte) FieldList {
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		folded := false
		for n < len(b) && isSpace(b[n]) {
			n += bytes.IndexByte(b[n:], '\n') + 1
			folded = true
		}
		line := b[:n:n]
		b = b[n:]
		colon := bytes.IndexByte(line, ':')
		value := trimSpace(line[colon+1 : n-2])
		if folded {
			value = unfold(value)
		}
		fields = append(fields, Field{Name: line[:colon], Value: value, Line: line})
	}
	return fields
}

// unfold joins a folded value's lines by one space each (RFC 9112 §5.2).
func unfold(value []byte) []byte {
	var joined []byte
	for rest, more := value, true; more; {
		var line []byte
		line, rest, more = bytes.Cut(rest, crlf)
		line = trimSpace(line)
		if len(joined) > 0 && len(line) > 0 {
			joined = append(joined, ' ')
		}
		joined = append(joined, line...)
	}
	return joined
}

var (
	crlf      = []byte("\r\n")
	blankLine = []byte("\r\n\r\n")
)

// reuse empties a head's buffers, and gives up those that one long head has blown up.
func reuse(raw []byte, fields FieldList) ([]byte, FieldList) {
	if cap(raw) > keepRaw {
		raw = nil
	}
	if cap(fields) > keepFields {
		fields = nil
	}
	return raw[:0], fields[:0]
}

// tooManyOptions says whether the Connection fields name more than maxConnection.
func tooManyOptions(fields FieldList) bool {
	n := 0
	for range fields.Elements("connection") {
		n++
	}
	return n > maxConnection
}

// persistent is RFC 9112 §9.3's rule for both kinds of head.
func persistent(minor int, fields FieldList) bool {
	if fields.HasToken("connection", "close") {
		return false
	}
	return minor > 0 || fields.HasToken("connection", "keep-alive")
}
