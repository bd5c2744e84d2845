package battery

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"sync"
	"time"
)

// An authority signs for the servers and for the proxies; every party trusts it.
type authority struct {
	ca   tls.Certificate
	pool *x509.CertPool

	mu   sync.Mutex
	made map[string]*tls.Certificate
}

// sharedAuthority is the one of all cases: its key is nobody's but this process's.
var sharedAuthority = sync.OnceValue(func() *authority {
	a, err := newAuthority("Battery CA")
	if err != nil {
		panic(err) // the system has no randomness
	}
	return a
})

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(point)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, SubjectKeyId: id[:20],
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &authority{
		ca:   tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert},
		pool: x509.NewCertPool(),
		made: map[string]*tls.Certificate{},
	}
	a.pool.AddCert(cert)
	return a, nil
}

// leaf is a certificate for a name or an address.
func (a *authority) leaf(name string) (*tls.Certificate, error) {
	if name == "" {
		return nil, errors.New("no name to sign for")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.made[name]; c != nil {
		return c, nil
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.made) + 2)),
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	key := a.ca.PrivateKey.(*ecdsa.PrivateKey)
	der, err := x509.CreateCertificate(rand.Reader, template, a.ca.Leaf, key.Public(), key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	a.made[name] = c
	return c, nil
}
