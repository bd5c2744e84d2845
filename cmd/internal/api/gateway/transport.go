package gateway

import (
	"context"
	"net"
	"net/http"
	"time"
)

// newTransport reaches sites, without a proxy in between, over HTTP/1.1. A head
// may take until head, a pause within a body until silence; 0 is for ever.
func newTransport(l limits, head, silence time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: l.connect}
	t := &http.Transport{
		DisableCompression:    true, // bodies go on as they are
		TLSHandshakeTimeout:   l.connect,
		ResponseHeaderTimeout: head,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       64 << 10, // a head that goes up in one piece is asked for again where the connection had ended
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   64,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil || silence == 0 {
				return conn, err
			}
			return &patientConn{conn, silence}, nil
		},
		Protocols: new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// A patientConn gives up a peer from which nothing comes, or who takes nothing, for
// so long.
type patientConn struct {
	net.Conn
	silence time.Duration
}

func (c *patientConn) Read(b []byte) (int, error) {
	c.SetReadDeadline(time.Now().Add(c.silence))
	return c.Conn.Read(b)
}

func (c *patientConn) Write(b []byte) (int, error) {
	c.SetWriteDeadline(time.Now().Add(c.silence))
	return c.Conn.Write(b)
}
