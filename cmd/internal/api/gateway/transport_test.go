package gateway

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
)

// A site may end a connection that rests just when the next request goes up on it: that
// is asked for again, however long its head is.
func TestASiteEndsAConnectionThatRests(t *testing.T) {
	site := newTalkingSite(t, func(conn net.Conn, in *bufio.Reader) {
		io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		in.ReadByte() // the next request begins
		conn.(*net.TCPConn).SetLinger(0)
	})
	w := withSite(t, site.url)
	for range 100 {
		if answer := w.raw(request("/website/notes/?" + strings.Repeat("x=y&", 10_000))); !strings.HasPrefix(answer, "HTTP/1.1 204 No Content\r\n") {
			t.Fatalf("it is answered %.300q", answer)
		}
	}
}
