package main

import (
	"context"
	"net"

	"github.com/google/martian/v3"
	"github.com/google/martian/v3/log"
	"github.com/google/martian/v3/mitm"

	"github.com/agentenv/netlog/e2e/battery"
)

// martians are github.com/google/martian/v3 without modifiers.
type martians struct{}

func (martians) Name() string { return "martian" }

func (martians) Start(s battery.Setup) (battery.Instance, error) {
	log.SetLevel(log.Silent)
	p := martian.NewProxy()
	t := transport(s)
	p.SetRoundTripper(t)
	p.SetDial(func(network, address string) (net.Conn, error) {
		return s.Dial(context.Background(), network, address)
	})
	if !s.Tunnel {
		config, err := mitm.NewConfig(s.CA.Leaf, s.CA.PrivateKey)
		if err != nil {
			return nil, err
		}
		p.SetMITM(config)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go p.Serve(l)
	return &peer{l.Addr().String(), func() { l.Close(); t.CloseIdleConnections() }}, nil
}
