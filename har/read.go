package har

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// ErrNotHAR says that what was read is no HAR: no JSON object with log.entries.
var ErrNotHAR = errors.New("not a HAR")

// ErrTooLong says that an entry is longer than was allowed.
var ErrTooLong = errors.New("longer than is held")

// A Reader goes through the entries of a HAR, ours or another program's, one at
// a time; memory is that of one entry. It takes what it can: a field that is
// missing, or of another type than HAR has it, is its type's zero value; -1 where
// that stands for not known.
type Reader struct {
	// MaxEntry bounds an entry, in bytes; a longer one is an error that wraps
	// ErrTooLong. Zero: no bound. It is set before the first Next.
	MaxEntry int64

	dec   *json.Decoder
	in    *allowance
	place int64
	entry *Entry
	begun bool
	err   error
}

// Unpack gives what r holds, decompressed where that is gzip.
func Unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if begin, _ := b.Peek(2); !beginsMember(begin) || len(begin) < 2 {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return z, nil
}

// NewReader returns a Reader of r, which it buffers.
func NewReader(r io.Reader) *Reader {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" { // RFC 8259 §8.1 lets a parser ignore it
		b.Discard(3)
	}
	in := &allowance{r: b}
	return &Reader{dec: json.NewDecoder(in), in: in}
}

// An allowance reads so many bytes and no more. Zero: all.
type allowance struct {
	r    io.Reader
	most int64
	left int64
}

func (a *allowance) Read(p []byte) (int, error) {
	if a.most > 0 {
		if a.left <= 0 {
			return 0, fmt.Errorf("more than %d bytes: %w", a.most, ErrTooLong)
		}
		p = p[:min(int64(len(p)), a.left)]
	}
	n, err := a.r.Read(p)
	a.left -= int64(n)
	return n, err
}

// renew gives the whole of it again.
func (a *allowance) renew() { a.left = a.most }

// Next goes on to the next entry. It is false after the last one and on an
// error.
func (r *Reader) Next() bool {
	if r.err != nil {
		return false
	}
	more, err := r.next()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	switch {
	case err == nil && more:
		return true
	case err == nil:
		err = io.EOF
	case r.begun && r.place == 0:
		err = fmt.Errorf("read the HAR at its first entry: %w", err)
	case r.begun:
		err = fmt.Errorf("read the HAR after entry %d: %w", r.place, err)
	case err != ErrNotHAR && !isRead(err):
		err = fmt.Errorf("%w: %w", ErrNotHAR, err)
	}
	r.entry, r.err = nil, err
	return false
}

// Entry is the entry. Its ID is its place in the file, from 1, when it says none.
func (r *Reader) Entry() *Entry { return r.entry }

// Err is why the entries ended before the file did: it wraps ErrNotHAR when no
// entries were found, io.ErrUnexpectedEOF when the file is cut.
func (r *Reader) Err() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

func isRead(err error) bool {
	var syntax *json.SyntaxError
	return !errors.As(err, &syntax) && err != io.ErrUnexpectedEOF
}

func (r *Reader) next() (bool, error) {
	if !r.begun {
		r.in.most = r.MaxEntry
		if err := r.begin(); err != nil {
			return false, err
		}
		r.begun = true
	}
	if !r.more() {
		return false, r.finish()
	}
	var err error
	if r.entry, err = r.readEntry(); err != nil {
		return false, err
	}
	r.place++
	if r.entry.ID <= 0 {
		r.entry.ID = r.place
	}
	return true, nil
}

// begin goes into log.entries.
func (r *Reader) begin() error {
	if err := r.take('{'); err != nil {
		return err
	}
	for _, name := range [...]string{"log", "entries"} {
		if err := r.find(name); err != nil {
			return err
		}
		open := json.Delim('{')
		if name == "entries" {
			open = '['
		}
		if err := r.take(open); err != nil {
			return err
		}
	}
	return nil
}

// finish reads to the end, so that a file which is cut does not pass for whole.
func (r *Reader) finish() error {
	for depth := 3; depth > 0; {
		t, err := r.token()
		if err != nil {
			return err
		}
		depth += step(t)
	}
	return nil
}

func (r *Reader) take(want json.Delim) error {
	t, err := r.token()
	if err == nil && t != want {
		err = ErrNotHAR
	}
	return err
}

// find goes to the value of an object's member.
func (r *Reader) find(name string) error {
	for r.more() {
		t, err := r.token()
		if err != nil {
			return err
		}
		if t == name {
			return nil
		}
		for depth := 0; ; {
			if t, err = r.token(); err != nil {
				return err
			}
			if depth += step(t); depth == 0 {
				break
			}
		}
	}
	if _, err := r.token(); err != nil { // what kept More from saying yes
		return err
	}
	return ErrNotHAR
}

// token reads the next one, which may be as long as an entry.
func (r *Reader) token() (json.Token, error) {
	r.in.renew()
	return r.dec.Token()
}

func (r *Reader) more() bool {
	r.in.renew()
	return r.dec.More()
}

// step is what a token adds to the depth.
func step(t json.Token) int {
	switch t {
	case json.Delim('{'), json.Delim('['):
		return 1
	case json.Delim('}'), json.Delim(']'):
		return -1
	}
	return 0
}

// readEntry takes of an entry what it can.
func (r *Reader) readEntry() (*Entry, error) {
	var e struct {
		Entry
		// A number that is none ends a decoding: these are looked at for themselves.
		Time     json.RawMessage `json:"time"`
		Timings  json.RawMessage `json:"timings"`
		Messages json.RawMessage `json:"_webSocketMessages"`
		Events   json.RawMessage `json:"_eventSourceMessages"`
		Response struct {
			Response
			FailureText string `json:"_failureText"` // Playwright's _error
		} `json:"response"`
	}
	e.Entry.Time, e.Request.HeadersSize, e.Request.BodySize = None, -1, -1
	e.Response.HeadersSize, e.Response.BodySize = -1, -1
	// A value of another type than its field's does not end the decoding.
	var other *json.UnmarshalTypeError
	if err := r.dec.Decode(&e); err != nil && !errors.As(err, &other) {
		return nil, err
	}
	e.Entry.Response = e.Response.Response
	if e.Response.Error == "" {
		e.Entry.Response.Error = e.Response.FailureText
	}
	take(e.Time, &e.Entry.Time)
	t := map[string]json.RawMessage{}
	take(e.Timings, &t)
	e.Entry.Timings = Timings{
		Blocked: phase(t["blocked"]), DNS: phase(t["dns"]), Connect: phase(t["connect"]), SSL: phase(t["ssl"]),
		Send: phase(t["send"]), Wait: phase(t["wait"]), Receive: phase(t["receive"]),
	}
	take(e.Messages, &e.WebSocketMessages)
	take(e.Events, &e.EventSourceMessages)
	return &e.Entry, nil
}

// take reads what may be missing, or not be what it should.
func take[T any](raw json.RawMessage, to *T) {
	if len(raw) > 0 {
		json.Unmarshal(raw, to)
	}
}

// phase reads one of timings: what is missing did not happen.
func phase(raw json.RawMessage) Millis {
	m := None
	take(raw, &m)
	return m
}
