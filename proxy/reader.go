package proxy

import (
	"bufio"
	"errors"
	"net"
	"sync"
)

// readBuffer takes two TLS records.
const readBuffer = 16 << 10

// A reader buffers what comes over a connection. It takes its buffer from a pool
// when something has come, and gives it back before it waits: most connections wait
// most of the time. Nothing but await may be called before that has returned.
type reader struct {
	*bufio.Reader          // nil: it has none
	conn          net.Conn // tcp, or the TLS session over it
	tcp           *peeked
	readers       *sync.Pool // of *bufio.Reader
}

func (p *Proxy) newReader(conn net.Conn, tcp *peeked) *reader {
	return &reader{conn: conn, tcp: tcp, readers: &p.readers}
}

func (r *reader) take() {
	if br, ok := r.readers.Get().(*bufio.Reader); ok {
		br.Reset((*source)(r))
		r.Reader = br
		return
	}
	r.Reader = bufio.NewReaderSize((*source)(r), readBuffer)
}

// give gives the buffer back, and what is in it up.
func (r *reader) give() {
	if r.Reader == nil {
		return
	}
	r.Reset(nil)
	r.readers.Put(r.Reader)
	r.Reader = nil
}

// has tells whether something is in the buffer.
func (r *reader) has() bool { return r.Reader != nil && r.Buffered() > 0 }

// await waits for the next byte, as Peek(1) does.
func (r *reader) await() error {
	if r.Reader == nil {
		r.take()
	}
	if r.Buffered() > 0 || !r.tcp.canAwait() {
		_, err := r.Peek(1)
		return err
	}
	err := r.sip(true)
	for err == errDry { // what comes may be less than a record, or none of data
		r.give()
		r.tcp.await()
		r.take()
		err = r.sip(false)
	}
	return err
}

// sip looks for a byte that needs no waiting: a TLS session may have read it
// already or, unless the connection is to be dry, finds it in what that has now.
// errDry: there is none.
func (r *reader) sip(dry bool) error {
	r.tcp.sipped, r.tcp.dry = true, dry
	_, err := r.Peek(1)
	r.tcp.sipped, r.tcp.dry = false, false
	if errors.Is(err, errDry) {
		return errDry
	}
	return err
}

// A source is what a reader's buffer is filled from.
type source reader

// Read never gives errDry behind bytes: the buffer would keep it for a later call. A
// session does so that holds the beginning of an alert.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.conn.Read(p)
	if n > 0 && errors.Is(err, errDry) {
		err = nil
	}
	return n, err
}

// errDry is what a connection says that is only asked for what needs no waiting. A
// TLS session goes on behind it, as it does behind a time limit.
var errDry error = dry{}

type dry struct{}

func (dry) Error() string   { return "nothing has come" }
func (dry) Timeout() bool   { return true }
func (dry) Temporary() bool { return true }
