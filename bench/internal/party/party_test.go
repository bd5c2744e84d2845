package party

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestALeafIsVerifiedByItsAuthority(t *testing.T) {
	authority, pem, err := SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := Leaf(authority)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("the authority's PEM holds no certificate")
	}
	for _, c := range []tls.Certificate{authority, leaf} {
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: Host, Roots: roots}); err != nil {
			t.Error(err)
		}
	}
}

func TestAcceptWaitsForItsConnectionsAndDialGoesToLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var handled atomic.Int64
	done := make(chan error, 1)
	go func() {
		done <- Accept(l, func(c net.Conn) {
			io.WriteString(c, "hello")
			handled.Add(1)
		})
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for range 3 {
		c, err := Dial(context.Background(), "tcp", "origin.invalid:"+port)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); err != nil || string(b) != "hello" {
			t.Errorf("read %q, %v", b, err)
		}
		c.Close()
	}
	l.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := handled.Load(); n != 3 {
		t.Errorf("%d connections were handled, not 3", n)
	}
}
