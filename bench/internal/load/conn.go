package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// patience is how long one exchange may take: a proxy that hangs is an error.
const patience = 2 * time.Minute

// A conn is one connection, through the proxy when Config.Tunnel says so.
type conn struct {
	net.Conn
	br  *bufio.Reader
	tcp net.Conn
}

// request is the head that is sent each time, with the fields of a browser's.
func request(c Config) []byte {
	target, method := c.Target, "GET"
	if !c.Tunnel {
		target = "http://" + c.Authority + target
	}
	more := ""
	if c.Upload > 0 {
		method = "POST"
		more = fmt.Sprintf("Content-Type: application/octet-stream\r\nContent-Length: %d\r\n", c.Upload)
	}
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: keep-alive\r\n"+
		"sec-ch-ua-platform: \"Linux\"\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36\r\n"+
		"sec-ch-ua: \"Chromium\";v=\"141\", \"Not?A_Brand\";v=\"8\"\r\nsec-ch-ua-mobile: ?0\r\nAccept: application/json\r\n"+
		"Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\nReferer: https://%s/\r\n"+
		"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\nCookie: sid=0123456789abcdef; theme=dark\r\n%s\r\n",
		method, target, c.Authority, c.Authority, more)
}

func dial(ctx context.Context, c *Config) (*conn, error) {
	var d net.Dialer
	tcp, err := d.DialContext(ctx, "tcp", c.Proxy)
	if err != nil {
		return nil, err
	}
	made := &conn{Conn: tcp, tcp: tcp, br: bufio.NewReaderSize(tcp, 64<<10)}
	if c.Tunnel {
		if err := made.connect(ctx, c); err != nil {
			tcp.Close()
			return nil, err
		}
	}
	return made, nil
}

func (c *conn) connect(ctx context.Context, config *Config) error {
	c.tcp.SetDeadline(time.Now().Add(patience))
	if config.Direct {
		return c.secure(ctx, config)
	}
	if _, err := fmt.Fprintf(c.tcp, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", config.Authority); err != nil {
		return err
	}
	status, _, err := c.readHead()
	if err != nil {
		return fmt.Errorf("CONNECT %q: %w", config.Authority, err)
	}
	if status != 200 {
		return fmt.Errorf("CONNECT %q: status %d", config.Authority, status)
	}
	return c.secure(ctx, config)
}

// secure makes a TLS session, if one is wanted.
func (c *conn) secure(ctx context.Context, config *Config) error {
	if config.TLS == nil {
		return nil
	}
	session := tls.Client(c.tcp, config.TLS)
	if err := session.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS with %q: %w", config.Authority, err)
	}
	c.Conn = session
	c.br.Reset(session)
	return nil
}

// Close closes without a word: nobody waits for the other side's.
func (c *conn) Close() error { return c.tcp.Close() }

// exchange sends a request and reads its answer. It returns the bytes of both
// bodies.
func (c *conn) exchange(request []byte, upload int64) (int64, error) {
	c.tcp.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	for left := upload; left > 0; left -= int64(len(payload)) {
		if _, err := c.Write(payload[:min(left, int64(len(payload)))]); err != nil {
			return 0, err
		}
	}
	status, length, err := c.readHead()
	if err != nil {
		return 0, fmt.Errorf("reading an answer: %w", err)
	}
	if status != 200 && status != 204 {
		return 0, fmt.Errorf("status %d", status)
	}
	if length == chunked {
		length, err = c.skipChunks()
	} else {
		err = c.skip(length)
	}
	if err != nil {
		return 0, fmt.Errorf("reading a body: %w", err)
	}
	return upload + length, nil
}

func (c *conn) skip(n int64) error {
	for n > 0 {
		m, err := c.br.Discard(int(min(n, 1<<30)))
		if n -= int64(m); err != nil {
			return err
		}
	}
	return nil
}

// skipChunks reads a body in chunks without trailers and returns its length.
func (c *conn) skipChunks() (total int64, err error) {
	for {
		line, err := c.br.ReadSlice('\n')
		if err != nil {
			return total, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return total, err
		}
		if err := c.skip(n + 2); err != nil || n == 0 {
			return total, err
		}
		total += n
	}
}

var payload = bytes.Repeat([]byte("what a browser uploads, 32 bytes"), 8<<10)

// chunked is the length of a body that comes in chunks.
const chunked = -1

// readHead reads an answer's head: its status and the length of its body.
func (c *conn) readHead() (status int, length int64, err error) {
	line, err := c.br.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	parts := strings.SplitN(string(line), " ", 3)
	if len(parts) < 3 {
		return 0, 0, fmt.Errorf("%q is no status line", line)
	}
	if status, err = strconv.Atoi(parts[1]); err != nil {
		return 0, 0, fmt.Errorf("%q is no status line", line)
	}
	for {
		line, err := c.br.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		if len(line) <= 2 {
			return status, length, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return 0, 0, err
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			length = chunked
		}
	}
}
