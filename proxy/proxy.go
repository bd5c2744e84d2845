// Package proxy is the recording proxy: browsers are pointed at it, and each
// exchange, tunnel and WebSocket that passes becomes an open and an end line in
// a netlog.Writer.
//
//	p, err := proxy.New(proxy.Config{Log: log, Leaf: leaves.Leaf})
//	go p.Serve(listener) // or ServeDirect, for who takes us for the server itself
//	…
//	p.Shutdown(ctx)
//
// HTTP/1 is relayed, not rebuilt: but for the fields that a proxy must own
// (RFC 9110 §7.6.1) the server gets the browser's bytes and the browser the
// server's, in both directions at once, each piece as it comes. What a browser
// sends is read strictly, since a request that two parties read differently
// can't be recorded truly; what a server answers is read tolerantly.
//
// HTTP/2 is relayed stream by stream (package h2): what was agreed with the server
// is agreed with the browser, and each stream is an exchange as a request of HTTP/1
// is. To a site's gateway they go in HTTP/1, by RFC 9113 §8's rules.
//
// Every exchange that is opened is ended exactly once, whatever happens. An
// intercepted connection has one name: requests that name another are turned
// down (421), so that no decision made at the CONNECT can be bypassed.
//
// Nothing is asked twice but a request without a body on a reused connection that
// died before its answer's first byte, or that its server says it has not acted on.
package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
	"github.com/agentenv/netlog/proxy/wire"
)

// What is kept of bodies when Config.Keep is zero, in bytes.
const (
	defaultRequestKeep  = 10 << 20
	defaultResponseKeep = 1 << 20
)

// headLimit bounds a head, a browser's or a server's.
const headLimit = 1 << 20

// Config says how a Proxy works. It must not change once it is given to New.
type Config struct {
	// Log takes the lines; nil: nothing is recorded, and bodies are only counted.
	Log *netlog.Writer
	// Policy says what is done with a target; nil: everything is intercepted.
	// It is called from many goroutines.
	Policy func(Target) Decision
	// Credentials says whether a user may use the proxy, in constant time; nil:
	// nobody is asked who it is (Basic, RFC 7617). Else each CONNECT and each
	// http:// request wants them, or gets a 407. They are in no log. It is called
	// from many goroutines.
	Credentials func(user, password string) bool
	// Page answers requests for the proxy itself, which are not logged: at its own
	// addresses and at Names, and through the proxy at http://netlog.internal/
	// (OwnName): r.URL is absolute then, and Credentials have been asked for. At the
	// other places Page itself guards what it guards. r has no body; the answer is
	// sent once it is whole. nil: a short text.
	Page http.Handler
	// Names are more names of the proxy's, in lower case; asked by any other name
	// it is no page's (421).
	Names []string
	// Ended is told of each exchange and tunnel that has ended, by the number of
	// its open line (0: it has none). It must not keep or change what it is given,
	// nor wait; what was kept of bodies it may not have. nil: nobody is. It is
	// called from many goroutines.
	Ended func(id int64, o *netlog.Open, e *netlog.End)
	// Leaf gives the certificate that the browser is shown for a name or an
	// address. nil: nothing can be intercepted, and every CONNECT that the
	// policy does not refuse is tunnelled.
	Leaf func(name string) (*tls.Certificate, error)
	// Dial connects to address, a host:port whose host may be a name; nil: the
	// system's resolver, then its addresses as RFC 8305 has it (Happy Eyeballs).
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Resolve gives the addresses of a name, lower case and in ASCII, when it is
	// reached at a port, in place of the resolver; none: the resolver is asked. nil:
	// it always is.
	Resolve func(host string, port uint16) []netip.Addr
	// UpstreamRoots verify the servers; nil: the system's.
	UpstreamRoots *x509.CertPool
	// Trust is asked before each TLS handshake with a server: its Host is the name
	// that is verified, its Port the one that was dialled. nil: the zero Trust.
	Trust func(Target) Trust
	// Parent gives the proxy through which a target is reached, always the same
	// for the same; nil: it is reached directly. nil: every target is.
	Parent func(Target) *Parent
	// StandIn makes every CONNECT that the policy lets pass a tunnel, and records
	// http:// requests at connection level: no headers, no bodies, bytes each way.
	StandIn bool
	// TunnelOnPin has a host tunnelled, from the next connection on and until the
	// process ends, once a browser refuses the certificate that it was shown for it
	// by one of the alerts bad_certificate, certificate_unknown and unknown_ca.
	// Logger is told, and the tunnel's end line. Such a host is one that pins, or a
	// browser does not trust the authority: then all that it reaches goes
	// unrecorded.
	TunnelOnPin bool
	// HTTP1 has neither browsers nor servers spoken to in HTTP/2.
	HTTP1 bool
	// Keep is what is kept of bodies. Zero: 10 MiB of a request's, 1 MiB of an
	// answer's when it is text.
	Keep netlog.Limits
	// NoMessages lets WebSocket messages be counted only, without lines.
	NoMessages bool
	// NoHash lets bodies go without their SHA-256.
	NoHash bool
	// Redact names the header fields, in any case, whose values stay out of the log.
	Redact []string
	// Withhold says which fields of requests are left out of the log, as
	// Proxy-Authorization is: credentials that are not the browser's own. They still
	// go over the wire. Nil: no other is.
	Withhold func(name, value string) bool
	// StripConditionals takes If-None-Match and If-Modified-Since off a GET or HEAD
	// on its way up, so that a cache's 304 becomes the whole answer.
	StripConditionals bool
	// BodyMemory is how many bytes of bodies are held in memory until their lines
	// are written, of all connections together; what is more goes to temporary
	// files. 0: 96 MiB; below: none.
	BodyMemory int64
	// BodyFolder is where those files are made, which have no names; "": the
	// system's folder for temporary files.
	BodyFolder string
	// KeyLog takes the TLS secrets of both legs, as SSLKEYLOGFILE has them, some lines
	// in one Write; nil: they are kept from everybody. Who has them can decrypt what
	// was recorded of the connections. One that hangs loses lines and holds up nothing.
	KeyLog io.Writer
	// Timeouts are the time limits; zero fields have their defaults.
	Timeouts Timeouts
	// Logger is told what people should know of; nil: nobody is.
	Logger *slog.Logger
}

// Timeouts are the time limits of each phase.
type Timeouts struct {
	ClientHead time.Duration // for a request's whole head from its first byte, and for the first byte after a CONNECT; 0: 30 s
	Dial       time.Duration // for resolving and connecting; 0: 10 s
	TLS        time.Duration // for either leg's handshake; 0: 10 s
	Answer     time.Duration // without a byte of an answer once the request has gone up, or behind a 1xx; 0: 5 min
	Idle       time.Duration // between the requests of a connection, and in mid-upload without a byte; 0: 5 min
	TunnelIdle time.Duration // without a byte either way in a tunnel, an upgraded connection or a begun answer; 0: 1 h
}

func (t Timeouts) withDefaults() Timeouts {
	set := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	set(&t.ClientHead, 30*time.Second)
	set(&t.Dial, 10*time.Second)
	set(&t.TLS, 10*time.Second)
	set(&t.Answer, 5*time.Minute)
	set(&t.Idle, 5*time.Minute)
	set(&t.TunnelIdle, time.Hour)
	return t
}

// A Proxy serves browsers until it is shut down.
type Proxy struct {
	Config
	base      time.Time // of every time that is recorded: see now
	trusts    trusts
	clientTLS *tls.Config
	keys      *keyLog // nil for none
	mark      string  // of what it asks its parents for
	askings   askings
	toldLoop  sync.Once

	clients            atomic.Int64 // browser connections numbered so far
	servers            atomic.Int64 // upstream connections numbered so far
	exchanges, tunnels atomic.Int64 // open: see Stats
	killed             atomic.Bool  // in-flight work is being ended as stopped
	pins               pins         // of TunnelOnPin

	bodies    store
	buffers   h2.Buffers
	readers   sync.Pool // of *bufio.Reader, what readers have while they do not wait
	scratches pool[scratch]
	answers   pool[wire.Answer]
	inflating sync.Pool // of *inflating, what compressed messages are read with

	mu        sync.Mutex
	own       []netip.AddrPort // where it listens, or has listened
	listeners map[net.Listener]struct{}
	live      map[*client]struct{}
	stopping  bool
	running   sync.WaitGroup // one for each browser connection
}

// New makes a Proxy.
func New(c Config) (*Proxy, error) {
	if c.Policy == nil {
		c.Policy = func(Target) Decision { return Decision{} }
	}
	if c.Page == nil {
		c.Page = http.HandlerFunc(plainPage)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Keep == (netlog.Limits{}) {
		c.Keep = DefaultKeep()
	}
	switch c.Keep.Types {
	case "text", "all", "none":
	default:
		return nil, errors.New(`kept types "` + c.Keep.Types + `" are none of text, all, none`)
	}
	c.Timeouts = c.Timeouts.withDefaults()
	keys := c.keys()
	p := &Proxy{
		Config:    c,
		base:      time.Now(),
		mark:      newMark(),
		trusts:    trusts{roots: c.UpstreamRoots, keys: keys.writer()},
		keys:      keys,
		listeners: map[net.Listener]struct{}{},
		live:      map[*client]struct{}{},
	}
	p.clientTLS = browserTLS(c.Leaf, keys.writer())
	p.bodies.limit, p.bodies.folder, p.bodies.log = max(c.BodyMemory, 0), c.BodyFolder, c.Logger
	if c.BodyMemory == 0 {
		p.bodies.limit = defaultBodyMemory
	}
	return p, nil
}

// DefaultKeep is what is kept of bodies unless Config.Keep says otherwise.
func DefaultKeep() netlog.Limits {
	return netlog.Limits{RequestBody: defaultRequestKeep, ResponseBody: defaultResponseKeep, Types: "text"}
}

// now is the present in whole microseconds from the proxy's start, by the
// monotonic clock: differences of such times are what the log's timings add up.
func (p *Proxy) now() time.Time {
	return p.base.Add(time.Since(p.base).Truncate(time.Microsecond))
}

// Serve takes browsers from l until Shutdown, and then returns nil; an error of
// l's own ends it too. It may be called with several listeners.
func (p *Proxy) Serve(l net.Listener) error { return p.accept(l, "") }

// accept takes connections that are direct by the scheme, or, when that is "",
// for a proxy.
func (p *Proxy) accept(l net.Listener, direct string) error {
	p.mu.Lock()
	if p.stopping {
		p.mu.Unlock()
		l.Close()
		return nil
	}
	p.listeners[l] = struct{}{}
	if addr, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
		p.own = append(p.own, addr)
	}
	p.mu.Unlock()
	var told time.Time
	for {
		conn, err := l.Accept()
		if err != nil {
			if p.isStopping() {
				return nil
			}
			if temporary(err) {
				if time.Since(told) > tellEvery { // whoever is told too much may stop reading
					told = time.Now()
					p.Logger.Warn("accepting a connection", "error", err)
				}
				time.Sleep(acceptPause)
				continue
			}
			return err
		}
		c := newClient(p, conn, direct)
		if !p.add(c) {
			conn.Close()
			continue
		}
		go c.run()
	}
}

// acceptPause is how long accepting rests when the process is out of
// descriptors: it can do nothing better than wait for some to be closed.
const acceptPause = 20 * time.Millisecond

// tellEvery is how often people are told of trouble that goes on.
const tellEvery = time.Minute

func (p *Proxy) isStopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping
}

func (p *Proxy) add(c *client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return false
	}
	p.live[c] = struct{}{}
	p.running.Add(1)
	return true
}

func (p *Proxy) remove(c *client) {
	p.mu.Lock()
	delete(p.live, c)
	p.mu.Unlock()
	p.running.Done()
}

// Shutdown takes no new connections, closes those that are between requests,
// and lets the others go on until ctx ends; then each open exchange and tunnel
// ends as stopped. It returns when every connection is closed, with ctx's error
// when some had to be stopped, and KeyLog has all that it takes within two seconds.
func (p *Proxy) Shutdown(ctx context.Context) error {
	defer p.keys.flush()
	p.mu.Lock()
	p.stopping = true
	for l := range p.listeners {
		l.Close()
	}
	clear(p.listeners)
	for c := range p.live {
		c.closeIfIdle()
	}
	p.mu.Unlock()

	done := make(chan struct{})
	go func() {
		p.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	p.killed.Store(true)
	p.mu.Lock()
	for c := range p.live {
		c.kill()
	}
	p.mu.Unlock()
	<-done
	return ctx.Err()
}
