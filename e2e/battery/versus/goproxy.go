package main

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/elazarl/goproxy"

	"github.com/agentenv/netlog/e2e/battery"
)

// goproxies are github.com/elazarl/goproxy without handlers but the one that has
// it intercept.
type goproxies struct{}

func (goproxies) Name() string { return "goproxy" }

func (goproxies) Start(s battery.Setup) (battery.Instance, error) {
	p := goproxy.NewProxyHttpServer()
	p.Logger = log.New(io.Discard, "", 0)
	p.Tr = transport(s)
	p.ConnectDial = func(network, address string) (net.Conn, error) {
		return s.Dial(context.Background(), network, address)
	}
	p.CertStore = &leaves{made: map[string]*tls.Certificate{}}
	secure := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: goproxy.TLSConfigFromCA(&s.CA)}
	plain := &goproxy.ConnectAction{Action: goproxy.ConnectHTTPMitm}
	p.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		switch {
		case s.Tunnel:
			return goproxy.OkConnect, host
		case strings.HasSuffix(host, ":443"), strings.HasSuffix(host, ":8443"):
			return secure, host
		}
		return plain, host // it can't tell by what comes
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: p, ErrorLog: p.Logger.(*log.Logger)}
	go server.Serve(l)
	return &peer{l.Addr().String(), func() { server.Close(); p.Tr.CloseIdleConnections() }}, nil
}

// transport is how both peers reach the servers.
func transport(s battery.Setup) *http.Transport {
	return &http.Transport{
		DialContext:        s.Dial,
		TLSClientConfig:    &tls.Config{RootCAs: s.Roots},
		DisableCompression: true,
	}
}

// A peer is a proxy of somebody else's that runs.
type peer struct {
	addr string
	stop func()
}

func (p *peer) Addr() string { return p.addr }

func (p *peer) Stop() error {
	p.stop()
	return nil
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
