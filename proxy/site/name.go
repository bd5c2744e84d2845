package site

import (
	"errors"
	"strings"

	"github.com/agentenv/netlog/proxy"
)

// checkName tells why s is no name that a site can have: a DNS name in lower case,
// whose whole first label may be a wildcard.
func checkName(s string) error {
	rest, wild := strings.CutPrefix(s, "*.")
	labels := strings.Split(rest, ".")
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > 253:
		return errors.New("has more than 253 characters")
	case strings.HasSuffix(s, "."):
		return errors.New("ends in a dot")
	case s != strings.ToLower(s):
		return errors.New("is not in lower case")
	case strings.Contains(rest, "*"):
		return errors.New(`has a "*" that is not its whole first label`)
	case isNumber(labels[len(labels)-1]):
		return errors.New("is an address, or would be read as one")
	case wild && len(labels) < 2:
		return errors.New("is a wildcard over a single label")
	}
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	return nil
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("has an empty label")
	case len(label) > 63:
		return errors.New("has a label of more than 63 characters")
	case strings.HasPrefix(label, "-"), strings.HasSuffix(label, "-"):
		return errors.New("has a label that begins or ends with a hyphen")
	case strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return errors.New("has a character other than letters, digits and hyphens")
	}
	return nil
}

// isNumber tells a last label that makes browsers read the host as an IPv4
// address (WHATWG URL, "ends in a number").
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// isPlain tells the names that browsers take for this machine, and for secure
// without TLS (RFC 6761 §6.3; W3C Secure Contexts §3.1).
func isPlain(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func isWildcard(name string) bool { return strings.HasPrefix(name, "*.") }

// covers tells whether a site's name is, or as a wildcard stands for, host: a
// wildcard stands for exactly one label, as in a certificate (RFC 6125 §6.4.3).
func covers(name, host string) bool {
	rest, wild := strings.CutPrefix(name, "*.")
	if !wild {
		return name == host
	}
	label, below, found := strings.Cut(host, ".")
	return found && label != "" && below == rest
}

// overlap tells whether two sites' names stand for a common host.
func overlap(a, b string) bool { return a == b || covers(a, b) || covers(b, a) }

// meets tells whether a site's name and a rule stand for a common host, and whether
// the name covers all that the rule allows.
func meets(name string, r proxy.HostRule) (meets, whole bool) {
	rest, wild := strings.CutPrefix(name, "*.")
	switch {
	case r.Name == "": // addresses
		return false, false
	case !r.Below:
		return covers(name, r.Name), covers(name, r.Name)
	case wild:
		return rest == r.Name || strings.HasSuffix(rest, "."+r.Name), false
	}
	return strings.HasSuffix(name, "."+r.Name), false
}

// defaultName is what a site without names is called: its own name under
// localhost.
func defaultName(site string) string {
	label := strings.ReplaceAll(strings.ToLower(site), "_", "-")
	label = strings.Trim(label[:min(len(label), 63)], "-")
	return label + ".localhost"
}
