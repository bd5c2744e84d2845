package ca

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Load reads dir's authority. The error is [ErrNone] when neither file is there;
// any other says which file can't be used and why.
func Load(dir string) (*Authority, error) {
	certificatePath, keyPath := filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile)

	// The certificate is read first: Create names it last.
	certificatePEM, certificateErr := readFile(certificatePath)
	keyPEM, keyErr := readFile(keyPath)
	noCertificate, noKey := errors.Is(certificateErr, fs.ErrNotExist), errors.Is(keyErr, fs.ErrNotExist)
	switch {
	case noCertificate && noKey:
		return nil, fmt.Errorf("%q: %w", dir, ErrNone)
	case noKey:
		return nil, fmt.Errorf("%q has no private key beside it (%q)", certificatePath, keyPath)
	case keyErr != nil:
		return nil, keyErr
	case noCertificate:
		certificatePEM, certificateErr = restore(certificatePath, keyPEM)
	}
	if certificateErr != nil {
		return nil, certificateErr
	}

	chain, err := parseCertificates(certificatePEM)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", certificatePath, err)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", keyPath, err)
	}
	if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(chain[0].PublicKey) {
		return nil, fmt.Errorf("the key %q does not belong to the first certificate of %q", keyPath, certificatePath)
	}
	if err := check(chain, time.Now()); err != nil {
		return nil, fmt.Errorf("%q: %w", certificatePath, err)
	}
	return &Authority{Certificate: chain[0], chain: chain, key: key, dir: dir}, nil
}

const maxFile = 1 << 20 // a chain of hundreds of certificates

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // not opened first: a FIFO would block
	if err != nil {
		return nil, unreadable(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is no regular file", path)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%q has %d bytes, too many for a certificate authority's file", path, info.Size())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return b, nil
}

func unreadable(path string, err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err
	}
	return fmt.Errorf("read %q: %w", path, err)
}

// restore writes the ca.pem that a crash kept Create from writing, with the
// certificate that Create put beside the key.
func restore(certificatePath string, keyPEM []byte) ([]byte, error) {
	for block, rest := pem.Decode(keyPEM); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		err := place(certificatePath, pem.EncodeToMemory(block), 0o644)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("write the authority's certificate: %w", err)
		}
		return readFile(certificatePath)
	}
	return nil, fmt.Errorf("%q is missing, though its private key is there", certificatePath)
}

func parseCertificates(b []byte) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(chain)+1, err)
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return nil, errors.New("no certificate in PEM")
	}
	return chain, nil
}

// parseKey takes the first private key of a PEM file, whichever of the three
// encodings it has.
func parseKey(b []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, errors.New("the private key is encrypted; decrypt it first (openssl pkey)")
		default: // EC PARAMETERS, a certificate
			continue
		}
		if block.Headers["DEK-Info"] != "" {
			return nil, errors.New("the private key is encrypted; decrypt it first (openssl pkey)")
		}
		if err != nil {
			return nil, fmt.Errorf("private key: %w", err)
		}
		switch k := key.(type) {
		case *ecdsa.PrivateKey:
			return k, nil
		case *rsa.PrivateKey:
			return k, nil
		}
		return nil, fmt.Errorf("a private key of type %T: browsers take EC and RSA", key)
	}
	return nil, errors.New("no private key in PEM")
}

// check says why browsers would refuse leaves that chain[0] signs.
func check(chain []*x509.Certificate, now time.Time) error {
	for i, c := range chain {
		name := fmt.Sprintf("certificate %d (%q)", i+1, c.Subject)
		switch {
		case !c.BasicConstraintsValid || !c.IsCA:
			return fmt.Errorf("%s is not a certificate authority's", name)
		case c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0:
			return fmt.Errorf("%s may not sign certificates by its key usage", name)
		case !mayServe(c):
			return fmt.Errorf("%s may not sign servers' certificates by its extended key usage", name)
		case bytes.Equal(c.RawSubject, emptyName):
			return fmt.Errorf("%s has no subject, which an issuer must have", name)
		case i > 0 && c.MaxPathLen >= 0 && (c.MaxPathLen > 0 || c.MaxPathLenZero) && c.MaxPathLen < i:
			return fmt.Errorf("%s allows fewer authorities below it than there are", name)
		case now.Before(c.NotBefore):
			return fmt.Errorf("%s is not valid before %s; is the computer's clock right?", name, c.NotBefore.UTC().Format(time.RFC3339))
		case !now.Before(c.NotAfter):
			return fmt.Errorf("%s expired at %s", name, c.NotAfter.UTC().Format(time.RFC3339))
		}
		if i > 0 {
			if err := chain[i-1].CheckSignatureFrom(c); err != nil {
				return fmt.Errorf("%s did not sign the one before it: %w", name, err)
			}
		}
	}
	return nil
}

var emptyName = []byte{0x30, 0} // an empty SEQUENCE

func mayServe(c *x509.Certificate) bool {
	return len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 ||
		slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) ||
		slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny)
}
