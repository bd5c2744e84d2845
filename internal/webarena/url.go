package webarena

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// An address is a URL as URLs are compared.
type address struct {
	base    string // without the query; a pattern when it is one
	pattern bool
	query   map[string]string // the first value of each, in order
}

// A site is a name of tasks' URLs, __NAME__, and what it stands for.
type site struct{ template, url string }

// rules say how a task's URLs are read.
type rules struct {
	sites           []site // the longest URL first
	ignored         []string
	ignoredPatterns []*regexp.Regexp
	base64          bool // a part of the path may be a query
}

// address reads a URL of a task, or of an event.
func (r *rules) address(raw string) (address, error) {
	raw = strings.TrimSpace(raw)
	if isPattern(raw) {
		return address{base: strings.TrimRight(raw, "/"), pattern: true}, nil
	}
	raw = strings.TrimRight(raw, "/")
	for _, s := range r.sites {
		if rest, ok := strings.CutPrefix(raw, s.template); ok {
			raw = s.url + rest
		}
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return address{}, fmt.Errorf("%q is no URL", raw)
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	path = cleanPath(unquote(path))
	var queries []string
	if r.base64 {
		path, queries = cutBase64(path)
	}
	base := strings.ToLower(scheme) + "://" + plainAuthority(strings.ToLower(scheme), authority) + path
	if fragment != "" {
		base += "#" + fragment
	}
	for _, s := range r.sites {
		if at := strings.TrimRight(s.url, "/"); strings.Contains(base, at) {
			base = strings.ReplaceAll(base, at, s.template)
			break
		}
	}
	return address{base: base, query: r.firstValues(strings.Join(append(queries, query), "&"))}, nil
}

// plainAuthority is in lower case, without a default port and a final dot.
func plainAuthority(scheme, authority string) string {
	user, host, ok := cutLast(authority, "@")
	if !ok {
		user, host = "", authority
	} else {
		user += "@"
	}
	host = strings.ToLower(host)
	if name, port, ok := cutLast(host, ":"); ok && (scheme == "http" && port == "80" || scheme == "https" && port == "443") {
		host = name
	}
	return user + strings.TrimSuffix(host, ".")
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// cleanPath resolves dots and joins slashes.
func cleanPath(path string) string {
	var kept []string
	segments := strings.Split(path, "/")
	for i, s := range segments {
		switch s {
		case "..":
			if len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
		case ".":
		case "":
			if i == len(segments)-1 && len(kept) > 0 {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(kept, "/")
}

var base64Segment = regexp.MustCompile(`^[A-Za-z0-9_-]{4,}={0,2}$`)

// cutBase64 takes out of a path what is a query in base64.
func cutBase64(path string) (rest string, queries []string) {
	var kept []string
	for s := range strings.SplitSeq(path, "/") {
		if base64Segment.MatchString(s) {
			b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
			if err == nil && utf8.Valid(b) && strings.Contains(string(b), "=") {
				queries = append(queries, strings.TrimLeft(strings.TrimSpace(unquote(string(b))), "?&"))
				continue
			}
		}
		kept = append(kept, s)
	}
	return cleanPath(strings.Join(kept, "/")), queries
}

// firstValues are a query's parameters but for those that are ignored: of each
// its lowest value, in lower case.
func (r *rules) firstValues(query string) map[string]string {
	m := map[string]string{}
	for name, values := range parseQuery(query) {
		name = unquote(name)
		if r.ignores(name) {
			continue
		}
		for i, v := range values {
			values[i] = strings.ToLower(strings.TrimSpace(unquote(v)))
		}
		m[name] = slices.Min(values)
	}
	return m
}

func (r *rules) ignores(name string) bool {
	return slices.Contains(r.ignored, name) || slices.ContainsFunc(r.ignoredPatterns, func(p *regexp.Regexp) bool { return p.MatchString(name) })
}

// matches compares what is before the query.
func (r *rules) matches(expected, actual address) (bool, error) {
	if !expected.pattern {
		plain := func(s string) string { return strings.TrimRight(strings.ToLower(s), "/") }
		return plain(expected.base) == plain(actual.base), nil
	}
	// A pattern may begin with a site's name, too.
	p, err := regexp.Compile("^(?:" + r.rendered(expected.base[1:len(expected.base)-1]) + ")$")
	if err != nil {
		return false, err
	}
	return p.MatchString(r.rendered(actual.base)), nil
}

func (r *rules) rendered(s string) string {
	for _, site := range r.sites {
		if rest, ok := strings.CutPrefix(s, site.template); ok {
			return strings.TrimRight(site.url, "/") + rest
		}
	}
	return s
}

// sameQuery compares every parameter that either has; a missing one is "".
func sameQuery(expected, actual map[string]string) (bool, error) {
	for name := range mergedKeys(expected, actual) {
		want := expected[name]
		if !isPattern(want) {
			if want != actual[name] {
				return false, nil
			}
			continue
		}
		p, err := regexp.Compile(want)
		if err != nil {
			return false, err
		}
		if !p.MatchString(actual[name]) {
			return false, nil
		}
	}
	return true, nil
}

func mergedKeys(a, b map[string]string) map[string]bool {
	m := map[string]bool{}
	for name := range a {
		m[name] = true
	}
	for name := range b {
		m[name] = true
	}
	return m
}

// isPattern says whether a text is a regular expression.
func isPattern(s string) bool {
	return len(s) >= 2 && strings.HasPrefix(s, "^") && strings.HasSuffix(s, "$")
}

// parseQuery reads a query or a form: only & separates, + is a space, and what
// is no UTF-8 becomes U+FFFD.
func parseQuery(query string) map[string][]string {
	m := map[string][]string{}
	for one := range strings.SplitSeq(query, "&") {
		if one == "" {
			continue
		}
		name, value, _ := strings.Cut(strings.ReplaceAll(one, "+", " "), "=")
		name = unquote(name)
		m[name] = append(m[name], unquote(value))
	}
	return m
}

// unquote decodes escapes; one that is none stays.
func unquote(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if s[0] == '%' && len(s) >= 3 {
			if c, err := url.PathUnescape(s[:3]); err == nil {
				b.WriteString(c)
				s = s[3:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}
