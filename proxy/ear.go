package proxy

import "crypto/tls"

// An ear listens for an alert in the clear among the records that a browser sends
// in its handshake. With TLS 1.3 OpenSSL refuses a certificate before it has
// changed keys, which crypto/tls can only call a bad record.
type ear struct {
	*peeked
	deaf  bool // the handshake is over
	head  []byte
	left  int // bytes to come of the record whose head that is
	heard tls.AlertError
}

const (
	recordHead  = 5
	recordAlert = 21
)

func (e *ear) Read(p []byte) (int, error) {
	n, err := e.peeked.Read(p)
	if !e.deaf {
		e.listen(p[:n])
	}
	return n, err
}

func (e *ear) listen(p []byte) {
	for len(p) > 0 {
		if len(e.head) < recordHead {
			n := min(recordHead-len(e.head), len(p))
			e.head, p = append(e.head, p[:n]...), p[n:]
			if len(e.head) == recordHead {
				e.left = int(e.head[3])<<8 | int(e.head[4])
			}
		}
		n := min(e.left, len(p))
		if n > 0 {
			e.left -= n
			// In the clear an alert has two bytes (RFC 8446 §6), the second its kind.
			if e.left == 0 && e.head[0] == recordAlert && e.head[3] == 0 && e.head[4] == 2 {
				e.heard = tls.AlertError(p[n-1])
			}
			p = p[n:]
		}
		if e.left == 0 && len(e.head) == recordHead {
			e.head = e.head[:0]
		}
	}
}
