package site

import (
	"fmt"
	"net/netip"
)

// ParseNameserver reads an address, with a port unless that is 53.
func ParseNameserver(s string) (netip.AddrPort, error) {
	if ip, err := netip.ParseAddr(s); err == nil {
		return netip.AddrPortFrom(ip, 53), nil
	}
	at, err := netip.ParseAddrPort(s)
	if err != nil || at.Port() == 0 {
		return at, fmt.Errorf("%q is no address of a nameserver", s)
	}
	return at, nil
}
