package proxy

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// told is a logger whose words can be read at any time.
type told struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *told) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *told) count(s string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Count(t.b.String(), s)
}

// tunnelOnPin turns that on and gives what people are told.
func tunnelOnPin(words *told) func(*Config) {
	return func(c *Config) {
		c.TunnelOnPin = true
		c.Logger = slog.New(slog.NewTextHandler(words, nil))
	}
}

// distrust is a handshake through a CONNECT by a browser that refuses the
// certificate with an alert, or (0) closes the connection.
func (w *world) distrust(target, name string, version uint16, alert byte) {
	w.t.Helper()
	b := w.connect(target)
	defer b.Close()
	config := &tls.Config{ServerName: name, RootCAs: newTestCA(w.t).pool, MaxVersion: version}
	if tls.Client(&alerting{Conn: b.Conn, alert: alert}, config).Handshake() == nil {
		w.t.Fatal("an unknown authority was trusted")
	}
}

// An alerting sends another alert than what it is given, or ends with it.
type alerting struct {
	net.Conn
	alert byte
}

func (c *alerting) Write(p []byte) (int, error) {
	switch {
	case c.alert == 0 && len(p) > 0 && p[0] == 21:
		return 0, c.Conn.Close()
	case len(p) == 7 && p[0] == 21: // in the clear
		p = append(append([]byte(nil), p[:6]...), c.alert)
	}
	return c.Conn.Write(p)
}

func TestTunnelOnPin(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			var words told
			w := newWorld(t, tunnelOnPin(&words))
			addr := w.origin(answers(func(string) string { return "HTTP/1.1 204 No Content\r\n\r\n" }), "pinned.test")
			_, port, _ := net.SplitHostPort(addr)
			w.distrust(addr, "pinned.test", version, 42)
			w.logHas("client_refused_certificate")
			for range 2 {
				b := w.secure(addr, "pinned.test")
				b.send("GET / HTTP/1.1\r\nHost: pinned.test:" + port + "\r\n\r\n")
				b.expect("HTTP/1.1 204 No Content\r\n\r\n")
				b.Close()
			}
			other := w.connect(addr) // another name at the same address
			session := tls.Client(other.Conn, &tls.Config{ServerName: "other.test", RootCAs: w.ca.pool})
			if err := session.Handshake(); err != nil {
				t.Error("the other name:", err)
			}
			newParty(t, session).send("GET / HTTP/1.1\r\nHost: other.test:" + port + "\r\n\r\n")
			w.logHas("other.test")
			session.Close()
			ps := w.want(port,
				"tunnel mitm 127.0.0.1:ADDR failed client_tls client_refused_certificate",
				"tunnel tunnel 127.0.0.1:ADDR",
				"tunnel tunnel 127.0.0.1:ADDR",
				"exchange mitm GET https://other.test:ADDR/ failed server_tls bad_certificate")
			if got := ps[1].end.Tunnel; got.SNI != "pinned.test" || !strings.Contains(got.Reason, "refused") {
				t.Errorf("the tunnel's line: %+v", got)
			}
			if n := words.count("host=pinned.test"); n != 1 {
				t.Errorf("people were told %d times", n)
			}
		})
	}
}

func TestWhichAlertsPin(t *testing.T) {
	pins := map[byte]bool{0: false, 40: false, 42: true, 43: false, 44: false, 45: false, 46: true, 48: true, 49: false, 80: false}
	for alert, want := range pins {
		t.Run(fmt.Sprint(alert), func(t *testing.T) {
			var words told
			w := newWorld(t, tunnelOnPin(&words))
			addr := w.origin(func(p *party) { io.Copy(io.Discard, p) }, "pinned.test")
			w.distrust(addr, "pinned.test", tls.VersionTLS12, alert)
			w.logHas(`"event":"end"`)
			b := w.connect(addr)
			session := tls.Client(b.Conn, &tls.Config{ServerName: "pinned.test", RootCAs: w.ca.pool})
			if err := session.Handshake(); err != nil {
				t.Fatal(err)
			}
			session.Close()
			last := w.pairs()
			tunnelled := len(last) > 1 && last[1].open.Via == netlog.ViaTunnel
			if tunnelled != want || words.count("pinned.test") > 0 != want {
				t.Errorf("tunnelled: %v, want %v; entries %v", tunnelled, want, last)
			}
		})
	}
}

// Without the option nothing is learnt.
func TestNoTunnelOnPin(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.origin(answers(func(string) string { return "HTTP/1.1 204 No Content\r\n\r\n" }), "pinned.test")
	_, port, _ := net.SplitHostPort(addr)
	w.distrust(addr, "pinned.test", tls.VersionTLS13, 42)
	w.logHas("client_refused_certificate")
	b := w.secure(addr, "pinned.test")
	b.send("GET / HTTP/1.1\r\nHost: pinned.test:" + port + "\r\n\r\n")
	b.expect("HTTP/1.1 204 No Content\r\n\r\n")
	b.Close()
	w.want(port, "tunnel mitm 127.0.0.1:ADDR failed client_tls client_refused_certificate", "exchange mitm GET https://pinned.test:ADDR/ 204")
}

func TestPinsAreBounded(t *testing.T) {
	var p pins
	for i := range maxPins {
		if !p.add(fmt.Sprint(i, ".test")) {
			t.Fatal("refused at", i)
		}
	}
	if p.add("one-more.test") || p.has("one-more.test") || p.add("1.test") || !p.has("1.test") {
		t.Error("they are not bounded")
	}
}
