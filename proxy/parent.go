package proxy

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// parentHead bounds the head of a parent's answer to a CONNECT.
const parentHead = 64 << 10

// A Parent is another proxy, through which servers are reached. One of HTTP is
// asked for a tunnel (CONNECT) to each server, so that what is relayed is the same
// as without it, but for http:// requests: those it is asked for by their URLs, as
// by browsers, since many refuse a CONNECT to a port other than 443 (squid as it is
// installed). One of SOCKS 5 (RFC 1928) connects to all.
type Parent struct {
	scheme   string // http, https, socks5 or socks5h
	host     string
	port     uint16
	user     string // "": it is told none
	password string
}

// ParseParent reads a parent's URL: http://, https:// (HTTP over TLS, verified
// like a server), socks5:// or socks5h://, then [USER:PASSWORD@]HOST[:PORT]. The
// port is 80, 443 or 1080 where there is none, the scheme http. Names are resolved
// by the parent, but for socks5://. The error does not quote s, which may hold a
// password.
func ParseParent(s string) (*Parent, error) {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("it is no URL")
	}
	p := &Parent{scheme: u.Scheme}
	switch u.Scheme {
	case "http":
		p.port = 80
	case "https":
		p.port = 443
	case "socks5", "socks5h":
		p.port = 1080
	default:
		return nil, fmt.Errorf("%q is none of http, https, socks5, socks5h", u.Scheme)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("there is more behind the host")
	}
	if p.host, p.port, err = wire.SplitHostPort(u.Host, p.port); err == nil {
		p.host, err = canonical(p.host)
	}
	if err != nil {
		return nil, fmt.Errorf("its host: %w", err)
	}
	return p, p.setUser(u.User)
}

// setUser takes the credentials, which each protocol has its limits for
// (RFC 7617 §2, RFC 1929 §2).
func (p *Parent) setUser(u *url.Userinfo) error {
	p.user = u.Username()
	p.password, _ = u.Password()
	switch {
	case p.isHTTP() && strings.Contains(p.user, ":"):
		return errors.New("its user name has a colon")
	case !p.isHTTP() && (len(p.user) > 255 || len(p.password) > 255):
		return errors.New("its user name or password is longer than 255 bytes")
	case p.user == "" && p.password != "":
		return errors.New("it has a password without a user name")
	}
	return nil
}

// String is the parent's URL without its credentials.
func (p *Parent) String() string { return p.scheme + "://" + p.address() }

func (p *Parent) address() string { return hostPort(p.host, p.port) }

func (p *Parent) isHTTP() bool { return p.scheme == "http" || p.scheme == "https" }

// LeadsTo tells whether the parent is what listens on addr: a proxy must not be
// its own parent. A name that does not resolve leads nowhere.
func (p *Parent) LeadsTo(ctx context.Context, addr net.Addr) bool {
	listening, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return false
	}
	ips := known(p.host)
	if ips == nil {
		ips, _ = lookup(ctx, p.host)
	}
	for _, ip := range ips {
		if listensAt(listening, netip.AddrPortFrom(ip, p.port)) {
			return true
		}
	}
	return false
}

// A parentError is an error on the way to a parent, or behind it.
type parentError struct {
	parent *Parent
	error
}

func (e *parentError) Unwrap() error { return e.error }

// declined is how a parent's refusal to connect is told.
func (p *Parent) declined(code netlog.Code, how string) *failure {
	return failed(netlog.PhaseConnect, code, "the upstream proxy "+p.String()+" "+how)
}

// declinedWith tells an answer of an HTTP parent's own.
func (p *Parent) declinedWith(a *wire.Answer) *failure {
	return p.declined(netlog.CodeRefused, fmt.Sprintf("answered %d %.80q", a.Status, a.Reason))
}

// through connects to a target through the parent. behind is what came behind
// the parent's answer: a server may speak first.
func (p *Proxy) through(ctx context.Context, d *dialled, parent *Parent, to hop) (conn net.Conn, behind []byte, err error) {
	if parent.scheme == "socks5" {
		conn, err = p.throughResolved(ctx, d, parent, to)
		return conn, nil, err
	}
	if conn, err = p.toParent(ctx, d, parent); err != nil {
		return nil, nil, err
	}
	if parent.isHTTP() {
		behind, err = parent.connect(ctx, conn, hostPort(to.Host, to.Port), to.trail)
	} else {
		err = parent.socks(ctx, conn, hostPort(to.Host, to.Port))
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, behind, nil
}

// toParent connects to the parent itself.
func (p *Proxy) toParent(ctx context.Context, d *dialled, parent *Parent) (net.Conn, error) {
	conn, err := p.connectTo(ctx, d, hop{Target: Target{Host: parent.host, Port: parent.port, Scheme: parent.scheme}, routed: true})
	if err != nil {
		return nil, &parentError{parent, err}
	}
	if parent.scheme != "https" {
		return conn, nil
	}
	session, _, err := p.speakTLS(ctx, conn, Target{Host: parent.host, Port: parent.port, Scheme: "https"}, httpOnly)
	if err != nil {
		conn.Close()
		return nil, &parentError{parent, err}
	}
	return session, nil
}

// connect asks an HTTP parent on conn for a tunnel (RFC 9110 §9.3.6).
func (p *Parent) connect(ctx context.Context, conn net.Conn, target string, t trail) (behind []byte, err error) {
	br := bufio.NewReader(conn)
	var a wire.Answer
	err = within(ctx, conn, func() error {
		if _, err := io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n"+t.via+t.connection()+p.authorization()+"\r\n"); err != nil {
			return err
		}
		for range maxInformational {
			if err := wire.ReadAnswer(br, &a, parentHead); err != nil || a.Status >= 200 {
				return err
			}
		}
		return nil
	})
	switch {
	case errors.As(err, new(*wire.Unreadable)):
		return nil, p.declined(netlog.CodeBadAnswer, "answers no HTTP: "+err.Error())
	case err != nil:
		return nil, &parentError{p, err}
	case a.Status/100 != 2:
		return nil, p.declinedWith(&a)
	}
	return br.Peek(br.Buffered())
}

// authorization is the field with the parent's credentials; "" for none.
func (p *Parent) authorization() string {
	if p.user == "" {
		return ""
	}
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password)) + "\r\n"
}

// askedFor is the parent that gets o's requests; nil when they go to a server, be
// it through a parent.
func (p *Proxy) askedFor(o *origin) *Parent {
	if p.Parent == nil || o.route != nil {
		return nil
	}
	if parent := p.Parent(o.hop().Target); parent != nil && parent.isHTTP() {
		return parent
	}
	return nil
}

// absolute is a request-target by which a parent is asked (RFC 9112 §3.2.2). The
// host is as we have read it, lest the parent read another.
func (o *origin) absolute(path []byte) []byte {
	if string(path) == "*" {
		path = nil // RFC 9112 §3.2.4
	}
	return append([]byte("http://"+o.authority()), path...)
}

// within runs work on conn, which ends with ctx.
func within(ctx context.Context, conn net.Conn, work func() error) error {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(past) })
	err := work()
	if !stop() {
		return ctx.Err()
	}
	return err
}
