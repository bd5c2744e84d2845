package gateway

import (
	"strings"

	"github.com/agentenv/netlog/capture/traffic"
)

// A reserved path, and all below it, is the harness's and no browser's. It is in
// lower case and has no final slash.
type reserved []string

// builtIn is what every site reserves.
var builtIn = reserved{"/agentenv", traffic.CardPath}

// add adds a path that a card advertises, by all of its spellings. A site's root
// is never reserved.
func (r reserved) add(path string) reserved {
	forms, _ := spellings(path)
	for _, form := range forms {
		if form = strings.TrimRight(form, "/"); form != "" {
			r = append(r, form)
		}
	}
	return r
}

// holds says whether a path, as it was sent, may be a reserved one to some server.
// It rather refuses too much: a path that a reserved one is only spelled like is
// nobody's page.
func (r reserved) holds(path string) bool {
	forms, all := spellings(path)
	if !all {
		return true
	}
	for _, form := range forms {
		for _, p := range r {
			if rest, ok := strings.CutPrefix(form, p); ok && (rest == "" || rest[0] <= ' ' || strings.IndexByte("/?#;", rest[0]) >= 0) {
				return true
			}
		}
	}
	return false
}

// maxSpellings is more than a path has that nobody made up for the purpose.
const maxSpellings = 64

// spellings are a path's, in lower case: the given one and what servers make of
// it, of which each takes some of these steps, in an order of its own. all is false
// when there are too many to tell.
func spellings(path string) (forms []string, all bool) {
	forms = []string{strings.ToLower(path)}
	seen := map[string]bool{forms[0]: true}
	for i := 0; i < len(forms); i++ {
		for _, step := range []func(string) string{decoded, slashed, bare, merged, climbed} {
			if form := step(forms[i]); !seen[form] {
				if len(forms) == maxSpellings {
					return forms, false
				}
				seen[form] = true
				forms = append(forms, form)
			}
		}
	}
	return forms, true
}

// decoded has one layer of escapes less. What is no escape stays.
func decoded(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	b := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			high, ok := hex(path[i+1])
			low, ok2 := hex(path[i+2])
			if ok && ok2 {
				b = append(b, high<<4|low)
				i += 2
				continue
			}
		}
		b = append(b, path[i])
	}
	return strings.ToLower(string(b))
}

func hex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// slashed has slashes for backslashes.
func slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// bare is without the segments' parameters (RFC 3986 §3.3), which servers of Java
// leave out.
func bare(path string) string {
	if !strings.Contains(path, ";") {
		return path
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	return strings.Join(segments, "/")
}

// merged has one slash where there are several.
func merged(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// climbed is without dot segments (RFC 3986 §5.2.4).
func climbed(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	kept := segments[:0]
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s != "." && s != "..":
			kept = append(kept, s)
			continue
		case s == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		}
		if last {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}
