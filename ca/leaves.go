package ca

import (
	"container/list"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	leafLife = 45 * 24 * time.Hour // from a day ago on; browsers refuse long ones
	maxNames = 4096                // a leaf is some 4 KB
)

// Leaves mints an authority's leaf certificates and keeps the 4,096 that were
// last asked for. Its methods may be called at once.
type Leaves struct {
	authority *Authority
	key       *ecdsa.PrivateKey
	keyID     []byte
	spki      string
	parents   [][]byte         // what is sent behind each leaf
	now       func() time.Time // time.Now but in tests

	mu     sync.Mutex
	byName map[string]*list.Element // of *leaf
	recent *list.List               // the last asked for first
}

type leaf struct {
	name  string
	renew time.Time // from then on another is minted
	mint  func() (*tls.Certificate, error)
}

// NewLeaves makes the key that all leaves of this process share.
func NewLeaves(a *Authority) (*Leaves, error) {
	key, id, err := newKey()
	if err != nil {
		return nil, fmt.Errorf("make the leaf certificates' key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encode the leaf certificates' key: %w", err)
	}
	sum := sha256.Sum256(public)
	l := &Leaves{
		authority: a,
		key:       key,
		keyID:     id,
		spki:      base64.StdEncoding.EncodeToString(sum[:]),
		now:       time.Now,
		byName:    make(map[string]*list.Element),
		recent:    list.New(),
	}
	for _, c := range a.chain {
		if c.CheckSignatureFrom(c) != nil { // a root is trusted or not; sending it changes nothing
			l.parents = append(l.parents, c.Raw)
		}
	}
	return l, nil
}

// SPKI is the base64 SHA-256 of the leaves' SubjectPublicKeyInfo, which
// Chromium's --ignore-certificate-errors-spki-list takes.
func (l *Leaves) SPKI() string { return l.spki }

// Leaf is the certificate, with its chain, of a host: a name in its ASCII form
// or an IP address, in any case, with or without brackets or a final dot. It is
// valid for 45 days, of which one is past, or as long as the authority; halfway
// through what is left of that a new one takes its place. It is shared: not to
// be changed.
func (l *Leaves) Leaf(name string) (*tls.Certificate, error) {
	name, err := canonical(name)
	if err != nil {
		return nil, err
	}
	// Without the monotonic clock, which stands still while a laptop sleeps.
	certificate, err := l.lookUp(name, l.now().Round(0)).mint()
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %q: %w", name, err)
	}
	return certificate, nil
}

// lookUp returns the name's entry, whose mint signs once however many ask.
func (l *Leaves) lookUp(name string, now time.Time) *leaf {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.byName[name]
	if e != nil && now.Before(e.Value.(*leaf).renew) {
		l.recent.MoveToFront(e)
		return e.Value.(*leaf)
	}
	if e != nil {
		l.forget(e)
	}
	notBefore, notAfter := l.validity(now)
	fresh := &leaf{
		name:  name,
		renew: now.Add(notAfter.Sub(now) / 2),
		mint: sync.OnceValues(func() (*tls.Certificate, error) {
			return l.sign(name, notBefore, notAfter)
		}),
	}
	l.byName[name] = l.recent.PushFront(fresh)
	if l.recent.Len() > maxNames {
		l.forget(l.recent.Back())
	}
	return fresh
}

// forget takes an entry out; l.mu is held.
func (l *Leaves) forget(e *list.Element) {
	delete(l.byName, e.Value.(*leaf).name)
	l.recent.Remove(e)
}

// validity never reaches beyond the authority's own at either end.
func (l *Leaves) validity(now time.Time) (notBefore, notAfter time.Time) {
	notBefore = now.Add(-backdate)
	notAfter = notBefore.Add(leafLife)
	if c := l.authority.Certificate.NotBefore; notBefore.Before(c) {
		notBefore = c
	}
	if c := l.authority.notAfter(); notAfter.After(c) {
		notAfter = c
	}
	return notBefore, notAfter
}

func (l *Leaves) sign(name string, notBefore, notAfter time.Time) (*tls.Certificate, error) {
	if !l.now().Before(notAfter) {
		return nil, fmt.Errorf("the certificate authority %q expired at %s",
			l.authority.Certificate.Subject, notAfter.UTC().Format(time.RFC3339))
	}
	issuer := l.authority.Certificate
	issuerID := issuer.SubjectKeyId
	if len(issuerID) == 0 { // an older authority without one; strict OpenSSL wants it all the same
		id, err := keyID(issuer.PublicKey)
		if err != nil {
			return nil, err
		}
		issuerID = id
	}
	template := &x509.Certificate{
		// No subject: names stand in the alternative names alone, which are
		// critical then (RFC 5280 §4.1.2.6). A common name ends at 64 characters,
		// and one that were the authority's would make the leaf its own issuer.
		// No serial number: the library draws 20 octets (RFC 5280 §4.1.2.2).
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		SubjectKeyId:          l.keyID,
		AuthorityKeyId:        issuerID,
	}
	if address, err := netip.ParseAddr(name); err == nil {
		template.IPAddresses = []net.IP{address.AsSlice()}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, l.key.Public(), l.authority.key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{
		Certificate: append([][]byte{der}, l.parents...),
		PrivateKey:  l.key,
		Leaf:        parsed,
	}, nil
}

// canonical is the one form of a host under which its leaf is kept. It refuses
// what no host can be called, a wildcard above all: its leaf would stand for
// other hosts too.
func canonical(host string) (string, error) {
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	}
	if address, err := netip.ParseAddr(host); err == nil {
		if address.Zone() != "" {
			return "", fmt.Errorf("no certificate can name %q, an address with a zone", host)
		}
		return address.Unmap().String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if len(name) > 253 {
		return "", fmt.Errorf("no certificate can name a host of %d characters", len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) == 0 || len(label) > 63 || strings.ContainsFunc(label, notInName) {
			return "", fmt.Errorf("no certificate can name %q", host)
		}
	}
	return name, nil
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}
