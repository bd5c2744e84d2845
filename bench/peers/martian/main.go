// Command martian is github.com/google/martian/v3 as a peer in the benchmarks:
// interception with its own HAR log, which it holds in memory.
//
// It is for the benchmarks alone: it connects to loopback whatever is asked.
package main

import (
	"context"
	"net"

	"github.com/google/martian/v3"
	"github.com/google/martian/v3/har"
	"github.com/google/martian/v3/mitm"

	"github.com/agentenv/netlog/bench/internal/party"
)

func main() { party.Main(serve) }

func serve(l net.Listener, s party.Setup) error {
	p := martian.NewProxy()
	defer p.Close()
	transport := party.Transport(s.Roots)
	defer transport.CloseIdleConnections()
	p.SetDial(func(network, address string) (net.Conn, error) {
		return party.Dial(context.Background(), network, address)
	})
	p.SetRoundTripper(transport)
	if !s.Tunnel {
		config, err := mitm.NewConfig(s.Authority.Leaf, s.Authority.PrivateKey)
		if err != nil {
			return err
		}
		p.SetMITM(config)
	}
	log := har.NewLogger()
	p.SetRequestModifier(log)
	p.SetResponseModifier(log)
	p.Serve(l) // until l is closed, which it reports as an error of its own
	return nil
}
