package traffic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

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

func isStatus(err error, status int) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Status == status
}

// Unauthorized says whether a call failed for want of the right token.
func Unauthorized(err error) bool { return isStatus(err, http.StatusUnauthorized) }

// errNothing is that of an env that has nothing to collect. It is ErrNotAdvertised
// to those who ask.
type errNothing struct{ address string }

func (e errNothing) Error() string {
	return fmt.Sprintf("the card of %s advertises neither captures (%s) nor a network log (%s)", e.address, URI, BrowserURI)
}

func (e errNothing) Is(target error) bool { return target == ErrNotAdvertised }

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

// retry does the work again as long as it may end otherwise. A try that the end of
// ctx broke off tells less than the one before it, whose error it is then.
func (c *Client) retry(ctx context.Context, work func() error) error {
	var last error
	pause := c.config.Backoff
	for try := 1; ; try++ {
		err := work()
		if err != nil && ctx.Err() != nil {
			return cmp.Or(last, err)
		}
		if err == nil || !temporary(err) || try == c.config.Tries {
			return err
		}
		if wait(ctx, pause) != nil {
			return err
		}
		last = err
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

// unreachable says whether there was no answer at all.
func unreachable(err error) bool {
	var status *StatusError
	return err != nil && temporary(err) && !errors.As(err, &status)
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
