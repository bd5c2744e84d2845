package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
)

// An object is JSON's, its members in their order: that of an extension's methods
// means something.
type object struct {
	names   []string
	members map[string]any
}

func (o *object) get(name string) any { return o.members[name] }

func (o *object) set(name string, value any) {
	if _, ok := o.members[name]; !ok {
		o.names = append(o.names, name)
	}
	if o.members == nil {
		o.members = make(map[string]any)
	}
	o.members[name] = value
}

// MarshalJSON writes the members in their order.
func (o *object) MarshalJSON() ([]byte, error) { return appendValue(nil, o) }

func appendValue(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case *object:
		b = append(b, '{')
		for i, name := range v.names {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(b, name); err != nil {
				return nil, err
			}
			if b, err = appendValue(append(b, ':'), v.members[name]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i, value := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(b, value); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	default:
		value, err := json.Marshal(v)
		return append(b, value...), err
	}
}

// parseJSON reads a value whose objects are of this type. Of members of one name
// the last one counts, as for most readers.
func parseJSON(b []byte) (any, error) {
	if !json.Valid(b) { // which also bounds the depth
		return nil, errors.New("it is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return parseValue(d)
}

func parseValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := &object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			o.set(name.(string), value)
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		a := []any{}
		for d.More() {
			value, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			a = append(a, value)
		}
		_, err = d.Token()
		return a, err
	}
	return token, nil
}
