package har

import (
	"net/netip"
	"strconv"
	"strings"
)

// isIP says whether ajv's ipv4 or ipv6 takes an address.
func isIP(s string) bool {
	if m := ipv4Form.FindStringSubmatch(s); m != nil {
		for _, part := range m[1:] {
			if n, _ := strconv.Atoi(part); n > 255 {
				return false
			}
		}
		return true
	}
	s = strings.TrimFunc(s, isJSSpace)
	s, zone, zoned := strings.Cut(s, "%")
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && !(zoned && zone == "")
}

// notURL says why WHATWG's URL parser, without a base, refuses an address; "" when
// it does not, as far as is looked.
func notURL(s string) string {
	if !uriForm.MatchString(s) {
		return "has no scheme"
	}
	scheme, rest, _ := strings.Cut(s, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "ws", "wss", "ftp":
	default:
		return ""
	}
	rest = strings.TrimLeft(rest, `/\`)
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		rest = rest[:i]
	}
	host := rest[strings.LastIndexByte(rest, '@')+1:]
	if strings.HasPrefix(host, "[") {
		inside, port, ok := strings.Cut(host[1:], "]")
		a, err := netip.ParseAddr(inside)
		if !ok || err != nil || !a.Is6() || a.Zone() != "" {
			return "has no IPv6 address between its brackets"
		}
		return notPort(strings.TrimPrefix(port, ":"))
	}
	host, port, _ := strings.Cut(host, ":")
	if !validHost(unescape(host, false)) {
		return "has no host, or one that is none"
	}
	return notPort(port)
}

func notPort(s string) string {
	if n, err := strconv.ParseUint(s, 10, 32); s != "" && (err != nil || n > 65535) {
		return "has a port that is none"
	}
	return ""
}
