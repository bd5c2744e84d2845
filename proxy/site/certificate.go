package site

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Certificates are the sites' own, by name.
type Certificates struct {
	table  *Table
	bySite map[string]*tls.Certificate
	first  *tls.Certificate // of the first site that has one
}

// NeedsCertificates tells whether a configuration has names that want them and
// brings none: then an installation makes them.
func NeedsCertificates(c Config) bool {
	needs := false
	for _, s := range c.Sites {
		if s.CertPEM != "" || s.KeyPEM != "" {
			return false
		}
		needs = needs || len(s.SecureNames()) > 0
	}
	return needs && c.CAPEM == ""
}

// NewCertificates loads the certificates that a table's configuration brings. Its
// error names every site whose browsers would not take its certificate, at the
// time now.
func NewCertificates(c Config, t *Table, now time.Time) (*Certificates, error) {
	var problems problemList
	all := &Certificates{table: t, bySite: map[string]*tls.Certificate{}}
	roots := x509.NewCertPool()
	if !t.HasTLS() {
		return all, nil
	}
	if c.CAPEM == "" {
		problems.addf("ca_pem is missing: nobody could tell whether the sites' certificates are right")
	} else if !roots.AppendCertsFromPEM([]byte(c.CAPEM)) {
		problems.addf("ca_pem holds no certificate in PEM")
	}
	for _, s := range t.sites {
		names := s.SecureNames()
		if len(names) == 0 {
			continue
		}
		certificate, err := loadPair(s.CertPEM, s.KeyPEM)
		if err != nil {
			problems.addf("site %q: %w", s.Name, err)
			continue
		}
		if c.CAPEM != "" {
			for _, name := range names {
				if err := verify(certificate, name, roots, now); err != nil {
					problems.addf("site %q: its certificate does not serve %q: %w", s.Name, name, err)
				}
			}
		}
		all.bySite[s.Name] = certificate
		if all.first == nil {
			all.first = certificate
		}
	}
	return all, problems.err()
}

func loadPair(cert, key string) (*tls.Certificate, error) {
	switch {
	case cert == "" && key == "":
		return nil, errors.New("cert_pem and key_pem are missing")
	case cert == "":
		return nil, errors.New("cert_pem is missing")
	case key == "":
		return nil, errors.New("key_pem is missing")
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		return nil, fmt.Errorf("cert_pem with key_pem: %w", err)
	}
	return &pair, nil
}

// verify does what a browser does.
func verify(c *tls.Certificate, name string, roots *x509.CertPool, now time.Time) error {
	between := x509.NewCertPool()
	for _, der := range c.Certificate[1:] {
		if parsed, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(parsed)
		}
	}
	if rest, wild := strings.CutPrefix(name, "*."); wild {
		name = "agentenv-check." + rest
	}
	_, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: between, CurrentTime: now})
	return err
}

// Leaf is the certificate of the site that has the name. One that no site has gets
// the first site's: its browser is told that there is no such site, if it goes on.
func (c *Certificates) Leaf(name string) (*tls.Certificate, error) {
	if s := c.table.find(name); s != nil && c.bySite[s.Name] != nil {
		return c.bySite[s.Name], nil
	}
	if c.first == nil {
		return nil, errors.New("no site has a certificate")
	}
	return c.first, nil
}
