package install

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/agentenv/netlog/ca/trust"
)

const hostsFile = "/etc/hosts"

// hostsEdit names the sites in the hosts file.
func hostsEdit(names []string, at netip.Addr) trust.Edit {
	var lines []string
	for _, name := range names {
		lines = append(lines, at.String()+" "+name)
	}
	return trust.Edit{
		Path:   hostsFile,
		Apply:  func(old []byte) ([]byte, error) { return withBlock(old, lines), nil },
		Revert: withoutBlock,
	}
}

// hostsConflicts are the names that the hosts file has at another address already:
// browsers would go there.
func hostsConflicts(hosts []byte, names []string, at netip.Addr) []error {
	var conflicts []error
	for line := range strings.Lines(string(withoutBlock(hosts))) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == at.String() {
			continue
		}
		for _, name := range f[1:] {
			if slices.Contains(names, strings.ToLower(name)) {
				conflicts = append(conflicts, fmt.Errorf("%s: %q is at %s there", hostsFile, name, f[0]))
			}
		}
	}
	return conflicts
}
