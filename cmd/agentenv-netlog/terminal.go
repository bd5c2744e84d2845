package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// A screen is what is known of where a table goes.
type screen struct {
	columns int // 0: no end, as in a pipe
	color   bool
	blocks  bool // it has other characters than ASCII's
}

// newScreen looks at the output. when is --color's auto, always or never.
func newScreen(out io.Writer, when string) (screen, error) {
	var s screen
	switch when {
	case "auto", "always", "never":
	default:
		return s, misused(fmt.Errorf("--color %q: there is no such choice", when), "write auto, always or never")
	}
	s.columns = columns(out)
	// https://no-color.org: a variable that is empty does not count.
	s.color = when == "always" || when == "auto" && s.columns > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	for _, name := range [...]string{"LC_ALL", "LC_CTYPE", "LANG"} { // POSIX's order
		if v := strings.ToLower(os.Getenv(name)); v != "" {
			s.blocks = strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
			break
		}
	}
	return s, nil
}

// columns is the width of a terminal, 80 when it does not say, and 0 for what
// is none.
func columns(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
		return n
	}
	return 80
}

// An sgr is a parameter of Select Graphic Rendition (ECMA-48 §8.3.117).
type sgr string

const (
	plain  sgr = ""
	bold   sgr = "1"
	dim    sgr = "2"
	red    sgr = "31"
	green  sgr = "32"
	yellow sgr = "33"
	blue   sgr = "34"
	cyan   sgr = "36"
)

func (s screen) paint(c sgr, text string) string {
	if !s.color || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// printable makes s safe for a terminal: what is no graphic character (controls,
// escapes, marks that turn the direction of text) is spelt out, as are bytes that
// are not UTF-8. Whoever made s must not move the cursor or forge a line.
func printable(s string) string { return spell(s, false) }

// printableText is the same for a text of several lines.
func printableText(s string) string { return spell(s, true) }

func spell(s string, lines bool) string {
	i := 0
	for i < len(s) && s[i] >= ' ' && s[i] < 0x7f {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && (r == '\n' || r == '\t'), unicode.IsGraphic(r):
			b.WriteString(s[i : i+size])
		case lines && strings.HasPrefix(s[i:], "\r\n"):
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// cells is how many columns of a terminal a printable text takes.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case r < 0x7f:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit cuts a printable text to a number of columns, and says so at its end.
func (s screen) fit(text string, room int) string {
	if cells(text) <= room {
		return text
	}
	mark := "..."
	if s.blocks {
		mark = "…"
	}
	if room < len(mark) {
		return strings.Repeat(".", max(room, 0))
	}
	room -= cells(mark)
	for i, r := range text {
		if room -= runeCells(r); room < 0 {
			return text[:i] + mark
		}
	}
	return text
}

// pad fills a printable text up to a number of columns, on the left for numbers.
func pad(text string, to int, left bool) string {
	space := strings.Repeat(" ", max(to-cells(text), 0))
	if left {
		return space + text
	}
	return text + space
}
