package ca

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLoadOwnKeys(t *testing.T) {
	ec, rsa := ecKey(t), rsaKey(t)
	sec1, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	parameters := block("EC PARAMETERS", []byte{6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7})
	for name, c := range map[string]struct {
		key crypto.Signer
		pem []byte
	}{
		"EC PKCS8":             {ec, pkcs8PEM(t, ec)},
		"EC SEC1":              {ec, block("EC PRIVATE KEY", sec1)},
		"EC SEC1, openssl's":   {ec, append(parameters, block("EC PRIVATE KEY", sec1)...)},
		"RSA PKCS8":            {rsa, pkcs8PEM(t, rsa)},
		"RSA PKCS1":            {rsa, block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsa))},
		"text around the PEM":  {ec, append([]byte("Bag Attributes\n"), pkcs8PEM(t, ec)...)},
		"certificate with key": {ec, append(certificatesPEM(issue(t, ec, nil, nil)), pkcs8PEM(t, ec)...)},
	} {
		t.Run(name, func(t *testing.T) {
			own := issue(t, c.key, nil, nil)
			a, created, err := LoadOrCreate(folder(t, certificatesPEM(own), c.pem))
			if err != nil || created {
				t.Fatalf("created %v, error %v", created, err)
			}
			if !a.Certificate.Equal(own.certificate) {
				t.Error("another certificate was loaded")
			}
			verify(t, a, mint(t, a, "www.example.com"), "www.example.com")
		})
	}
}

func TestLoadChain(t *testing.T) {
	root := issue(t, rsaKey(t), nil, func(c *x509.Certificate) { c.Subject.CommonName = "root" })
	middle := issue(t, ecKey(t), root, func(c *x509.Certificate) {
		c.Subject.CommonName = "middle"
		c.NotAfter = time.Now().Add(time.Hour).Truncate(time.Second)
	})
	issuing := issue(t, ecKey(t), middle, func(c *x509.Certificate) {
		c.Subject.CommonName = "issuing"
		c.SubjectKeyId = []byte("any bytes at all")
		c.MaxPathLenZero = true
	})
	for name, chain := range map[string][]*issued{
		"with the root":    {issuing, middle, root},
		"without the root": {issuing, middle},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Load(folder(t, certificatesPEM(chain...), pkcs8PEM(t, issuing.key)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.CertificatePEM(), certificatesPEM(chain...)) {
				t.Error("CertificatePEM is not the whole chain")
			}
			leaf := mint(t, a, "www.example.com")
			sent := [][]byte{leaf.Leaf.Raw, issuing.certificate.Raw, middle.certificate.Raw}
			if len(leaf.Certificate) != len(sent) {
				t.Fatalf("%d certificates are sent, want %d", len(leaf.Certificate), len(sent))
			}
			for i := range sent {
				if !bytes.Equal(leaf.Certificate[i], sent[i]) {
					t.Errorf("certificate %d is not what it should be", i)
				}
			}
			if string(leaf.Leaf.AuthorityKeyId) != "any bytes at all" {
				t.Errorf("AKI %q", leaf.Leaf.AuthorityKeyId)
			}
			if !leaf.Leaf.NotAfter.Equal(middle.certificate.NotAfter) {
				t.Errorf("the leaf ends at %v, the chain at %v", leaf.Leaf.NotAfter, middle.certificate.NotAfter)
			}
			roots, between := x509.NewCertPool(), x509.NewCertPool()
			roots.AddCert(root.certificate)
			for _, der := range leaf.Certificate[1:] {
				c, err := x509.ParseCertificate(der)
				if err != nil {
					t.Fatal(err)
				}
				between.AddCert(c)
			}
			if _, err := leaf.Leaf.Verify(x509.VerifyOptions{DNSName: "www.example.com", Roots: roots, Intermediates: between}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	key := ecKey(t)
	good := issue(t, key, nil, nil)
	changed := func(change func(*x509.Certificate)) []byte {
		return certificatesPEM(issue(t, key, nil, change))
	}
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte("x"),
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}})
	stranger := issue(t, ecKey(t), nil, func(c *x509.Certificate) { c.Subject.CommonName = "stranger" })
	flat := issue(t, ecKey(t), nil, func(c *x509.Certificate) { c.MaxPathLenZero = true })
	deep := issue(t, key, flat, func(c *x509.Certificate) { c.Subject.CommonName = "deep" })
	for name, c := range map[string]struct {
		certificate, key []byte
		want             string
	}{
		"certificate without key": {certificatesPEM(good), nil, "no private key beside it"},
		"key without certificate": {nil, pkcs8PEM(t, key), "is missing, though its private key is there"},
		"key of another":          {certificatesPEM(good), pkcs8PEM(t, ecKey(t)), "does not belong to"},
		"key of another kind":     {certificatesPEM(good), pkcs8PEM(t, rsaKey(t)), "does not belong to"},
		"no PEM certificate":      {[]byte("hello"), pkcs8PEM(t, key), "no certificate in PEM"},
		"empty files":             {[]byte{}, []byte{}, "no certificate in PEM"},
		"no PEM key":              {certificatesPEM(good), []byte("hello"), "no private key in PEM"},
		"broken certificate":      {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), pkcs8PEM(t, key), "certificate 1: "},
		"broken key":              {certificatesPEM(good), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), "private key: "},
		"encrypted PKCS8":         {certificatesPEM(good), pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}), "is encrypted"},
		"encrypted PKCS1":         {certificatesPEM(good), encrypted, "is encrypted"},
		"Ed25519":                 {certificatesPEM(good), pkcs8PEM(t, ed25519Key(t)), "browsers take EC and RSA"},
		"huge file":               {bytes.Repeat([]byte("-"), maxFile+1), pkcs8PEM(t, key), "too many"},
		"expired": {changed(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
			pkcs8PEM(t, key), "expired at "},
		"not yet valid": {changed(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }),
			pkcs8PEM(t, key), "is not valid before "},
		"no authority": {changed(func(c *x509.Certificate) { c.IsCA = false; c.KeyUsage = 0 }),
			pkcs8PEM(t, key), "is not a certificate authority's"},
		"no basic constraints": {changed(func(c *x509.Certificate) { c.BasicConstraintsValid = false; c.IsCA = false }),
			pkcs8PEM(t, key), "is not a certificate authority's"},
		"key usage": {changed(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }),
			pkcs8PEM(t, key), "by its key usage"},
		"extended key usage": {changed(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
			pkcs8PEM(t, key), "by its extended key usage"},
		"no subject": {changed(func(c *x509.Certificate) { c.Subject = pkix.Name{} }),
			pkcs8PEM(t, key), "has no subject"},
		"a chain of strangers": {certificatesPEM(good, stranger), pkcs8PEM(t, key), "did not sign the one before it"},
		"a chain too deep":     {certificatesPEM(deep, flat), pkcs8PEM(t, key), "allows fewer authorities"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.certificate, c.key)
			before := contents(t, dir)
			_, _, err := LoadOrCreate(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if errors.Is(err, ErrNone) {
				t.Errorf("%v is ErrNone", err)
			}
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("%v does not name the file", err)
			}
			if after := contents(t, dir); before != after {
				t.Error("the folder was changed")
			}
		})
	}
}

func TestLoadNone(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		if _, err := Load(dir); !errors.Is(err, ErrNone) {
			t.Errorf("%s: error %v, want ErrNone", dir, err)
		}
	}
}

func TestLoadNoRegularFile(t *testing.T) {
	dir := folder(t, nil, pkcs8PEM(t, ecKey(t)))
	if err := os.Mkdir(filepath.Join(dir, certificateFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("error %v", err)
	}
}
