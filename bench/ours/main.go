// Command ours is the proxy as `agentenv-netlog proxy` runs it, in a program
// that can write profiles of itself (-profile). Figures are measured with the
// real one.
package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"time"

	"github.com/agentenv/netlog/bench/internal/party"
	"github.com/agentenv/netlog/ca"
	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

func main() { party.Main(serve) }

func serve(l net.Listener, s party.Setup) error {
	config := proxy.Config{Keep: proxy.DefaultKeep(), UpstreamRoots: s.Roots, NoHash: s.NoHash}
	if s.Tunnel {
		config.Policy = func(proxy.Target) proxy.Decision { return proxy.Decision{Action: proxy.TunnelThrough} }
	}
	authority, err := ca.Load(s.AuthorityDir)
	if err != nil {
		return err
	}
	leaves, err := ca.NewLeaves(authority)
	if err != nil {
		return err
	}
	config.Leaf = leaves.Leaf
	config.Log, err = netlog.OpenWriter(netlog.WriterConfig{
		Path: filepath.Join(s.Dir, "network.jsonl"), Program: "bench", Mode: "proxy", Limits: config.Keep,
	})
	if err != nil {
		return err
	}
	p, err := proxy.New(config)
	if err != nil {
		return errors.Join(err, config.Log.Close())
	}
	broken := serveUntilClosed(p, l)
	now, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	p.Shutdown(now) // what it has to stop is the load's
	return errors.Join(broken, config.Log.Close())
}

func serveUntilClosed(p *proxy.Proxy, l net.Listener) error {
	if err := p.Serve(l); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
