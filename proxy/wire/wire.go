// Package wire reads HTTP/1 heads and body framing so that a proxy can relay
// them byte for byte: nothing is re-ordered, re-spelled or re-built.
//
// [ReadRequest] and [ReadAnswer] read one head from a bufio.Reader into a struct
// whose fields are slices of the head's own bytes (Raw). The structs are
// reusable: their buffers are kept from call to call, so a connection's heads
// cost no allocation once its buffers have grown, and whoever keeps a Name, a
// Value or a Line beyond the next call copies it. Framing says how the body is
// delimited, [Chunked] follows a chunked body as it passes, AppendForward writes
// the head without the fields that belong to one hop, and [ParseTarget] reads
// a request-target.
//
// Requests are read strictly (RFC 9112's "MAY reject" is "rejects" here): what
// is ambiguous is a [*Refusal] with the status to answer. Answers are read
// tolerantly: what can't be read as HTTP is an [*Unreadable] and Raw holds every
// byte that was taken, to be relayed as it came. For both, an error of the
// reader is returned as it is (io.EOF before the first byte,
// io.ErrUnexpectedEOF after it), with what had come in Raw.
//
// A head may be much longer than the bufio.Reader's buffer, which should be of
// 4 KiB or more. No more than the limit is ever taken from the reader.
//
// The package keeps no body, sets no deadline, knows no connection and adds no
// field that it is not told to. It looks into no field but Connection, Content-Length,
// Host, TE and Transfer-Encoding.
package wire

import "fmt"

// The codes of a Refusal.
const (
	CodeBadRequest    = "bad_request"             // 400
	CodeHeadTooLong   = "head_too_long"           // 431
	CodeUnknownCoding = "unknown_transfer_coding" // 501
)

// A Refusal is a request that is not passed on, and how it is answered.
type Refusal struct {
	Status int    // 400, 431 or 501
	Code   string // CodeBadRequest, CodeHeadTooLong or CodeUnknownCoding
	Reason string // for people: what was wrong; holds no value of a field
}

func (r *Refusal) Error() string { return r.Reason }

func bad(reason string) *Refusal { return &Refusal{400, CodeBadRequest, reason} }

func badField(name []byte, what string) *Refusal {
	return bad(fmt.Sprintf("the field %q %s", clip(name), what))
}

func tooLong(reason string) *Refusal { return &Refusal{431, CodeHeadTooLong, reason} }

// Unreadable is an answer's head that can't be read as HTTP/1.
type Unreadable struct {
	Reason string // for people: what was wrong
}

func (u *Unreadable) Error() string { return u.Reason }

// clip keeps a reason short whatever was sent.
func clip(b []byte) []byte {
	const most = 64
	if len(b) > most {
		return b[:most]
	}
	return b
}
