package site

import (
	"strings"
	"testing"
	"time"

	"github.com/agentenv/netlog/ca"
)

// certified gives a configuration's sites the certificates of one deployment.
func certified(t *testing.T, c Config) Config {
	t.Helper()
	var names [][]string
	for _, s := range c.Sites {
		if len(s.SecureNames()) > 0 {
			names = append(names, s.SecureNames())
		}
	}
	authority, leaves, err := ca.Deploy("", time.Hour, names...)
	if err != nil {
		t.Fatal(err)
	}
	c.CAPEM = string(authority)
	for i := range c.Sites {
		if s := &c.Sites[i]; len(s.SecureNames()) > 0 {
			s.CertPEM, s.KeyPEM = string(leaves[0].Certificate), string(leaves[0].Key)
			leaves = leaves[1:]
		}
	}
	return c
}

func TestCertificates(t *testing.T) {
	bare := Config{Sites: []Site{notes(), {Name: "plain", Upstream: "http://gw/p"}, {Name: "wild", Upstream: "http://gw/w", Domains: []string{"*.wild.test"}}}}
	if !NeedsCertificates(bare) {
		t.Error("a site with TLS needs no certificate")
	}
	if NeedsCertificates(Config{Sites: []Site{{Name: "plain", Upstream: "http://gw/p"}, {Name: "real", Live: true, Domains: []string{"real.example"}}}}) {
		t.Error("plain and live sites need certificates")
	}
	c := certified(t, Config{Sites: []Site{notes(), bare.Sites[1], bare.Sites[2]}})
	if NeedsCertificates(c) {
		t.Error("what it has is not seen")
	}
	all, err := NewCertificates(c, table(t, c), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"notes.test": "notes.test", "www.notes.test": "notes.test", "a.wild.test": "*.wild.test", "other.test": "notes.test", "plain.localhost": "notes.test", "127.0.0.1": "notes.test",
	} {
		leaf, err := all.Leaf(name)
		if err != nil || leaf.Leaf.DNSNames[0] != want {
			t.Errorf("%s: %v, %v", name, leaf, err)
		}
	}
	plain := Config{Sites: bare.Sites[1:2]}
	none, err := NewCertificates(plain, table(t, plain), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Leaf("plain.localhost"); err == nil {
		t.Error("a leaf out of nothing")
	}
}

func TestCertificatesRefuse(t *testing.T) {
	good := certified(t, Config{Sites: []Site{notes(), {Name: "shop", Upstream: "http://gw/s", Domains: []string{"*.shop.test"}}}})
	other := certified(t, Config{Sites: []Site{notes()}})
	for name, c := range map[string]struct {
		change func(*Config)
		at     time.Duration // from now
		want   []string
	}{
		"nothing": {func(c *Config) { c.CAPEM, c.Sites[0].CertPEM, c.Sites[0].KeyPEM, c.Sites[1].KeyPEM = "", "", "", "" }, 0, []string{
			"ca_pem is missing", `site "notes": cert_pem and key_pem are missing`, `site "shop": key_pem is missing`}},
		"no certificate": {func(c *Config) { c.CAPEM, c.Sites[0].CertPEM = "x", "" }, 0, []string{
			"ca_pem holds no certificate", `site "notes": cert_pem is missing`, `site "shop": its certificate does not serve "*.shop.test"`}},
		"another's": {func(c *Config) { c.Sites[0].CertPEM, c.Sites[0].KeyPEM = c.Sites[1].CertPEM, c.Sites[1].KeyPEM }, 0, []string{
			`site "notes": its certificate does not serve "notes.test"`, `does not serve "www.notes.test"`}},
		"key of another":       {func(c *Config) { c.Sites[0].KeyPEM = c.Sites[1].KeyPEM }, 0, []string{`site "notes": cert_pem with key_pem`}},
		"of another authority": {func(c *Config) { c.CAPEM = other.CAPEM }, 0, []string{`"notes.test"`, `"www.notes.test"`, `"*.shop.test"`}},
		"old":                  {func(*Config) {}, 48 * time.Hour, []string{`"notes.test": x509: certificate has expired`, `"www.notes.test"`, `"*.shop.test"`}},
	} {
		t.Run(name, func(t *testing.T) {
			changed := good
			changed.Sites = append([]Site(nil), good.Sites...)
			c.change(&changed)
			_, err := NewCertificates(changed, table(t, changed), time.Now().Add(c.at))
			if err == nil {
				t.Fatal("no error")
			}
			if n := len(strings.Split(err.Error(), "\n")); n != len(c.want) {
				t.Errorf("%d problems: %v", n, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "PRIVATE") {
				t.Error("a key is in the error")
			}
		})
	}
}
