package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/gobwas/ws"
)

// A socket is a WebSocket that a site has opened. It leaves ReverseProxy as an
// error: its own relay loses what the client had sent already
// (golang.org/issue/80875), and knows no messages.
type socket struct {
	head http.Header // of the site's answer
	conn io.ReadWriteCloser
}

func (*socket) Error() string { return "a WebSocket" }

// switched takes an answer that switches protocols out of ReverseProxy's hands.
func (p *passage) switched(answer *http.Response) error {
	switch {
	case !p.socket:
		return errors.New("the site switches protocols unasked")
	case !strings.EqualFold(answer.Header.Get("Upgrade"), "websocket"):
		return errors.New("the site switches to another protocol than WebSocket")
	case answer.Header.Get("Sec-WebSocket-Extensions") != "":
		return errors.New("the site chose a WebSocket extension that was not offered")
	}
	conn, ok := answer.Body.(io.ReadWriteCloser)
	if !ok {
		return fmt.Errorf("a connection of the type %T can't be written to", answer.Body)
	}
	answer.Body = http.NoBody // which ReverseProxy closes
	return &socket{answer.Header, conn}
}

// relay passes on what client and site say until both have closed.
func (p *passage) relay(w http.ResponseWriter, s *socket) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.conn.Close()
		p.gateway.logger.Error("a WebSocket can't be taken over", "site", p.site.Name, "error", err)
		writeError(w, http.StatusInternalServerError, "Proxy request failed: no WebSockets here")
		return
	}
	client := &peer{conn: conn, in: buffered.Reader, frames: ws.StateServerSide, lost: ws.StatusInternalServerError, closeWait: p.gateway.limits.closing}
	site := &peer{conn: s.conn, in: bufio.NewReader(s.conn), frames: ws.StateClientSide, lost: ws.StatusGoingAway, closeWait: p.gateway.limits.closing}
	defer client.end()
	defer site.end()
	if err := writeSwitch(buffered.Writer, s.head); err != nil {
		return // the client is gone
	}
	stop := context.AfterFunc(p.in.Context(), func() {
		client.close(ws.StatusGoingAway, "")
		site.close(ws.StatusGoingAway, "")
	})
	defer stop()
	var pumps sync.WaitGroup
	pumps.Go(func() { pump(client, site, p.gateway.limits.message) })
	pumps.Go(func() { pump(site, client, p.gateway.limits.message) })
	pumps.Wait()
}

// writeSwitch writes the head with which the site has opened the WebSocket. Its
// key was the client's, so it has the answer to it.
func writeSwitch(w *bufio.Writer, head http.Header) error {
	h := head.Clone()
	for _, name := range []string{"Connection", "Upgrade", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Te", "Trailer", "Transfer-Encoding", "Content-Length"} {
		h.Del(name)
	}
	h.Set("Connection", "Upgrade")
	h.Set("Upgrade", "websocket")
	io.WriteString(w, "HTTP/1.1 101 Switching Protocols\r\n")
	if err := h.Write(w); err != nil {
		return err
	}
	io.WriteString(w, "\r\n")
	return w.Flush()
}
