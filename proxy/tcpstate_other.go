//go:build !linux

package proxy

import "net"

// isClosed is known on Linux only; elsewhere an error is taken for the reader's.
func isClosed(net.Conn) bool { return false }
