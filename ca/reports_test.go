package ca

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

// Browsers refuse a leaf that is valid for long, and will shorten that: 47 days from
// 2029 on (mitmproxy/mitmproxy#815, #3273, #3914, #8142, #8201, #8203).
func TestLeafIsShortLived(t *testing.T) {
	const longest = 47 * 24 * time.Hour
	own := issue(t, ecKey(t), nil, func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(10, 0, 0) })
	a, err := Load(folder(t, certificatesPEM(own), pkcs8PEM(t, own.key)))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Authority{create(t), a} {
		c := mint(t, a, "www.example.com").Leaf
		if life := c.NotAfter.Sub(c.NotBefore); life > longest {
			t.Errorf("valid for %v", life)
		}
		if left := time.Until(c.NotAfter); left < 7*24*time.Hour {
			t.Errorf("valid for %v more", left)
		}
	}
}

// A leaf of the user's own authority refers to it by the identifier that it has,
// however that was made (mitmproxy/mitmproxy#8214), takes over no address to ask
// about revocation (mitmproxy/mitmproxy#7609), and is never called as the authority
// is (elazarl/goproxy#627).
func TestLeafOfAnOwnAuthority(t *testing.T) {
	id := []byte("no hash of the key")
	own := issue(t, ecKey(t), nil, func(c *x509.Certificate) {
		c.SubjectKeyId = id
		c.Subject.CommonName = "www.example.com"
		c.CRLDistributionPoints = []string{"http://crl.test/x"}
		c.OCSPServer = []string{"http://ocsp.test/"}
		c.IssuingCertificateURL = []string{"http://issuer.test/"}
	})
	a, err := Load(folder(t, certificatesPEM(own), pkcs8PEM(t, own.key)))
	if err != nil {
		t.Fatal(err)
	}
	leaf := mint(t, a, "www.example.com")
	c := leaf.Leaf
	if !bytes.Equal(c.AuthorityKeyId, id) {
		t.Errorf("AKI %q, want %q", c.AuthorityKeyId, id)
	}
	if len(c.CRLDistributionPoints)+len(c.OCSPServer)+len(c.IssuingCertificateURL) > 0 {
		t.Errorf("asks %v %v %v", c.CRLDistributionPoints, c.OCSPServer, c.IssuingCertificateURL)
	}
	if bytes.Equal(c.RawSubject, own.certificate.RawSubject) {
		t.Errorf("subject %v, as the authority's", c.Subject)
	}
	verify(t, a, leaf, "www.example.com")
}
