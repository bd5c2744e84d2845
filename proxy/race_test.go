package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

const okEmpty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

func ok(string) string { return okEmpty }

func TestInterleaved(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"192.0.2.1", "192.0.2.1:80"},
		{"192.0.2.1 192.0.2.2", "192.0.2.1:80 192.0.2.2:80"},
		{"2001:db8::1 2001:db8::2 192.0.2.1", "[2001:db8::1]:80 192.0.2.1:80 [2001:db8::2]:80"},
		{"192.0.2.1 2001:db8::1 2001:db8::2 2001:db8::3", "192.0.2.1:80 [2001:db8::1]:80 [2001:db8::2]:80 [2001:db8::3]:80"},
		{"2001:db8::1 192.0.2.1 192.0.2.2", "[2001:db8::1]:80 192.0.2.1:80 192.0.2.2:80"},
	} {
		var ips []netip.Addr
		for s := range strings.FieldsSeq(c.in) {
			ips = append(ips, netip.MustParseAddr(s))
		}
		var got []string
		for _, addr := range interleaved(ips, 80) {
			got = append(got, addr.String())
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.in, s, c.want)
		}
	}
}

// addresses are some to race for: 192.0.2.1, 192.0.2.2 …
func addresses(n int) []netip.AddrPort {
	var addrs []netip.AddrPort
	for i := range n {
		addrs = append(addrs, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)}), 80))
	}
	return addrs
}

// One that connects when another has won is closed, and the race waits for it.
func TestRaceClosesTheLate(t *testing.T) {
	other, late := net.Pipe()
	winner, _ := net.Pipe()
	conn, at, err := race(t.Context(), addresses(2), func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		if addr.Addr() == addresses(2)[1].Addr() {
			return winner, nil
		}
		<-ctx.Done()
		return late, nil
	})
	if err != nil || conn != winner || at != addresses(2)[1] {
		t.Fatalf("won: %v, %v", at, err)
	}
	if _, err := other.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the late connection: %v", err)
	}
}

// Each that fails makes place for the next; the first's error is told, unless one was forbidden.
func TestRaceNobodyWins(t *testing.T) {
	for name, c := range map[string]struct {
		errs []error
		want int
	}{
		"one":           {[]error{io.ErrClosedPipe}, 0},
		"the first":     {[]error{io.ErrClosedPipe, io.EOF, io.ErrNoProgress}, 0},
		"our own":       {[]error{io.ErrClosedPipe, errOwnAddress, io.EOF}, 1},
		"forbidden":     {[]error{io.ErrClosedPipe, io.EOF, forbidden(Decision{})}, 2},
		"two forbidden": {[]error{io.EOF, forbidden(Decision{}), errOwnAddress}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			addrs := addresses(len(c.errs))
			_, at, err := race(t.Context(), addrs, func(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
				return nil, c.errs[slices.Index(addrs, addr)]
			})
			if err != c.errs[c.want] || at != addrs[c.want] {
				t.Errorf("got %v of %v, want that of %v", err, at, addrs[c.want])
			}
		})
	}
}

// A race whose time is over tries nothing more.
func TestRaceEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var tried atomic.Int32
	_, at, err := race(ctx, addresses(3), func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		tried.Add(1)
		return nil, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || at != addresses(1)[0] || tried.Load() != 1 {
		t.Errorf("%d tried; %v of %v", tried.Load(), err, at)
	}
}

// resolveTo makes site.test be at ips, whatever the port.
func resolveTo(ips ...string) func(*Config) {
	return func(c *Config) {
		c.Resolve = func(host string, _ uint16) (addrs []netip.Addr) {
			if host == "site.test" {
				for _, ip := range ips {
					addrs = append(addrs, netip.MustParseAddr(ip))
				}
			}
			return addrs
		}
	}
}

// get asks the proxy for an http:// URL and gives the status line.
func (w *world) get(url string) string {
	w.t.Helper()
	b := w.browser()
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	b.send("GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
	line, _, _ := strings.Cut(b.head(), "\r\n")
	return line
}

// The next address is tried at once where nobody listens; the log has the one
// that took the connection.
func TestNextAddress(t *testing.T) {
	w := newWorld(t, resolveTo("127.0.0.2", "::1", "127.0.0.1"))
	addr := w.origin(answers(ok))
	_, port, _ := net.SplitHostPort(addr)
	if got := w.get("http://site.test:" + port + "/"); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	s := w.want(port, "exchange plain GET http://site.test:ADDR/ 200")[0].end.Server
	if s.Address != addr || s.Dialled == nil || s.Dialled.DNS >= 0 {
		t.Errorf("server: %+v", s)
	}
}

// An address that is silent has a head start, no more, and is given up then.
func TestSilentAddress(t *testing.T) {
	gaveUp := make(chan error, 1)
	w := newWorld(t, func(c *Config) {
		resolveTo("2001:db8::1", "127.0.0.1")(c)
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "[2001:db8::1]:") {
				<-ctx.Done()
				gaveUp <- ctx.Err()
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	})
	addr := w.origin(answers(ok))
	_, port, _ := net.SplitHostPort(addr)
	if got := w.get("http://site.test:" + port + "/"); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	if err := <-gaveUp; err != context.Canceled {
		t.Errorf("the silent one ended with %v", err)
	}
	s := w.want(port, "exchange plain GET http://site.test:ADDR/ 200")[0].end.Server
	if s.Address != addr || s.Dialled.Connect < headStart.Microseconds()/2 {
		t.Errorf("server: %+v", s)
	}
}

func TestNobodyAtAnyAddress(t *testing.T) {
	w := newWorld(t, resolveTo("127.0.0.3", "127.0.0.2"))
	_, port, _ := net.SplitHostPort(deadAddress(t))
	if got := w.get("http://site.test:" + port + "/"); got != "HTTP/1.1 502 Bad Gateway" {
		t.Error(got)
	}
	p := w.want(port, "exchange plain GET http://site.test:ADDR/ failed connect refused")[0]
	if p.end.Server == nil || p.end.Server.Address != "127.0.0.3:"+port || !strings.Contains(p.end.Failed.Reason, "127.0.0.3:"+port) {
		t.Errorf("server %+v, failed %+v", p.end.Server, p.end.Failed)
	}
}

// A name at the proxy's own address is not dialled there, but elsewhere.
func TestOwnAddressAmongOthers(t *testing.T) {
	w := newWorld(t, resolveTo("127.0.0.1", "127.0.0.2"))
	_, port, _ := net.SplitHostPort(w.addr)
	if got := w.get("http://site.test:" + port + "/"); got != "HTTP/1.1 403 Forbidden" {
		t.Error(got)
	}
	l, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Skip("nothing can listen on 127.0.0.2:", err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			defer conn.Close()
			p := newParty(t, conn)
			p.head()
			p.send(okEmpty)
		}
	}()
	if got := w.get("http://site.test:" + port + "/"); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	w.want(port, "exchange plain GET http://site.test:ADDR/ refused own_address 403", "exchange plain GET http://site.test:ADDR/ 200")
}
