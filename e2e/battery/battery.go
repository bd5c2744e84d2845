// Package battery holds conversations over raw sockets at both legs of an HTTP
// proxy, the browser's and the server's, and what a right proxy makes of each:
// which bytes the server gets, which the browser gets, and which lines the log
// has.
//
//	for _, c := range battery.Cases() {
//		for _, leg := range c.Legs.Each() {
//			same, err := c.Run(battery.Ours(), leg, battery.Options{Dir: dir})
//			…
//
// A Case knows no proxy. It runs against each that can be started behind the
// interface Proxy: ours, whose log is then compared too, and others, of which
// `make battery` prints who passes what. Everything stays on loopback: the names
// under .test are reached through Setup.Dial.
//
// On the leg of HTTP/2 the parties speak in frames. It is no load test and measures
// no time.
package battery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A Proxy is a proxy that can be started for one conversation. Many run at once.
type Proxy interface {
	Name() string
	Start(s Setup) (Instance, error)
}

// An Instance is a proxy that was started.
type Instance interface {
	Addr() string // where it listens, ip:port
	// Stop ends it and its connections, and returns once its log, if it has
	// one, is whole.
	Stop() error
}

// A Setup is what a proxy is started with. It intercepts TLS unless Tunnel is set.
type Setup struct {
	CA    tls.Certificate // signs what browsers are shown; its Leaf is set
	Leaf  func(name string) (*tls.Certificate, error)
	Roots *x509.CertPool // verify the servers
	// Dial is the network; nil: the system's.
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	LogPath string // where our log goes; "": nowhere
	Tunnel  bool   // relay what comes behind a CONNECT as it is
	Limits  Limits
}

// Limits are a Setup's time limits; zero ones are the proxy's own.
type Limits struct {
	ClientHead, Dial, TLS, Answer, Idle, TunnelIdle time.Duration
}

// A Leg is the way that requests take to the proxy, or a set of them.
type Leg int

const (
	Plain  Leg = 1 << iota // http:// in absolute form
	TLS                    // inside an intercepted TLS connection
	Inside                 // http:// through a CONNECT to port 80, as ws:// goes
	HTTP2                  // inside an intercepted TLS connection, in frames

	All = Plain | TLS | Inside // that speak HTTP/1
)

// Each gives the single legs of a set; All for the zero value.
func (l Leg) Each() []Leg {
	if l == 0 {
		l = All
	}
	var each []Leg
	for _, one := range []Leg{Plain, TLS, Inside, HTTP2} {
		if l&one != 0 {
			each = append(each, one)
		}
	}
	return each
}

func (l Leg) String() string {
	switch l {
	case Plain:
		return "plain"
	case TLS:
		return "tls"
	case Inside:
		return "inside"
	case HTTP2:
		return "http2"
	}
	return fmt.Sprint("legs ", int(l))
}

// A Case is one conversation.
type Case struct {
	Group, Name string
	Legs        Leg  // that it makes sense on; 0: All
	Ours        bool // right by our design, not by HTTP: not asked of others
	Tunnel      bool // needs Setup.Tunnel
	System      bool // over the system's network: without Setup.Dial
	Limits      Limits

	talk func(*talk) // what both parties do, in one thread
	log  []entry     // what the log then has, in the order of the open lines
}

// Options say how a case is run.
type Options struct {
	Dir      string        // an empty folder for the log; "": the proxy has none
	Patience time.Duration // how long anything may take; 0: 2 min
	// Lenient is for proxies that write messages anew: bytes of the same meaning
	// will do, and how a request is refused is the proxy's affair (any error
	// status, or a closed connection).
	Lenient bool
}

// LogPath is where a case run with these Options has its log.
func (o Options) LogPath() string { return filepath.Join(o.Dir, "network.jsonl") }

// Run holds the conversation through p on one leg. Its error is the first thing
// that was not as it has to be; same says whether all bytes were, or only (with
// Lenient) what they mean.
func (c Case) Run(p Proxy, leg Leg, o Options) (same bool, err error) {
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	a := sharedAuthority()
	n, err := newNetwork(a, o.Patience, leg)
	if err != nil {
		return false, err
	}
	defer n.close()
	s := Setup{CA: a.ca, Leaf: a.leaf, Roots: a.pool, Dial: n.dial, Tunnel: c.Tunnel, Limits: c.Limits}
	if c.System {
		s.Dial = nil
	}
	if o.Dir != "" {
		s.LogPath = o.LogPath()
	}
	running, err := p.Start(s)
	if err != nil {
		return false, fmt.Errorf("starting %s: %w", p.Name(), err)
	}
	t := &talk{c: c, leg: leg, network: n, authority: a, proxy: running.Addr(), o: o}
	c.talk(t)
	t.settle()
	if t.err == nil && o.Dir != "" {
		t.err = awaitEnds(o.LogPath(), len(c.log), o.Patience)
	}
	stopped := running.Stop()
	t.leftOvers()
	t.close()
	if t.err != nil || o.Dir == "" {
		return !t.altered, errors.Join(t.err, stopped)
	}
	if stopped != nil {
		return false, stopped
	}
	return !t.altered, compare(o.LogPath(), t.expand, leg, c.log)
}

// awaitEnds waits until the log has n end lines.
func awaitEnds(path string, n int, patience time.Duration) error {
	return poll(patience, fmt.Sprintf("%d end lines in the log", n), func() bool { return countEnds(path) >= n })
}

// poll waits until ok says so.
func poll(patience time.Duration, what string, ok func() bool) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			return errors.New("never came: " + what)
		}
	}
	return nil
}

// Dump is the log of a case that was run with these Options, for people.
func (o Options) Dump() string {
	b, err := os.ReadFile(o.LogPath())
	if err != nil {
		return err.Error()
	}
	return string(b)
}
