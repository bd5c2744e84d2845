// Package load sends requests through a proxy as browsers do, over bare sockets
// and with as little work of its own as can be, and says how long they took.
//
//	g, err := load.Dial(ctx, load.Config{Proxy: address, …})
//	defer g.Close()
//	g.Run(ctx, warmUp)
//	result, err := g.Run(ctx, measured)
//
// It is a closed loop: each connection sends its next request, or message, when it
// has the last one's answer, and with a Rate not before its time. It does no
// retries; the first thing that goes wrong ends a Run with an error.
package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Config says what is asked for and how.
type Config struct {
	Proxy       string      // host:port of the proxy
	Authority   string      // host:port of the origin, as requests name it
	Target      string      // path of the request
	Upload      int64       // bytes of its body; 0: a GET
	Tunnel      bool        // through a CONNECT, else with the absolute URL
	TLS         *tls.Config // inside the CONNECT; nil: in the clear
	Direct      bool        // the proxy takes the place of the origin: no CONNECT is sent
	Connections int         // at a time
	Fresh       bool        // a connection of its own for each request
	Message     int         // bytes, up to 125, of the messages that a WebSocket at Target echoes; 0: no WebSocket
	Rate        float64     // requests or messages a second on all connections; 0: as many as go
	Streams     int         // requests at a time on each connection, by HTTP/2, of which TLS knows; 0: HTTP/1
}

// A Result is what a Run came to.
type Result struct {
	Requests int64
	Bytes    int64 // of bodies, both ways
	Took     time.Duration
	P50, P99 time.Duration // from sending, from dialling if Fresh, or from when it was due with a Rate, to the answer's last byte
}

// A Generator holds its connections open between Runs.
type Generator struct {
	c       Config
	request []byte
	conns   []*conn        // nil entries when Fresh
	streams []*multiplexed // on conns, of HTTP/2
}

// dialAtOnce bounds the handshakes that Dial has going on.
const dialAtOnce = 32

// Dial makes the connections, unless each request has its own.
func Dial(ctx context.Context, c Config) (*Generator, error) {
	g := &Generator{c: c, request: request(c), conns: make([]*conn, c.Connections)}
	connect := dial
	if c.Message > 0 {
		g.request, connect = message(c.Message), dialSocket
	}
	if c.Fresh {
		return g, nil
	}
	var mu sync.Mutex
	var errs []error
	var running sync.WaitGroup
	slots := make(chan struct{}, dialAtOnce)
	for i := range g.conns {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			conn, err := connect(ctx, &g.c)
			mu.Lock()
			defer mu.Unlock()
			g.conns[i] = conn
			if err != nil {
				errs = append(errs, err)
			}
		})
	}
	running.Wait()
	if len(errs) > 0 {
		g.Close()
		return nil, fmt.Errorf("%d of %d connections: %w", len(errs), c.Connections, errs[0])
	}
	for i := 0; c.Streams > 0 && i < len(g.conns); i++ {
		m, err := multiplex(g.conns[i], &g.c)
		if err != nil {
			g.Close()
			return nil, err
		}
		g.streams = append(g.streams, m)
	}
	return g, nil
}

// Close closes the connections.
func (g *Generator) Close() {
	for i, c := range g.conns {
		if c != nil {
			c.Close()
			g.conns[i] = nil
		}
	}
}

// Run sends requests on every connection for d, and one on each at least, and
// waits for the last answers.
func (g *Generator) Run(ctx context.Context, d time.Duration) (Result, error) {
	began := time.Now()
	until := began.Add(d)
	took := make([][]time.Duration, len(g.conns))
	errs := make([]error, len(g.conns))
	var bytes int64
	var mu sync.Mutex
	var running sync.WaitGroup
	for i := range g.conns {
		running.Go(func() {
			var sum int64
			sum, errs[i] = g.drive(ctx, i, began, until, func(d time.Duration) { took[i] = append(took[i], d) })
			mu.Lock()
			bytes += sum
			mu.Unlock()
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return Result{}, errors.New(first)
	}
	r := Result{Bytes: bytes, Took: time.Since(began)}
	all := slices.Concat(took...)
	slices.Sort(all)
	r.Requests = int64(len(all))
	r.P50, r.P99 = percentile(all, 0.50), percentile(all, 0.99)
	return r, nil
}

// drive sends requests on connection i from one time until another. It calls
// answered for each with how long it took.
func (g *Generator) drive(ctx context.Context, i int, from, until time.Time, answered func(time.Duration)) (bytes int64, err error) {
	if g.streams != nil {
		return g.streams[i].run(g.c.Streams, until, answered)
	}
	var apart time.Duration
	due := time.Now()
	if g.c.Rate > 0 {
		apart = time.Duration(float64(len(g.conns)) / g.c.Rate * float64(time.Second))
		due = from.Add(apart * time.Duration(i) / time.Duration(len(g.conns)))
	}
	for {
		time.Sleep(time.Until(due))
		n, err := g.once(ctx, i)
		if err != nil {
			return bytes, err
		}
		now := time.Now()
		answered(now.Sub(due))
		bytes += n
		if due = due.Add(apart); apart == 0 {
			due = now
		}
		if !due.Before(until) {
			return bytes, nil
		}
	}
}

// once does one exchange on connection i, or on one of its own.
func (g *Generator) once(ctx context.Context, i int) (int64, error) {
	c := g.conns[i]
	if g.c.Fresh {
		var err error
		if c, err = dial(ctx, &g.c); err != nil {
			return 0, err
		}
		defer c.Close()
	}
	if g.c.Message > 0 {
		return c.echo(g.request)
	}
	return c.exchange(g.request, g.c.Upload)
}

// percentile is the least of the sorted durations that a share p of them does
// not exceed; 0 of none.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(p*float64(len(sorted))))-1, 0)]
}
