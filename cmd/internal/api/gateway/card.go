package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/agentenv/netlog/capture/traffic"
)

const (
	websiteURI = "urn:agentenv:website/v1"
	maxCard    = 1 << 20

	// maxReserved is more than a site has that does not advertise others each time.
	maxReserved = 10_000
)

// card reads a site's card, nil when it has none, and with it what the site
// reserves.
func (s *site) card(ctx context.Context) (*object, reserved, error) {
	card, err := s.fetchCard(ctx)
	if err != nil {
		return nil, nil, err
	}
	paths := slices.Clip(builtIn)
	if card != nil {
		eachEndpoint(card, func(endpoint string) string {
			paths = paths.add(pathOf(endpoint))
			return endpoint
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// What was reserved stays so, should the site have another card by now, or none.
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.reserved, paths))))
	if len(all) > maxReserved {
		return nil, nil, fmt.Errorf("it reserves, with those before it, more than %d paths", maxReserved)
	}
	s.reserved = all
	return card, paths, nil
}

func (s *site) fetchCard(ctx context.Context) (*object, error) {
	ctx, cancel := context.WithTimeout(ctx, s.gateway.limits.card)
	defer cancel()
	at := *s.URL
	at.Path = traffic.CardPath
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := s.gateway.pooled.RoundTrip(r) // no redirect is followed
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, nil
	default:
		return nil, fmt.Errorf("it is answered with %s", answer.Status)
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxCard+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxCard:
		return nil, fmt.Errorf("it has more than %d bytes", maxCard)
	}
	v, err := parseJSON(b)
	if err != nil {
		return nil, err
	}
	card, ok := v.(*object)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return card, nil
}

// Cards are the sites' cards, as children of this server's: what they advertise is
// below each site's [ServicePath]. A site that has none has one of ours, by which it
// is found; one whose card can't be read now has no place among them.
func (g *Gateway) Cards(ctx context.Context) []any {
	found := make([]*object, len(g.sites))
	var reads sync.WaitGroup
	for i, s := range g.sites {
		reads.Go(func() {
			c, _, err := s.card(ctx)
			if c == nil && err == nil {
				c = plainCard(s.Name)
			}
			found[i] = c
		})
	}
	reads.Wait()
	cards := []any{}
	for i, c := range found {
		if c != nil {
			reroot(c, g.sites[i].URL.String(), ServicePath+g.sites[i].Name)
			browsable(c, WebsitePath+g.sites[i].Name+"/")
			cards = append(cards, c)
		}
	}
	return cards
}

// plainCard is that of a site that has none: it is a website, and nothing can be
// called of it. Its url, which is where its data plane would be, tells its service.
func plainCard(name string) *object {
	extension := &object{}
	extension.set("uri", websiteURI)
	extension.set("description", "A website without a card of its own.")
	extension.set("params", &object{})
	extension.set("required", false)
	capabilities := &object{}
	capabilities.set("extensions", []any{extension})
	capabilities.set("tools", []any{})
	capabilities.set("operations", []any{})
	card := &object{}
	card.set("name", name)
	card.set("protocolVersion", "1.0")
	card.set("url", "/agentenv")
	card.set("preferredTransport", "JSONRPC")
	card.set("additionalInterfaces", []any{})
	card.set("capabilities", capabilities)
	card.set("children_environments", nil)
	return card
}

// reroot puts what a card, and its children, advertise at the card's own address
// below a path.
func reroot(card *object, address, below string) {
	eachEndpoint(card, func(endpoint string) string {
		if path := strings.TrimPrefix(endpoint, address); strings.HasPrefix(path, "/") {
			return below + path
		}
		return endpoint
	})
	for _, child := range arrayIn(card, "children_environments") {
		if child, ok := child.(*object); ok {
			reroot(child, address, below)
		}
	}
}

// browsable says on a website's card where browsers find it.
func browsable(card *object, path string) {
	for _, extension := range extensions(card) {
		if uri, _ := extension.get("uri").(string); uri != websiteURI {
			continue
		}
		params := objectIn(extension, "params")
		if params == nil {
			params = &object{}
			extension.set("params", params)
		}
		params.set("browse_url", path)
	}
}

// eachEndpoint passes what a card advertises, paths and URLs, through f.
func eachEndpoint(card *object, f func(string) string) {
	replace := func(o *object, name string) {
		if endpoint, ok := o.get(name).(string); ok && endpoint != "" {
			o.set(name, f(endpoint))
		}
	}
	replace(card, "url")
	for _, extension := range extensions(card) {
		params := objectIn(extension, "params")
		if params == nil {
			continue
		}
		replace(params, "endpoint")
		if uri, _ := extension.get("uri").(string); uri == traffic.BrowserURI {
			replace(params, "live")
		}
		methods := objectIn(params, "methods")
		if methods == nil {
			continue
		}
		for _, name := range methods.names {
			if method := objectIn(methods, name); method != nil {
				replace(method, "endpoint")
			}
		}
	}
}

func extensions(card *object) (all []*object) {
	capabilities := objectIn(card, "capabilities")
	if capabilities == nil {
		return nil
	}
	for _, v := range arrayIn(capabilities, "extensions") {
		if extension, ok := v.(*object); ok {
			all = append(all, extension)
		}
	}
	return all
}

func objectIn(o *object, name string) *object {
	v, _ := o.get(name).(*object)
	return v
}

func arrayIn(o *object, name string) []any {
	v, _ := o.get(name).([]any)
	return v
}

// pathOf is the path of an endpoint, which may be a whole URL.
func pathOf(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		return u.EscapedPath()
	}
	endpoint, _, _ = strings.Cut(endpoint, "?")
	endpoint, _, _ = strings.Cut(endpoint, "#")
	if !strings.HasPrefix(endpoint, "/") {
		endpoint = "/" + endpoint
	}
	return endpoint
}
