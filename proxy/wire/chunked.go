package wire

import "math"

const (
	maxChunkLine  = 16 << 10 // of a chunk's size and extensions
	maxTrailers   = 64 << 10 // of the trailer section
	maxSizeDigits = 16       // of a chunk's size, leading zeros among them
)

// Chunked follows a body in chunked framing (RFC 9112 §7.1) as it passes, in any
// cut. It holds nothing back and keeps nothing but the trailers. The zero value
// is ready for a request's body.
type Chunked struct {
	// Lenient is for an answer's body: spaces and tabs behind a chunk's size are
	// passed over, as browsers do, and trailers are read by ReadAnswer's rules.
	Lenient bool

	state    chunkState
	left     int64 // of the chunk: its size while that is read, then the bytes to come
	digits   int   // of the size
	line     int   // bytes of the size's line
	trailers []byte
	start    int // of the trailers' last line
	fields   FieldList
	err      error
}

type chunkState int

const (
	inSize      chunkState = iota
	inPadding              // Lenient's space behind the size
	inExtension            // from the semicolon on
	inSizeLF
	inData
	inDataCR
	inDataLF
	inTrailers
	inLastLF  // of the blank line
	inNothing // done
)

// Next takes a prefix of p: frame bytes and then, if a chunk's data has begun, the
// data that p holds of it. n is the length of the prefix, all of which is to be
// passed on; payload is the end of it that is content, or empty. Call it again
// with what is left of p until that is empty or Done; n is 0 when p is empty, the
// body is done, or on an error.
//
// The error is a *Refusal, of an answer's body too, and stays: bytes before the one
// to blame have been taken, and the body can't be followed any further.
func (c *Chunked) Next(p []byte) (n int, payload []byte, err error) {
	if c.err != nil {
		return 0, nil, c.err
	}
	for n < len(p) && c.state != inNothing {
		if c.state == inData {
			m := int(min(c.left, int64(len(p)-n)))
			if c.left -= int64(m); c.left == 0 {
				c.state = inDataCR
			}
			return n + m, p[n : n+m], nil
		}
		if err := c.step(p[n]); err != nil {
			c.err = err
			return n, nil, err
		}
		n++
	}
	return n, nil, nil
}

// Done says whether the body has ended, its trailers with it.
func (c *Chunked) Done() bool { return c.state == inNothing }

// Trailers returns the fields of the trailer section once the body is done.
func (c *Chunked) Trailers() FieldList { return c.fields }

// step takes one byte that is no data.
func (c *Chunked) step(b byte) error {
	switch c.state {
	case inSize, inPadding, inExtension:
		if c.line++; c.line > maxChunkLine {
			return bad("a chunk's line is too long")
		}
		return c.sizeLine(b)
	case inSizeLF:
		if b != '\n' {
			return bad("a chunk's line has a bare CR")
		}
		c.state = inData
		if c.left == 0 {
			c.state = inTrailers
		}
	case inDataCR:
		if b != '\r' {
			return bad("a chunk's data is not followed by CRLF")
		}
		c.state = inDataLF
	case inDataLF:
		if b != '\n' {
			return bad("a chunk's data is not followed by CRLF")
		}
		c.state, c.left, c.digits, c.line = inSize, 0, 0, 0
	case inTrailers:
		return c.trailer(b)
	case inLastLF:
		if b != '\n' {
			return bad("the trailer section: a line begins with a bare CR")
		}
		c.fields = appendFields(c.fields, c.trailers)
		c.state = inNothing
	}
	return nil
}

func (c *Chunked) sizeLine(b byte) error {
	digit, isHex := hex(b)
	switch {
	case c.state == inSize && isHex:
		if c.digits++; c.digits > maxSizeDigits || c.left > math.MaxInt64>>4 {
			return bad("a chunk's size is too large")
		}
		c.left = c.left<<4 | digit
	case c.digits == 0:
		return bad("a chunk has no size")
	case b == '\r':
		c.state = inSizeLF
	case c.state == inExtension:
		if isControl(b) && b != '\t' {
			return bad("a chunk's extension has a control byte")
		}
	case b == ';':
		c.state = inExtension
	case c.Lenient && isSpace(b):
		c.state = inPadding
	default:
		return bad("a chunk's size is no hexadecimal number")
	}
	return nil
}

func (c *Chunked) trailer(b byte) error {
	if b == '\r' && len(c.trailers) == c.start {
		c.state = inLastLF
		return nil
	}
	if len(c.trailers) == maxTrailers {
		return bad("the trailer section is too long")
	}
	c.trailers = append(c.trailers, b)
	if b != '\n' {
		return nil
	}
	line := c.trailers[c.start:]
	check := checkField
	if c.Lenient {
		check = checkAnswerField
	}
	if err := check(line, c.start == 0); err != nil {
		return bad("the trailer section: " + err.Error())
	}
	c.start = len(c.trailers)
	return nil
}

func hex(b byte) (digit int64, ok bool) {
	switch {
	case isDigit(b):
		return int64(b - '0'), true
	case 'a' <= b && b <= 'f':
		return int64(b-'a') + 10, true
	case 'A' <= b && b <= 'F':
		return int64(b-'A') + 10, true
	}
	return 0, false
}
