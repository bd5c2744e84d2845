package main

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"github.com/agentenv/netlog/proxy"
)

// A shown is a certificate for the servers that a rule means.
type shown struct {
	to          *proxy.HostRule // nil: any
	certificate *tls.Certificate
}

// trust is Config.Trust as --insecure-upstream, --client-cert and --client-key
// say; nil when they say nothing. Of several certificates for a server the first
// stands.
func (f *upstreamFlags) trust() (func(proxy.Target) proxy.Trust, error) {
	insecure, err := parseHostFlag("--insecure-upstream", f.insecure)
	if err != nil {
		return nil, err
	}
	certificates, err := clientCertificates(f.clientCert, f.clientKey)
	if err != nil {
		return nil, err
	}
	if len(insecure) == 0 && len(certificates) == 0 {
		return nil, nil
	}
	return func(t proxy.Target) (trust proxy.Trust) {
		for _, r := range insecure {
			trust.Any = trust.Any || r.Matches(t)
		}
		for _, c := range certificates {
			if c.to == nil || c.to.Matches(t) {
				trust.Certificate = c.certificate
				break
			}
		}
		return trust
	}, nil
}

// clientCertificates loads what --client-cert names. A key belongs to the
// certificate for the same host.
func clientCertificates(certs, keys []string) ([]shown, error) {
	keyFile := map[string]string{}
	for _, s := range keys {
		_, host, file := cutHost(s)
		if _, twice := keyFile[host]; twice {
			return nil, misused(fmt.Errorf("--client-key %q is a second key for the same certificate", s), "give each certificate one key, for the same HOST=")
		}
		keyFile[host] = file
	}
	var all []shown
	for _, s := range certs {
		rule, host, file := cutHost(s)
		key := file
		if k, ok := keyFile[host]; ok {
			key = k
			delete(keyFile, host)
		}
		certificate, err := loadCertificate(file, key)
		if err != nil {
			return nil, err
		}
		all = append(all, shown{rule, certificate})
	}
	for host, file := range keyFile {
		if host != "" {
			host += "="
		}
		return nil, misused(fmt.Errorf("--client-key %q is of no --client-cert", host+file), "name its certificate with --client-cert "+quote(host+"FILE"))
	}
	return all, nil
}

// cutHost takes the host off HOST=FILE. A file with such a name is ./HOST=FILE.
func cutHost(s string) (rule *proxy.HostRule, host, file string) {
	before, after, found := strings.Cut(s, "=")
	if found {
		if r, err := proxy.ParseHostRule(before); err == nil {
			return &r, before, after
		}
	}
	return nil, "", s
}

// loadCertificate reads a certificate and its key, both in PEM, maybe in one file.
func loadCertificate(certFile, keyFile string) (*tls.Certificate, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return nil, failed(fmt.Errorf("read --client-cert: %w", err), "name a file with a certificate, and those that lead to its authority, in PEM")
	}
	if !hasBlock(cert, "CERTIFICATE") {
		return nil, failed(fmt.Errorf("--client-cert %q holds no certificate in PEM", certFile), "a PKCS #12 file (.p12, .pfx) becomes PEM with: openssl pkcs12 -nodes")
	}
	key := cert
	if keyFile != certFile {
		if key, err = os.ReadFile(keyFile); err != nil {
			return nil, failed(fmt.Errorf("read --client-key: %w", err), "name the file of the certificate's key in PEM")
		}
	}
	switch {
	case hasBlock(key, "ENCRYPTED PRIVATE KEY") || bytes.Contains(key, []byte("Proc-Type: 4,ENCRYPTED")):
		return nil, failed(fmt.Errorf("the key in %q is encrypted", keyFile), "take the password off a copy that only you can read: openssl pkey")
	case !hasBlock(key, "PRIVATE KEY"):
		return nil, failed(fmt.Errorf("%q holds no private key in PEM", keyFile), "name the file that does with --client-key")
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, failed(fmt.Errorf("--client-cert %q with the key in %q: %w", certFile, keyFile, err), "check that the key is the certificate's")
	}
	return &pair, nil
}

// hasBlock tells whether b has a PEM block whose type ends in kind.
func hasBlock(b []byte, kind string) bool {
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, kind) {
			return true
		}
	}
	return false
}
