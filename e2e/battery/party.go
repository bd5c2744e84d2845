package battery

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// A party is one end of a connection with a proxy.
type party struct {
	name string // for errors
	net.Conn
	br       *bufio.Reader
	tape     *tape         // below a TLS session; nil in the clear
	patience time.Duration // how long anything may take
	framing  *framing      // of HTTP/2; nil: none yet, or HTTP/1
}

func newParty(name string, conn net.Conn, t *tape, patience time.Duration) *party {
	return &party{name: name, Conn: conn, br: bufio.NewReaderSize(conn, 16<<10), tape: t, patience: patience}
}

// wait begins the time that the next thing may take.
func (p *party) wait() { p.SetDeadline(time.Now().Add(p.patience)) }

// tcp is the connection below.
func (p *party) tcp() *net.TCPConn {
	conn := p.Conn
	if p.tape != nil {
		conn = p.tape.Conn
	}
	return conn.(*net.TCPConn)
}

// send writes s. That it could not be is the reader's to find.
func (p *party) send(s string) {
	p.wait()
	io.WriteString(p.Conn, s)
}

// sendBytewise writes each byte of s on its own.
func (p *party) sendBytewise(s string) {
	p.wait()
	for i := range len(s) {
		if _, err := io.WriteString(p.Conn, s[i:i+1]); err != nil {
			return
		}
	}
}

// expect reads exactly want, and stops at the first byte that differs.
func (p *party) expect(want string) error {
	p.wait()
	n := 0
	for n < len(want) {
		if _, err := p.br.Peek(1); err != nil {
			return fmt.Errorf("%s got %s and %v, and was to get %s", p.name, clip(want[:n]), err, clip(want))
		}
		piece, _ := p.br.Peek(min(p.br.Buffered(), len(want)-n))
		if string(piece) != want[n:n+len(piece)] {
			return fmt.Errorf("%s got %s and was to get %s", p.name, clip(want[:n]+string(piece)), clip(want))
		}
		n += len(piece)
		p.br.Discard(len(piece))
	}
	return nil
}

// clip keeps what is shown of long texts short.
func clip(s string) string {
	const most = 600
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes) …%q", s[:most/2], len(s), s[len(s)-most/2:])
}

// head reads up to and with a blank line.
func (p *party) head() (string, error) {
	p.wait()
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		line, err := p.br.ReadSlice('\n')
		head = append(head, line...)
		if err != nil && err != bufio.ErrBufferFull {
			return "", fmt.Errorf("%s got %s and %w, and was to get a head", p.name, clip(string(head)), err)
		}
	}
	return string(head), nil
}

// An end is how a stream ended.
type end int

const (
	clean end = iota // a FIN, and before it TLS's close_notify
	cut              // a FIN, but no close_notify in TLS
	reset
	silent // it did not, in time
	other
)

func (e end) String() string {
	return [...]string{"a clean end", "an end without close_notify", "a reset", "no end in time", "another error"}[e]
}

// rest reads what is left and says how it ended.
func (p *party) rest() (string, end) {
	p.wait()
	b, err := io.ReadAll(p.br)
	switch {
	case err == nil && p.tape != nil && !p.tape.closed():
		return string(b), cut
	case err == nil:
		return string(b), clean
	case errors.Is(err, io.ErrUnexpectedEOF):
		return string(b), cut
	case errors.Is(err, syscall.ECONNRESET):
		return string(b), reset
	case errors.Is(err, os.ErrDeadlineExceeded):
		return string(b), silent
	}
	return string(b), other
}

// finish ends the sending side.
func (p *party) finish() {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	p.tcp().CloseWrite()
}

// cut ends the sending side as a process that dies does: without close_notify.
func (p *party) cut() { p.tcp().CloseWrite() }

// reset ends the connection with an RST.
func (p *party) reset() {
	p.tcp().SetLinger(0)
	p.tcp().Close()
}

// leftOver is what has come and was not read, once the proxy has stopped.
func (p *party) leftOver() string {
	p.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	b, _ := io.ReadAll(p.br)
	return string(b)
}

// A tape knows the last TLS record that was read.
type tape struct {
	net.Conn
	header []byte
	left   int
}

// Bytes of a TLS record that holds only an alert: in TLS 1.3 it is encrypted and
// looks like application data (RFC 8446 §5.2: two bytes, the type, the tag).
const alertRecord = 2 + 1 + 16

func (t *tape) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	for b := p[:n]; len(b) > 0; {
		if t.left == 0 {
			if len(t.header) == 5 {
				t.header = t.header[:0]
			}
			take := min(5-len(t.header), len(b))
			t.header = append(t.header, b[:take]...)
			b = b[take:]
			if len(t.header) == 5 {
				t.left = int(t.header[3])<<8 | int(t.header[4])
			}
			continue
		}
		take := min(t.left, len(b))
		t.left -= take
		b = b[take:]
	}
	return n, err
}

// closed tells whether the last record can have been an alert. A record of two
// bytes of data looks alike: who asks lets none be the last.
func (t *tape) closed() bool {
	return len(t.header) == 5 && (t.header[0] == 21 || t.header[0] == 23 && t.header[4] == alertRecord && t.header[3] == 0)
}

// handshake speaks TLS over p as a browser does.
func (p *party) handshake(a *authority, sni string, alpn ...string) (*party, error) {
	p.wait()
	t := &tape{Conn: p.Conn}
	session := tls.Client(&buffered{t, p.br}, &tls.Config{ServerName: sni, RootCAs: a.pool, NextProtos: alpn})
	if err := session.Handshake(); err != nil {
		return nil, fmt.Errorf("%s's handshake for %q: %w", p.name, sni, err)
	}
	return newParty(p.name, session, t, p.patience), nil
}

// A buffered connection is read through what a party has read ahead.
type buffered struct {
	*tape
	br *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) {
	if b.br.Buffered() > 0 {
		return b.br.Read(p)
	}
	return b.tape.Read(p)
}

// status is the status in an answer's head; "" when it has none.
func status(head string) string {
	fields := strings.Fields(head)
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "HTTP/1.") {
		return ""
	}
	return fields[1]
}
