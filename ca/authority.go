// Package ca makes and loads the certificate authority that the proxy signs
// with, and mints the leaf certificates that browsers see.
//
//	authority, created, err := ca.LoadOrCreate(dir)
//	leaves, err := ca.NewLeaves(authority)
//	certificate, err := leaves.Leaf("www.example.com")
//
// A folder holds one authority in two files: ca.pem, the certificate to trust,
// and ca-key.pem, its private key. One that [Create] makes is ECDSA P-256 and
// valid for ten years. An authority of the user's own works as well: an EC or
// RSA key (PKCS #8, PKCS #1 or SEC 1, unencrypted) in ca-key.pem, and in ca.pem
// the issuing certificate, followed by its chain when it is not a root itself.
//
// What the package promises:
//
//   - A key is readable by its owner alone from its first byte on.
//   - A crash, or several processes that create at once, leave one whole
//     authority or none, and never replace one that is there.
//   - A pair that browsers would refuse (a key of another certificate, one that
//     is out of date or may not sign servers' certificates) is refused here,
//     with the reason.
//   - No key of a leaf can be derived from anything public: there is one a
//     process, from crypto/rand, and it is never written down.
//
// It does not install an authority anywhere, nor revoke anything: leaves name
// no revocation list, as a client without a network would wait for it.
package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// ErrNone says that a folder holds no authority, neither its certificate nor
// its key.
var ErrNone = errors.New("no certificate authority there")

const (
	certificateFile = "ca.pem"
	keyFile         = "ca-key.pem"

	backdate = 24 * time.Hour // for clients whose clocks are behind
)

// Authority is a certificate and the key that signs with it. [Create], [Load]
// and [LoadOrCreate] make one; it does not change afterwards.
type Authority struct {
	Certificate *x509.Certificate // the issuing certificate

	chain []*x509.Certificate // Certificate first, each signed by the next
	key   crypto.Signer
	dir   string
}

// CertificatePath is the file to trust in browsers and other clients.
func (a *Authority) CertificatePath() string {
	return filepath.Join(a.dir, certificateFile)
}

// KeyPath is the private key's file, which is for its owner alone.
func (a *Authority) KeyPath() string {
	return filepath.Join(a.dir, keyFile)
}

// CertificatePEM is CertificatePath's certificates in PEM: the issuing one first,
// then its chain, if it has one.
func (a *Authority) CertificatePEM() []byte {
	var b []byte
	for _, c := range a.chain {
		b = append(b, encodeCertificate(c.Raw)...)
	}
	return b
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// encodeKey is a key in PEM, as PKCS #8.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// notAfter is when the first certificate of the chain expires.
func (a *Authority) notAfter() time.Time {
	return slices.MinFunc(a.chain, func(x, y *x509.Certificate) int {
		return x.NotAfter.Compare(y.NotAfter)
	}).NotAfter
}

// newKey makes a key and its identifier.
func newKey() (key *ecdsa.PrivateKey, id []byte, err error) {
	key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	id, err = keyID(key.Public())
	return key, id, err
}

// keyID is a public key's identifier: the leftmost 160 bits of the SHA-256 of
// its bit string (RFC 7093 §2, method 1).
func keyID(public crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("encode a public key: %w", err)
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, fmt.Errorf("encode a public key: %w", err)
	}
	sum := sha256.Sum256(info.Key.Bytes)
	return sum[:20], nil
}
