package webarena

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

var (
	spaces  = regexp.MustCompile(`\s+`)
	hyphens = regexp.MustCompile(`([a-zA-Z])[-\x{2010}-\x{2015}\x{2212}]|[-\x{2010}-\x{2015}\x{2212}]([a-zA-Z])`)
)

// plainText is a text as texts are compared: in lower case and ASCII, with single
// spaces. Of other letters than Latin ones with marks the grader makes some that
// sound like them; here they are lost.
func plainText(s string) string {
	if isPattern(s) {
		return strings.TrimSpace(s)
	}
	s = strings.NewReplacer("\u2122", "", "\u00ae", "", "\u2120", "", "\u00a9", "").Replace(s)
	s = hyphens.ReplaceAllString(norm.NFKC.String(s), "$1 $2")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r < 0x80 && !unicode.IsControl(r):
			return r
		}
		return -1
	}, norm.NFKD.String(s))
	return strings.ToLower(strings.TrimSpace(spaces.ReplaceAllString(s, " ")))
}

// sameText compares two texts, of which the expected one may be a pattern.
func sameText(expected, actual string) (bool, error) {
	expected, actual = plainText(expected), plainText(actual)
	if isPattern(expected) {
		p, err := regexp.Compile("(?i)^(?:" + expected + ")$")
		if err != nil {
			return false, err
		}
		return p.MatchString(actual), nil
	}
	const marks = "'\"`.,;:!?"
	return expected == actual || strings.Trim(expected, marks) == strings.Trim(actual, marks), nil
}

// asText is a value of a form or of JSON as Python writes it; "" for what it takes
// for false.
func asText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return ""
	case json.Number:
		f, err := v.Float64()
		switch {
		case err == nil && f == 0:
			return ""
		case err == nil && strings.ContainsAny(v.String(), ".eE"):
			s := strconv.FormatFloat(f, 'f', -1, 64)
			if !strings.Contains(s, ".") {
				s += ".0"
			}
			return s
		}
	}
	return fmt.Sprint(v)
}

// sameValue compares what JSON holds, as it is.
func sameValue(expected, actual any) bool {
	switch e := expected.(type) {
	case map[string]any:
		a, ok := actual.(map[string]any)
		if !ok {
			return false
		}
		for name := range e { // more is no fault
			if v, ok := a[name]; !ok || !sameValue(e[name], v) {
				return false
			}
		}
		return true
	case []any:
		a, ok := actual.([]any)
		return ok && sameList(e, a)
	case json.Number:
		a, ok := actual.(json.Number)
		if !ok {
			return false
		}
		x, okX := new(big.Rat).SetString(e.String())
		y, okY := new(big.Rat).SetString(a.String())
		return okX && okY && x.Cmp(y) == 0
	}
	return expected == actual
}

// sameList compares two lists in any order.
func sameList(expected, actual []any) bool {
	if len(expected) != len(actual) {
		return false
	}
	used := make([]bool, len(actual))
next:
	for _, e := range expected {
		for i, a := range actual {
			if !used[i] && sameValue(e, a) {
				used[i] = true
				continue next
			}
		}
		return false
	}
	return true
}

// lookUp finds what a key of an expectation stands for: a name, a path such as
// $.note.tags[1], or a pattern of names ($.^…$). nil: nothing, or several.
func lookUp(m map[string]any, key string) (any, error) {
	if pattern := strings.TrimPrefix(key, "$."); isPattern(pattern) {
		p, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		var found []any
		for name, value := range m {
			if p.MatchString(name) {
				found = append(found, value)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		return nil, nil
	}
	path, ok := strings.CutPrefix(key, "$")
	if !ok {
		return m[key], nil
	}
	return follow(m, path)
}

var step = regexp.MustCompile(`^(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\])`)

// follow goes a path's steps. A text on the way that is JSON is gone into.
func follow(v any, path string) (any, error) {
	for path != "" {
		at := step.FindStringSubmatch(path)
		if at == nil {
			return nil, fmt.Errorf("the path %q is not understood here", path)
		}
		path = path[len(at[0]):]
		if s, ok := v.(string); ok {
			d := json.NewDecoder(strings.NewReader(s))
			d.UseNumber()
			if d.Decode(&v) != nil {
				return nil, nil
			}
		}
		if at[1] != "" {
			m, _ := v.(map[string]any)
			v = m[at[1]]
			continue
		}
		list, _ := v.([]any)
		i, err := strconv.Atoi(at[2])
		if err != nil || i >= len(list) {
			return nil, nil
		}
		v = list[i]
	}
	return v, nil
}
