package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// startNghttpx is nghttpx before the Go origin, host:port: it takes WebSockets over
// HTTP/2 (RFC 8441), and asks for them by HTTP/1.
func startNghttpx(t *testing.T, w *world) string {
	t.Helper()
	program := need(t, "nghttpx")
	host := freePort(t)
	address, port, _ := net.SplitHostPort(host)
	back, backPort, _ := net.SplitHostPort(w.origin.plain)
	cmd := exec.Command(program, "--conf=/dev/null", "--workers=1", "--no-ocsp", "--single-process", "--errorlog-file="+filepath.Join(w.dir, "nghttpx.log"),
		fmt.Sprintf("--frontend=%s,%s", address, port), fmt.Sprintf("--backend=%s,%s", back, backPort), w.ca.leaf.key, w.ca.leaf.cert)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	until(t, "nghttpx to listen", func() bool {
		select {
		case <-ended:
			t.Fatalf("nghttpx ended: %s", said.String())
		default:
		}
		c, err := net.Dial("tcp", host)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return host
}

// Chromium has its WebSocket on a stream of the connection that it has anyway, where
// the server says that it takes those. The page, Chromium, the origin behind the
// server, the log and the HAR have one story of it.
func TestChromiumsWebSocketOverHTTP2(t *testing.T) {
	w := newWorld(t)
	p := w.proxy()
	host := startNghttpx(t, w)
	b := startChromium(t, []string{"--proxy-server=http://" + p.address, "--proxy-bypass-list=<-loopback>"}, nil, p.ca)
	c := b.collect()
	b.open("https://"+host+"/", "done")
	b.submit("thanks")
	seen := byChromium(c.requests(host))
	b.close()
	p.stop()
	log := readLog(t, p.log)
	logged := log.to(host)
	spoke(t, logged, "HTTP/2")

	e := log.find(t, "CONNECT", "https://"+host+"/socket")
	pseudo := e.open.Request.Pseudo
	if !slices.ContainsFunc(pseudo, func(f []string) bool { return f[0] == ":protocol" && f[1] == "websocket" }) {
		t.Errorf("the pseudo-header fields are %q", pseudo)
	}
	is(t, "the status", e.end.Response.Status, 200)
	s := e.end.WebSocket
	if s == nil || s.Sent.Messages != 3 || s.Received.Messages != 3 || s.Close == nil || s.Close.Code != 1000 || s.Close.By != "client" || e.end.Failed != nil {
		t.Errorf("%+v, failed %+v", s, e.end.Failed)
	}
	messages := log.messagesOf(e.open.ID)
	if len(messages) != 8 || messages[0] != "send text: grüß dich" || messages[1] != "receive text: grüß dich" || messages[4] != "send last" || messages[7] != "receive close" {
		t.Errorf("%.200q", messages)
	}
	for _, other := range logged {
		if other.open.Connection != e.open.Connection && strings.HasSuffix(other.open.Request.URL, "/app.js") {
			t.Error("the socket has a connection of its own")
		}
	}
	for i := range seen {
		if strings.HasPrefix(seen[i].url, "wss://") { // of which Chromium does not tell the method
			seen[i].method = "CONNECT"
		}
	}
	har := sound(t, p.log)
	agree(t, "Chromium", seen, "the HAR", byHAR(t, theseHosts(har, []string{host})))
	for _, h := range har {
		if strings.HasSuffix(h.Request.URL, "/socket") && (!strings.HasPrefix(h.Request.URL, "wss://") || len(h.Messages) != len(messages) || h.Request.HTTPVersion != "HTTP/2") {
			t.Errorf("the HAR has %d messages of %s %s", len(h.Messages), h.Request.HTTPVersion, h.Request.URL)
		}
	}
}
