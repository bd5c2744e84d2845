package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentenv/netlog/proxy"
)

// upstreamFlags say how servers are reached and trusted.
type upstreamFlags struct {
	ca         []string
	insecure   []string
	clientCert []string
	clientKey  []string
	resolve    []string
	parent     string
	noParent   bool
	http1      bool
}

func (f *upstreamFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.ca, "upstream-ca", nil, "trust the servers that the certificates in `FILE` (PEM) stand for, besides the system's (repeatable)")
	flags.StringSliceVar(&f.insecure, "insecure-upstream", nil, "take any certificate of this `HOST`, written as for --tunnel; the log says what is wrong with it (repeatable)")
	flags.StringArrayVar(&f.clientCert, "client-cert", nil, "show the certificate in `[HOST=]FILE` (PEM) to servers that ask for one, or to that host alone (repeatable)")
	flags.StringArrayVar(&f.clientKey, "client-key", nil, "`[HOST=]FILE` of the key of --client-cert, when it is not in the same file (repeatable)")
	flags.StringArrayVar(&f.resolve, "resolve", nil, "`HOST:PORT:ADDR` gives the addresses (,ADDR…) of a name in place of the resolver, for any name as * (repeatable)")
	flags.StringVar(&f.parent, "upstream-proxy", "", "reach servers through the proxy at `URL`: http, https, socks5 (names are resolved here) or socks5h, with USER:PASSWORD@ if it asks; NO_PROXY names who is not (default: HTTPS_PROXY for CONNECTs, HTTP_PROXY for http://)")
	flags.BoolVar(&f.noParent, "no-upstream-proxy", false, "reach servers directly, whatever the environment says")
	flags.BoolVar(&f.http1, "http1", false, "speak HTTP/1.1 with browsers and servers that would speak HTTP/2 too")
}

// configure makes c as the flags and the environment say. extra is what is trusted
// besides the system's roots, in PEM.
func (f *upstreamFlags) configure(c *proxy.Config) (through *parents, extra []byte, err error) {
	if c.UpstreamRoots, extra, err = upstreamRoots(f.ca); err != nil {
		return nil, nil, err
	}
	if c.Trust, err = f.trust(); err != nil {
		return nil, nil, err
	}
	if c.Resolve, err = parseResolve(f.resolve); err != nil {
		return nil, nil, err
	}
	if through, err = f.parents(); err != nil {
		return nil, nil, err
	}
	c.Parent, c.HTTP1 = through.of, f.http1
	return through, extra, nil
}

// upstreamRoots are the system's roots and those of files in PEM; nil when there
// are no files. extra is what was added.
func upstreamRoots(files []string) (roots *x509.CertPool, extra []byte, err error) {
	if len(files) == 0 {
		return nil, nil, nil
	}
	roots, err = x509.SystemCertPool()
	if err != nil {
		return nil, nil, failed(fmt.Errorf("read the system's roots: %w", err), "name a bundle of roots in SSL_CERT_FILE")
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, failed(fmt.Errorf("read --upstream-ca: %w", err), "name a file of certificates in PEM")
		}
		if !roots.AppendCertsFromPEM(b) {
			return nil, nil, failed(fmt.Errorf("--upstream-ca %q holds no certificate in PEM", file), "a DER file becomes PEM with: openssl x509 -inform der")
		}
		extra = append(append(extra, b...), '\n')
	}
	return roots, extra, nil
}

// A place is a name and the port at which it is reached.
type place struct {
	host string // "*": any
	port uint16
}

// parseResolve is Config.Resolve as --resolve says: curl's form, whose last word
// on a name and a port stands. One variable of the environment holds several
// with spaces between them.
func parseResolve(list []string) (func(string, uint16) []netip.Addr, error) {
	given := map[place][]netip.Addr{}
	for _, item := range list {
		for s := range strings.FieldsSeq(item) {
			to, addrs, err := parseResolved(s)
			if err != nil {
				return nil, misused(fmt.Errorf("--resolve %q: %w", s, err),
					"write it as HOST:PORT:ADDR, such as example.com:443:127.0.0.1 or *:80:[::1],127.0.0.1")
			}
			given[to] = addrs
		}
	}
	if len(given) == 0 {
		return nil, nil
	}
	return func(host string, port uint16) []netip.Addr {
		if addrs := given[place{host, port}]; addrs != nil {
			return addrs
		}
		return given[place{"*", port}]
	}, nil
}

func parseResolved(s string) (to place, addrs []netip.Addr, err error) {
	host, rest, _ := strings.Cut(s, ":")
	portString, list, ok := strings.Cut(rest, ":")
	if !ok || strings.HasPrefix(s, "[") {
		return to, nil, errors.New("it is no name, port and address")
	}
	if to.host = host; host != "*" {
		rule, err := proxy.ParseHostRule(host)
		if err != nil {
			return to, nil, err
		}
		if rule.Name == "" || rule.Below {
			return to, nil, fmt.Errorf("%q is no host's name", host)
		}
		to.host = rule.Name
	}
	port, err := strconv.ParseUint(portString, 10, 16)
	if err != nil || port == 0 {
		return to, nil, fmt.Errorf("%q is no port", portString)
	}
	to.port = uint16(port)
	for address := range strings.SplitSeq(list, ",") {
		bare := address
		if strings.HasPrefix(address, "[") && strings.HasSuffix(address, "]") {
			bare = address[1 : len(address)-1]
		}
		ip, err := netip.ParseAddr(bare)
		if err != nil || bare != address && !ip.Is6() || ip.Zone() != "" {
			return to, nil, fmt.Errorf("%q is no address", address)
		}
		addrs = append(addrs, ip.Unmap())
	}
	return to, addrs, nil
}
