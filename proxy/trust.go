package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"sync"

	"github.com/agentenv/netlog/proxy/h2"
)

// A Trust is what is asked of a server in the TLS handshake, and what it is
// shown. The zero value asks for a certificate that Config.UpstreamRoots verify
// for the server's name, and shows none.
type Trust struct {
	// Any takes whatever certificate there is. Whether it could be verified, and
	// why not, is in the log.
	Any bool
	// Certificate is shown to a server that asks for one of an authority that
	// signed it (mutual TLS); nil: none is. A few at most: sessions are kept for
	// each.
	Certificate *tls.Certificate
}

// trusts are the TLS configurations of connections to servers, but for the name
// and the protocols: one for each Trust, as a session that was made under one must
// not be resumed under another.
type trusts struct {
	roots *x509.CertPool
	keys  io.Writer

	mu      sync.Mutex
	configs map[Trust]*tls.Config
}

func (t *trusts) config(trust Trust) *tls.Config {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.configs[trust]
	if c == nil {
		c = &tls.Config{
			RootCAs:            t.roots,
			InsecureSkipVerify: trust.Any,
			KeyLogWriter:       t.keys,
			ClientSessionCache: tls.NewLRUClientSessionCache(256),
		}
		if trust.Certificate != nil {
			c.Certificates = []tls.Certificate{*trust.Certificate}
		}
		if t.configs == nil {
			t.configs = map[Trust]*tls.Config{}
		}
		t.configs[trust] = c
	}
	return c.Clone()
}

// speakTLS does the TLS handshake with server, whose Host is the name to verify,
// over conn, and offers alpn. unverified is why its certificate would not do,
// where any does.
func (p *Proxy) speakTLS(ctx context.Context, conn net.Conn, server Target, alpn []string) (session *tls.Conn, unverified error, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeouts.TLS)
	defer cancel()
	var trust Trust
	if p.Trust != nil {
		trust = p.Trust(server)
	}
	config := p.trusts.config(trust)
	config.ServerName = server.Host
	config.NextProtos = alpn
	session = tls.Client(h2.Gather(conn, &p.buffers), config)
	if err := session.HandshakeContext(ctx); err != nil {
		return nil, nil, err
	}
	if trust.Any {
		unverified = verify(session.ConnectionState().PeerCertificates, server.Host, p.UpstreamRoots)
	}
	return session, unverified, nil
}

// verify does for a chain of certificates, the server's first, what crypto/tls
// does.
func verify(chain []*x509.Certificate, name string, roots *x509.CertPool) error {
	o := x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(o)
	return err
}
