package trust

import (
	"fmt"
	"strings"
)

// environmentStore is what shells of a login read: Node adds one file to its own
// authorities, others take one in place of theirs.
func environmentStore(j *Journal, a Authority) store {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: who looks for certificates on its own finds ours\n", a.Name)
	fmt.Fprintf(&b, "export NODE_EXTRA_CA_CERTS=%s\n", quote(a.Path))
	if bundle := systemBundle(j.tree); bundle != "" {
		fmt.Fprintf(&b, "export REQUESTS_CA_BUNDLE=%s\nexport SSL_CERT_FILE=%[1]s\n", quote(bundle))
	}
	return store{name: "environment", edits: []Edit{OwnFile("/etc/profile.d/"+a.Name+".sh", []byte(b.String()))}}
}

// quote makes s one word of a POSIX shell.
func quote(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
