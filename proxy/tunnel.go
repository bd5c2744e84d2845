package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/hello"
)

// helloLimit is how much of each direction is looked at for a TLS hello.
const helloLimit = 64 << 10

// A tunnel is a connection that is relayed as it is.
type tunnel struct {
	entry
	*live
	c              *client
	sent, received atomic.Int64
	seen           netlog.Tunnel // what the hellos said; each direction its own fields
	to             Target        // what it was asked for
	server         netlog.Server
	marks          marks

	breaks   sync.Once
	broken   error  // the error that ended it, if one did
	brokenBy string // whose connection met it
}

// newTunnel is the tunnel of a CONNECT that was read at the given time. Its open
// line is on its way.
func (c *client) newTunnel(to Target, via netlog.Via, at time.Time) *tunnel {
	t := &tunnel{c: c, to: to, live: newLive(c.p.Timeouts.TunnelIdle)}
	t.p = c.p
	t.open = netlog.Open{
		Time: at, Kind: netlog.KindTunnel, Via: via,
		Client: c.addr, Connection: c.number, Target: hostPort(to.Host, to.Port),
	}
	t.begin()
	return t
}

// finish writes the tunnel's end line.
func (t *tunnel) finish(f *failure) {
	end := &netlog.End{Time: t.p.now(), Tunnel: &t.seen, ClientTLS: t.c.tls}
	t.seen.Sent, t.seen.Received = t.sent.Load(), t.received.Load()
	end.Timings = t.marks.timings(t.open.Time, end.Time)
	if t.server.Address != "" {
		end.Server = &t.server
	}
	switch {
	case f == nil:
	case f.refused != nil:
		end.Refused = f.refused
	default:
		end.Failed = &f.Failed
	}
	t.end(end)
}

// tunnelTo relays between the browser and the server d until both have ended.
func (c *client) tunnelTo(t *tunnel, d *dialled) {
	t.server = netlog.Server{Address: d.address, Connection: c.p.servers.Add(1), Dialled: d.figures()}
	t.marks.ready = c.p.now()
	t.marks.sent, t.marks.first = t.marks.ready, t.marks.ready
	t.writeOpen()
	stop := c.closeAtEnd(d.conn)
	defer stop()

	down := make(chan error, 1)
	go func() { down <- t.direction(c.tcp, d.conn, &t.received, t.lookAtServer) }()
	up := t.direction(d.conn, c.tcp, &t.sent, t.lookAtClient)
	f := t.failure(up, <-down)
	d.conn.Close()
	t.finish(f)
}

// direction takes bytes from src to dst until src ends, and passes that on: an
// end as an end, a reset as a reset.
func (t *tunnel) direction(dst, src *peeked, count *atomic.Int64, look func([]byte) (more bool, err error)) error {
	err := t.copy(dst, src, count, look)
	if err == nil {
		closeWrite(dst)
		t.halve(dst.SetReadDeadline)
		return nil
	}
	t.breaks.Do(func() { t.broke(err, dst, src) })
	src.Conn.Close()
	dst.Conn.Close()
	return err
}

// broke notes which side an error that ends the tunnel is of.
func (t *tunnel) broke(err error, dst, src *peeked) {
	t.broken = err
	side := src
	if errors.As(err, new(errWrite)) || errors.Is(err, syscall.EPIPE) || isClosed(dst.Conn) {
		side = dst
	}
	t.brokenBy = byClient
	if side != t.c.tcp {
		t.brokenBy = byServer
	}
	if isReset(err) {
		resetOnClose(dst.Conn)
		resetOnClose(src.Conn)
	}
}

func (t *tunnel) copy(dst, src *peeked, count *atomic.Int64, look func([]byte) (more bool, err error)) error {
	buf := make([]byte, 16<<10)
	var begun []byte
	for looking := true; looking || len(src.ahead) > 0; {
		n, err := t.read(src, buf)
		if err != nil {
			return ended(err)
		}
		if looking {
			begun = append(begun, buf[:n]...)
			more, err := look(begun)
			if err != nil {
				return err
			}
			looking = more && len(begun) < helloLimit
		}
		if _, err := dst.Conn.Write(buf[:n]); err != nil {
			return errWrite{err}
		}
		count.Add(int64(n))
		t.touch()
	}
	for {
		if !t.await(src.SetReadDeadline) {
			return errSilence
		}
		// Where both are TCP the kernel moves the bytes (splice(2)); each time-out
		// returns their number.
		n, err := io.Copy(dst.Conn, src.Conn)
		count.Add(n)
		if n > 0 {
			t.touch()
		}
		if err == nil {
			return nil
		}
		if !isTimeout(err) {
			return err
		}
	}
}

func (t *tunnel) read(src *peeked, buf []byte) (int, error) {
	for {
		if !t.await(src.SetReadDeadline) {
			return 0, errSilence
		}
		n, err := src.Read(buf)
		if n > 0 {
			return n, nil
		}
		if err != nil && !isTimeout(err) {
			return 0, err
		}
	}
}

// ended makes the end of a stream no error.
func ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// lookAtClient looks for a ClientHello; more is false when there is nothing more to
// see, the error is why it must not go up.
func (t *tunnel) lookAtClient(begun []byte) (more bool, err error) {
	h, err := hello.Client(begun)
	if err != nil {
		return errors.Is(err, hello.ErrShort), nil
	}
	t.saw(h)
	if f := t.c.forbids(t.to, h.ServerName); f != nil {
		t.c.tcp.Write(unrecognizedName)
		return false, f
	}
	return false, nil
}

// forbids tells why a name in a ClientHello is one that must not be reached, be it
// by way of an address or of another name. Of what else is tunnelled nothing is known.
func (c *client) forbids(to Target, sni string) *failure {
	if sni == "" {
		return nil
	}
	name, err := canonicalName(sni)
	if err != nil || name == to.Host {
		return nil
	}
	to.Host = name
	d := c.p.decide(to)
	if d.Action != Refuse {
		return nil
	}
	f := forbidden(d)
	return refusalClosed(f.refused.Code, f.Reason)
}

func (t *tunnel) saw(h hello.ClientHello) {
	t.seen.SNI, t.seen.ALPN, t.seen.TLSVersions = h.ServerName, h.ALPN, h.Versions
}

// lookAtServer looks for a ServerHello.
func (t *tunnel) lookAtServer(begun []byte) (more bool, _ error) {
	version, err := hello.Server(begun)
	if err != nil {
		return errors.Is(err, hello.ErrShort), nil
	}
	t.seen.TLSVersion = version
	return false, nil
}

// failure is what broke the tunnel; nil when it came to an end, which for a
// browser is any.
func (t *tunnel) failure(up, down error) *failure {
	if t.c.ctx.Err() != nil {
		return t.c.fail(netlog.PhaseReceive, net.ErrClosed)
	}
	var f *failure
	switch {
	case errors.As(up, &f):
		return f
	case errors.Is(up, errSilence), errors.Is(down, errSilence):
		if t.half.Load() {
			return nil
		}
		return failed(netlog.PhaseReceive, netlog.CodeTimeout, errSilence.Error())
	case t.broken == nil || t.brokenBy != byServer:
		return nil
	case up == nil && isReset(t.broken):
		return nil // the browser had said all: a server that does not read its goodbye resets
	}
	return classify(netlog.PhaseReceive, t.broken)
}

// resetOnClose makes closing conn a reset, as the other side's end was one.
func resetOnClose(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
}
