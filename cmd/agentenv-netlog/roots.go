package main

import (
	"fmt"
	"os"
)

// bundles are where systems keep their roots in one PEM file, as in crypto/x509.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch, Gentoo
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, RHEL 6
	"/etc/ssl/ca-bundle.pem",                            // openSUSE
	"/etc/pki/tls/cacert.pem",                           // OpenELEC
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL 7 and later
	"/etc/ssl/cert.pem",                                 // Alpine, macOS, FreeBSD
	"/usr/local/etc/ssl/cert.pem",                       // FreeBSD
	"/usr/local/share/certs/ca-root-nss.crt",            // FreeBSD
	"/etc/openssl/certs/ca-certificates.crt",            // NetBSD
}

// systemRoots is the system's bundle of roots, or the one that SSL_CERT_FILE
// names in its place, unless that is ours; nothing when the system has none.
func systemRoots(ours string) ([]byte, error) {
	if file := os.Getenv("SSL_CERT_FILE"); file != "" && !sameName(file, ours) {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, failed(fmt.Errorf("read the roots that SSL_CERT_FILE names: %w", err), "unset SSL_CERT_FILE, or name a bundle in PEM")
		}
		return b, nil
	}
	for _, file := range bundles {
		if b, err := os.ReadFile(file); err == nil {
			return b, nil
		}
	}
	return nil, nil
}
