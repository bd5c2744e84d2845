package proxy

import (
	"net"

	"golang.org/x/sys/unix"
)

// isClosed tells whether the kernel has given the connection up, as it does when
// the other end resets it. An error of splice(2) says not of which side it is.
func isClosed(conn net.Conn) bool {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	const stateClose = 7 // TCP_CLOSE of tcp_states.h
	closed := false
	raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		closed = err == nil && info.State == stateClose
	})
	return closed
}
