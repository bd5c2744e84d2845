package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
	"github.com/agentenv/netlog/proxy/hello"
)

// clientKey is the context key of the client whose handshake it is.
type clientKey struct{}

// browserTLS is the configuration of every session with a browser; nil without
// leaves. The connection, not the configuration, knows the name.
func browserTLS(leaf func(string) (*tls.Certificate, error), keys io.Writer) *tls.Config {
	if leaf == nil {
		return nil
	}
	config := &tls.Config{
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return leaf(h.Context().Value(clientKey{}).(*client).origin.host)
		},
		NextProtos:                  []string{"http/1.1"},
		MinVersion:                  tls.VersionTLS12,
		KeyLogWriter:                keys,
		DynamicRecordSizingDisabled: true, // what passes is relayed in the pieces that it came in
	}
	multiplexed, silent := config.Clone(), config.Clone()
	multiplexed.NextProtos, silent.NextProtos = []string{"h2"}, nil
	multiplexed.CipherSuites = adequate
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		switch h.Context().Value(clientKey{}).(*client).alpn {
		case "h2":
			return multiplexed, nil
		case "http/1.1":
			return nil, nil
		}
		return silent, nil
	}
	return config
}

// agree settles what is spoken with the browser, by what it offers and what was
// agreed with its server: "h2", "http/1.1" or "", as with a server that knows none
// of ALPN. A site's own name is served by HTTP/2 whatever its gateway speaks. Where
// nothing could be agreed with the server, HTTP/1 does for the page that says so.
func (c *client) agree(offered []string, server string) {
	may := c.mayOfferHTTP2(offered)
	http1 := slices.Contains(offered, "http/1.1")
	switch {
	case may && (server == "h2" || c.origin.route != nil && c.forbid == nil):
		c.alpn = "h2"
	case http1:
		c.alpn = "http/1.1"
	case may && c.forbid != nil:
		c.alpn = "h2"
	}
}

// intercept decrypts what the browser sends and serves its requests, once the
// server's own handshake is over: by it goes what the browser is offered. e is
// nil where there is no server, and each request is told c.forbid.
func (c *client) intercept(target Target, d Decision, e *early, at time.Time) {
	offered, err := c.clientHello()
	pair := func(via netlog.Via) *tunnel {
		t := c.newTunnel(target, via, at)
		t.saw(offered)
		return t
	}
	if err != nil {
		e.drop()
		pair(netlog.ViaMITM).finish(c.fail(netlog.PhaseClientTLS, err))
		return
	}
	o, err := newOrigin(target, target.Host, target.Port, netlog.ViaMITM, d)
	if err == nil {
		d, err = c.nameOf(o, offered.ServerName, d)
	}
	switch {
	case err != nil:
		e.drop()
		c.tcp.Write(unrecognizedName)
		pair(netlog.ViaMITM).finish(c.fail(netlog.PhaseClientTLS, err))
		return
	case d.Action == TunnelThrough:
		t := pair(netlog.ViaTunnel)
		t.seen.Reason = d.Reason
		c.lateTunnel(t, e)
		return
	}
	if c.origin = o; e == nil { // and c.forbid says why
		c.agree(protocols(offered), "")
		c.offerAnyway()
	} else {
		c.connectUp(o, e, protocols(offered))
	}
	if err := c.handshake(); err != nil {
		f := handshakeFailure(c, err)
		c.pin(err)
		c.cancel(errClientGone)
		pair(netlog.ViaMITM).finish(f)
		return
	}
	// Some browsers say only behind the handshake that they don't trust us.
	c.refusedOurs = func(err error) {
		c.pin(err)
		pair(netlog.ViaMITM).finish(handshakeFailure(c, err))
	}
	switch {
	case !c.rest() || c.hungUp():
	case c.alpn == "h2":
		c.next = c.serveStreams
	default:
		c.next = c.serve
	}
}

// unrecognizedName is the alert for a name that the connection is not for
// (RFC 6066 §3).
var unrecognizedName = []byte{21, 3, 3, 0, 2, 2, 112}

// nameOf gives the connection its one name: the CONNECT's or, where that is an
// address, the one in the ClientHello, which the policy must allow too.
func (c *client) nameOf(o *origin, sni string, d Decision) (Decision, error) {
	if sni == "" {
		return d, nil
	}
	name, err := canonicalName(sni)
	if err != nil || name != o.host && !isAddress(o.host) {
		return d, refusalClosed(netlog.RefusedMisdirected, "the TLS handshake is for another name than the CONNECT")
	}
	if name == o.host {
		return d, nil
	}
	d = c.p.decide(Target{Host: name, Port: o.port, Scheme: o.scheme})
	if d.Action == Refuse {
		f := forbidden(d)
		return d, refusalClosed(f.refused.Code, f.Reason)
	}
	o.host, o.verify = name, name
	return d, o.decided(d)
}

// refusalClosed is a refusal that the browser sees only as a closed connection.
func refusalClosed(code netlog.RefusedCode, reason string) *failure {
	return refusal(code, 0, reason)
}

// clientHello looks at the browser's ClientHello, which stays unread.
func (c *client) clientHello() (hello.ClientHello, error) {
	c.tcp.SetReadDeadline(time.Now().Add(c.p.Timeouts.TLS))
	defer c.tcp.SetReadDeadline(time.Time{})
	for {
		h, err := hello.Client(c.tcp.ahead)
		if err == nil {
			return h, nil
		}
		if !errors.Is(err, hello.ErrShort) {
			return h, failed(netlog.PhaseClientTLS, netlog.CodeBadRequest, err.Error())
		}
		if err := c.tcp.look(); err != nil {
			if isTimeout(err) {
				return h, err
			}
			return h, failed(netlog.PhaseClientTLS, netlog.CodeClientGone, errClientGone.Error())
		}
	}
}

// connectUp makes the connection to the server ready for requests, or keeps why
// it can't be: each request is then told. By what is agreed with it goes what is
// agreed with the browser.
func (c *client) connectUp(o *origin, e *early, offered []string) {
	watch := c.watch()
	defer watch.stop()
	l, address, err := c.firstLink(o, e, c.offersTo(o, offered))
	if err != nil {
		c.forbid, c.forbidAt = c.fail(netlog.PhaseServerTLS, err), address
		c.agree(offered, "")
		c.offerAnyway()
		return
	}
	if l.speaksHTTP2() {
		c.agree(offered, "h2")
		c.trunks.last = newTrunk(l)
		return
	}
	c.agree(offered, "")
	c.offerAnyway()
	c.keep(newUpstream(l))
}

// firstLink makes a connection for o of the one that was begun with the CONNECT.
func (c *client) firstLink(o *origin, e *early, alpn []string) (l *link, address string, err error) {
	tcp, err := e.settleFor(o)
	if err != nil {
		return nil, tcp.address, c.fail(netlog.PhaseConnect, err)
	}
	l, err = c.establish(c.ctx, o, tcp, alpn)
	return l, l.dialled.address, err
}

// offersTo are the protocols that o's server is offered: what the browser offers
// and we speak. Gateways are spoken to in HTTP/1.
func (c *client) offersTo(o *origin, offered []string) (alpn []string) {
	if o.route != nil && c.mayOfferHTTP2(offered) {
		return httpOnly
	}
	for _, protocol := range offered {
		if protocol == "http/1.1" || protocol == "h2" && c.mayOfferHTTP2(offered) {
			alpn = append(alpn, protocol)
		}
	}
	return alpn
}

// handshake makes the session with the browser.
func (c *client) handshake() error {
	ctx, cancel := context.WithTimeout(context.WithValue(c.ctx, clientKey{}, c), c.p.Timeouts.TLS)
	defer cancel()
	ear := &ear{peeked: c.tcp}
	session := tls.Server(h2.Gather(ear, &c.p.buffers), c.p.clientTLS)
	if err := session.HandshakeContext(ctx); err != nil {
		if ear.heard != 0 {
			return ear.heard
		}
		return err
	}
	ear.deaf = true
	c.tls = browserLeg(session.ConnectionState())
	c.served = false
	c.use(session)
	return nil
}

// handshakeFailure is why the browser's handshake came to nothing.
func handshakeFailure(c *client, err error) *failure {
	switch {
	case c.p.killed.Load():
		return failed(netlog.PhaseClientTLS, netlog.CodeStopped, errStopped.Error())
	case refusedCertificate(err):
		return failed(netlog.PhaseClientTLS, netlog.CodeClientRefused, "the browser does not trust the certificate: "+err.Error())
	case errors.Is(err, context.Canceled): // before the handshake began
		return c.fail(netlog.PhaseClientTLS, err)
	case isTimeout(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return failed(netlog.PhaseClientTLS, netlog.CodeTimeout, timeoutReason(netlog.PhaseClientTLS))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), isReset(err):
		return failed(netlog.PhaseClientTLS, netlog.CodeClientGone, errClientGone.Error())
	}
	return failed(netlog.PhaseClientTLS, netlog.CodeBadRequest, err.Error())
}
