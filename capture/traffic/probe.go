package traffic

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
)

// A Check is what a guarded route did without its token.
type Check struct {
	Route string // method and path
	Err   error  // nil: it refused everybody that it should
}

// Probe asks the guarded routes that the card advertises without a token and with
// a wrong one, and with the Client's own if that has one. What it asks changes
// nothing, should it be answered.
func (c *Client) Probe(ctx context.Context) ([]Check, error) {
	card, err := c.with("").Card(ctx)
	if err != nil {
		return nil, err
	}
	routes, err := c.guarded(card)
	if err != nil {
		return nil, err
	}
	if len(routes) == 0 {
		return nil, fmt.Errorf("the card of %s advertises no route that could be guarded", c.Address())
	}
	var checks []Check
	for _, r := range routes {
		checks = append(checks, Check{r.verb + " " + r.endpoint, c.check(ctx, r)})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return checks, nil
}

// with is the Client with another token.
func (c *Client) with(token string) *Client {
	other := *c
	other.config.Token = token
	return &other
}

// A probed is a call to probe with.
type probed struct {
	verb, endpoint string
	params         map[string]any
}

func (c *Client) guarded(card *Card) ([]probed, error) {
	var routes []probed
	for _, r := range []struct {
		uri, operation string
		params         map[string]any
	}{
		{URI, "list", nil},
		{URI, "get", map[string]any{"name": "probe.pcap"}},
		{BrowserURI, "network", map[string]any{"limit": 1}},
		{BrowserURI, "har", nil},
	} {
		if card.Method(r.uri, r.operation) == nil {
			continue
		}
		m, err := c.method(card, r.uri, r.operation)
		if err != nil {
			return nil, err
		}
		routes = append(routes, probed{m.Method, m.Endpoint, r.params})
	}
	if card.Serves("data/get") {
		endpoint, err := c.dataPlane(card)
		if err == nil {
			_, err = c.url(endpoint)
		}
		if err != nil {
			return nil, err
		}
		routes = append(routes, probed{http.MethodPost, endpoint, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "probe"}})
	}
	return routes, nil
}

// check makes the calls.
func (c *Client) check(ctx context.Context, r probed) error {
	var errs []error
	for _, w := range []struct{ token, named string }{{"", "no token"}, {rand.Text(), "a wrong token"}} {
		var other *StatusError
		switch err := c.with(w.token).ask(ctx, r); {
		case isStatus(err, http.StatusUnauthorized):
		case err == nil:
			errs = append(errs, fmt.Errorf("it takes %s", w.named))
		case errors.As(err, &other):
			errs = append(errs, fmt.Errorf("it does not refuse %s: %w", w.named, err))
		default:
			errs = append(errs, err)
		}
	}
	if c.config.Token != "" {
		if err := c.ask(ctx, r); isStatus(err, http.StatusUnauthorized) {
			errs = append(errs, errors.New("it refuses the token"))
		}
	}
	return errors.Join(errs...)
}

// ask makes a call and reads nothing of the answer. The error is nil for a success.
func (c *Client) ask(ctx context.Context, r probed) error {
	return c.retry(ctx, func() error {
		d, err := c.call(ctx, r.verb, r.endpoint, r.params)
		if err == nil {
			d.Close()
		}
		return err
	})
}
