package traffic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Close closes the connections that wait for another call.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// A StatusError is an answer that is no success.
type StatusError struct {
	Status  int
	Code    string // "" when the answer has none
	Message string
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("the server answers %d", e.Status)
	if e.Code != "" {
		s += " " + e.Code
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// A badAnswer is one that would be no other a second time.
type badAnswer struct{ err error }

func (b badAnswer) Error() string { return b.err.Error() }
func (b badAnswer) Unwrap() error { return b.err }

// Card reads the env's card.
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
// the order in which they were captured.
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
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, errors.New("the answer is no list of captures")
	}
	var out []capture.Capture
	seen := make(map[string]bool)
	for _, v := range list(l["captures"]) {
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

// A Download is an answer's body. Whoever has it closes it.
type Download struct {
	io.Reader
	Size int64 // -1 when the server does not say

	close func()
}

// Close ends the download.
func (d *Download) Close() error {
	d.close()
	return nil
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

// url is what an endpoint of a card means. It has to be below the address: the
// card's word is not enough to send a token elsewhere.
func (c *Client) url(endpoint string) (*url.URL, error) {
	refused := func(why string) (*url.URL, error) {
		return nil, fmt.Errorf("the card's endpoint %.100q %s", endpoint, why)
	}
	if endpoint == "" {
		return nil, errors.New("the card has no endpoint for it")
	}
	if endpoint[0] != '/' || strings.HasPrefix(endpoint, "//") {
		return refused("does not begin with one slash")
	}
	for _, b := range []byte(endpoint) {
		if b <= ' ' || b >= 0x7f || b == '\\' || b == '#' {
			return refused("has a character that no endpoint has")
		}
	}
	u, err := url.Parse(c.base.String() + endpoint)
	if err != nil || u.Scheme != c.base.Scheme || u.Host != c.base.Host || u.User != nil {
		return refused("is not at the address")
	}
	for _, segment := range strings.Split(u.Path, "/") {
		if segment == "." || segment == ".." {
			return refused("leads out of the address")
		}
	}
	return u, nil
}

// call makes one request. A success is returned with its body still to be read.
func (c *Client) call(ctx context.Context, verb, endpoint string, params map[string]any) (*Download, error) {
	u, err := c.url(endpoint)
	if err != nil {
		return nil, badAnswer{err}
	}
	var body io.Reader
	if verb == http.MethodGet {
		q := u.Query()
		for name, value := range params {
			q.Set(name, fmt.Sprint(value))
		}
		u.RawQuery = q.Encode()
	} else {
		if params == nil {
			params = map[string]any{}
		}
		b, err := json.Marshal(params)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silence := time.AfterFunc(c.config.Stall, func() { cancel(errStalled{c.config.Stall}) })
	end := func() {
		silence.Stop()
		cancel(nil)
	}
	r, err := http.NewRequestWithContext(ctx, verb, u.String(), body)
	if err != nil {
		end()
		return nil, badAnswer{withoutURL(err)}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.config.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		err = c.why(ctx, err)
		end()
		return nil, err
	}
	in := &patient{r: answer.Body, silence: silence, stall: c.config.Stall, why: func(err error) error { return c.why(ctx, err) }}
	d := &Download{Reader: in, Size: answer.ContentLength, close: func() {
		end()
		answer.Body.Close()
	}}
	switch {
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		defer d.Close()
		return nil, c.statusError(answer, in)
	case answer.StatusCode != http.StatusOK:
		d.Close()
		return nil, badAnswer{&StatusError{Status: answer.StatusCode, Message: "that is not what was asked for"}}
	case answer.ContentLength < 0 && len(answer.TransferEncoding) == 0 && answer.ProtoMajor == 1:
		d.Close() // the end of the connection is all that would tell the body's end
		return nil, badAnswer{errors.New("the answer does not say where it ends")}
	}
	return d, nil
}

// read makes a request and reads the whole body, of so many bytes at most.
func (c *Client) read(ctx context.Context, verb, endpoint string, params map[string]any, most int64) ([]byte, error) {
	d, err := c.call(ctx, verb, endpoint, params)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	b, err := io.ReadAll(io.LimitReader(d, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, badAnswer{fmt.Errorf("the answer has more than %d MiB", most>>20)}
	}
	return b, nil
}

// statusError reads the error out of a body, of whichever of the protocol's
// shapes it is.
func (c *Client) statusError(answer *http.Response, body io.Reader) error {
	e := &StatusError{Status: answer.StatusCode}
	if answer.StatusCode < 400 {
		e.Message = "a redirect is not followed"
		return e
	}
	b, _ := io.ReadAll(io.LimitReader(body, maxError)) // what there is of it
	var members map[string]any
	if json.Unmarshal(b, &members) != nil {
		return e
	}
	switch v := members["error"].(type) {
	case string:
		e.Code, e.Message = c.clean(text(members["code"])), c.clean(v)
	case map[string]any:
		e.Code, e.Message = c.clean(text(v["code"])), c.clean(text(v["message"]))
	}
	return e
}

// clean makes a server's words fit for a line: short, printable and without the
// token, should it have been sent back.
func (c *Client) clean(s string) string {
	if c.config.Token != "" {
		s = strings.ReplaceAll(s, c.config.Token, "<token>")
	}
	return short(strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s), "\ufffd"), 200)
}

// short cuts s to so many bytes at most, between two characters.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const mark = "..."
	return strings.ToValidUTF8(s[:most-len(mark)], "") + mark
}

// A patient reads, and gives the server as long again at each byte that comes.
type patient struct {
	r       io.Reader
	silence *time.Timer
	stall   time.Duration
	why     func(error) error
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.silence.Reset(p.stall)
	}
	if err != nil && err != io.EOF {
		err = p.why(err)
	}
	return n, err
}

type errStalled struct{ after time.Duration }

func (e errStalled) Error() string { return fmt.Sprintf("the server is silent for %v", e.after) }

// why is the reason of a failed exchange, without the URL.
func (c *Client) why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the connection was cut")
	}
	return withoutURL(err)
}

func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// retry does the work again as long as it may end otherwise.
func (c *Client) retry(ctx context.Context, work func() error) error {
	pause := c.config.Backoff
	for try := 1; ; try++ {
		err := work()
		if err == nil || ctx.Err() != nil || !temporary(err) || try == c.config.Tries {
			return err
		}
		if wait(ctx, pause) != nil {
			return err
		}
		pause *= 2
	}
}

// temporary says whether what failed may succeed the next time: the network's
// failures, and those that a server calls its own.
func temporary(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Status >= 500 && status.Status != http.StatusNotImplemented || status.Status == http.StatusTooManyRequests
	}
	var bad badAnswer
	var local *localError
	return !errors.As(err, &bad) && !errors.As(err, &local)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unauthorized says whether a call failed for want of the right token.
func Unauthorized(err error) bool { return isStatus(err, http.StatusUnauthorized) }
