package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// connect asks the proxy for a tunnel to a host.
func (p *proxy) connect(host string) (net.Conn, error) {
	c, err := net.Dial("tcp", p.address)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(patience))
	if _, err = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", host); err == nil {
		// Nothing comes behind the head before the client has spoken.
		var answer *http.Response
		if answer, err = http.ReadResponse(bufio.NewReaderSize(c, 4096), &http.Request{Method: "CONNECT"}); err == nil && answer.StatusCode != 200 {
			err = fmt.Errorf("CONNECT %s: %s", host, answer.Status)
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.SetDeadline(time.Time{})
	return c, nil
}

// session is a TLS session by way of the proxy, which agrees on the first of the
// protocols.
func (p *proxy) session(host string, protocols ...string) (*tls.Conn, error) {
	pem, err := os.ReadFile(p.trust)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	name, _, _ := net.SplitHostPort(host)
	c, err := p.connect(host)
	if err != nil {
		return nil, err
	}
	session := tls.Client(c, &tls.Config{ServerName: name, RootCAs: roots, NextProtos: protocols})
	if err = session.Handshake(); err == nil && session.ConnectionState().NegotiatedProtocol != protocols[0] {
		err = fmt.Errorf("the proxy agreed on %q", session.ConnectionState().NegotiatedProtocol)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("TLS with %s: %w", host, err)
	}
	return session, nil
}

// newWorldBehindDoor is a world for programs that can't be told of a proxy: where
// they look for the origin they find a door, which leads there through the proxy.
func newWorldBehindDoor(t *testing.T, h http.Handler) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.ca = newAuthority(t, w.dir)
	w.origin = startOriginAt(t, w.ca, h, "127.0.0.2")
	return w
}

// door opens one: the origin's name and port, but at 127.0.0.1.
func (p *proxy) door(host string) {
	p.t.Helper()
	_, port, _ := net.SplitHostPort(host)
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, shut := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.pass(ctx, c, host) })
		}
	})
	p.t.Cleanup(func() {
		l.Close()
		shut()
		running.Wait()
	})
}

// pass has a program's connection go through the proxy.
func (p *proxy) pass(ctx context.Context, c net.Conn, host string) {
	defer c.Close()
	there, err := p.connect(host)
	if err != nil {
		return // the program has it as a closed connection
	}
	defer there.Close()
	defer context.AfterFunc(ctx, func() { // of a program that does not close it
		c.Close()
		there.Close()
	})()
	up := make(chan struct{})
	go func() {
		defer close(up)
		io.Copy(there, c)
		there.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, there)
	c.(*net.TCPConn).CloseWrite()
	<-up
}

// multiplexing is client with HTTP/2 where the server has it, and whoever it asks
// is checked to have.
func (p *proxy) multiplexing() *http.Client {
	p.t.Helper()
	c := p.client()
	c.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	return c
}

// spoke checks the versions of both legs of exchanges.
func spoke(t *testing.T, all []entry, version string) {
	t.Helper()
	for _, e := range all {
		answered := version
		if e.end.Response != nil {
			answered = e.end.Response.Version
		}
		if e.open.Request.Version != version || answered != version {
			t.Errorf("%s %s: %s, answered by %s; want %s", e.open.Request.Method, e.open.Request.URL, e.open.Request.Version, answered, version)
		}
		checkPseudo(t, e, version)
	}
}

// checkPseudo checks that what HTTP/2 has in place of a request line and of a status
// line is all there, and among nothing else.
func checkPseudo(t *testing.T, e entry, version string) {
	t.Helper()
	names := func(m *message) (list []string) {
		for _, f := range m.Pseudo {
			list = append(list, f[0]+"="+f[1])
		}
		return list
	}
	r := e.open.Request
	for _, m := range []*message{r, e.end.Response} {
		if m == nil {
			continue
		}
		for _, f := range m.Headers {
			if strings.HasPrefix(f[0], ":") || version == "HTTP/2" && f[0] != strings.ToLower(f[0]) {
				t.Errorf("%s: the field %q", r.URL, f)
			}
		}
		if version != "HTTP/2" && m.Pseudo != nil {
			t.Errorf("%s: the pseudo-header fields %q in %s", r.URL, m.Pseudo, version)
		}
	}
	if version != "HTTP/2" {
		return
	}
	scheme, rest, _ := strings.Cut(r.URL, "://")
	authority, path, _ := strings.Cut(rest, "/")
	for _, want := range []string{":method=" + r.Method, ":scheme=" + scheme, ":authority=" + authority, ":path=/" + path} {
		n := 0
		for _, got := range names(r) {
			if got == want {
				n++
			}
		}
		if n != 1 && !(want == ":path=/"+path && r.Target != "") {
			t.Errorf("%s %s: the pseudo-header fields are %q", r.Method, r.URL, names(r))
		}
	}
	if a := e.end.Response; a != nil {
		if got := strings.Join(names(a), " "); got != fmt.Sprintf(":status=%d", a.Status) {
			t.Errorf("%s %s: the answer's pseudo-header fields are %q", r.Method, r.URL, got)
		}
	}
}
