package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// A dialogue is a WebSocket through a proxy to the site's echo.
type dialogue struct {
	url  string // as the log has it
	conn *websocket.Conn
	said int64 // messages, each of which came back
}

// startDialogue opens one at a place with the proxy and the trust of through.
func startDialogue(ctx context.Context, through *http.Transport, at place, target string) (*dialogue, error) {
	dialer := websocket.Dialer{Proxy: through.Proxy, TLSClientConfig: through.TLSClientConfig}
	url := at.url(target)
	conn, _, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(url, "http"), nil)
	if err != nil {
		return nil, fmt.Errorf("WebSocket %s: %w", url, err)
	}
	return &dialogue{url: url, conn: conn}, nil
}

// say sends a message and waits until it is back.
func (d *dialogue) say(text string) error {
	if err := d.conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		return fmt.Errorf("WebSocket %s: %w", d.url, err)
	}
	_, back, err := d.conn.ReadMessage()
	if err == nil && string(back) != text {
		err = fmt.Errorf("%q came back for %q", back, text)
	}
	if err != nil {
		return fmt.Errorf("WebSocket %s: %w", d.url, err)
	}
	d.said++
	return nil
}

// end closes it in order (RFC 6455 §7.1.2).
func (d *dialogue) end() error {
	defer d.conn.Close()
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	if err := d.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(patience)); err != nil {
		return fmt.Errorf("closing the WebSocket %s: %w", d.url, err)
	}
	if _, _, err := d.conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		return fmt.Errorf("the WebSocket %s was closed with %v", d.url, err)
	}
	return nil
}
