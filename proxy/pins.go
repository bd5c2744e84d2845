package proxy

import "sync"

// maxPins bounds the hosts that are remembered: a browser can make up any number.
const maxPins = 10_000

// pins are the hosts whose certificate of ours a browser has refused. The zero
// value has none.
type pins struct {
	mu    sync.Mutex
	hosts map[string]struct{}
}

func (p *pins) has(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.hosts[host]
	return ok
}

// add remembers a host; false when it was, or when there are too many.
func (p *pins) add(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.hosts[host]; ok || len(p.hosts) >= maxPins {
		return false
	}
	if p.hosts == nil {
		p.hosts = map[string]struct{}{}
	}
	p.hosts[host] = struct{}{}
	return true
}

// pin has the connection's host tunnelled from now on, if the browser ended the
// handshake with err because it would not have our certificate.
func (c *client) pin(err error) {
	if c.p.TunnelOnPin && isPin(err) && c.p.pins.add(c.origin.host) {
		c.p.Logger.Warn("a browser refused the certificate: the host is tunnelled from now on, and what it sends is not recorded", "host", c.origin.host)
	}
}

// isPin tells the alerts by which a browser says that a certificate is not the one
// that it wants (RFC 8446 §6.2): bad_certificate, certificate_unknown, unknown_ca.
func isPin(err error) bool { return received(err, 42, 46, 48) }
