package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An authority signs the origins' certificate: what `--upstream-ca` names.
// It is no code of the product's, so that the two can't share a fault.
type authority struct {
	file string // the authority's certificate, PEM
	leaf struct {
		cert, key string // PEM files, for nginx
		tls       tls.Certificate
	}
	pool *x509.CertPool
}

// newAuthority makes an authority and one certificate for every name that
// the origins have: localhost, 127.0.0.1, ::1 and one that no resolver knows.
func newAuthority(t *testing.T, dir string) *authority {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, kind string, der []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	now := time.Now()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "end-to-end origin authority"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	must(err)
	caCert, err := x509.ParseCertificate(caDER)
	must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "localhost"},
		DNSNames:     []string{"localhost", "site.test"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, caCert, key.Public(), caKey)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)

	a := &authority{file: write("origin-ca.pem", "CERTIFICATE", caDER), pool: x509.NewCertPool()}
	a.leaf.cert = write("origin.pem", "CERTIFICATE", leafDER)
	a.leaf.key = write("origin-key.pem", "PRIVATE KEY", keyDER)
	a.leaf.tls, err = tls.LoadX509KeyPair(a.leaf.cert, a.leaf.key)
	must(err)
	a.pool.AddCert(caCert)
	return a
}
