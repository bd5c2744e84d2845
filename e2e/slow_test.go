package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// 1,000 clients send a byte now and then and never finish a request's head,
// while others are served: those get all they ask for, the slow ones end when a
// head's time is up, and nothing is left of them.
func TestSlowClientsHoldNobodyUp(t *testing.T) {
	heavy(t)
	const slow, atATime, requests = 1000, 16, 1000
	m := newMixed(t, "--client-head-timeout", "8s")
	before := m.p.vitals()
	m.measure(atATime, requests/4) // the first ones are slower
	without := m.measure(atATime, requests)

	conns := make([]net.Conn, slow)
	ended := make([]atomic.Bool, slow)
	var running sync.WaitGroup
	for i := range slow {
		running.Go(func() {
			c, entry, err := m.dawdle(i)
			if err != nil {
				m.failed(err)
				return
			}
			conns[i] = c
			m.did(entry, "refused timeout")
		})
	}
	running.Wait()
	if t.Failed() {
		return
	}
	for i, c := range conns {
		running.Go(func() {
			defer c.Close()
			io.Copy(io.Discard, c) // until the proxy has had enough
			ended[i].Store(true)
		})
	}
	left := func() int {
		n := 0
		for i := range ended {
			if !ended[i].Load() {
				n++
			}
		}
		return n
	}
	running.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for left() > 0 {
			for _, c := range conns {
				c.Write([]byte("x")) // to one that has ended too, as they do
			}
			<-tick.C
		}
	})
	with := m.measure(atATime, requests)
	still := left()
	running.Wait()
	t.Logf("p99 of %d requests, %d at a time: %v, and %v beside %d slow clients, of which %d were there to the end",
		requests, atATime, without, with, slow, still)
	m.p.recovers(before)
	m.agree()
}

// dawdle begins a request's head: of an http:// one, of a CONNECT or, every
// third time, of one inside TLS. It returns the name of its entry in the log.
func (m *mixed) dawdle(i int) (c net.Conn, entry string, err error) {
	if c, err = net.Dial("tcp", m.p.address); err != nil {
		return nil, "", err
	}
	host, path := m.w.origin.host, fmt.Sprintf("/slow?i=%d", i)
	switch i % 3 {
	case 0:
		entry = "http://" + m.w.origin.plain + path
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nX-Slow: ", entry)
	case 1:
		entry = c.LocalAddr().String()
		_, err = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nX-Slow: ", host)
	case 2:
		entry = "https://" + host + path
		if _, err = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", host); err == nil {
			_, err = io.ReadFull(c, make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n")))
		}
		secure := m.like.TLSClientConfig.Clone()
		secure.ServerName = "localhost"
		c = tls.Client(c, secure)
		if err == nil {
			_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nX-Slow: ", path)
		}
	}
	if err != nil {
		c.Close()
	}
	return c, entry, err
}

// measure makes requests, all on kept connections, and returns how long all but
// a hundredth of them took at most.
func (m *mixed) measure(atATime, requests int) time.Duration {
	took := make([]time.Duration, requests)
	var next atomic.Int64
	var running sync.WaitGroup
	for range atATime {
		running.Go(func() {
			c := m.client()
			defer c.CloseIdleConnections()
			for i := next.Add(1); i <= int64(requests); i = next.Add(1) {
				began := time.Now()
				m.ask(c, place{"https", m.w.origin.host})
				took[i-1] = time.Since(began)
			}
		})
	}
	running.Wait()
	slices.Sort(took)
	return took[requests*99/100-1]
}
