package har

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"
)

// jsonDiff compares two values by their JSON and says what they are when they
// are not the same.
func jsonDiff(got, want any) string {
	g, err := json.Marshal(got)
	if err != nil {
		return err.Error()
	}
	w, err := json.Marshal(want)
	if err != nil {
		return err.Error()
	}
	if bytes.Equal(g, w) {
		return ""
	}
	return fmt.Sprintf("\n got %.2000s\nwant %.2000s", g, w)
}

// fill sets every field below v to something, lists to two elements.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.String:
		v.SetString(fmt.Sprintf("é\n%d", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(*n)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(v.Kind())
	}
}

// The encoder, written by hand, writes what the types' tags say, in their order.
func TestEncoderFollowsTypes(t *testing.T) {
	var full, empty Entry
	n := int64(0)
	fill(reflect.ValueOf(&full).Elem(), &n)
	empty.Request.Headers, empty.Request.Cookies, empty.Request.QueryString = []Header{}, []Cookie{}, []Param{}
	empty.Response.Headers, empty.Response.Cookies = []Header{}, []Cookie{}
	for _, entry := range []*Entry{&full, &empty} {
		var out bytes.Buffer
		e := newEncoder(&out)
		e.entry(entry)
		if err := e.flush(); err != nil {
			t.Fatal(err)
		}
		var read Entry
		d := json.NewDecoder(bytes.NewReader(out.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&read); err != nil {
			t.Fatal(err)
		}
		if diff := jsonDiff(&read, entry); diff != "" {
			t.Error(diff)
		}
		want, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.ReplaceAll(out.Bytes(), []byte(`\u00e9`), []byte("é")); !bytes.Equal(got, want) {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

func TestReadOthers(t *testing.T) {
	b, err := os.ReadFile("testdata/playwright.har")
	if err != nil {
		t.Fatal(err)
	}
	var h HAR
	if err := json.Unmarshal(b, &h); err != nil {
		t.Fatal(err)
	}
	if len(h.Log.Entries) != 4 || h.Log.Creator.Name != "Playwright" {
		t.Fatalf("%d entries by %q", len(h.Log.Entries), h.Log.Creator.Name)
	}
	failed, post, redirect := h.Log.Entries[0], h.Log.Entries[1], h.Log.Entries[2]
	if failed.Response.Status != -1 || failed.Time != None || failed.Response.Content.Size != -1 {
		t.Errorf("the failed entry: %+v", failed)
	}
	if p := post.Request.PostData; p == nil || p.MimeType != "application/x-www-form-urlencoded; charset=UTF-8" {
		t.Errorf("the POST: %+v", post.Request)
	}
	if redirect.Response.Status != 302 || redirect.Response.RedirectURL == "" || redirect.Timings.Receive <= 0 {
		t.Errorf("the redirect: %+v", redirect.Response)
	}
}

func TestMillis(t *testing.T) {
	tests := []struct {
		micros Millis
		want   string
	}{
		{0, "0"}, {None, "-1"}, {1, "0.001"}, {10, "0.01"}, {1000, "1"}, {1500, "1.5"}, {123456789, "123456.789"}, {-1, "-0.001"}, {1e15, "1000000000000"},
	}
	for _, test := range tests {
		b, err := json.Marshal(test.micros)
		if err != nil || string(b) != test.want {
			t.Errorf("%d µs: got %s, want %s (%v)", test.micros, b, test.want, err)
		}
		var back Millis
		if err := json.Unmarshal(b, &back); err != nil || back != test.micros {
			t.Errorf("%s read back: %d µs (%v)", b, back, err)
		}
	}
	if got := string(appendScaled(nil, 1772600767123456, 1000000)); got != "1772600767.123456" {
		t.Errorf("got %s seconds", got)
	}
	var m Millis
	for _, bad := range []string{`"x"`, `1e300`, `{}`} {
		if err := m.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was read as %d", bad, m)
		}
	}
}
