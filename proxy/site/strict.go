package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// A problemList gathers all that is wrong, so that whoever mends it is told once.
type problemList []error

func (p *problemList) addf(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// err is all of them, a line each; nil when there are none.
func (p problemList) err() error { return errors.Join(p...) }

// decodeStrict reads a JSON object into the struct that into points to: a key
// that has no field, in its exact spelling, or comes twice is a problem, and so is
// each value of the wrong type. A null is as an absent key. at says where the
// object is.
func decodeStrict(raw []byte, into any, at string, problems *problemList) {
	keys, values, err := members(raw)
	if err != nil {
		problems.addf("%s%w", at, err)
		return
	}
	target := reflect.ValueOf(into).Elem()
	fields := map[string]reflect.Value{}
	for i := range target.NumField() {
		name, _, _ := strings.Cut(target.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = target.Field(i)
	}
	for i, key := range keys {
		f, known := fields[key]
		switch {
		case !known:
			problems.addf("%sunknown key %q", at, key)
		case slices.Index(keys, key) != i:
			problems.addf("%sthe key %q comes twice", at, key)
		default:
			decodeValue(values[i], f, fmt.Sprintf("%s%q: ", at, key), problems)
		}
	}
}

// decodeValue reads one value, going into lists of objects so that what is wrong
// in each is told.
func decodeValue(raw json.RawMessage, into reflect.Value, at string, problems *problemList) {
	if into.Kind() == reflect.Slice && into.Type().Elem().Kind() == reflect.Struct && !bytes.Equal(raw, []byte("null")) {
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			problems.addf("%s%w", at, wrongType(err))
			return
		}
		list := reflect.MakeSlice(into.Type(), len(items), len(items))
		for i, item := range items {
			decodeStrict(item, list.Index(i).Addr().Interface(), fmt.Sprintf("%s%d: ", strings.TrimSuffix(at, ": ")+" ", i+1), problems)
		}
		into.Set(list)
		return
	}
	if err := json.Unmarshal(raw, into.Addr().Interface()); err != nil {
		problems.addf("%s%w", at, wrongType(err))
	}
}

// members are an object's keys and values, in order.
func members(raw []byte) (keys []string, values []json.RawMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	t, err := d.Token()
	if err == nil && t != json.Delim('{') {
		err = errors.New("no JSON object")
	}
	for err == nil && d.More() {
		var value json.RawMessage
		if t, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		if err == nil {
			keys, values = append(keys, t.(string)), append(values, value)
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something behind the JSON object")
		}
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errors.New("no whole JSON object")
	}
	return keys, values, err
}

// wrongType says what a value is and what it was to be.
func wrongType(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	want := wrong.Type.String()
	switch wrong.Type.Kind() {
	case reflect.Slice:
		want = "a list"
	case reflect.String:
		want = "a string"
	case reflect.Int, reflect.Int64:
		want = "a whole number"
	case reflect.Bool:
		want = "true or false"
	case reflect.Map, reflect.Struct:
		want = "an object"
	}
	return fmt.Errorf("%s where %s was due", wrong.Value, want)
}
