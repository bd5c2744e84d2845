package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/agentenv/netlog/ca"
)

// A demoServer is the site on a port of this machine.
type demoServer struct {
	server *http.Server
	shop   string // where it listens
	gone   string // where nobody does
	served chan error
}

func startDemoSite(a *ca.Authority) (*demoServer, error) {
	leaves, err := ca.NewLeaves(a)
	if err != nil {
		return nil, err
	}
	none, err := listenLoopback()
	if err != nil {
		return nil, err
	}
	l, err := listenLoopback()
	none.Close() // only now, so that the two ports differ
	if err != nil {
		return nil, err
	}
	d := &demoServer{
		server: &http.Server{Handler: demoSite(), ReadHeaderTimeout: time.Minute},
		shop:   l.Addr().String(),
		gone:   none.Addr().String(),
		served: make(chan error, 1),
	}
	secure := tls.NewListener(l, &tls.Config{
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return leaves.Leaf(h.ServerName) },
	})
	go func() { d.served <- d.server.Serve(secure) }()
	return d, nil
}

// dial stands in for the network: it knows the demo's hosts.
func (d *demoServer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	to := d.shop
	if strings.HasPrefix(address, strings.TrimPrefix(demoGone, "https://")+":") {
		to = d.gone
	}
	return new(net.Dialer).DialContext(ctx, network, to)
}

func (d *demoServer) close() {
	d.server.Close()
	<-d.served
}
