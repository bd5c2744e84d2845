package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/agentenv/netlog/ca"
)

// A demoServer is the site on a port of this machine.
type demoServer struct {
	server *http.Server
	shop   string // where it listens
	served chan error
}

func startDemoSite(a *ca.Authority) (*demoServer, error) {
	leaves, err := ca.NewLeaves(a)
	if err != nil {
		return nil, err
	}
	l, err := listenLoopback()
	if err != nil {
		return nil, err
	}
	d := &demoServer{
		server: &http.Server{Handler: demoSite(), ReadHeaderTimeout: time.Minute},
		shop:   l.Addr().String(),
		served: make(chan error, 1),
	}
	secure := tls.NewListener(l, &tls.Config{
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return leaves.Leaf(h.ServerName) },
	})
	go func() { d.served <- d.server.Serve(secure) }()
	return d, nil
}

// dial stands in for the network: it knows the demo's hosts. A port that is free
// now would not do for the one where nobody listens: others may take it.
func (d *demoServer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if strings.HasPrefix(address, strings.TrimPrefix(demoGone, "https://")+":") {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return new(net.Dialer).DialContext(ctx, network, d.shop)
}

func (d *demoServer) close() {
	d.server.Close()
	<-d.served
}
