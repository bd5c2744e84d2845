package site

import (
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Folder is where an installation keeps everything that is not to be elsewhere.
const Folder = "/etc/agentenv/sites"

// Config is what a deployment's site routing is told, as JSON. Absent keys have
// their defaults.
type Config struct {
	User      string `json:"user,omitempty"`        // the session's, who browses and must not reach the proxy; "": root
	ServeUser string `json:"serve_user,omitempty"`  // who serves once the ports are taken; "": nobody or, where the system has none, User
	Label     string `json:"label,omitempty"`       // names the deployment, in its authority's name
	ValidFor  int64  `json:"valid_for_s,omitempty"` // how long the deployment lasts, in seconds; 0: 10,800. Its certificates last a day more

	Log        string  `json:"log,omitempty"`         // what the process says; "": site-proxy.log in Folder
	NetworkLog *string `json:"network_log,omitempty"` // the network log; nil: network.jsonl in Folder; "": none

	Listen      string   `json:"listen,omitempty"`       // the IPv4 address of all ports; "": 127.0.0.1
	HTTPSPort   *int     `json:"https_port,omitempty"`   // nil: 443; here and below 0 is any free one
	HTTPPort    *int     `json:"http_port,omitempty"`    // nil: 80
	DNSPort     *int     `json:"dns_port,omitempty"`     // nil: 53; it is taken only when a name is a wildcard
	ForwardPort *int     `json:"forward_port,omitempty"` // of a proxy for browsers that are pointed at one; nil: none
	Nameservers []string `json:"nameservers,omitempty"`  // who is asked about other names, as an address or address:port; none: the system's own

	CAPEM      string   `json:"ca_pem,omitempty"`     // the authority of the sites' certificates
	AllowHosts []string `json:"allow_hosts,omitzero"` // what of other hosts the network lets through; nil: all, empty: none
	Sites      []Site   `json:"sites,omitempty"`
}

// A Site is a website that browsers are to reach under names of its own.
type Site struct {
	Name       string   `json:"name"`
	Upstream   string   `json:"upstream,omitempty"`    // its route at the gateway, as http://gateway:8080/website/notes/
	Domains    []string `json:"domains,omitempty"`     // its names; none: NAME.localhost, unless it is live
	Live       bool     `json:"live,omitempty"`        // it is not served from a route: its names are the real site's, and let through
	AllowHosts []string `json:"allow_hosts,omitempty"` // other hosts that it needs, which are let through
	CertPEM    string   `json:"cert_pem,omitempty"`    // its certificate, with what leads to CAPEM
	KeyPEM     string   `json:"key_pem,omitempty"`     // the certificate's key

	SignInHeaders   []string          `json:"signin_headers,omitempty"`   // fields whose values are kept out of the log
	UpstreamHeaders map[string]string `json:"upstream_headers,omitempty"` // fields that the gateway wants: added on the way up, secret
}

// What a Config has that does not say.
const (
	defaultValidFor = 3 * time.Hour
	defaultListen   = "127.0.0.1"
)

// maxConfig bounds a configuration that is read.
const maxConfig = 64 << 20

// ReadConfig reads a configuration. Its error names everything in it that is no
// configuration's: whether one can be served is NewTable's to say.
func ReadConfig(r io.Reader) (Config, error) {
	var c Config
	raw, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return c, err
	}
	if len(raw) > maxConfig {
		return c, fmt.Errorf("the configuration has more than %d bytes", maxConfig)
	}
	var problems problemList
	decodeStrict(raw, &c, "", &problems)
	return c, problems.err()
}

// Address is where everything listens.
func (c *Config) Address() string {
	if c.Listen == "" {
		return defaultListen
	}
	return c.Listen
}

// Loopback is the address under which browsers find the sites.
func (c *Config) Loopback() netip.Addr {
	ip, err := netip.ParseAddr(c.Address())
	if err != nil || !ip.Is4() || ip.IsUnspecified() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return ip
}

// LogPath is where the network log is; "" for none.
func (c *Config) LogPath() string {
	if c.NetworkLog == nil {
		return filepath.Join(Folder, "network.jsonl")
	}
	return *c.NetworkLog
}

// OwnLogPath is where the process's own log is.
func (c *Config) OwnLogPath() string {
	if c.Log == "" {
		return filepath.Join(Folder, "site-proxy.log")
	}
	return c.Log
}

// Life is how long the deployment lasts.
func (c *Config) Life() time.Duration {
	if c.ValidFor == 0 {
		return defaultValidFor
	}
	return time.Duration(c.ValidFor) * time.Second
}

// Ports are the ports, with their defaults; forward is -1 for none.
func (c *Config) Ports() (https, http, dns, forward int) {
	or := func(p *int, fallback int) int {
		if p == nil {
			return fallback
		}
		return *p
	}
	return or(c.HTTPSPort, 443), or(c.HTTPPort, 80), or(c.DNSPort, 53), or(c.ForwardPort, -1)
}

// check adds what is wrong with the configuration but for its sites.
func (c *Config) check(p *problemList) {
	ip, err := netip.ParseAddr(c.Address())
	if err != nil || !ip.Is4() {
		p.addf("listen: %q is no IPv4 address", c.Listen)
	} else if c.ForwardPort != nil && !ip.IsLoopback() {
		p.addf("forward_port: %s is no loopback address, and everyone who reaches it could use the proxy", c.Listen)
	}
	if c.ValidFor < 0 || c.ValidFor > int64(365*24*time.Hour/time.Second) {
		p.addf("valid_for_s: %d is not between 1 and a year", c.ValidFor)
	}
	if strings.ContainsFunc(c.Label, func(r rune) bool { return r < ' ' || r > '~' }) || len(c.Label) > 32 {
		p.addf("label: %q is not at most 32 printable ASCII characters", c.Label)
	}
	taken := map[int]string{}
	for _, port := range []struct {
		key   string
		given *int
		value int
	}{{"https_port", c.HTTPSPort, 443}, {"http_port", c.HTTPPort, 80}, {"forward_port", c.ForwardPort, 0}, {"dns_port", c.DNSPort, 53}} {
		if port.given != nil {
			port.value = *port.given
		}
		if port.value < 0 || port.value > 65535 {
			p.addf("%s: %d is no port", port.key, port.value)
		} else if other := taken[port.value]; other != "" && port.value != 0 {
			p.addf("%s: %d is %s too", port.key, port.value, other)
		}
		taken[port.value] = port.key
	}
	_, _, dns, _ := c.Ports()
	for _, s := range c.Nameservers {
		switch at, err := ParseNameserver(s); {
		case err != nil:
			p.addf("nameservers: %w", err)
		case at.Addr() == c.Loopback() && int(at.Port()) == dns:
			p.addf("nameservers: %s is this resolver itself", s)
		}
	}
}

// check adds what is wrong with a site by itself.
func (s *Site) check(p *problemList) {
	at := fmt.Sprintf("site %q: ", s.Name)
	misnamed := s.Name == "" || strings.Trim(s.Name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != ""
	if misnamed {
		p.addf("%sthe name is not made of letters, digits, _ and - alone", at)
	}
	for _, name := range s.Domains {
		if err := checkName(name); err != nil {
			p.addf("%sthe name %q %w", at, name, err)
		}
	}
	for _, name := range s.SignInHeaders {
		if !httpguts.ValidHeaderFieldName(name) {
			p.addf("%ssignin_headers: %q is no name of a header field", at, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.UpstreamHeaders)) {
		switch value := s.UpstreamHeaders[name]; { // which is secret
		case !httpguts.ValidHeaderFieldName(name):
			p.addf("%supstream_headers: %q is no name of a header field", at, name)
		case isFraming(name):
			p.addf("%supstream_headers: %q is set by the proxy itself", at, name)
		case !httpguts.ValidHeaderFieldValue(value) || strings.TrimSpace(value) != value:
			p.addf("%supstream_headers: the value of %q is none of a header field", at, name)
		}
	}
	if s.Live {
		return
	}
	if s.Upstream == "" {
		p.addf("%sit has no upstream, and is not live", at)
	}
	if len(s.Domains) == 0 && !misnamed && checkName(defaultName(s.Name)) != nil {
		p.addf("%sit has no domains, and its name makes none under localhost", at)
	}
}

// isFraming tells the fields that frame, address or route a request.
func isFraming(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "host", "content-length", "transfer-encoding", "trailer", "te", "connection", "keep-alive", "upgrade",
		"proxy-authorization", "proxy-connection", "expect", "forwarded", strings.ToLower(siteRoot):
		return true
	}
	return strings.HasPrefix(name, "x-forwarded-")
}

// names are the site's names, without repeats and what is none.
func (s *Site) names() []string {
	if len(s.Domains) == 0 && !s.Live {
		return []string{defaultName(s.Name)}
	}
	var names []string
	for _, name := range s.Domains {
		if checkName(name) == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// SecureNames are those of the names that are served over TLS.
func (s *Site) SecureNames() []string {
	if s.Live {
		return nil
	}
	return slices.DeleteFunc(s.names(), isPlain)
}
