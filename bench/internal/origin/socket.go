package origin

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
)

// echo answers the handshake of a WebSocket and sends each frame back as it came,
// of up to 125 bytes and unmasked, until it was one that closes.
func echo(c net.Conn, br *bufio.Reader, key string) error {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // RFC 6455 §4.2.2
	if _, err := fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:])); err != nil {
		return err
	}
	frame := make([]byte, 0, 256)
	for {
		head, err := br.Peek(2)
		if err != nil {
			return err
		}
		length := int(head[1] & 0x7f)
		if head[1] < 0x80 || length > 125 {
			return errUnknown
		}
		frame = frame[:6+length]
		if _, err := io.ReadFull(br, frame); err != nil {
			return err
		}
		mask, payload := [4]byte(frame[2:6]), frame[6:]
		for i := range payload {
			payload[i] ^= mask[i%4]
		}
		frame[4], frame[5] = frame[0], byte(length)
		if _, err := c.Write(frame[4:]); err != nil {
			return err
		}
		if frame[0]&0x0f == 8 { // a close
			return errOnce
		}
	}
}
