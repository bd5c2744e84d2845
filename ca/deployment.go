package ca

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	deploymentBackdate = 5 * time.Minute // it begins now, on a computer whose clock may be behind
	deploymentSlack    = 24 * time.Hour  // and may end late
)

// A Pair is a certificate and its key, both in PEM.
type Pair struct {
	Certificate []byte
	Key         []byte // for its owner alone
}

// Deploy makes an authority for the names of one deployment and a leaf for each
// list of them, which is valid for life and a day more. The authority may sign for
// these names alone, and what is below them, and for no address; its key signs the
// leaves and is forgotten. Names may have a wildcard as their first label. Label is
// part of the authority's own name, and at most 32 characters.
func Deploy(label string, life time.Duration, names ...[]string) (authority []byte, leaves []Pair, err error) {
	issuer, key, err := deploymentAuthority(label, life, names)
	if err != nil {
		return nil, nil, fmt.Errorf("make a deployment's authority: %w", err)
	}
	for _, of := range names {
		leaf, err := deploymentLeaf(issuer, key, of)
		if err != nil {
			return nil, nil, fmt.Errorf("make a certificate for %q: %w", of, err)
		}
		leaves = append(leaves, leaf)
	}
	return encodeCertificate(issuer.Raw), leaves, nil
}

func deploymentAuthority(label string, life time.Duration, names [][]string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, id, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	called := "agentenv sites "
	if label != "" {
		called += label + " "
	}
	template := &x509.Certificate{
		// Clients look issuers up by name, so each has its own.
		Subject: pkix.Name{
			Organization: []string{"agentenv-netlog"},
			CommonName:   called + hex.EncodeToString(id[:4]), // at most 64 characters
		},
		NotBefore:             now.Add(-deploymentBackdate),
		NotAfter:              now.Add(life + deploymentSlack),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
		SubjectKeyId:          id,
		AuthorityKeyId:        id,

		PermittedDNSDomainsCritical: true, // of all name constraints
		ExcludedIPRanges: []*net.IPNet{
			{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
			{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
		},
	}
	seen := map[string]bool{}
	for _, of := range names {
		for _, name := range of {
			if name = strings.TrimPrefix(name, "*."); !seen[name] {
				seen[name] = true
				template.PermittedDNSDomains = append(template.PermittedDNSDomains, name)
			}
		}
	}
	if len(seen) == 0 {
		return nil, nil, errors.New("no names") // it could sign for any
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	authority, err := x509.ParseCertificate(der)
	return authority, key, err
}

// deploymentLeaf is a certificate without a subject, as sign makes them too.
func deploymentLeaf(issuer *x509.Certificate, issuerKey *ecdsa.PrivateKey, names []string) (Pair, error) {
	if len(names) == 0 {
		return Pair{}, errors.New("no names")
	}
	key, id, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	template := &x509.Certificate{
		NotBefore:             issuer.NotBefore,
		NotAfter:              issuer.NotAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              names,
		SubjectKeyId:          id,
		AuthorityKeyId:        issuer.SubjectKeyId,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
	if err != nil {
		return Pair{}, err
	}
	private, err := encodeKey(key)
	return Pair{Certificate: encodeCertificate(der), Key: private}, err
}
