package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentenv/netlog/capture"
)

const (
	maxCard    = 16 << 20 // bytes
	maxListing = 64 << 20
	maxError   = 64 << 10
)

// ClientConfig is whom a Client calls, and how.
type ClientConfig struct {
	// Address is the env's: an http or https URL, perhaps with a path that all of
	// the env is below.
	Address string

	// Token is the control token, sent to the address and below it, and nowhere
	// else. Empty: none is.
	Token string

	// Proxy is what the env is reached through: http, https, socks5 or socks5h. Nil:
	// nothing, whatever the environment says: its proxies are for browsers, and one
	// that records would have the token.
	Proxy *url.URL

	// Tries is how often a call is made that the network or the server fails.
	// Zero: 5.
	Tries int

	// Backoff is the pause before the second try; each one after is twice as long.
	// Zero: half a second.
	Backoff time.Duration

	// Stall is how long a server may be silent. Zero: 2 minutes, in which it can
	// take a copy of a capture or begin a HAR.
	Stall time.Duration
}

// A Client calls one env. It may be used by many goroutines.
type Client struct {
	config ClientConfig
	base   *url.URL
	http   *http.Client
}

// NewClient makes a Client. Whoever has it closes it.
func NewClient(c ClientConfig) (*Client, error) {
	base, err := url.Parse(c.Address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("address: %w", withoutURL(err))
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, fmt.Errorf("address %q is not an http or https URL", base.Redacted())
	case base.User != nil:
		return nil, fmt.Errorf("address %q has a user in it, which would be sent along", base.Redacted())
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, fmt.Errorf("address %q has more than a path", base)
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), strings.TrimRight(base.RawPath, "/")
	if c.Tries == 0 {
		c.Tries = 5
	}
	if c.Backoff == 0 {
		c.Backoff = 500 * time.Millisecond
	}
	if c.Stall == 0 {
		c.Stall = 2 * time.Minute
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(c.Proxy)
	transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	transport.DisableCompression = true // it would take the length away
	return &Client{config: c, base: base, http: &http.Client{
		Transport: transport,
		// The token is not for whom a redirect names.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Address is the env's, without a slash at its end.
func (c *Client) Address() string { return c.base.String() }

// Proxy is what the env is reached through; nil: nothing.
func (c *Client) Proxy() *url.URL { return c.config.Proxy }

// Close closes the connections that wait for another call.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Card reads the env's card, of up to 16 MiB. A busy server is asked again.
func (c *Client) Card(ctx context.Context) (*Card, error) {
	var card *Card
	err := c.retry(ctx, func() error {
		b, err := c.read(ctx, http.MethodGet, CardPath, nil, maxCard)
		if err != nil {
			return err
		}
		if card, err = ParseCard(b); err != nil {
			return badAnswer{err}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the card of %s: %w", c.Address(), err)
	}
	return card, nil
}

// ErrNotAdvertised is the error of an operation that the card does not have. No
// request was made.
var ErrNotAdvertised = errors.New("the card does not advertise it")

// List returns what is captured, in the server's order: each container's files in
// the order in which they were captured. A listing has up to 64 MiB; a busy server is
// asked again.
func (c *Client) List(ctx context.Context, card *Card) ([]capture.Capture, error) {
	var captures []capture.Capture
	err := c.retry(ctx, func() error {
		m, err := c.method(card, URI, "list")
		if err != nil {
			return badAnswer{err}
		}
		b, err := c.read(ctx, m.Method, m.Endpoint, nil, maxListing)
		if err != nil {
			return err
		}
		if captures, err = parseListing(b); err != nil {
			return badAnswer{err}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the captures of %s: %w", c.Address(), err)
	}
	return captures, nil
}

// parseListing takes what it can use of a listing: each name once, and of a
// capture's members those that are of their type.
func parseListing(b []byte) ([]capture.Capture, error) {
	var l map[string]any
	err := json.Unmarshal(b, &l)
	captures, ok := l["captures"]
	if err != nil || !ok || captures != nil && list(captures) == nil {
		return nil, errors.New("the answer is no list of captures")
	}
	var out []capture.Capture
	seen := make(map[string]bool)
	for _, v := range list(captures) {
		e := object(v)
		name := text(e["name"])
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		size, _ := e["bytes"].(float64)
		modified, _ := time.Parse(time.RFC3339Nano, text(e["modified_at"]))
		out = append(out, capture.Capture{Name: name, Container: text(e["container"]), Bytes: max(int64(size), 0), ModifiedAt: modified.UTC()})
	}
	return out, nil
}

// Get begins to download a capture. It is not tried a second time.
func (c *Client) Get(ctx context.Context, card *Card, name string) (*Download, error) {
	m, err := c.method(card, URI, "get")
	if err != nil {
		return nil, badAnswer{err}
	}
	return c.call(ctx, m.Method, m.Endpoint, map[string]any{"name": name})
}

// method is an operation that can be called.
func (c *Client) method(card *Card, uri, operation string) (*Method, error) {
	m := card.Method(uri, operation)
	switch {
	case m == nil:
		return nil, fmt.Errorf("%s of %s: %w", operation, uri, ErrNotAdvertised)
	case m.Method != http.MethodGet && m.Method != http.MethodPost:
		return nil, fmt.Errorf("%s of %s: the card has it as %.20q, which reads nothing", operation, uri, m.Method)
	}
	if _, err := c.url(m.Endpoint); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", operation, uri, err)
	}
	return m, nil
}
