package ca

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func create(t *testing.T) *Authority {
	t.Helper()
	a, err := Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newLeaves(t *testing.T, a *Authority) *Leaves {
	t.Helper()
	l, err := NewLeaves(a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mint(t *testing.T, a *Authority, name string) *tls.Certificate {
	t.Helper()
	c, err := newLeaves(t, a).Leaf(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func verify(t *testing.T, a *Authority, leaf *tls.Certificate, name string) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate)
	if _, err := leaf.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// What a leaf may hold, and nothing else (RFC 5280 §4.2; openssl's and the
// browsers' stricter rules).
func TestLeaf(t *testing.T) {
	a := create(t)
	l := newLeaves(t, a)
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + ".test"
	for name, want := range map[string]struct{ dns, ip string }{
		"www.example.com":     {dns: "www.example.com"},
		"WWW.Example.COM.":    {dns: "www.example.com"},
		"localhost":           {dns: "localhost"},
		"xn--bcher-kva.test":  {dns: "xn--bcher-kva.test"},
		"a_b.example.com":     {dns: "a_b.example.com"},
		long:                  {dns: long},
		"127.0.0.1":           {ip: "127.0.0.1"},
		"::1":                 {ip: "::1"},
		"[2001:DB8::0:1]":     {ip: "2001:db8::1"},
		"::ffff:192.0.2.1":    {ip: "192.0.2.1"},
		"999.999.999.999":     {dns: "999.999.999.999"},
		"agentenv-netlog.one": {dns: "agentenv-netlog.one"},
	} {
		leaf, err := l.Leaf(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c := leaf.Leaf
		var addresses []string
		for _, ip := range c.IPAddresses {
			addresses = append(addresses, ip.String())
		}
		if got := strings.Join(c.DNSNames, " "); got != want.dns {
			t.Errorf("%s: names %q, want %q", name, got, want.dns)
		}
		if got := strings.Join(addresses, " "); got != want.ip {
			t.Errorf("%s: addresses %q, want %q", name, got, want.ip)
		}
		if want.dns != "999.999.999.999" { // Go takes no such name in a certificate
			verify(t, a, leaf, want.dns+want.ip)
		}

		if got := c.Subject.String(); got != "" {
			t.Errorf("%s: subject %q", name, got)
		}
		if !bytes.Equal(c.AuthorityKeyId, a.Certificate.SubjectKeyId) {
			t.Errorf("%s: AKI %x, SKI of the authority %x", name, c.AuthorityKeyId, a.Certificate.SubjectKeyId)
		}
		if len(c.SubjectKeyId) != 20 {
			t.Errorf("%s: SKI %x", name, c.SubjectKeyId)
		}
		if c.IsCA || c.KeyUsage != x509.KeyUsageDigitalSignature || len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != x509.ExtKeyUsageServerAuth {
			t.Errorf("%s: IsCA %v, key usage %v, extended %v", name, c.IsCA, c.KeyUsage, c.ExtKeyUsage)
		}
		if c.SerialNumber.Sign() <= 0 || len(c.SerialNumber.Bytes()) > 20 {
			t.Errorf("%s: serial %v", name, c.SerialNumber)
		}
		if got := c.NotAfter.Sub(c.NotBefore); got != leafLife {
			t.Errorf("%s: valid for %v", name, got)
		}
		if age := time.Since(c.NotBefore); age < backdate || age > backdate+time.Hour {
			t.Errorf("%s: back-dated by %v", name, age)
		}
		known := map[string]bool{ // and whether critical
			"2.5.29.15": true,  // key usage
			"2.5.29.37": false, // extended key usage
			"2.5.29.19": true,  // basic constraints
			"2.5.29.14": false, // SKI
			"2.5.29.35": false, // AKI
			"2.5.29.17": true,  // alternative names: critical without a subject
		}
		if len(c.Extensions) != len(known) {
			t.Errorf("%s: %d extensions, want %d", name, len(c.Extensions), len(known))
		}
		for _, e := range c.Extensions {
			if critical, ok := known[e.Id.String()]; !ok || critical != e.Critical {
				t.Errorf("%s: extension %v, critical %v", name, e.Id, e.Critical)
			}
		}
	}
}

func TestLeafRefuses(t *testing.T) {
	l := newLeaves(t, create(t))
	for _, name := range []string{
		"", ".", "..", "a..b", ".a", "*", "*.example.com", "a b", "a\x00b", "a/b", "bücher.test", "a:443",
		"[::1", "fe80::1%eth0", "host,other", strings.Repeat("a", 64) + ".test", strings.Repeat("abc.", 64) + "test",
	} {
		if c, err := l.Leaf(name); err == nil {
			t.Errorf("%q: a certificate for %q", name, c.Leaf.DNSNames)
		}
	}
	if len(l.byName) != 0 {
		t.Errorf("%d entries are kept of names that were refused", len(l.byName))
	}
}

// RFC 7093 §2: the key's bit string is hashed, which in a P-256 key is the last
// 65 bytes.
func TestKeyID(t *testing.T) {
	a := create(t)
	sum := sha256.Sum256(a.Certificate.RawSubjectPublicKeyInfo[len(a.Certificate.RawSubjectPublicKeyInfo)-65:])
	if !bytes.Equal(a.Certificate.SubjectKeyId, sum[:20]) {
		t.Errorf("SKI %x, want %x", a.Certificate.SubjectKeyId, sum[:20])
	}
}

func TestIssuerWithoutKeyID(t *testing.T) {
	key := ecKey(t)
	own := issue(t, key, nil, nil)
	a := &Authority{Certificate: own.certificate, chain: []*x509.Certificate{own.certificate}, key: key}
	a.Certificate.SubjectKeyId = nil
	leaf := mint(t, a, "a.test")
	want, err := keyID(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(leaf.Leaf.AuthorityKeyId, want) {
		t.Errorf("AKI %x, want %x", leaf.Leaf.AuthorityKeyId, want)
	}
}

func TestSPKI(t *testing.T) {
	l := newLeaves(t, create(t))
	for _, name := range []string{"a.test", "b.test"} {
		c, err := l.Leaf(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(c.Leaf.RawSubjectPublicKeyInfo)
		if got := base64.StdEncoding.EncodeToString(sum[:]); got != l.SPKI() {
			t.Errorf("%s: SPKI %s, want %s", name, got, l.SPKI())
		}
	}
	if other := newLeaves(t, l.authority); other.SPKI() == l.SPKI() {
		t.Error("two processes share a leaf key")
	}
}

func TestLeafOnceUnderConcurrency(t *testing.T) {
	l := newLeaves(t, create(t))
	var wg sync.WaitGroup
	var got [64]*tls.Certificate
	for i := range got {
		wg.Go(func() {
			c, err := l.Leaf([]string{"a.test", "A.test."}[i%2])
			if err != nil {
				t.Error(err)
			}
			got[i] = c
		})
	}
	wg.Wait()
	for i := range got {
		if got[i] != got[0] {
			t.Fatalf("%d and 0 got different certificates", i)
		}
	}
}

func TestLeavesAreBounded(t *testing.T) {
	l := newLeaves(t, create(t))
	leaf := func(i int) *tls.Certificate {
		c, err := l.Leaf(fmt.Sprintf("h%d.test", i))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := leaf(0), leaf(1)
	for i := 2; i < maxNames; i++ {
		leaf(i)
	}
	if leaf(0) != first {
		t.Error("a leaf went before the cache was full")
	}
	leaf(maxNames)
	if len(l.byName) != maxNames || l.recent.Len() != maxNames {
		t.Errorf("%d names, %d in order, want %d", len(l.byName), l.recent.Len(), maxNames)
	}
	if leaf(0) != first {
		t.Error("the leaf that had just been asked for went")
	}
	if leaf(1) == second {
		t.Error("the leaf that had not been asked for longest stayed")
	}
}

func TestRenewal(t *testing.T) {
	a := create(t)
	l := newLeaves(t, a)
	start := time.Now()
	at := func(d time.Duration) *tls.Certificate {
		l.now = func() time.Time { return start.Add(d) }
		c, err := l.Leaf("a.test")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const day = 24 * time.Hour
	first := at(0)
	if at(21*day) != first {
		t.Error("renewed within three weeks")
	}
	second := at(23 * day)
	if second == first {
		t.Fatal("not renewed after half its life")
	}
	if !second.Leaf.NotAfter.After(first.Leaf.NotAfter) {
		t.Errorf("the renewed one ends at %v, the first at %v", second.Leaf.NotAfter, first.Leaf.NotAfter)
	}

	end := a.Certificate.NotAfter.Sub(start)
	last := at(end - day)
	if !last.Leaf.NotAfter.Equal(a.Certificate.NotAfter) {
		t.Errorf("the last leaf ends at %v, the authority at %v", last.Leaf.NotAfter, a.Certificate.NotAfter)
	}
	l.now = func() time.Time { return start.Add(end) }
	if _, err := l.Leaf("a.test"); err == nil || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("after the authority's end: error %v", err)
	}
}

func TestNeverBeforeTheAuthority(t *testing.T) {
	key := ecKey(t)
	own := issue(t, key, nil, nil)
	a, err := Load(folder(t, certificatesPEM(own), pkcs8PEM(t, key)))
	if err != nil {
		t.Fatal(err)
	}
	if got := mint(t, a, "a.test").Leaf.NotBefore; !got.Equal(own.certificate.NotBefore) {
		t.Errorf("the leaf begins at %v, the authority at %v", got, own.certificate.NotBefore)
	}
}

func TestHandshake(t *testing.T) {
	a := create(t)
	l := newLeaves(t, a)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.CertificatePEM())
	client, server := net.Pipe()
	defer client.Close()
	done := make(chan error)
	go func() {
		defer server.Close()
		done <- tls.Server(server, &tls.Config{
			GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return l.Leaf(h.ServerName) },
		}).Handshake()
	}()
	if err := tls.Client(client, &tls.Config{ServerName: "a.test", RootCAs: roots}).Handshake(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOpenSSLStrict(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	key := rsaKey(t)
	root := issue(t, rsaKey(t), nil, func(c *x509.Certificate) { c.Subject.CommonName = "root" })
	issuing := issue(t, key, root, func(c *x509.Certificate) { c.Subject.CommonName = "issuing" })
	withChain, err := Load(folder(t, certificatesPEM(issuing, root), pkcs8PEM(t, key)))
	if err != nil {
		t.Fatal(err)
	}
	for kind, a := range map[string]*Authority{"ours": create(t), "own with chain": withChain} {
		for _, name := range []string{"www.example.com", strings.Repeat("a", 63) + ".example.com", "127.0.0.1", "::1"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				leaf := mint(t, a, name)
				var chain []byte
				for _, der := range leaf.Certificate {
					chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
				}
				path := filepath.Join(t.TempDir(), "leaf.pem")
				if err := os.WriteFile(path, chain, 0o600); err != nil {
					t.Fatal(err)
				}
				check := "-verify_hostname"
				if net.ParseIP(name) != nil {
					check = "-verify_ip"
				}
				out, err := exec.Command(openssl, "verify", "-x509_strict", "-purpose", "sslserver", "-no-CApath", "-no-CAstore",
					"-CAfile", a.CertificatePath(), "-untrusted", path, check, name, path).CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// A serial number is a positive INTEGER of at most 20 octets in DER too.
func TestSerialInDER(t *testing.T) {
	l := newLeaves(t, create(t))
	seen := make(map[string]bool)
	for i := range 200 {
		c, err := l.Leaf(fmt.Sprintf("h%d.test", i))
		if err != nil {
			t.Fatal(err)
		}
		der, err := asn1.Marshal(c.Leaf.SerialNumber)
		if err != nil {
			t.Fatal(err)
		}
		if len(der)-2 > 20 || der[2]&0x80 != 0 || seen[string(der)] {
			t.Fatalf("serial %x, seen before %v", der, seen[string(der)])
		}
		seen[string(der)] = true
	}
}
