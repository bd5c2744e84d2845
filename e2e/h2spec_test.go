package e2e

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	forclients "github.com/summerwind/h2spec/client"
	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// h2spec's cases, those of what SHOULD be too, against what browsers see of the
// proxy.
func TestH2specAsABrowser(t *testing.T) {
	w := newWorldBehindDoor(t, site())
	p := w.proxy("--resolve", w.origin.host+":127.0.0.2")
	p.door(w.origin.host)
	c := conform(t, w.origin.host)
	t.Run("case", func(t *testing.T) {
		for _, root := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
			eachCase(root, func(name string, tc *spec.TestCase) {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					conn, err := spec.Dial(&c)
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
					conforms(t, tc.Desc, tc.Requirement, tc.Run(&c, conn))
				})
			})
		}
	})
	p.stop()
	readLog(t, p.log)
}

// conform is h2spec's configuration for a host.
func conform(t *testing.T, host string) config.Config {
	t.Helper()
	name, port, _ := net.SplitHostPort(host)
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return config.Config{Host: name, Port: number, Path: "/large?size=100", Timeout: 10 * time.Second, MaxHeaderLen: 4000, Strict: true, TLS: true, Insecure: true}
}

// eachCase goes through a group's cases, by h2spec's own names.
func eachCase(group *spec.TestGroup, do func(name string, tc *spec.TestCase)) {
	for i, tc := range append(group.Tests, group.StrictTests...) {
		do(fmt.Sprintf("%s/%d", group.ID(), i+1), tc)
	}
	for _, g := range group.Groups {
		eachCase(g, do)
	}
}

func conforms(t *testing.T, desc, requirement string, err error) {
	t.Helper()
	var unlike *spec.TestError
	switch {
	case errors.Is(err, spec.ErrSkipped):
		t.Error("h2spec skips it for want of something")
	case errors.As(err, &unlike):
		t.Errorf("%s: %s\nexpected: %s\nactual: %s", desc, requirement, strings.Join(unlike.Expected, ", or "), unlike.Actual)
	case err != nil:
		t.Errorf("%s: %s\n%v", desc, requirement, err)
	}
}

// tolerated are the cases in which the proxy bears with a server: RFC 7540, which
// h2spec goes by, made a connection error of what RFC 9113 §5.1 says MAY be one.
var tolerated = map[string]string{
	"client/5.1/6": "HEADERS of a stream that the server has reset are ignored",
	"client/5.1/8": "DATA of a stream that has ended is an error of the stream",
	"client/5.1/9": "HEADERS of a stream that has ended are ignored",
}

// h2spec's cases for what a server sees of the proxy: it asks, and the answer's
// frames are not what they have to be.
func TestH2specAsAServer(t *testing.T) {
	w := newWorld(t)
	p := w.proxy()
	t.Run("case", func(t *testing.T) {
		eachClientCase(forclients.Spec(), func(name string, tc *spec.ClientTestCase) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				err := askedBy(t, w, p, name, tc)
				if reason := tolerated[name]; reason == "" {
					conforms(t, tc.Desc, tc.Requirement, err)
				} else if err == nil {
					t.Errorf("%s: no exception any more: %s", tc.Desc, reason)
				}
			})
		})
	})
	p.stop()
	readLog(t, p.log)
}

func eachClientCase(group *spec.ClientTestGroup, do func(name string, tc *spec.ClientTestCase)) {
	for i, tc := range group.Tests {
		do(fmt.Sprintf("%s/%d", group.ID(), i+1), tc)
	}
	for _, g := range group.Groups {
		eachClientCase(g, do)
	}
}

// askedBy has a browser ask the case's server through the proxy.
func askedBy(t *testing.T, w *world, p *proxy, name string, tc *spec.ClientTestCase) error {
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{w.ca.leaf.tls}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := conform(t, l.Addr().String())
	if tolerated[name] != "" { // what h2spec waits for does not come
		c.Timeout = time.Second
	}
	var browser sync.WaitGroup
	defer browser.Wait()
	asking := p.multiplexing()
	defer asking.CloseIdleConnections()
	browser.Go(func() {
		r, err := asking.Get("https://" + l.Addr().String() + "/")
		if err == nil { // to its end: a browser's reset might go before what h2spec waits for
			io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
	})
	accepted, err := l.Accept()
	if err != nil {
		return err
	}
	l.Close() // it is not to be asked again
	defer accepted.Close()
	if err := accepted.(*tls.Conn).Handshake(); err != nil {
		return err
	}
	conn, err := spec.Accept(&c, accepted)
	if err != nil {
		return err
	}
	return tc.Run(&c, conn)
}
