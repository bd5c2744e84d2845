// Package load sends requests through a proxy as browsers do, over bare sockets
// and with as little work of its own as can be, and says how long they took.
//
//	g, err := load.Dial(ctx, load.Config{Proxy: address, …})
//	defer g.Close()
//	g.Run(ctx, warmUp)
//	result, err := g.Run(ctx, measured)
//
// It is a closed loop: each connection sends its next request when it has the
// last one's answer. It does no retries; the first thing that goes wrong ends a
// Run with an error.
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
	Connections int         // at a time
	Fresh       bool        // a connection of its own for each request
	Streams     int         // requests at a time on each connection, by HTTP/2, of which TLS knows; 0: HTTP/1
}

// A Result is what a Run came to.
type Result struct {
	Requests int64
	Bytes    int64 // of bodies, both ways
	Took     time.Duration
	P50, P99 time.Duration // from sending, or from dialling if Fresh, to the answer's last byte
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
			conn, err := dial(ctx, &g.c)
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
			if g.streams != nil {
				sum, errs[i] = g.streams[i].run(g.c.Streams, until, func(d time.Duration) { took[i] = append(took[i], d) })
			}
			for g.streams == nil && errs[i] == nil {
				began := time.Now()
				n, err := g.once(ctx, i)
				errs[i] = err
				now := time.Now()
				took[i] = append(took[i], now.Sub(began))
				sum += n
				if now.After(until) {
					break
				}
			}
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
