package install

import (
	"net/netip"
	"strings"

	"github.com/agentenv/netlog/ca/trust"
)

const (
	resolvFile = "/etc/resolv.conf"
	// aside is how a nameserver's line is kept that is not to be asked but by us.
	aside = "# agentenv sites: "
)

// resolvEdit has the computer ask our resolver, and no other.
func resolvEdit(at netip.Addr) trust.Edit {
	return trust.Edit{
		Path: resolvFile,
		Apply: func(old []byte) ([]byte, error) {
			var b strings.Builder
			for line := range strings.Lines(string(plainResolv(old))) {
				if isNameserver(line) {
					b.WriteString(aside)
				}
				b.WriteString(line)
			}
			return withBlock([]byte(b.String()), []string{"nameserver " + at.String()}), nil
		},
		Revert: plainResolv,
	}
}

// plainResolv is a resolv.conf without what resolvEdit made of it.
func plainResolv(file []byte) []byte {
	file = withoutBlock(file)
	var b strings.Builder
	for line := range strings.Lines(string(file)) {
		if line, was := strings.CutPrefix(line, aside); was {
			b.WriteString(line)
			continue
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}

func isNameserver(line string) bool {
	f := strings.Fields(line)
	return len(f) > 0 && f[0] == "nameserver"
}

// nameservers are those of a resolv.conf, whether it is ours by now or not, but for
// the resolver at own itself.
func nameservers(file []byte, own netip.Addr) []netip.AddrPort {
	var all []netip.AddrPort
	for line := range strings.Lines(string(plainResolv(file))) {
		if !isNameserver(line) {
			continue
		}
		if f := strings.Fields(line); len(f) > 1 {
			if ip, err := netip.ParseAddr(f[1]); err == nil && ip != own {
				all = append(all, netip.AddrPortFrom(ip, 53))
			}
		}
	}
	return all
}
