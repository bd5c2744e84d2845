package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/agentenv/netlog/capture"
)

// A Site is a website and where it is.
type Site struct {
	Name string   // in its routes: letters, digits, _ . and -, a letter or a digit first
	URL  *url.URL // its root: http or https, and no path
}

// ParseSite reads NAME=URL.
func ParseSite(s string) (Site, error) {
	name, address, ok := strings.Cut(s, "=")
	if !ok {
		return Site{}, fmt.Errorf("%q is no NAME=URL", s)
	}
	if !capture.ValidName(name) {
		return Site{}, fmt.Errorf("%q is no name of a site: letters, digits, _ . and -, a letter or a digit first", name)
	}
	u, err := url.Parse(address)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return Site{}, fmt.Errorf("the URL of %q: %w", name, err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return Site{}, fmt.Errorf("the URL of %q is no http://HOST or https://HOST", name)
	case u.User != nil:
		return Site{}, fmt.Errorf("the URL of %q has a user name", name)
	case u.Path != "" && u.Path != "/", u.RawQuery != "" || u.ForceQuery, strings.Contains(address, "#"):
		return Site{}, fmt.Errorf("the URL of %q has more than a host and a port, and a site is served from its root", name)
	}
	return Site{Name: name, URL: &url.URL{Scheme: u.Scheme, Host: u.Host}}, nil
}

// A site is one that is served.
type site struct {
	Site
	gateway *Gateway
	ctx     context.Context // ends when the gateway closes

	mu       sync.Mutex
	reserved reserved // nil until its card was read
	reading  *reading // of who waits for it
}

// A reading is one try to read a site's card.
type reading struct {
	done     chan struct{}
	reserved reserved
	err      error
}

// keeps says whether a site keeps a path from browsers. An error is that nobody
// knows, as its card can't be read; the next call tries again. Calls at the same
// time make one try.
func (s *site) keeps(ctx context.Context, path string) (bool, error) {
	s.mu.Lock()
	known, r := s.reserved, s.reading
	if known == nil && r == nil {
		r = &reading{done: make(chan struct{})}
		s.reading = r
		s.gateway.work.Go(func() { s.read(r) })
	}
	s.mu.Unlock()
	if known != nil {
		return known.holds(path), nil
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return r.reserved.holds(path), r.err
}

func (s *site) read(r *reading) {
	defer close(r.done)
	_, r.reserved, r.err = s.card(s.ctx)
	if r.err != nil {
		s.gateway.logger.Warn("a site's card can't be read, and browsers get nothing of the site", "site", s.Name, "error", r.err)
	}
	s.mu.Lock()
	s.reading = nil
	s.mu.Unlock()
}
