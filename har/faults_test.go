package har

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// faults holds a HAR against what the strict readers ask for and says where it
// breaks a rule.
func faults(b []byte) []string {
	var list []string
	fault := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for i, c := range b {
		if c >= 0x80 || c < 0x20 && c != '\n' {
			fault("byte %d is %#x: not pure ASCII", i, c)
			break
		}
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return append(list, fmt.Sprintf("no JSON: %v", err))
	}
	if d.More() {
		fault("more than one value")
	}
	noNull("", tree, fault)
	log, _ := member(tree, "log").(map[string]any)
	if log["version"] != "1.2" {
		fault("version is %v", log["version"])
	}
	pages, _ := log["pages"].([]any)
	entries, isList := log["entries"].([]any)
	if !isList {
		fault("entries is %T", log["entries"])
	}
	if (len(pages) == 1) != (len(entries) > 0) {
		fault("%d pages for %d entries", len(pages), len(entries))
	}
	if len(pages) == 1 && len(entries) > 0 && member(pages[0], "startedDateTime") != member(entries[0], "startedDateTime") {
		fault("the page starts at %v, its first entry at %v", member(pages[0], "startedDateTime"), member(entries[0], "startedDateTime"))
	}
	for i, entry := range entries {
		entryFaults(entry, func(format string, args ...any) {
			fault("entry %d: %s", i, fmt.Sprintf(format, args...))
		})
	}
	return list
}

func noNull(path string, v any, fault func(string, ...any)) {
	switch v := v.(type) {
	case nil:
		fault("%s is null", path)
	case map[string]any:
		for name, member := range v {
			noNull(path+"."+name, member, fault)
		}
	case []any:
		for i, element := range v {
			noNull(fmt.Sprintf("%s[%d]", path, i), element, fault)
		}
	}
}

func member(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

var (
	threeDigits = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	absoluteURL = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://[!-~]*$`)
	integer     = regexp.MustCompile(`^-?\d+$`)
	versions    = []string{"", "HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3"}
	knownTypes  = []string{"document", "stylesheet", "image", "media", "font", "script", "texttrack", "xhr", "fetch", "prefetch",
		"eventsource", "websocket", "wasm", "manifest", "ping", "csp-violation-report", "preflight", "other"}
)

func entryFaults(e any, fault func(string, ...any)) {
	text := func(path string) string {
		s, ok := member(e, path).(string)
		if !ok {
			fault("%s is %T, not a string", path, member(e, path))
		}
		return s
	}
	whole := func(path string) int64 {
		n, _ := member(e, path).(json.Number)
		if !integer.MatchString(n.String()) {
			fault("%s is %v, not an integer", path, member(e, path))
		}
		i, _ := n.Int64()
		if i < -1 {
			fault("%s is %d", path, i)
		}
		return i
	}
	micros := func(path string) int64 {
		n, _ := member(e, path).(json.Number)
		m := Millis(-1 << 60)
		if err := m.UnmarshalJSON([]byte(n.String())); err != nil {
			fault("%s is %v, not a number", path, member(e, path))
		}
		return int64(m)
	}
	if !threeDigits.MatchString(text("startedDateTime")) {
		fault("startedDateTime is %q", text("startedDateTime"))
	}
	if text("pageref") != "page_1" {
		fault("pageref is %q", text("pageref"))
	}
	if _, ok := member(e, "cache").(map[string]any); !ok {
		fault("cache is %v", member(e, "cache"))
	}

	sum := int64(0)
	for _, name := range []string{"blocked", "dns", "connect", "ssl"} {
		v := micros("timings." + name)
		if v < 0 && v != int64(None) {
			fault("timings.%s is %d µs", name, v)
		}
		if v > 0 && name != "ssl" {
			sum += v
		}
	}
	if micros("timings.ssl") > micros("timings.connect") {
		fault("ssl is longer than connect")
	}
	for _, name := range []string{"send", "wait", "receive"} {
		v := micros("timings." + name)
		if v < 0 {
			fault("timings.%s is %d µs", name, v)
		}
		sum += v
	}
	if time := micros("time"); time != sum {
		fault("time is %d µs, the timings' sum %d", time, sum)
	}

	if url := text("request.url"); !absoluteURL.MatchString(url) || strings.Contains(url, "#") {
		fault("url is %q", url)
	}
	text("request.method")
	text("response.statusText")
	text("response.redirectURL")
	whole("response.status")
	whole("request.headersSize")
	whole("request.bodySize")
	whole("response.headersSize")
	if whole("response._transferSize") < 0 {
		fault("_transferSize is negative")
	}
	for _, leg := range []string{"request", "response"} {
		if v := text(leg + ".httpVersion"); !slices.Contains(versions, v) {
			fault("%s.httpVersion is %q", leg, v)
		}
		pairs(leg+".headers", member(e, leg+".headers"), fault)
		pairs(leg+".cookies", member(e, leg+".cookies"), fault)
	}
	pairs("request.queryString", member(e, "request.queryString"), fault)
	cookies, _ := member(e, "response.cookies").([]any)
	for _, c := range cookies {
		for _, name := range []string{"httpOnly", "secure"} {
			if _, ok := member(c, name).(bool); !ok {
				fault("a response cookie's %s is %v", name, member(c, name))
			}
		}
		if expires, ok := member(c, "expires").(string); ok {
			if _, err := time.Parse(time.RFC3339, expires); err != nil || !threeDigits.MatchString(expires) {
				fault("a cookie expires at %q", expires)
			}
		}
	}

	size, bodySize := whole("response.content.size"), whole("response.bodySize")
	if c, ok := member(e, "response.content.compression").(json.Number); ok {
		if n, err := c.Int64(); err != nil || size != bodySize+n {
			fault("content.size %d is not bodySize %d + compression %s", size, bodySize, c)
		}
	}
	if text("response.content.mimeType") == "" {
		fault("content.mimeType is empty")
	}
	if encoding := member(e, "response.content.encoding"); encoding != nil {
		if _, err := base64.StdEncoding.DecodeString(text("response.content.text")); err != nil || encoding != "base64" {
			fault("content.encoding is %v of a text that is not: %v", encoding, err)
		}
	}
	if member(e, "request.postData") != nil {
		text("request.postData.mimeType")
		text("request.postData.text")
	}
	if (member(e, "response.status") == json.Number("-1")) && member(e, "_open") == nil && text("response._error") == "" {
		fault("no answer and no _error")
	}
	if port, ok := member(e, "connection").(string); ok && !integer.MatchString(port) {
		fault("connection is %q", port)
	}
	if address, ok := member(e, "serverIPAddress").(string); ok && (address == "" || strings.ContainsAny(address, "[]")) {
		fault("serverIPAddress is %q", address)
	}
	if t := text("_resourceType"); !slices.Contains(knownTypes, t) {
		fault("_resourceType is %q", t)
	}
}

// pairs checks a list of objects with a name and a value.
func pairs(path string, v any, fault func(string, ...any)) {
	list, ok := v.([]any)
	if !ok {
		fault("%s is %T, not an array", path, v)
	}
	for i, p := range list {
		for _, name := range []string{"name", "value"} {
			if _, ok := member(p, name).(string); !ok {
				fault("%s[%d].%s is %v", path, i, name, member(p, name))
			}
		}
	}
}
