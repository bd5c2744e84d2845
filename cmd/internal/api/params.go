package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
)

// maxParams bounds the body of a call that only has numbers to say.
const maxParams = 64 << 10

// A field reads the value of one param. Its error says what is wrong with it,
// without the value.
type field func(json.RawMessage) error

// readParams reads a call's body, an object of these fields at most. An empty
// body is an object without any.
func readParams(w http.ResponseWriter, r *http.Request, fields map[string]field) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxParams))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return fmt.Errorf("the body has more than %d bytes", large.Limit)
	} else if err != nil {
		return fmt.Errorf("the body could not be read: %w", err)
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return nil
	}
	if !json.Valid(b) {
		return errors.New("the body is not JSON")
	}
	var params map[string]json.RawMessage
	if b[0] != '{' || json.Unmarshal(b, &params) != nil {
		return errors.New("the body is not a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(params)) { // so that the same body gives the same error
		read, ok := fields[name]
		if !ok {
			return fmt.Errorf("%q is no param of this call", name)
		}
		if err := read(params[name]); err != nil {
			return fmt.Errorf("%q %w", name, err)
		}
	}
	return nil
}

// readQuery is readParams of a call that has them in its URL.
func readQuery(r *http.Request, fields map[string]field) error {
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		read, ok := fields[name]
		if !ok {
			return fmt.Errorf("%q is no param of this call", name)
		}
		if len(query[name]) != 1 {
			return fmt.Errorf("%q is given more than once", name)
		}
		if err := read(json.RawMessage(query[name][0])); err != nil {
			return fmt.Errorf("%q %w", name, err)
		}
	}
	return nil
}

// whole reads a whole number of a range into n.
func whole(n *int64, least, most int64) field {
	return func(b json.RawMessage) error {
		v, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil || !digitsAlone(b) || v < least || v > most {
			if most == math.MaxInt64 {
				return fmt.Errorf("is not a whole number from %d on", least)
			}
			return fmt.Errorf("is not a whole number from %d to %d", least, most)
		}
		*n = v
		return nil
	}
}

// seconds reads a number of them, which may have a fraction.
func seconds(n *float64, most float64) field {
	return func(b json.RawMessage) error {
		v, err := strconv.ParseFloat(string(b), 64)
		if err != nil || !(v >= 0 && v <= most) {
			return fmt.Errorf("is not a number of seconds from 0 to %g", most)
		}
		*n = v
		return nil
	}
}

func digitsAlone(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
