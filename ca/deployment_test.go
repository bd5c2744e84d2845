package ca

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"net"
	"strings"
	"testing"
	"time"
)

func deploy(t *testing.T, names ...[]string) (*x509.Certificate, []Pair) {
	t.Helper()
	authority, leaves, err := Deploy(strings.Repeat("x", 32), time.Hour, names...)
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode(authority)
	if block == nil || len(rest) > 0 {
		t.Fatalf("no one certificate: %q", authority)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c, leaves
}

var (
	oidNameConstraints = asn1.ObjectIdentifier{2, 5, 29, 30}
	oidSubjectAltName  = asn1.ObjectIdentifier{2, 5, 29, 17}
)

func isCritical(c *x509.Certificate, oid asn1.ObjectIdentifier) bool {
	for _, e := range c.Extensions {
		if e.Id.Equal(oid) {
			return e.Critical
		}
	}
	return false
}

func TestDeploy(t *testing.T) {
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + ".notes.test"
	before := time.Now()
	authority, leaves := deploy(t, []string{"notes.test", "www.notes.test", long}, []string{"*.shop.test"})
	if !authority.IsCA || !authority.MaxPathLenZero || !isCritical(authority, oidNameConstraints) ||
		authority.SignatureAlgorithm != x509.ECDSAWithSHA256 || len(authority.Subject.CommonName) > 64 {
		t.Errorf("the authority: %v, constraints critical %v", authority.Subject, isCritical(authority, oidNameConstraints))
	}
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	var parsed []*x509.Certificate
	for _, leaf := range leaves {
		pair, err := tls.X509KeyPair(leaf.Certificate, leaf.Key)
		if err != nil {
			t.Fatal(err)
		}
		c := pair.Leaf
		parsed = append(parsed, c)
		if c.Subject.String() != "" || !isCritical(c, oidSubjectAltName) || !c.NotBefore.Before(before.Add(-4*time.Minute)) ||
			c.NotAfter.Before(before.Add(24*time.Hour)) || c.NotAfter.After(before.Add(26*time.Hour)) ||
			len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != x509.ExtKeyUsageServerAuth || c.IsCA {
			t.Errorf("a leaf: %q, from %v to %v", c.Subject, c.NotBefore, c.NotAfter)
		}
	}
	for i, served := range [][]string{{"notes.test", "www.notes.test", long}, {"a.shop.test"}} {
		for _, name := range served {
			if _, err := parsed[i].Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range []string{"shop.test", "a.b.shop.test", "notes.test"} {
		if _, err := parsed[1].Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err == nil {
			t.Errorf("%s is taken for one of *.shop.test", name)
		}
	}
	if bytes.Equal(leaves[0].Key, leaves[1].Key) {
		t.Error("two sites share a key")
	}
}

// What the authority signs for another name, or an address, or below another
// authority, is worth nothing: had its key not been forgotten, it could be used
// for no other site.
func TestDeploymentIsConstrained(t *testing.T) {
	issuer, key, err := deploymentAuthority("", time.Hour, [][]string{{"notes.test", "*.shop.test"}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	roots := x509.NewCertPool()
	roots.AddCert(issuer)
	for name, valid := range map[string]bool{
		"notes.test": true, "a.shop.test": true, "other.test": false, "badnotes.test": false, "127.0.0.1": false, "::1": false,
	} {
		template := &x509.Certificate{NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Minute), DNSNames: []string{name}}
		if ip := net.ParseIP(name); ip != nil {
			template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
		}
		der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); (err == nil) != valid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeployRefuses(t *testing.T) {
	for _, names := range [][][]string{nil, {{}}, {{"notes.test"}, {}}} {
		if _, _, err := Deploy("", time.Hour, names...); err == nil {
			t.Errorf("%q: no error", names)
		}
	}
}
