package battery

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A network is what proxies dial instead of the world: whatever is under .test
// or has a documentation address (RFC 5737, RFC 3849) is one server, which
// speaks TLS on ports 443 and 8443; nowhere.test refuses connections.
type network struct {
	authority *authority
	patience  time.Duration
	alpn      string // that the server agrees on
	plain     net.Listener
	secure    net.Listener
	conns     chan *party // the server's side of each connection, once it can be used
	raw       atomic.Bool // the server does no handshake
	untrusted atomic.Bool // its certificate is of an authority that nobody knows
	hold      chan bool   // dialling silent.test lasts until this is closed

	running sync.WaitGroup
	mu      sync.Mutex
	all     []net.Conn // that the server took
	dialled []string
}

// maxConns bounds a case's connections to the server.
const maxConns = 1024

// newNetwork is one whose server speaks the leg's version of HTTP.
func newNetwork(a *authority, patience time.Duration, leg Leg) (*network, error) {
	n := &network{authority: a, patience: patience, alpn: leg.alpn(), conns: make(chan *party, maxConns), hold: make(chan bool)}
	var err error
	if n.plain, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if n.secure, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		n.plain.Close()
		return nil, err
	}
	n.running.Go(func() { n.serve(n.plain, false) })
	n.running.Go(func() { n.serve(n.secure, true) })
	return n, nil
}

func (n *network) serve(l net.Listener, secure bool) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		n.mu.Lock()
		n.all = append(n.all, conn)
		n.mu.Unlock()
		conn.SetDeadline(time.Now().Add(n.patience))
		if !secure || n.raw.Load() {
			n.conns <- newParty("the server", conn, nil, n.patience)
			continue
		}
		n.running.Go(func() {
			tape := &tape{Conn: conn}
			session := tls.Server(tape, &tls.Config{GetCertificate: n.certificate, NextProtos: []string{n.alpn}})
			if session.Handshake() == nil {
				n.conns <- newParty("the server", session, tape, n.patience)
			}
		})
	}
}

// certificate is the server's for the name that it is asked for, or an address.
func (n *network) certificate(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := h.ServerName
	if name == "" {
		name = address4
	}
	if n.untrusted.Load() {
		other, err := newAuthority("Unknown CA")
		if err != nil {
			return nil, err
		}
		return other.leaf(name)
	}
	return n.authority.leaf(name)
}

// The server's addresses.
const (
	address4 = "192.0.2.1"
	address6 = "2001:db8::1"
)

// dial is Setup.Dial.
func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialled = append(n.dialled, address)
	n.mu.Unlock()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var to string
	switch {
	case host == "silent.test":
		select {
		case <-n.hold:
			return nil, fmt.Errorf("dialling %q: held back until the end", address)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case host == "nowhere.test":
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case host == "closed.test":
		to = "127.0.0.1:1" // nobody listens on tcpmux
	case host == "127.1" || host == "2130706433" || host == "0x7f.1" || host == "own.test":
		to = net.JoinHostPort("127.0.0.1", port) // as libc and a name server have it
	case host == "localhost" || isLoopback(host):
		to = address // the proxy's own, by one of its names
	case !strings.HasSuffix(host, ".test") && host != address4 && host != address6:
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case port == "443" || port == "8443":
		to = n.secure.Addr().String()
	default:
		to = n.plain.Addr().String()
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", to)
}

// isLoopback tells the addresses that lead back to this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsUnspecified())
}

// asked are the addresses that were dialled, in order.
func (n *network) asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.dialled...)
}

// taken is how many connections the server has taken.
func (n *network) taken() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.all)
}

func (n *network) close() {
	close(n.hold)
	n.plain.Close()
	n.secure.Close()
	n.mu.Lock()
	for _, conn := range n.all {
		conn.Close()
	}
	n.mu.Unlock()
	n.running.Wait()
}
