package webarena

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// A Trace is what a HAR or a Playwright trace has of the network, in the order
// of the file.
type Trace struct{ events []event }

// An event is one entry, as far as it is looked at.
type event struct {
	Request struct {
		URL      *string
		Method   *string
		Headers  []pair
		PostData *content
	}
	Response struct {
		Status  *int
		Content *content
		Cookies []pair
	}
}

type pair struct{ Name, Value *string }

type content struct{ MimeType, Text *string }

// Load reads a HAR. It fails where the grader would, be it only once it looks at
// what is missing: for a byte order mark, for a text that is not ASCII (which a
// Python of another locale can't read), for no entry, and for an entry without a
// URL, a method, a status, or a value of a header.
func Load(har []byte) (*Trace, error) {
	for i, c := range har {
		if c >= 0x80 {
			return nil, fmt.Errorf("byte %d is no ASCII", i)
		}
	}
	var file struct {
		Log *struct{ Entries *[]event }
	}
	if err := json.Unmarshal(har, &file); err != nil {
		return nil, err
	}
	if file.Log == nil || file.Log.Entries == nil || len(*file.Log.Entries) == 0 {
		return nil, errors.New("no log, or no entries")
	}
	return newTrace(*file.Log.Entries)
}

// LoadTrace reads a Playwright trace's network: a line for each entry.
func LoadTrace(network []byte) (*Trace, error) {
	var events []event
	for line := range bytes.Lines(network) {
		var one struct {
			Type     *string
			Snapshot event
		}
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, err
		}
		if one.Type == nil {
			return nil, errors.New("a line without a type")
		}
		if *one.Type == "resource-snapshot" {
			events = append(events, one.Snapshot)
		}
	}
	return newTrace(events)
}

func newTrace(events []event) (*Trace, error) {
	for i := range events {
		if err := events[i].complete(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return &Trace{events}, nil
}

func (e *event) complete() error {
	if e.Request.URL == nil || e.Request.Method == nil || e.Request.Headers == nil || e.Response.Status == nil {
		return errors.New("no URL, method, headers or status")
	}
	if _, err := url.Parse(*e.Request.URL); err != nil || *e.Request.URL == "" {
		return fmt.Errorf("the URL %q can't be parsed", *e.Request.URL)
	}
	for _, list := range [][]pair{e.Request.Headers, e.Response.Cookies} {
		for _, p := range list {
			if p.Name == nil || p.Value == nil {
				return errors.New("a header or a cookie without a name or a value")
			}
		}
	}
	for _, c := range []*content{e.Request.PostData, e.Response.Content} {
		if c != nil && c.MimeType == nil {
			return errors.New("a body without a mimeType")
		}
	}
	return nil
}

// static are the ends of the paths that are not looked at, in this case alone.
var static = []string{".css", ".js", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".woff", ".woff2", ".ttf", ".ico", ".webp"}

func (e *event) isStatic() bool {
	path, _, _ := strings.Cut(*e.Request.URL, "#")
	path, _, _ = strings.Cut(path, "?")
	for _, end := range static {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// header is the value of the last field of that name.
func (e *event) header(name string) (value string, ok bool) {
	for _, h := range e.Request.Headers {
		if strings.EqualFold(*h.Name, name) {
			value, ok = *h.Value, true
		}
	}
	return value, ok
}

// isNavigation goes by the request's headers alone.
func (e *event) isNavigation() bool {
	if *e.Request.Method != "GET" {
		return false
	}
	lower := func(name string) string {
		value, _ := e.header(name)
		return strings.ToLower(value)
	}
	if user, ok := e.header("sec-fetch-user"); ok {
		return lower("sec-fetch-dest") == "document" && lower("sec-fetch-mode") == "navigate" && user == "?1" && strings.Contains(lower("accept"), "text/html")
	}
	return strings.HasPrefix(lower("accept"), "text/html")
}

// cookies are those that the answer sets, unquoted once; the last of a name.
func (e *event) cookies() map[string]string {
	m := map[string]string{}
	for _, c := range e.Response.Cookies {
		m[*c.Name] = unquote(*c.Value)
	}
	return m
}

// values reads a body; nil when it is of another type, or empty, or not what its
// type says. Base64 is not undone.
func (c *content) values() map[string]any {
	if c == nil || c.Text == nil || *c.Text == "" {
		return nil
	}
	switch {
	case strings.Contains(*c.MimeType, "application/x-www-form-urlencoded"):
		m := map[string]any{}
		for name, values := range parseQuery(*c.Text) {
			m[name] = values[0]
		}
		return m
	case strings.Contains(*c.MimeType, "application/json"):
		d := json.NewDecoder(strings.NewReader(*c.Text))
		d.UseNumber()
		var m map[string]any
		if d.Decode(&m) != nil || d.More() {
			return nil
		}
		return m
	case strings.Contains(*c.MimeType, "multipart/form-data"):
		if m := boundary.FindStringSubmatch(*c.MimeType); m != nil {
			return parts(*c.Text, m[1])
		}
	}
	return nil
}

var (
	boundary = regexp.MustCompile(`boundary=([^;\s]+)`)
	partName = regexp.MustCompile(`name="([^"]+)"`)
)

// parts reads a form in parts: the last of a name, files as their text.
func parts(text, boundary string) map[string]any {
	m := map[string]any{}
	for part := range strings.SplitSeq(text, "--"+boundary) {
		head, body, ok := strings.Cut(strings.TrimSpace(part), "\r\n\r\n")
		if !ok {
			head, body, ok = strings.Cut(strings.TrimSpace(part), "\n\n")
		}
		if !ok {
			continue // without a body it is not there
		}
		for line := range strings.SplitSeq(head, "\r\n") {
			if strings.HasPrefix(strings.ToLower(line), "content-disposition:") {
				if name := partName.FindStringSubmatch(line); name != nil {
					m[name[1]] = strings.TrimRight(body, "\r\n")
				}
				break
			}
		}
	}
	return m
}
