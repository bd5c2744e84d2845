package ca

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// LoadOrCreate loads dir's authority, or creates one when there is none.
// Processes that do so at once end with the same one; created is true for the
// one that made it.
func LoadOrCreate(dir string) (a *Authority, created bool, err error) {
	a, err = Load(dir)
	if !errors.Is(err, ErrNone) {
		return a, false, err
	}
	a, err = Create(dir)
	if errors.Is(err, fs.ErrExist) { // another process was quicker
		a, err = Load(dir)
		return a, false, err
	}
	return a, err == nil, err
}

// Create makes an authority in dir, which it creates with mode 0700 if need be.
// It never replaces one: if either file is there, the error is [fs.ErrExist].
func Create(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create a folder for the certificate authority: %w", err)
	}
	certificatePath, keyPath := filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile)
	if _, err := os.Lstat(certificatePath); err == nil {
		return nil, fmt.Errorf("create a certificate authority: %q: %w", certificatePath, fs.ErrExist)
	}
	certificate, key, err := selfSigned(time.Now())
	if err != nil {
		return nil, fmt.Errorf("create a certificate authority: %w", err)
	}

	// The key's file holds the certificate too, so that the moment at which it
	// gets its name is the moment at which the whole authority exists: a crash
	// before ca.pem is written is mended by the next Load.
	err = place(keyPath, append(key, certificate...), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create a certificate authority: %q: %w", keyPath, fs.ErrExist)
	} else if err != nil {
		return nil, fmt.Errorf("create a certificate authority: %w", err)
	}
	return Load(dir)
}

// selfSigned makes a key and its certificate, both in PEM.
func selfSigned(now time.Time) (certificate, private []byte, err error) {
	key, id, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		// A name of its own, as clients look issuers up by name and a user may
		// come to trust several.
		Subject: pkix.Name{
			Organization: []string{"agentenv-netlog"},
			CommonName:   "agentenv-netlog CA " + hex.EncodeToString(id[:4]),
		},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.AddDate(10, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
		SubjectKeyId:          id,
		AuthorityKeyId:        id,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	private, err = encodeKey(key)
	return encodeCertificate(der), private, err
}

// place writes a file that appears under its name whole or not at all, and only
// if nothing has the name yet ([fs.ErrExist]). It is a link, as a rename would
// replace what another process has just placed.
func place(path string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("write %q: %w", f.Name(), err)
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder survive a loss of power.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	d.Sync() // not every file system knows it, and the files themselves are synced
	return nil
}
