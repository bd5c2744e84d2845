package traffic

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// BrowserURI names the extension of who has seen a browser's traffic.
const BrowserURI = "urn:agentenv:browser/v1"

// harName is what a HAR of the network log is called.
const harName = "network.har"

// maxExport bounds an answer of the data plane, which is held in memory. Servers
// of ours have a better way.
const maxExport = 256 << 20

var errNoHAR = errors.New("there is no " + harName)

// hasHAR says whether the card advertises one, or a data plane that has one.
func hasHAR(card *Card) bool {
	return card.Method(BrowserURI, "har") != nil || card.Method(BrowserURI, "network") != nil && card.Serves("data/get")
}

// HAR begins to download the HAR of the env's network log. It is not tried a
// second time.
func (c *Client) HAR(ctx context.Context, card *Card) (*Download, error) {
	if card.Method(BrowserURI, "har") == nil {
		return c.export(ctx, card)
	}
	m, err := c.method(card, BrowserURI, "har")
	if err != nil {
		return nil, badAnswer{err}
	}
	return c.call(ctx, m.Method, m.Endpoint, nil)
}

// export finds the HAR in what the data plane gives.
func (c *Client) export(ctx context.Context, card *Card) (*Download, error) {
	endpoint, err := c.dataPlane(card)
	if err != nil {
		return nil, badAnswer{err}
	}
	body := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "data/get", "params": map[string]any{}}
	b, err := c.read(ctx, http.MethodPost, endpoint, body, maxExport)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error  *struct{ Message string }
		Result *struct {
			Parts []struct {
				File struct {
					Name  string
					Bytes *string
				}
			}
		}
	}
	switch err := json.Unmarshal(b, &answer); {
	case err != nil || answer.Error == nil && answer.Result == nil:
		return nil, badAnswer{errors.New("the data plane's answer is none of JSON-RPC's")}
	case answer.Error != nil:
		return nil, badAnswer{fmt.Errorf("the data plane answers: %s", c.clean(answer.Error.Message))}
	}
	for _, p := range answer.Result.Parts {
		if p.File.Name != harName || p.File.Bytes == nil {
			continue
		}
		har, err := base64.StdEncoding.DecodeString(*p.File.Bytes)
		if err != nil {
			return nil, badAnswer{fmt.Errorf("the data plane's %s is not base64", harName)}
		}
		return &Download{Reader: bytes.NewReader(har), Size: int64(len(har)), close: func() {}}, nil
	}
	return nil, badAnswer{errNoHAR}
}

// dataPlane is the endpoint of the card's data plane, which may be a whole URL.
func (c *Client) dataPlane(card *Card) (string, error) {
	at := card.URL()
	if !strings.Contains(at, "://") {
		return at, nil
	}
	u, err := url.Parse(at)
	below, ok := strings.CutPrefix(at, c.base.String())
	if err != nil || !ok || u.Host != c.base.Host {
		return "", fmt.Errorf("the card's data plane %.100q is not at the address", at)
	}
	return below, nil
}
