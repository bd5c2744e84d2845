package load

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// key is what every WebSocket asks with: no origin of the benchmarks minds.
const key = "dGhlIHNhbXBsZSBub25jZQ=="

// dialSocket makes a connection and its WebSocket.
func dialSocket(ctx context.Context, c *Config) (*conn, error) {
	made, err := dial(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := made.upgrade(c); err != nil {
		made.Close()
		return nil, fmt.Errorf("WebSocket with %q: %w", c.Authority, err)
	}
	return made, nil
}

func (c *conn) upgrade(config *Config) error {
	c.tcp.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://%[2]s\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n", config.Target, config.Authority, key); err != nil {
		return err
	}
	status, _, err := c.readHead()
	if err == nil && status != 101 {
		err = fmt.Errorf("status %d", status)
	}
	return err
}

// message is a text message of so many bytes, up to 125, as browsers send it:
// masked (RFC 6455 §5.3).
func message(n int) []byte {
	mask := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	frame := append([]byte{0x81, 0x80 | byte(n)}, mask[:]...)
	for i := range n {
		frame = append(frame, "a message of a chat. "[i%21]^mask[i%4])
	}
	return frame
}

// echo sends a message and reads its echo. It returns the bytes of both.
func (c *conn) echo(message []byte) (int64, error) {
	c.tcp.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(message); err != nil {
		return 0, err
	}
	n := len(message) - 6
	frame, err := c.br.Peek(2 + n)
	if err != nil {
		return 0, fmt.Errorf("reading an echo: %w", err)
	}
	if want := []byte{0x81, byte(n)}; !bytes.Equal(frame[:2], want) || frame[2] != 'a' {
		return 0, fmt.Errorf("%.20q is no echo of %d bytes", frame, n)
	}
	_, err = c.br.Discard(len(frame))
	return 2 * int64(n), err
}
