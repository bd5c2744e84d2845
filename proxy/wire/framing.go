package wire

import (
	"bytes"
	"math"
)

// FramingKind is a way to delimit a body.
type FramingKind int

const (
	None       FramingKind = iota // no body
	Length                        // Framing.Length bytes, 0 among them
	ByChunks                      // Transfer-Encoding ends in chunked: follow it with Chunked
	UntilClose                    // answers only: up to the end of the connection
)

// Framing says how a body is delimited. The zero value is: there is none.
type Framing struct {
	Kind   FramingKind
	Length int64 // of Length alone
}

// Framing returns how the request's body is delimited (RFC 9112 §6.3). The error
// is a *Refusal: ReadRequest has asked already, so that a request which it
// accepted has none.
//
// Repeated Content-Lengths must be spelled alike; a list in one field is
// malformed. Every transfer coding must be a registered one, without parameters,
// and the last one, and only that, chunked.
func (r *Request) Framing() (Framing, error) {
	var length []byte
	lengths, codings := 0, 0
	for i := range r.Fields {
		f := &r.Fields[i]
		switch {
		case equalFold(f.Name, "content-length"):
			if lengths++; lengths > 1 && !bytes.Equal(f.Value, length) {
				return Framing{}, bad("two Content-Length fields that differ")
			}
			length = f.Value
		case equalFold(f.Name, "transfer-encoding"):
			codings++
		}
	}
	switch {
	case codings > 0 && lengths > 0:
		return Framing{}, bad("both a Content-Length and a Transfer-Encoding")
	case codings > 0 && r.Minor == 0:
		return Framing{}, bad("a Transfer-Encoding in an HTTP/1.0 request")
	case codings > 0:
		return r.transferCoding()
	case lengths > 0:
		n, ok := parseLength(length)
		if !ok {
			return Framing{}, bad("the Content-Length is no length")
		}
		return Framing{Kind: Length, Length: n}, nil
	}
	return Framing{}, nil
}

func (r *Request) transferCoding() (Framing, error) {
	chunked, unknown := 0, false
	last := false
	for value := range r.Fields.Values("transfer-encoding") {
		for rest, more := value, true; more; {
			var coding []byte
			coding, rest, more = bytes.Cut(rest, comma)
			coding = trimSpace(coding)
			if !isToken(coding) {
				return Framing{}, bad("the Transfer-Encoding has an element that is no bare coding")
			}
			if last = equalFold(coding, "chunked"); last {
				chunked++
			} else if !registered(coding) {
				unknown = true
			}
		}
	}
	switch {
	case unknown:
		return Framing{}, &Refusal{501, CodeUnknownCoding, "an unknown transfer coding"}
	case !last:
		return Framing{}, bad("the Transfer-Encoding does not end in chunked")
	case chunked > 1:
		return Framing{}, bad("the Transfer-Encoding has chunked twice")
	}
	return Framing{Kind: ByChunks}, nil
}

// registered knows the transfer codings of RFC 9112 §7 other than chunked.
func registered(coding []byte) bool {
	return equalFold(coding, "gzip") || equalFold(coding, "deflate") || equalFold(coding, "compress") ||
		equalFold(coding, "x-gzip") || equalFold(coding, "x-compress")
}

// Framing returns how the body of the answer to a request of that method is
// delimited (RFC 9112 §6.3). The error is an *Unreadable: without a
// Transfer-Encoding, Content-Lengths that are malformed or differ can't be recovered from.
//
// HEAD, 1xx, 204, 304 and a CONNECT's 2xx have no body whatever their fields say.
// Chunked wins over a Content-Length (which AppendForward then drops). A
// Transfer-Encoding that does not end in chunked, or that comes with HTTP/1.0,
// lasts until the connection closes; one of identity alone, which RFC 2616 had, is
// as none.
func (a *Answer) Framing(method string) (Framing, error) {
	if a.bodiless(method) {
		return Framing{}, nil
	}
	if present, chunked := a.transferCoding(); present {
		if chunked && a.Minor > 0 {
			return Framing{Kind: ByChunks}, nil
		}
		return Framing{Kind: UntilClose}, nil
	}
	length := int64(-1)
	for value := range a.Fields.Values("content-length") {
		// A list of equal ones is as one of them (RFC 9110 §8.6).
		for rest, more := value, true; more; {
			var e []byte
			e, rest, more = bytes.Cut(rest, comma)
			n, ok := parseLength(trimSpace(e))
			if !ok {
				return Framing{}, &Unreadable{"the Content-Length is no length"}
			}
			if length >= 0 && n != length {
				return Framing{}, &Unreadable{"two Content-Lengths that differ"}
			}
			length = n
		}
	}
	if length < 0 {
		return Framing{Kind: UntilClose}, nil
	}
	return Framing{Kind: Length, Length: length}, nil
}

func (a *Answer) bodiless(method string) bool {
	return a.Status < 200 || a.Status == 204 || a.Status == 304 ||
		method == "HEAD" || method == "CONNECT" && a.Status < 300
}

// transferCoding says whether there is a coding other than identity alone, and
// whether the last one is chunked.
func (a *Answer) transferCoding() (present, chunked bool) {
	for coding := range a.Fields.Elements("transfer-encoding") {
		chunked = equalFold(coding, "chunked")
		present = present || !equalFold(coding, "identity")
	}
	return present, chunked
}

// parseLength reads a Content-Length's 1*DIGIT, up to the largest int64.
func parseLength(b []byte) (n int64, ok bool) {
	for _, c := range b {
		if !isDigit(c) || n > (math.MaxInt64-int64(c-'0'))/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(b) > 0
}
