package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentenv/netlog/ca"
)

// trustBundle is the system's roots followed by the authority, for programs that
// take one file in place of the system's.
func trustBundle(a *ca.Authority) ([]byte, error) {
	roots, err := systemRoots(bundlePath(a))
	if err != nil {
		return nil, err
	}
	return slices.Concat(roots, []byte("\n"), a.CertificatePEM()), nil
}

// bundlePath is where proxy keeps the bundle: beside the authority's certificate.
func bundlePath(a *ca.Authority) string {
	return filepath.Join(filepath.Dir(a.CertificatePath()), "bundle.pem")
}

// authorityFiles are those in the authority's folder; none without one.
func authorityFiles(a *ca.Authority) []string {
	if a == nil {
		return nil
	}
	return []string{a.CertificatePath(), a.KeyPath(), bundlePath(a)}
}

// keepBundle brings the file at bundlePath up to date and gives its name. It
// changes all at once, as programs may be reading it.
func keepBundle(a *ca.Authority) (string, error) {
	bundle, err := trustBundle(a)
	if err != nil {
		return "", err
	}
	path := bundlePath(a)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, bundle) {
		return path, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".bundle-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(bundle)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return path, nil
}
