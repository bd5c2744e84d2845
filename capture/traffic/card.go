package traffic

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// A Card says what an env has and where. It may be any server's, an older or a
// newer one: what is missing, null or of a wrong type there is as if it were
// empty, and what is not known is passed over.
type Card struct{ members map[string]any }

// ParseCard reads a card.
func ParseCard(b []byte) (*Card, error) {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, errors.New("it is not JSON")
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return &Card{members}, nil
}

// Name is the env's.
func (c *Card) Name() string { return text(c.members["name"]) }

// URL is where the data plane is, a path or a whole URL.
func (c *Card) URL() string { return text(c.members["url"]) }

// Serves says whether the data plane has an operation. An older card does not say
// so of any.
func (c *Card) Serves(operation string) bool {
	return slices.Contains(list(object(c.members["capabilities"])["operations"]), any(operation))
}

// Method finds an operation of an extension; nil when it is not advertised. Its
// verb is POST unless the card says otherwise, and its endpoint the extension's;
// that may be missing, and is not checked.
func (c *Card) Method(uri, operation string) *Method {
	for _, e := range list(object(c.members["capabilities"])["extensions"]) {
		extension := object(e)
		if text(extension["uri"]) != uri {
			continue
		}
		params := object(extension["params"])
		entry, ok := object(params["methods"])[operation].(map[string]any)
		if !ok {
			return nil
		}
		m := &Method{Name: operation, Method: strings.ToUpper(text(entry["method"])), Endpoint: text(entry["endpoint"]), Request: object(entry["request"])}
		if m.Method == "" {
			m.Method = http.MethodPost
		}
		if m.Endpoint == "" {
			m.Endpoint = text(params["endpoint"])
		}
		return m
	}
	return nil
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
