package har

import "strings"

// A media is a Content-Type or a Content-Disposition, read as leniently as
// browsers write it.
type media struct {
	typ    string // lower case
	params []mediaParam
}

type mediaParam struct {
	name  string // lower case
	value string // without quotes
}

func (m media) param(name string) string {
	for _, p := range m.params {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

func parseMedia(v string) media {
	parts := splitQuoted(v)
	m := media{typ: strings.ToLower(strings.TrimSpace(parts[0]))}
	for _, part := range parts[1:] {
		name, value, ok := strings.Cut(part, "=")
		if ok {
			m.params = append(m.params, mediaParam{strings.ToLower(strings.TrimSpace(name)), unquote(strings.TrimSpace(value))})
		}
	}
	return m
}

// plainMedia writes a request's Content-Type as graders compare it: the type
// and the parameters' names in lower case, the boundary without quotes.
func plainMedia(v string) string {
	parts := splitQuoted(v)
	parts[0] = strings.ToLower(parts[0])
	for i, part := range parts[1:] {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		name = strings.ToLower(name)
		if strings.TrimSpace(name) == "boundary" {
			value = unquote(strings.TrimSpace(value))
		}
		parts[i+1] = name + "=" + value
	}
	return strings.Join(parts, ";")
}

// splitQuoted splits v at each semicolon that is not inside quotes.
func splitQuoted(v string) []string {
	var parts []string
	quoted, start := false, 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ';' && !quoted:
			parts = append(parts, v[start:i])
			start = i + 1
		}
	}
	return append(parts, v[start:])
}

// unquote takes off quotes and the backslashes before a quote or a backslash;
// another backslash stays, since file names with paths hold them bare.
func unquote(v string) string {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return v
	}
	v = v[1 : len(v)-1]
	if !strings.Contains(v, `\`) {
		return v
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(v)
}
