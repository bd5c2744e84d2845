package api

import (
	"net/http"

	"github.com/agentenv/netlog/capture/traffic"
)

// Where the routes are. Clients read them off the card.
const (
	dataPath    = "/agentenv"
	networkPath = "/agentenv/ext/browser/network"
	livePath    = "/network/live"
	harPath     = "/network.har"
	metricsPath = "/metrics"
)

// A card says what is served and where.
type card struct {
	Name                 string       `json:"name"`
	ProtocolVersion      string       `json:"protocolVersion"`
	URL                  string       `json:"url"`
	PreferredTransport   string       `json:"preferredTransport"`
	AdditionalInterfaces []struct{}   `json:"additionalInterfaces"`
	Capabilities         capabilities `json:"capabilities"`
	Children             []any        `json:"children_environments"` // other servers' cards; null: no gateway
}

type capabilities struct {
	Extensions []traffic.Extension `json:"extensions"`
	Tools      []struct{}          `json:"tools"`
	Operations []string            `json:"operations"`
}

func newCard(c Config) card {
	out := card{
		Name: c.Name, ProtocolVersion: "1.0", URL: dataPath, PreferredTransport: "JSONRPC",
		AdditionalInterfaces: []struct{}{},
		Capabilities:         capabilities{Extensions: []traffic.Extension{}, Tools: []struct{}{}, Operations: []string{}},
	}
	if c.Captures != "" {
		out.Capabilities.Extensions = append(out.Capabilities.Extensions, traffic.NewExtension())
	}
	if c.Log != "" {
		out.Capabilities.Extensions = append(out.Capabilities.Extensions, browserExtension())
		out.Capabilities.Operations = append(out.Capabilities.Operations, "data/reset", "data/add", "data/get")
	}
	return out
}

func browserExtension() traffic.Extension {
	integer := func(least, most int64, otherwise any) map[string]any {
		m := map[string]any{"type": "integer", "minimum": least, "default": otherwise}
		if most > 0 {
			m["maximum"] = most
		}
		return m
	}
	return traffic.Extension{
		URI:         traffic.BrowserURI,
		Description: "What the browser did on the network: the lines of its network log after a number, and all of it as a HAR.",
		Params: traffic.Params{
			Endpoint: networkPath,
			Live:     livePath,
			Methods: traffic.Methods{
				{Name: "network", Method: http.MethodPost, Endpoint: networkPath, Request: object(map[string]any{
					"after": integer(0, 0, 0),
					"limit": integer(1, maxLimit, defaultLimit),
					"wait":  map[string]any{"type": "number", "minimum": 0, "maximum": maxWait, "default": 0},
				})},
				{Name: "har", Method: http.MethodGet, Endpoint: harPath, Request: object(map[string]any{
					"for": map[string]any{"type": "string", "enum": append([]string{""}, readers()...)},
				})},
			},
		},
	}
}

// object is the JSON Schema of a call's params, none of which has to be given.
func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}
