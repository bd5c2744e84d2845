package site

// A Rank says why a name is let through. A stronger one goes before a weaker one.
type Rank string

// The ranks, the strongest first.
const (
	Synthetic Rank = "synthetic" // a site's, served from its route
	Live      Rank = "live"      // a live site's
	Allowlist Rank = "allowlist" // one that the network, or a site, needs
)

// A Report says what a table makes of each name.
type Report struct {
	Routes   []RouteRow  `json:"routes"`
	Unrouted []Unrouted  `json:"unrouted"` // let through to where the network has them
	Shadowed []Shadowing `json:"shadowed"`
}

// A RouteRow is a name that is served from a route.
type RouteRow struct {
	Name     string `json:"name"`
	Site     string `json:"site"`
	URL      string `json:"url"`      // as a browser opens it, at the usual port
	Upstream string `json:"upstream"` // "": there is none, or it may hold a password
}

// An Unrouted is a name, or a rule for some, that is let through.
type Unrouted struct {
	Name string `json:"name"`
	Site string `json:"site,omitempty"` // "": the network's
	Rank Rank   `json:"rank"`
}

// A Shadowing is a name that a stronger one takes some or all hosts from.
type Shadowing struct {
	Name   string `json:"name"`
	Site   string `json:"site,omitempty"`
	Rank   Rank   `json:"rank"`
	By     string `json:"by"`
	BySite string `json:"by_site"`
	Whole  bool   `json:"whole"` // nothing is left of it
}

// Report says what the table makes of each name.
func (t *Table) Report() Report { return t.report }

// settle makes the report, and drops what is wholly shadowed.
func (t *Table) settle() {
	r := Report{Routes: []RouteRow{}, Unrouted: []Unrouted{}, Shadowed: []Shadowing{}}
	type claim struct{ name, site string }
	var stronger []claim
	for _, s := range t.sites {
		for _, name := range s.all {
			scheme := "https://"
			if isPlain(name) {
				scheme = "http://"
			}
			r.Routes = append(r.Routes, RouteRow{name, s.Name, scheme + name + "/", s.shownUpstream()})
			stronger = append(stronger, claim{name, s.Name})
		}
	}
	synthetic := len(stronger)
	for i, s := range t.lives {
		var left []string
		for _, name := range s.names() {
			whole := false
			for _, by := range stronger[:synthetic] {
				if overlap(name, by.name) {
					covered := name == by.name || covers(by.name, name)
					whole = whole || covered
					r.Shadowed = append(r.Shadowed, Shadowing{name, s.Name, Live, by.name, by.site, covered})
				}
			}
			if !whole {
				left = append(left, name)
				stronger = append(stronger, claim{name, s.Name})
				r.Unrouted = append(r.Unrouted, Unrouted{name, s.Name, Live})
			}
		}
		t.lives[i].Domains = left
	}
	var left []rule
	for _, a := range t.allowed {
		whole := false
		for _, by := range stronger {
			if met, covered := meets(by.name, a.HostRule); met {
				whole = whole || covered
				r.Shadowed = append(r.Shadowed, Shadowing{a.String(), a.site, Allowlist, by.name, by.site, covered})
			}
		}
		if !whole {
			left = append(left, a)
			r.Unrouted = append(r.Unrouted, Unrouted{a.String(), a.site, Allowlist})
		}
	}
	t.allowed = left
	t.report = r
}
