// Command goproxy is github.com/elazarl/goproxy as a peer in the benchmarks:
// bare interception without a log, at its best. Its authority is ECDSA, its
// leaves are kept, and its idle connections to the origin are as many as the
// browsers'.
//
// It is for the benchmarks alone: it connects to loopback whatever is asked.
package main

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	"github.com/elazarl/goproxy"

	"github.com/agentenv/netlog/bench/internal/party"
)

func main() { party.Main(serve) }

func serve(l net.Listener, s party.Setup) error {
	p := goproxy.NewProxyHttpServer()
	p.Logger = log.New(io.Discard, "", 0)
	p.Tr = party.Transport(s.Roots)
	p.ConnectDial = nil
	p.CertStore = &leaves{made: map[string]*tls.Certificate{}}
	action := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: goproxy.TLSConfigFromCA(&s.Authority)}
	if s.Tunnel {
		action = goproxy.OkConnect
	}
	p.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		return action, host
	})
	defer p.Tr.CloseIdleConnections()
	return ended(http.Serve(l, p))
}

// ended makes the end of a closed listener no error.
func ended(err error) error {
	if op, ok := err.(*net.OpError); ok && op.Err == net.ErrClosed {
		return nil
	}
	return err
}

// leaves is a goproxy.CertStorage.
type leaves struct {
	mu   sync.Mutex
	made map[string]*tls.Certificate
}

// Fetch makes the certificate of a name once.
func (l *leaves) Fetch(host string, make func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.made[host]; c != nil {
		return c, nil
	}
	c, err := make()
	if err == nil {
		l.made[host] = c
	}
	return c, err
}
