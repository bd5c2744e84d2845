package proxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"
)

// headStart is how long one address may take before the next is tried beside it
// (RFC 8305 §5: 250 ms).
const headStart = 250 * time.Millisecond

// interleaved are the addresses in the order in which they are tried: as the
// resolver sorted them, but the families in turn (RFC 8305 §4).
func interleaved(ips []netip.Addr, port uint16) []netip.AddrPort {
	var first, second []netip.Addr
	for _, ip := range ips {
		if ip.Is4() == ips[0].Is4() {
			first = append(first, ip)
		} else {
			second = append(second, ip)
		}
	}
	addrs := make([]netip.AddrPort, 0, len(ips))
	for i := range max(len(first), len(second)) {
		for _, family := range [][]netip.Addr{first, second} {
			if i < len(family) {
				addrs = append(addrs, netip.AddrPortFrom(family[i], port))
			}
		}
	}
	return addrs
}

// An attempt is how one address's part in a race ended.
type attempt struct {
	at   int // in the addresses
	conn net.Conn
	err  error
}

// race connects to the first of addrs that takes the connection (RFC 8305 §5):
// each is tried once the one before has failed or its head start is over. (A
// net.Dialer takes no list of addresses, and races no more than the families.)
// When none connects, the address and the error are those of the first that is
// forbidden or else of the first. Nothing of the race is left when it returns.
func race(ctx context.Context, addrs []netip.AddrPort, try func(context.Context, netip.AddrPort) (net.Conn, error)) (net.Conn, netip.AddrPort, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan attempt)
	errs := make([]error, len(addrs))
	var won attempt
	timer := time.NewTimer(0) // for the next to be tried
	defer timer.Stop()
	for next, running := 0, 0; ; {
		due := timer.C
		if next == len(addrs) || next > 0 && ctx.Err() != nil {
			due = nil
		}
		if running == 0 && due == nil {
			break
		}
		select {
		case <-due:
			go func(at int) {
				conn, err := try(ctx, addrs[at])
				ended <- attempt{at, conn, err}
			}(next)
			next, running = next+1, running+1
			timer.Reset(headStart)
		case a := <-ended:
			running--
			switch {
			case a.err != nil:
				errs[a.at] = a.err
				timer.Reset(0)
			case won.conn == nil:
				won = a
				cancel()
			default:
				a.conn.Close()
			}
		}
	}
	if won.conn != nil {
		return won.conn, addrs[won.at], nil
	}
	at := max(0, slices.IndexFunc(errs, isRefusal))
	return nil, addrs[at], errs[at]
}

// isRefusal tells the errors of what was not tried because it must not be.
func isRefusal(err error) bool {
	var f *failure
	return errors.Is(err, errOwnAddress) || errors.As(err, &f) && f.refused != nil
}
