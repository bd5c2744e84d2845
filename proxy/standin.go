package proxy

import (
	"io"
	"net"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// The stand-in decrypts nothing and records connections: a CONNECT is a tunnel,
// and of an http:// request it has no more than a tunnel's record would say and
// its head's first line.

// way is the way that what goes by v takes in this proxy.
func (p *Proxy) way(v netlog.Via) netlog.Via {
	if p.StandIn {
		return netlog.ViaStandIn
	}
	return v
}

// bare takes off a request's record what the stand-in does not look at.
func bare(r *netlog.Request) { r.Headers, r.Pseudo = nil, nil }

// bareAnswer is an answer's record in the stand-in.
func bareAnswer(a *wire.Answer) *netlog.Response {
	return &netlog.Response{Status: a.Status, Reason: string(a.Reason), Version: a.Version}
}

// bareEnd makes an exchange's end line one of the stand-in's: its bytes each way
// in place of its bodies.
func (ex *exchange) bareEnd(end *netlog.End) {
	end.Tunnel = &netlog.Tunnel{Sent: ex.up.Load(), Received: ex.down.Load()}
	if r := end.Response; r != nil {
		r.Body, r.Trailers, r.Informational = nil, nil, nil
	}
}

// canMove tells whether the kernel can move the rest of an answer's body from one
// socket to the other (splice(2)): nobody looks at it, and its end is told by its
// length or by the connection's.
func (u *upstream) canMove(ex *exchange) bool {
	if !u.c.p.StandIn || ex.receiving.kind == wire.ByChunks || u.br.Buffered() > 0 {
		return false
	}
	_, from := u.conn.(*peeked)
	return from && len(u.dialled.conn.ahead) == 0 && u.c.conn == net.Conn(u.c.tcp)
}

// move moves it. Each time-out of the read returns how much has gone.
func (u *upstream) move(ex *exchange) *failure {
	dst, src := u.c.tcp.Conn, u.dialled.conn.Conn
	life := newLive(u.c.p.Timeouts.TunnelIdle)
	for !ex.receiving.whole {
		if !life.await(u.waiting.replace) {
			return failed(netlog.PhaseReceive, netlog.CodeTimeout, timeoutReason(netlog.PhaseReceive))
		}
		n, err := u.moveOnce(ex, dst, src)
		ex.receiving.moved(n)
		ex.down.Add(n)
		if n > 0 {
			life.touch()
		}
		switch {
		case err == nil || isTimeout(err):
		case err == io.EOF:
			return u.brokeOff(ex, err)
		case isEPIPE(err) || isClosed(dst):
			return ex.browserGone()
		default:
			return u.brokeOff(ex, err)
		}
	}
	return nil
}

// moveOnce moves as much as comes before the deadline; io.EOF says that the server ended.
func (u *upstream) moveOnce(ex *exchange, dst, src net.Conn) (int64, error) {
	if ex.receiving.kind == wire.Length {
		return io.CopyN(dst, src, ex.receiving.left)
	}
	n, err := io.Copy(dst, src)
	if err == nil {
		err = io.EOF
	}
	return n, err
}

// moved notes n bytes of a body that were not seen.
func (b *body) moved(n int64) {
	b.tap.size += n
	if b.kind == wire.Length {
		b.left -= n
		b.whole = b.left == 0
	}
}
