// Package hartest has HARs that are wrong in one way each, for tests of what
// checks and of what reads HARs.
//
//	for _, c := range hartest.Cases() {
//		file := c.HAR()
//		…
//	}
//
// It says what har.Check is to find in each; it is for tests only.
package hartest

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed sound.har
var sound string

// Sound is a HAR of another program's in which nothing is wrong, and which every
// reader takes: a page, a form and a WebSocket.
func Sound() string { return sound }

// A Case is a HAR that is Sound but for one replacement.
type Case struct {
	Name     string
	Old, New string // Old is in Sound; its first place is meant
	Faults   string // what is wrong: "2 request.url har-validator" for each fault of an entry, one a comma; warnings with " warning"
	NotJSON  bool   // JSON.parse refuses it
}

// HAR is the file. It panics where Sound has not what is to be replaced.
func (c Case) HAR() string {
	if !strings.Contains(sound, c.Old) {
		panic(fmt.Sprintf("hartest: %s: sound.har has no %q", c.Name, c.Old))
	}
	return strings.Replace(sound, c.Old, c.New, 1)
}

// indexOf is where sound has a text.
func indexOf(text string) int {
	i := strings.Index(sound, text)
	if i < 0 {
		panic(fmt.Sprintf("hartest: sound.har has no %q", text))
	}
	return i
}

// indexAfter is where the text ends.
func indexAfter(text string) int { return indexOf(text) + len(text) }

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// many are n members that follow others.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `, "_%d": %d`, i, i)
	}
	return b.String()
}
