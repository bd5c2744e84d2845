package har

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// validHost says whether the URL standard's parser takes a host that is no IPv6
// address and has no escapes: readers refuse a file for a URL without one
// (https://url.spec.whatwg.org/#host-parsing).
func validHost(host string) bool {
	ascii := strings.ToLower(host)
	if strings.Contains(ascii, "xn--") || strings.IndexFunc(ascii, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		if slices.Contains(strings.Split(ascii, "."), "xn--") { // which idna lets pass
			return false
		}
		var err error
		if ascii, err = domains.ToASCII(ascii); err != nil || !utf8.ValidString(host) {
			return false
		}
	}
	if ascii == "" {
		return false
	}
	for i := range len(ascii) {
		if c := ascii[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"#%/:<>?@[\]^`+"`{|}", c) >= 0 {
			return false
		}
	}
	labels := strings.Split(strings.TrimSuffix(ascii, "."), ".")
	if !isNumber(labels[len(labels)-1]) {
		return true
	}
	if len(labels) > 4 {
		return false
	}
	for i, label := range labels {
		most := uint64(math.MaxUint8)
		if i == len(labels)-1 {
			most = math.MaxUint32 >> (8 * i)
		}
		if n, ok := addressPart(label); !ok || n > most {
			return false
		}
	}
	return true
}

// domains makes names ASCII as the URL standard does (UTS #46, not transitional),
// but looks at no bidirectional text, in which parsers differ.
var domains = idna.New(idna.MapForLookup(), idna.CheckJoiners(true), idna.CheckHyphens(false),
	idna.StrictDomainName(false), idna.VerifyDNSLength(false), idna.Transitional(false))

// isNumber says whether a host that ends in label has to be an IPv4 address.
func isNumber(label string) bool {
	if label != "" && strings.Trim(label, "0123456789") == "" {
		return true
	}
	_, ok := addressPart(label)
	return ok
}

// addressPart reads a part of an IPv4 address, which may be hexadecimal or octal.
func addressPart(s string) (n uint64, ok bool) {
	digits, base := s, 10
	if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		digits, base = hex, 16
	} else if octal, ok := strings.CutPrefix(s, "0"); ok {
		digits, base = octal, 8
	}
	if digits == "" {
		return 0, s != ""
	}
	n, err := strconv.ParseUint(digits, base, 64)
	return n, err == nil
}
