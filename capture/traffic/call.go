package traffic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

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
	r.Header.Set("Accept-Encoding", "identity") // without it, a server may choose one (RFC 9110, 12.5.3)
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
	case !slices.Contains([]string{"", "identity"}, strings.ToLower(answer.Header.Get("Content-Encoding"))):
		d.Close()
		return nil, badAnswer{fmt.Errorf("the answer is encoded (%.20q), which was not asked for", answer.Header.Get("Content-Encoding"))}
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
