package proxy

import (
	"bufio"
	"errors"
	"net"
	"sync"
)

// readBuffer takes two TLS records.
const readBuffer = 32 << 10

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
		br.Reset(r.conn)
		r.Reader = br
		return
	}
	r.Reader = bufio.NewReaderSize(r.conn, readBuffer)
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
	if r.Buffered() == 0 && r.tcp.canAwait() {
		if err := r.decrypted(); err != errDry {
			return err
		}
		r.give()
		r.tcp.await()
		r.take()
	}
	_, err := r.Peek(1)
	return err
}

// decrypted looks for what a TLS session has read of the connection and not given
// yet; errDry: there is none.
func (r *reader) decrypted() error {
	if r.conn == net.Conn(r.tcp) {
		return errDry
	}
	r.tcp.dry = true
	_, err := r.Peek(1)
	r.tcp.dry = false
	if errors.Is(err, errDry) {
		return errDry
	}
	return err
}

// errDry is what a connection says that is only asked for what needs no waiting. A
// TLS session goes on behind it, as it does behind a time limit.
var errDry error = dry{}

type dry struct{}

func (dry) Error() string   { return "nothing has come" }
func (dry) Timeout() bool   { return true }
func (dry) Temporary() bool { return true }
