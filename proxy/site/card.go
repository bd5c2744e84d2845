package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// website is the extension of a card whose environment is a website.
const website = "urn:agentenv:website/v1"

const (
	cardPath     = "/.well-known/agent-env.json"
	cardAttempts = 3
	cardPause    = time.Second
	cardTimeout  = 10 * time.Second
	maxCard      = 16 << 20
)

// A Source is where the card of an environment that is composed of others is.
type Source struct {
	Env string // its name, for sites of which two environments have one of the same name; "": as the card has it
	URL string // the gateway's address, without the card's path
}

// ParseSource reads ENV=URL, or a URL alone.
func ParseSource(s string) (Source, error) {
	var from Source
	from.URL = s
	if env, rest, ok := strings.Cut(s, "="); ok && !strings.ContainsAny(env, ":/") {
		from.Env, from.URL = env, rest
	}
	if !strings.HasPrefix(from.URL, "http://") && !strings.HasPrefix(from.URL, "https://") {
		return from, fmt.Errorf("%q is no http:// or https:// URL", from.URL)
	}
	if _, err := parseUpstream(from.URL); err != nil {
		return from, fmt.Errorf("%q %w", from.URL, err)
	}
	from.URL = strings.TrimRight(from.URL, "/")
	return from, nil
}

// FromCards reads the sites of composed environments from their cards. What is no
// card, or is not there, has none; one that can't be read is tried three times, a
// second apart. A name that two environments have becomes ENV-NAME.
func FromCards(ctx context.Context, from []Source, client *http.Client) ([]Site, error) {
	type found struct {
		env string
		Site
	}
	var all []found
	uses := map[string]int{}
	for _, source := range from {
		c, err := readCard(ctx, source.URL, client)
		if err != nil {
			return nil, err
		}
		env := source.Env
		if env == "" {
			env = c.Name
		}
		for _, s := range c.sites(source.URL) {
			all = append(all, found{env, s})
			uses[s.Name]++
		}
	}
	sites := make([]Site, len(all))
	for i, f := range all {
		sites[i] = f.Site
		if uses[f.Name] > 1 && f.env != "" {
			sites[i].Name = siteName(f.env + "-" + f.Name)
		}
	}
	return sites, nil
}

// Take adds sites that were found on cards, but for those whose route the
// configuration names itself: what it says of a site goes before its card.
func (c *Config) Take(found []Site) {
	own := map[string]bool{}
	for _, s := range c.Sites {
		if s.Upstream != "" {
			own[strings.TrimRight(s.Upstream, "/")] = true
		}
	}
	for _, s := range found {
		if s.Live || !own[strings.TrimRight(s.Upstream, "/")] {
			c.Sites = append(c.Sites, s)
		}
	}
}

// readCard gets a card; an empty one when there is none.
func readCard(ctx context.Context, base string, client *http.Client) (*card, error) {
	var err error
	for attempt := range cardAttempts {
		if attempt > 0 {
			select {
			case <-time.After(cardPause):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		var c *card
		if c, err = fetchCard(ctx, base+cardPath, client); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("read the card of %q: %w", base, err)
}

func fetchCard(ctx context.Context, url string, client *http.Client) (*card, error) {
	ctx, cancel := context.WithTimeout(ctx, cardTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return &card{}, nil
	case answer.StatusCode != http.StatusOK:
		return nil, errors.New(answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxCard+1))
	if err != nil {
		return nil, err
	}
	var c card
	if len(body) > maxCard || json.Unmarshal(body, &c) != nil {
		return &card{}, nil
	}
	return &c, nil
}

// A card is what of an environment's card matters here. Whatever has another type
// than it should is as if it were absent.
type card struct {
	Name       string
	URL        string
	Extensions []extension
	Children   []card
}

type extension struct {
	URI    string
	Params struct {
		Domains, AllowHosts, SignInHeaders []string
		Live                               bool
		BrowseURL                          string
	}
}

func (c *card) UnmarshalJSON(raw []byte) error {
	var o map[string]json.RawMessage
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	json.Unmarshal(o["name"], &c.Name)
	json.Unmarshal(o["url"], &c.URL)
	var capabilities map[string]json.RawMessage
	json.Unmarshal(o["capabilities"], &capabilities)
	for _, raw := range items(capabilities["extensions"]) {
		var e map[string]json.RawMessage
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		var x extension
		var params map[string]json.RawMessage
		json.Unmarshal(e["uri"], &x.URI)
		json.Unmarshal(e["params"], &params)
		json.Unmarshal(params["domains"], &x.Params.Domains)
		json.Unmarshal(params["allow_hosts"], &x.Params.AllowHosts)
		json.Unmarshal(params["signin_headers"], &x.Params.SignInHeaders)
		json.Unmarshal(params["live"], &x.Params.Live)
		json.Unmarshal(params["browse_url"], &x.Params.BrowseURL)
		c.Extensions = append(c.Extensions, x)
	}
	for _, raw := range items(o["children_environments"]) {
		var child card
		if json.Unmarshal(raw, &child) == nil {
			c.Children = append(c.Children, child)
		}
	}
	return nil
}

func items(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	json.Unmarshal(raw, &list)
	return list
}

// sites are the websites among the card's children, known by their routes: two
// may have one name.
func (c *card) sites(base string) []Site {
	var sites []Site
	for _, child := range c.Children {
		i := slices.IndexFunc(child.Extensions, func(x extension) bool { return x.URI == website })
		if i < 0 {
			continue
		}
		params := child.Extensions[i].Params
		s := Site{
			Name: siteName(serviceOf(child.URL, child.Name)), Domains: params.Domains, Live: params.Live,
			AllowHosts: params.AllowHosts, SignInHeaders: params.SignInHeaders,
		}
		if !s.Live {
			s.Upstream = joined(base, params.BrowseURL)
		}
		sites = append(sites, s)
	}
	return sites
}

// serviceOf is the service in a route such as /svc/notes/agentenv, else the name.
func serviceOf(url, name string) string {
	_, path, ok := strings.Cut(url, "/svc/")
	if !ok {
		return name
	}
	service, _, _ := strings.Cut(path, "/")
	return service
}

// joined is a path at an address, or a URL of its own.
func joined(base, path string) string {
	if path == "" || strings.Contains(path, "://") {
		return path
	}
	return base + "/" + strings.TrimLeft(path, "/")
}

// siteName makes a site's name of what may have other characters.
func siteName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, s)
}
