package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"golang.org/x/net/proxy"

	"github.com/agentenv/netlog/netlog"
)

// throughResolved connects to a target, whose addresses are looked up here,
// through a SOCKS parent: to each in turn, as far as the parent connects to none.
func (p *Proxy) throughResolved(ctx context.Context, d *dialled, parent *Parent, to hop) (net.Conn, error) {
	ips := p.givenFor(to.Host, to.Port)
	if len(ips) == 0 {
		var err error
		if ips, err = p.resolve(ctx, d, to.Host); err != nil {
			return nil, err
		}
	}
	var first error
	for _, addr := range interleaved(ips, to.Port) {
		if err := p.mayDial(to, addr); err != nil {
			if !isRefusal(first) {
				first = err
			}
			continue
		}
		attempt := *d // whose figures the parent's own name is none of
		conn, err := p.toParent(ctx, &attempt, parent)
		d.address = attempt.address
		if err != nil {
			return nil, err
		}
		if err = parent.socks(ctx, conn, addr.String()); err == nil {
			return conn, nil
		}
		conn.Close()
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// socks asks a SOCKS parent on conn for a connection to address.
func (p *Parent) socks(ctx context.Context, conn net.Conn, address string) error {
	var auth *proxy.Auth
	if p.user != "" {
		auth = &proxy.Auth{User: p.user, Password: p.password}
	}
	dialer, err := proxy.SOCKS5("tcp", p.address(), auth, ready{conn})
	if err != nil {
		return &parentError{p, err}
	}
	_, err = dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
	switch reason := socksReason(err); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case isTimeout(err) || isReset(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &parentError{p, err}
	case strings.HasSuffix(reason, "unreachable"):
		return p.declined(netlog.CodeUnreachable, "says: "+reason)
	default:
		return p.declined(netlog.CodeRefused, "says: "+reason)
	}
}

// socksReason is the text of an error without that of the connection that it is of.
func socksReason(err error) string {
	var op *net.OpError
	switch {
	case errors.As(err, &op):
		return strings.TrimPrefix(op.Err.Error(), "unknown error ")
	case err != nil:
		return err.Error()
	}
	return ""
}

// A ready is a dialer whose connection is there already.
type ready struct{ conn net.Conn }

func (r ready) Dial(string, string) (net.Conn, error) { return r.conn, nil }

func (r ready) DialContext(context.Context, string, string) (net.Conn, error) { return r.conn, nil }
