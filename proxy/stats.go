package proxy

import "github.com/agentenv/netlog/netlog"

// Stats are a Proxy's live figures.
type Stats struct {
	Connections int64 // of browsers, open
	Exchanges   int64 // that have begun and not ended
	Tunnels     int64 // likewise
}

// Stats returns the proxy's figures of the moment.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Connections: int64(len(p.live)),
		Exchanges:   p.exchanges.Load(),
		Tunnels:     p.tunnels.Load(),
	}
}

// count adds n to the open entries of a kind.
func (p *Proxy) count(kind netlog.Kind, n int64) {
	if kind == netlog.KindTunnel {
		p.tunnels.Add(n)
	} else {
		p.exchanges.Add(n)
	}
}
