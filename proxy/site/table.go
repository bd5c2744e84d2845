package site

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/agentenv/netlog/proxy"
	"github.com/agentenv/netlog/proxy/wire"
)

// A Table says what is done with each host: a site's names are routed, live hosts
// and those that the network allows are let through, the rest is refused. Exact
// names go before wildcards. It does not change once it is made.
type Table struct {
	sites   []*routed
	lives   []Site
	allowed []rule
	open    bool // the network lets everything through
	report  Report
}

// A routed is a site that is served from its route.
type routed struct {
	Site
	all     []string // its names
	up      *upstream
	headers []wire.Field // upstream_headers
	route   *proxy.Route
	secret  []string // the fields whose values stay out of the log
}

// answersFor tells whether host is one of the site's names.
func (s *routed) answersFor(host string) bool {
	return slices.ContainsFunc(s.all, func(name string) bool { return covers(name, host) })
}

// A rule is an allow_hosts entry and whose it is.
type rule struct {
	proxy.HostRule
	site string // "": the network's
}

// NewTable makes the table of a configuration. Its error names everything that
// keeps it from being one; the table is then good for its Report alone.
func NewTable(c Config) (*Table, error) {
	var problems problemList
	c.check(&problems)
	t := &Table{open: c.AllowHosts == nil}
	seen := map[string]bool{}
	for _, s := range c.Sites {
		s.check(&problems)
		if s.Name != "" && seen[s.Name] {
			problems.addf("site %q: there are two of that name", s.Name)
		}
		seen[s.Name] = true
		t.allow(s.AllowHosts, s.Name, &problems)
		if s.Live {
			t.lives = append(t.lives, s)
			continue
		}
		up, err := parseUpstream(s.Upstream)
		if err != nil && s.Upstream != "" {
			if strings.Contains(s.Upstream, "@") { // what is wrong with it may be a password
				problems.addf("site %q: the upstream, which has an @ and is not shown, has a user name or is no URL", s.Name)
			} else {
				problems.addf("site %q: the upstream %q %w", s.Name, s.Upstream, err)
			}
		}
		t.sites = append(t.sites, newRouted(s, up))
	}
	t.allow(c.AllowHosts, "", &problems)
	if len(c.Sites) == 0 {
		problems.addf("there are no sites")
	}
	t.checkConflicts(&problems)
	t.checkGateways(c, &problems)
	t.settle()
	return t, problems.err()
}

// newRouted is a site with its route; up is nil where that is a problem.
func newRouted(s Site, up *upstream) *routed {
	r := &routed{Site: s, all: s.names(), up: up}
	for _, name := range slices.Sorted(maps.Keys(s.UpstreamHeaders)) {
		r.headers = append(r.headers, field(http.CanonicalHeaderKey(name), s.UpstreamHeaders[name]))
		r.secret = append(r.secret, name)
	}
	r.secret = append(r.secret, s.SignInHeaders...)
	if up == nil {
		return r
	}
	r.route = &proxy.Route{
		Site: s.Name, Address: up.address(), TLS: up.scheme == "https",
		Request: r.rewriteRequest, Answer: r.rewriteAnswer,
	}
	return r
}

// shownUpstream is the upstream; "" for one that is none and may hold a password.
func (r *routed) shownUpstream() string {
	if r.up == nil && strings.Contains(r.Upstream, "@") {
		return ""
	}
	return r.Upstream
}

func (t *Table) allow(hosts []string, site string, problems *problemList) {
	for _, host := range hosts {
		r, err := proxy.ParseHostRule(host)
		if err != nil {
			at := "allow_hosts: "
			if site != "" {
				at = "site " + strconv.Quote(site) + ": " + at
			}
			problems.addf("%s%w", at, err)
			continue
		}
		t.allowed = append(t.allowed, rule{r, site})
	}
}

// checkConflicts names every pair of sites of one rank with a common name.
func (t *Table) checkConflicts(problems *problemList) {
	var served []Site
	for _, s := range t.sites {
		served = append(served, s.Site)
	}
	for _, rank := range [][]Site{served, t.lives} {
		for i, a := range rank {
			for _, b := range rank[i+1:] {
				if a.Name == b.Name { // a problem already
					continue
				}
				for _, x := range a.names() {
					for _, y := range b.names() {
						if overlap(x, y) {
							problems.addf("%q of site %q and %q of site %q overlap", x, a.Name, y, b.Name)
						}
					}
				}
			}
		}
	}
}

// checkGateways names the routes whose gateway could not be reached: called as a
// site is, or listening where we do, it would lead back to us, and what the
// network does not allow leads nowhere.
func (t *Table) checkGateways(c Config, problems *problemList) {
	https, plain, _, forward := c.Ports()
	for _, s := range t.sites {
		if s.up == nil {
			continue
		}
		port, _ := strconv.ParseUint(s.up.port, 10, 16)
		for _, other := range t.sites {
			if other.answersFor(s.up.host) {
				problems.addf("site %q: its gateway %q is a name of site %q, and would be this proxy itself", s.Name, s.up.host, other.Name)
			}
		}
		loops := s.up.host == "localhost" || s.up.host == c.Loopback().String()
		if n := int(port); loops && (n == https || n == plain || n == forward) {
			problems.addf("site %q: its gateway %q is where this proxy listens", s.Name, s.up.address())
		}
		target := proxy.Target{Host: s.up.host, Port: uint16(port)}
		if !t.open && !slices.ContainsFunc(t.allowed, func(r rule) bool { return r.Matches(target) }) {
			problems.addf("site %q: allow_hosts leaves out its gateway %q", s.Name, s.up.host)
		}
	}
}

// find is the site whose name host is: an exact name's before a wildcard's.
func (t *Table) find(host string) *routed {
	var wild *routed
	for _, s := range t.sites {
		for _, name := range s.all {
			switch {
			case name == host:
				return s
			case covers(name, host):
				wild = s
			}
		}
	}
	return wild
}

// Policy is what the proxy does with a target. httpsPort is where the names with
// certificates are served.
func (t *Table) Policy(httpsPort int) func(proxy.Target) proxy.Decision {
	return func(target proxy.Target) proxy.Decision {
		if s := t.find(target.Host); s != nil {
			d := proxy.Decision{Action: proxy.RouteTo, Route: s.route, Redact: s.secret}
			if target.Scheme == "http" && !isPlain(target.Host) {
				d.Action = proxy.Redirect
				d.To = "https://" + target.Host
				if httpsPort != 443 {
					d.To = "https://" + net.JoinHostPort(target.Host, strconv.Itoa(httpsPort))
				}
			}
			return d
		}
		for _, s := range t.lives {
			for _, name := range s.Domains {
				if covers(name, target.Host) {
					return proxy.Decision{Action: proxy.TunnelThrough, Redact: s.SignInHeaders}
				}
			}
		}
		if t.open || slices.ContainsFunc(t.allowed, func(r rule) bool { return r.Matches(target) }) {
			return proxy.Decision{Action: proxy.TunnelThrough}
		}
		return proxy.Decision{Action: proxy.Refuse, Reason: "no site is called so, and the network does not allow it"}
	}
}

// Answers tells whether a question for host is ours to answer.
func (t *Table) Answers(host string) bool { return t.find(host) != nil }

// HasTLS tells whether a name wants a certificate.
func (t *Table) HasTLS() bool {
	return slices.ContainsFunc(t.sites, func(s *routed) bool { return len(s.SecureNames()) > 0 })
}

// HasWildcard tells whether a name can only be found by asking our DNS.
func (t *Table) HasWildcard() bool {
	return slices.ContainsFunc(t.sites, func(s *routed) bool { return slices.ContainsFunc(s.all, isWildcard) })
}

// ExactNames are the names that a hosts file can have.
func (t *Table) ExactNames() []string {
	var names []string
	for _, s := range t.sites {
		for _, name := range s.all {
			if !isWildcard(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// CheckURLs are where each site is looked for: its first name that is none of a
// wildcard, else one below its first wildcard.
func (t *Table) CheckURLs(httpsPort, httpPort int) map[string]string {
	urls := map[string]string{}
	for _, s := range t.sites {
		name := s.all[0]
		if i := slices.IndexFunc(s.all, func(name string) bool { return !isWildcard(name) }); i >= 0 {
			name = s.all[i]
		}
		if rest, wild := strings.CutPrefix(name, "*."); wild {
			name = "agentenv-check." + rest
		}
		scheme, port := "https", httpsPort
		if isPlain(name) {
			scheme, port = "http", httpPort
		}
		if strconv.Itoa(port) != portOf(scheme) {
			urls[name] = scheme + "://" + net.JoinHostPort(name, strconv.Itoa(port)) + "/"
		} else {
			urls[name] = scheme + "://" + name + "/"
		}
	}
	return urls
}
