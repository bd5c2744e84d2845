package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// A kind is one sort of client of mixed: it works until the turns end, on one
// connection at a time.
type kind struct {
	share int // of each 20 clients
	work  func(m *mixed)
}

var kinds = []kind{
	{5, func(m *mixed) { m.keep(place{"https", m.w.origin.host}) }},
	{3, (*mixed).multiplex},
	{4, func(m *mixed) { m.keep(place{"http", m.w.origin.plain}) }},
	{2, (*mixed).renew},
	{2, (*mixed).tunnel},
	{2, (*mixed).talk},
	{1, (*mixed).upload},
	{1, (*mixed).abort},
}

// kindOf deals the kinds out.
func kindOf(i int) kind {
	i %= 20
	for _, k := range kinds {
		if i -= k.share; i < 0 {
			return k
		}
	}
	panic("the shares are less than 20")
}

// keep asks for one thing after the other on one connection.
func (m *mixed) keep(at place) {
	c := m.client()
	defer c.CloseIdleConnections()
	for range m.turns {
		m.ask(c, at)
	}
}

// multiplex asks for as many things at once as it has turns, on one connection of
// HTTP/2.
func (m *mixed) multiplex() {
	c := m.client()
	c.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	defer c.CloseIdleConnections()
	var asking sync.WaitGroup
	defer asking.Wait()
	for range m.turns {
		asking.Go(func() { m.ask(c, place{"https", m.w.origin.host}) })
	}
}

// renew has a connection for each request.
func (m *mixed) renew() {
	c := m.client()
	c.Transport.(*http.Transport).DisableKeepAlives = true
	for range m.turns {
		m.ask(c, place{"https", m.w.origin.host})
	}
}

// ask asks for one of the things that the site has.
func (m *mixed) ask(c *http.Client, at place) {
	n := m.next()
	paths := []string{"/echo?", "/large?size=20000&", "/chunked?", "/coded/gzip?", "/sink?"}
	path := paths[n%int64(len(paths))]
	var body io.Reader
	size := int64(0)
	if path == "/sink?" {
		text := fmt.Sprint("body ", n)
		body, size = strings.NewReader(text), int64(len(text))
	}
	m.get(c, at.url(fmt.Sprintf("%sn=%d", path, n)), body, size)
}

// get asks for one thing and notes what was sent and what came.
func (m *mixed) get(c *http.Client, url string, body io.Reader, size int64) {
	sent := sha256.New()
	if body != nil {
		body = io.TeeReader(body, sent)
	}
	said, err := fetch(m.t.Context(), c, url, body, size)
	if err != nil {
		m.failed(err)
		return
	}
	if strings.Contains(url, "/sink?") && said != hex.EncodeToString(sent.Sum(nil)) {
		m.failed(fmt.Errorf("%s: the origin had %s, sent was %x", url, said, sent.Sum(nil)))
	}
	m.did(url, fmt.Sprintf("200, sent %x, received %s", sent.Sum(nil), sum([]byte(said))))
}

// tunnel keeps a connection that the proxy does not decrypt for a few requests.
func (m *mixed) tunnel() {
	for more := true; more; {
		var client string // the address that the tunnel comes from
		direct := m.like.Clone()
		direct.TLSClientConfig.RootCAs = m.w.ca.pool
		direct.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil {
				client = conn.LocalAddr().String()
			}
			return conn, err
		}
		c := &http.Client{Transport: direct, Timeout: patience}
		for range 5 {
			if _, more = <-m.turns; !more {
				break
			}
			if _, err := fetch(m.t.Context(), c, "https://"+m.tunnelled()+"/echo", nil, 0); err != nil {
				m.failed(err)
			}
		}
		direct.CloseIdleConnections()
		if client != "" {
			m.did(client, "tunnel")
		}
	}
}

// talk has WebSockets of a few messages.
func (m *mixed) talk() {
	for more := true; more; {
		if _, more = <-m.turns; !more {
			return
		}
		d, err := startDialogue(m.t.Context(), m.like, place{"https", m.w.origin.host}, fmt.Sprintf("/socket?n=%d", m.next()))
		if err != nil {
			m.failed(err)
			continue
		}
		for d.said < 10 && err == nil {
			if _, more = <-m.turns; !more {
				break
			}
			err = d.say(fmt.Sprint("message ", d.said))
		}
		if err := errors.Join(err, d.end()); err != nil {
			m.failed(err)
			continue
		}
		m.did(d.url, fmt.Sprintf("101, %d messages and %d", d.said, d.said))
	}
}

// upload sends bodies of which little is kept.
func (m *mixed) upload() {
	c := m.client()
	defer c.CloseIdleConnections()
	for range m.turns {
		n := m.next()
		size := 64<<10 + n%(256<<10)
		m.get(c, place{"https", m.w.origin.host}.url(fmt.Sprintf("/sink?n=%d", n)), io.LimitReader(noise(int(n)), size), size)
	}
}

// abort gives requests up, each when it is known to have come to the origin.
func (m *mixed) abort() {
	for range m.turns {
		m.abandon()
	}
}

func (m *mixed) abandon() {
	c := m.client()
	transport := c.Transport.(*http.Transport)
	gone, away := context.WithCancel(m.t.Context())
	defer away() // also of a connection of HTTP/2, which a request given up does not end
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			context.AfterFunc(gone, func() { conn.Close() })
		}
		return conn, err
	}
	n := m.next()
	at := []place{{"https", m.w.origin.host}, {"http", m.w.origin.plain}}[n%2]
	transport.ForceAttemptHTTP2 = n%4 == 0
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	var err error
	url := ""
	until := func(target string) {
		select {
		case <-m.origin.there(target):
		case <-ctx.Done():
		}
		m.origin.forget(target)
	}
	switch target := fmt.Sprintf("?n=%d", n); n / 2 % 3 {
	case 0: // in the answer
		url = at.url("/begun" + target)
		var r *http.Request
		if r, err = http.NewRequestWithContext(ctx, "GET", url, nil); err != nil {
			break
		}
		var answer *http.Response
		if answer, err = c.Do(r); err != nil {
			break
		}
		begun := make([]byte, len("begun"))
		if _, err = io.ReadFull(answer.Body, begun); err == nil && !bytes.Equal(begun, []byte("begun")) {
			err = fmt.Errorf("%s: %q came", url, begun)
		}
		cancel()
		answer.Body.Close()
	case 1: // before it
		target = "/arrived" + target
		url = at.url(target)
		there := make(chan struct{})
		go func() {
			defer close(there)
			until(target)
			cancel()
		}()
		if _, err = fetch(ctx, c, url, nil, 0); errors.Is(err, context.Canceled) {
			err = nil
		}
		cancel()
		<-there
	case 2: // in the body
		target = "/taken" + target
		url = at.url(target)
		body := io.MultiReader(io.LimitReader(noise(int(n)), 64<<10), calls(func() {
			until(target)
			cancel()
		}), noise(int(n)))
		if _, err = fetch(ctx, c, url, body, 1<<30); errors.Is(err, context.Canceled) {
			err = nil
		}
	}
	if err != nil {
		m.failed(err)
		return
	}
	m.did(url, "client_gone")
}
