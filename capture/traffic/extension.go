package traffic

import (
	"encoding/json"
	"net/http"
)

// URI names the extension.
const URI = "urn:agentenv:traffic/v1"

// CardPath is where every env has its card.
const CardPath = "/.well-known/agent-env.json"

// Where a Handler's operations are served. Clients read it off the card.
const (
	ListPath = "/traffic/captures"
	GetPath  = "/traffic/capture"
)

// An Extension is how a card advertises one.
type Extension struct {
	URI         string `json:"uri"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Params      Params `json:"params"`
}

// Params say where an extension's operations are.
type Params struct {
	Endpoint string  `json:"endpoint"`         // of an operation that has none of its own
	Format   string  `json:"format,omitempty"` // of the captures
	Live     string  `json:"live,omitempty"`   // a WebSocket of the log's lines
	Methods  Methods `json:"methods"`
}

// Methods are an object on the card, in their order: a client that names no
// operation means the first.
type Methods []Method

// A Method is an operation of an extension.
type Method struct {
	Name     string         `json:"-"`
	Method   string         `json:"method"` // HTTP's
	Endpoint string         `json:"endpoint"`
	Request  map[string]any `json:"request"` // the JSON Schema of its params
}

// MarshalJSON makes the object.
func (m Methods) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, method := range m {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(method.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(method)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// NewExtension is what the card of an env with a [Handler] has.
func NewExtension() Extension {
	return Extension{
		URI:         URI,
		Description: "Captures of the packets that the env's containers sent and received, loopback included, from just after each container starts: a ring of pcap files a container, the oldest overwritten.",
		Params: Params{
			Endpoint: ListPath,
			Format:   "pcap",
			Methods: Methods{
				{Name: "list", Method: http.MethodGet, Endpoint: ListPath, Request: map[string]any{
					"type": "object", "properties": map[string]any{},
				}},
				{Name: "get", Method: http.MethodGet, Endpoint: GetPath, Request: map[string]any{
					"type":       "object",
					"properties": map[string]any{"name": map[string]any{"type": "string", "minLength": 1}},
					"required":   []string{"name"},
				}},
			},
		},
	}
}
