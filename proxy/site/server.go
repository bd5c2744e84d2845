package site

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

// Listeners are the ports of a deployment, taken.
type Listeners struct {
	HTTPS   net.Listener   // nil: no name has a certificate
	HTTP    net.Listener   //
	Forward net.Listener   // nil: browsers are not pointed at a proxy
	DNS     net.PacketConn // nil: no name is a wildcard
	DNSTCP  net.Listener   // at the same port
}

// Listen takes the ports. Its error names every one that can't be had.
func Listen(c Config, t *Table) (*Listeners, error) {
	var problems problemList
	l := &Listeners{}
	https, http, domain, forward := c.Ports()
	tcp := func(key string, port int) net.Listener {
		taken, err := net.Listen("tcp4", net.JoinHostPort(c.Address(), strconv.Itoa(port)))
		if err != nil {
			problems.addf("%s: %w", key, err)
			return nil
		}
		return taken
	}
	if t.HasTLS() {
		l.HTTPS = tcp("https_port", https)
	}
	l.HTTP = tcp("http_port", http)
	if forward >= 0 {
		l.Forward = tcp("forward_port", forward)
	}
	if t.HasWildcard() {
		if err := l.listenDNS(c.Address(), domain); err != nil {
			problems.addf("dns_port: %w", err)
		}
	}
	if err := problems.err(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// listenDNS takes one port for both transports; of any free ones, one that both
// have.
func (l *Listeners) listenDNS(address string, port int) error {
	var err error
	for range 8 {
		if l.DNSTCP, err = net.Listen("tcp4", net.JoinHostPort(address, strconv.Itoa(port))); err != nil {
			l.DNSTCP = nil
			return err
		}
		if l.DNS, err = net.ListenPacket("udp4", l.DNSTCP.Addr().String()); err == nil {
			return nil
		}
		l.DNSTCP.Close()
		l.DNSTCP, l.DNS = nil, nil
		if port != 0 {
			return err
		}
	}
	return err
}

// Close gives the ports back.
func (l *Listeners) Close() {
	for _, taken := range []net.Listener{l.HTTPS, l.HTTP, l.Forward, l.DNSTCP} {
		if taken != nil {
			taken.Close()
		}
	}
	if l.DNS != nil {
		l.DNS.Close()
	}
}

// String names each port and what it is for.
func (l *Listeners) String() string {
	s := ""
	for _, port := range []struct {
		listener net.Listener
		name     string
	}{{l.HTTPS, "https"}, {l.HTTP, "http"}, {l.DNSTCP, "dns"}, {l.Forward, "forward"}} {
		if port.listener == nil {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf("%s (%s)", port.listener.Addr(), port.name)
	}
	return s
}

// HTTPSPort is the port of names with certificates; 443 where there are none.
func (l *Listeners) HTTPSPort() int { return portAt(l.HTTPS, 443) }

// HTTPPort is the port of names without.
func (l *Listeners) HTTPPort() int { return portAt(l.HTTP, 80) }

func portAt(l net.Listener, fallback int) int {
	if l == nil {
		return fallback
	}
	return l.Addr().(*net.TCPAddr).Port
}

// A Server serves a deployment's sites.
type Server struct {
	Proxy *proxy.Proxy

	on       *Listeners
	names    []*dns.Server
	stopping atomic.Bool
}

// ServerConfig says what a Server serves.
type ServerConfig struct {
	Table        *Table
	Certificates *Certificates
	Nameservers  []netip.AddrPort              // who is asked about other names
	Address      netip.Addr                    // where browsers find the sites
	Log          *netlog.Writer                // nil: nothing is recorded
	Withhold     func(name, value string) bool // as proxy.Config has it; nil: nothing
	Logger       *slog.Logger
}

// NewServer makes a server on ports that are taken, which are its own from then on.
func NewServer(c ServerConfig, on *Listeners) (*Server, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	served, err := proxy.New(proxy.Config{
		Log:      c.Log,
		Policy:   c.Table.Policy(on.HTTPSPort()),
		Leaf:     c.Certificates.Leaf,
		Withhold: c.Withhold,
		Logger:   c.Logger,
		// A site may think for long.
		Timeouts: proxy.Timeouts{Dial: 30 * time.Second, Answer: time.Hour},
	})
	if err != nil {
		return nil, err
	}
	s := &Server{Proxy: served, on: on}
	if on.DNS != nil {
		names := &resolver{answers: c.Table.Answers, address: c.Address, nameservers: c.Nameservers, logger: c.Logger}
		const wait = 10 * time.Second
		s.names = []*dns.Server{
			{PacketConn: on.DNS, Handler: names, UDPSize: maxMessage},
			{Listener: on.DNSTCP, Handler: names, ReadTimeout: wait, WriteTimeout: wait, MaxTCPQueries: -1},
		}
	}
	return s, nil
}

// Serve serves until Shutdown, and then returns nil, or until a port breaks.
func (s *Server) Serve() error {
	var running []func() error
	if s.on.HTTPS != nil {
		running = append(running, func() error { return s.Proxy.ServeDirect(s.on.HTTPS, "https") })
	}
	running = append(running, func() error { return s.Proxy.ServeDirect(s.on.HTTP, "http") })
	if s.on.Forward != nil {
		running = append(running, func() error { return s.Proxy.Serve(s.on.Forward) })
	}
	for _, d := range s.names {
		running = append(running, d.ActivateAndServe)
	}
	ended := make(chan error, len(running))
	for _, serve := range running {
		go func() { ended <- serve() }()
	}
	err := <-ended
	if err != nil { // the others would go on without it
		s.on.Close()
	}
	for range len(running) - 1 {
		<-ended
	}
	if s.stopping.Load() {
		return nil
	}
	return err
}

// Shutdown ends the work as proxy.Proxy.Shutdown does.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopping.Store(true)
	for _, d := range s.names {
		d.ShutdownContext(ctx) // its error says that it had not begun, or that ctx ended
	}
	s.on.Close()
	return s.Proxy.Shutdown(ctx)
}
