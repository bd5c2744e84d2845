package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"plain", "plain", "plain"},
		{"", "", ""},
		{"é 🦊 漢", "é 🦊 漢", "é 🦊 漢"},
		{"a\x1b[31mb", `a\x1b[31mb`, `a\x1b[31mb`},
		{"a\u009b31mb", `a\x9b31mb`, `a\x9b31mb`},
		{"\x07\x7f\x00", `\x07\x7f\x00`, `\x07\x7f\x00`},
		{"a\nb\tc", `a\nb\tc`, "a\nb\tc"},
		{"a\r\nb\rc", `a\r\nb\rc`, "a\nb\\rc"},
		{"caf\xe9", `caf\xe9`, `caf\xe9`},
		{"a\u202eb\u2066c\u200fd", `a\u202eb\u2066c\u200fd`, `a\u202eb\u2066c\u200fd`},
		{"a\u2028b\ufeff", `a\u2028b\ufeff`, `a\u2028b\ufeff`},
		{"\U000e0041", `\U000e0041`, `\U000e0041`},
		{"\ufffd", "\ufffd", "\ufffd"},
	} {
		if got := printable(c.in); got != c.line {
			t.Errorf("%q in a line: %q, want %q", c.in, got, c.line)
		}
		if got := printableText(c.in); got != c.text {
			t.Errorf("%q as a text: %q, want %q", c.in, got, c.text)
		}
	}
}

// harmless says whether nothing in s can steer a terminal.
func harmless(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) })
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b]0;title\x07b\u202e\xff", 3)
	f.Add("漢字かな", 5)
	f.Fuzz(func(t *testing.T, s string, room int) {
		line := printable(s)
		if !harmless(line) || strings.ContainsAny(line, "\n\t") {
			t.Errorf("%q became %q", s, line)
		}
		if text := printableText(s); !harmless(text) {
			t.Errorf("%q became %q", s, text)
		}
		if again := printable(line); again != line {
			t.Errorf("%q became %q, and again %q", s, line, again)
		}
		room &= 255
		for _, blocks := range []bool{true, false} {
			fitted := screen{blocks: blocks}.fit(line, room)
			if cells(fitted) > room || cells(line) <= room && fitted != line {
				t.Errorf("%q in %d columns became %q", line, room, fitted)
			}
		}
	})
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text          string
		room          int
		blocks, ascii string
	}{
		{"abcdef", 6, "abcdef", "abcdef"},
		{"abcdef", 5, "abcd…", "ab..."},
		{"漢字漢字", 7, "漢字漢…", "漢字..."},
		{"漢字漢字", 6, "漢字…", "漢..."},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301", "e\u0301e\u0301e\u0301"},
		{"abcdef", 2, "..", ".."},
		{"abcdef", 0, "", ""},
		{"abcdef", -1, "", ""},
	} {
		if got := (screen{blocks: true}).fit(c.text, c.room); got != c.blocks {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.room, got, c.blocks)
		}
		if got := (screen{}).fit(c.text, c.room); got != c.ascii {
			t.Errorf("%q in %d columns of ASCII: %q, want %q", c.text, c.room, got, c.ascii)
		}
	}
}

// What is no terminal has no width, and no colours but by order.
func TestScreenOfAPipe(t *testing.T) {
	for when, color := range map[string]bool{"auto": false, "never": false, "always": true} {
		s, err := newScreen(&bytes.Buffer{}, when)
		if err != nil || s.color != color || s.columns != 0 {
			t.Errorf("--color %s: %+v, %v", when, s, err)
		}
	}
	if _, err := newScreen(&bytes.Buffer{}, "sometimes"); err == nil {
		t.Error("--color sometimes was taken")
	}
}

func TestScreenOfALocale(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false},
		{"", "", "en_US.UTF-8", true},
		{"C", "", "en_US.UTF-8", false},
		{"", "C.utf8", "C", true},
		{"de_DE.ISO-8859-1", "C.UTF-8", "", false},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		if s, err := newScreen(&bytes.Buffer{}, "auto"); err != nil || s.blocks != c.want {
			t.Errorf("%+v: %v, %v", c, s.blocks, err)
		}
	}
}
