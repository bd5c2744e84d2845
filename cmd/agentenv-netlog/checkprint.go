package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/agentenv/netlog/har"
)

// A finding is a fault of a log or of a HAR, and a line of check --json, whose
// help describes it.
type finding struct {
	File    string `json:"file"`
	Rule    string `json:"rule"`
	Text    string `json:"text"`
	Warning bool   `json:"warning,omitempty"`
	Entry   int64  `json:"entry,omitempty"`
	Line    int64  `json:"line,omitempty"`
	ID      string `json:"id,omitempty"`
	Offset  int64  `json:"offset"`
	Field   string `json:"field,omitempty"`
}

// where is the finding's place for people.
func (f *finding) where() string {
	var parts []string
	switch {
	case f.Entry > 0 && f.ID != "":
		parts = append(parts, fmt.Sprintf("entry %d (_id %s)", f.Entry, f.ID))
	case f.Entry > 0:
		parts = append(parts, fmt.Sprintf("entry %d", f.Entry))
	case f.Line > 0 && f.ID != "" && f.ID != fmt.Sprint(f.Line):
		parts = append(parts, fmt.Sprintf("line %d (of entry %s)", f.Line, f.ID))
	case f.Line > 0:
		parts = append(parts, fmt.Sprintf("line %d", f.Line))
	}
	if f.Rule == "json" || f.Rule == "line" {
		parts = append(parts, fmt.Sprintf("byte %d", f.Offset))
	}
	if f.Field != "" {
		parts = append(parts, f.Field)
	}
	return strings.Join(parts, ", ")
}

func (f *finding) print(out io.Writer) error {
	line := printable(f.File) + ": "
	if where := f.where(); where != "" {
		line += where + ": "
	}
	if f.Warning {
		line += "warning: "
	}
	_, err := fmt.Fprintf(out, "%s%s: %s\n", line, f.Rule, f.Text)
	return err
}

// A kind is what findings have in common of which only some are printed.
type kind struct {
	rule, field string
	warning     bool
}

// maxKinds bounds how many are told apart: a field's name may be anything.
const maxKinds = 10_000

// findings prints those of one path.
type findings struct {
	path             string
	limit            int // of each kind; 0: all
	json             bool
	out              io.Writer
	kinds            map[kind]int
	order            []kind
	faults, warnings int64
}

var elementIndex = regexp.MustCompile(`\[\d+\]`)

func (t *findings) tell(f finding) error {
	if f.Warning {
		t.warnings++
	} else {
		t.faults++
	}
	k := kind{f.Rule, elementIndex.ReplaceAllString(f.Field, "[]"), f.Warning}
	n, known := t.kinds[k]
	if !known && len(t.kinds) == maxKinds {
		k.field = "..."
		n = t.kinds[k]
	}
	if n == 0 {
		t.order = append(t.order, k)
	}
	t.kinds[k] = n + 1
	if t.limit > 0 && n >= t.limit {
		return nil
	}
	if !t.json {
		return f.print(t.out)
	}
	b, err := json.Marshal(&f)
	if err != nil {
		return err
	}
	_, err = t.out.Write(append(asciiJSON(b), '\n'))
	return err
}

// rest says how many lines were not printed.
func (t *findings) rest() {
	for _, k := range t.order {
		more := t.kinds[k] - t.limit
		if t.limit == 0 || more <= 0 || t.json {
			continue
		}
		what := k.rule
		if k.field != "" {
			what = k.field + ": " + what
		}
		fmt.Fprintf(t.out, "%s: %d more of %s\n", printable(t.path), more, what)
	}
}

// remedy says how a HAR of ours is made that a reader takes: what a browser sends
// may be what it refuses.
func (t *findings) remedy() string {
	for _, profile := range har.Profiles() {
		if slices.ContainsFunc(t.order, func(k kind) bool { return k.rule == profile.Name && !k.warning }) {
			return fmt.Sprintf("; one made by har --for %s is for that reader", profile.Name)
		}
	}
	return ""
}

// summary is what is said of the whole.
func (t *findings) summary(what string) string {
	switch {
	case t.faults+t.warnings == 0:
		return what + ", no fault"
	case t.warnings == 0:
		return what + ", " + count(t.faults, "fault")
	case t.faults == 0:
		return what + ", no fault, " + count(t.warnings, "warning")
	}
	return what + ", " + count(t.faults, "fault") + ", " + count(t.warnings, "warning")
}
