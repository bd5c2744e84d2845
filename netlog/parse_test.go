package netlog

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestParserMatchesJSON has encoding/json as its judge.
func TestParserMatchesJSON(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `0`, `-0`, `-1.5e+10`, `1E5`, `true`, `false`, `null`, ` { "a" : [ 1 , { } ] } `, `{"a":{"b":[[],{}]}}`,
		``, ` `, `{`, `}`, `[`, `]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`, `[1,]`, `[,1]`, `[1 2]`, `1 2`, `{}{}`,
		`01`, `+1`, `1.`, `.5`, `1e`, `1e+`, `-`, `--1`, `0x1`, `NaN`, `tru`, `truE`, `nul`, `nulll`, `fals`,
		`"`, `"\`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u"`, `'a'`, "\"\n\"", "\"\t\"", "\"\x00\"", "\"\x7f\"", "{\"a\":1}\x00", "\x00",
		`"\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`, `"\ud83d\n"`, `"é€😀"`,
	} {
		p := parser{b: []byte(text)}
		p.skip()
		got, want := p.end() == nil, json.Valid([]byte(text))
		if got != want {
			t.Errorf("%q: valid %v, want %v", text, got, want)
		}
		var s string
		if !want || json.Unmarshal([]byte(text), &s) != nil || text == "null" {
			continue
		}
		p = parser{b: []byte(text)}
		if got := p.string(); got != s || p.end() != nil {
			t.Errorf("%s is %q, want %q, %v", text, got, s, p.err)
		}
	}
	if deep := strings.Repeat("[", 1<<20); validLine([]byte(deep)) {
		t.Error("a million brackets are valid")
	}
	if validLine([]byte("\"\xff\"")) {
		t.Error("a string that is not UTF-8 is valid")
	}
}

func TestParseLineRefuses(t *testing.T) {
	const head = `{"n":7,"event":"end","id":2,"t":"2026-01-02T03:04:05.678901Z"`
	for _, c := range []struct{ text, says string }{
		{``, "no head"},
		{`{}`, "no head"},
		{`{"n":0,"event":"end","id":2,"t":"2026-01-02T03:04:05.678901Z"}`, "no head"},
		{`{"n":07,"event":"end","id":2,"t":"2026-01-02T03:04:05.678901Z"}`, "no head"},
		{`{"n":-7,"event":"end","id":2,"t":"2026-01-02T03:04:05.678901Z"}`, "no head"},
		{`{"n":9999999999999999999,"event":"end","id":2,"t":"2026-01-02T03:04:05.678901Z"}`, "no head"},
		{`{"n":7,"event":"","id":2,"t":"2026-01-02T03:04:05.678901Z"}`, "no head"},
		{`{"n":7,"event":"END","id":2,"t":"2026-01-02T03:04:05.678901Z"}`, "no head"},
		{`{"n": 7,"event":"end","id":2,"t":"2026-01-02T03:04:05.678901Z"}`, "no head"},
		{`{"n":7,"event":"end","id":2,"t":"2026-02-30T03:04:05.678901Z"}`, "no head"},
		{`{"n":7,"event":"end","id":2,"t":"2026-01-02T25:04:05.678901Z"}`, "no head"},
		{`{"n":7,"event":"end","id":2,"t":"2026-01-02T03:04:05.67890Z"}`, "no head"},
		{`{"n":7,"event":"end","id":2,"t":"2026-01-02T03:04:05.678901Z","lost":x}`, "no head"},
		{head, "no head"},
		{head + `,`, "expected a field"},
		{head + `,}`, "expected a field"},
		{head + `}}`, "expected the end"},
		{head + `,"unparsed":1}`, "expected true or false"},
		{head + `,"unparsed":true`, "expected '}'"},
		{head + `,"timings":{"total":1.5}}`, "whole number"},
		{head + `,"timings":{"total":99999999999999999999}}`, "whole number"},
		{head + `,"timings":null}`, "expected '{'"},
		{head + `,"response":{"status":"200"}}`, "not a number"},
		{head + `,"response":{"headers":[["a"]]}}`, "without a value"},
		{head + `,"response":{"headers":[["a","b","YQ==","c"]]}}`, "more than three"},
		{head + `,"response":{"headers":[["a","b","Y"]]}}`, "not base64"},
		{head + `,"response":{"headers":{"a":"b"}}}`, "expected '['"},
		{head + `,"response":{"body":{"base64":"YR=="}}}`, "not base64"},
		{head + `,"response":{"body":{"base64":"YQ` + "\r" + `=="}}}`, "not base64"},
		{head + `,"response":{"body":{"base64":"YQ==}}}`, "unterminated"},
		{head + `,"response":{"body":{"chunks":[[1]]}}}`, "without a time"},
		{head + `,"response":{"body":{"chunks":[[1,2,3]]}}}`, "more than two"},
		{head + `,"request":{"target":["a"]}}`, "without its bytes"},
		{head + `,"request":{"target":["a","YQ==",""]}}`, "more than two"},
		{head + `,"server":{"dialled":{"t":"2026-01-02"}}}`, "not a time"},
		{head + `,"server":{"tls":{"not_after":"2026-01-02"}}}`, "not a time"},
	} {
		_, err := ParseLine([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s\ngives %v, want %q", c.text, err, c.says)
		}
	}
}

// TestParseLineCut cuts each line at every byte: only the whole one is a line.
func TestParseLineCut(t *testing.T) {
	for _, l := range everyLine() {
		b := encode(t, l)
		for i := range len(b) - 1 {
			if got, err := ParseLine(b[:i]); err == nil {
				t.Fatalf("%q is taken for the line %+v", b[:i], got)
			}
		}
		if _, err := ParseLine(b[:len(b)-1]); err != nil {
			t.Error(err)
		}
	}
}

// TestParseLineSkips has fields and events of a later version.
func TestParseLineSkips(t *testing.T) {
	const later = `"later":{"x":[1,{"y":null},"\"}"],"z":-1.5e3}`
	for _, l := range everyLine() {
		b := string(encode(t, l))
		b = strings.ReplaceAll(b, "{}", "{"+later+"}")
		b = strings.ReplaceAll(b, "}", ","+later+"}")
		got, err := ParseLine([]byte(b))
		if err != nil {
			t.Errorf("%v: %s", err, b)
			continue
		}
		if again := encode(t, got); string(again) != string(encode(t, l)) {
			t.Errorf("fields of a later version change the line to\n%s", again)
		}
	}
	l, err := ParseLine([]byte(`{"n":7,"event":"dns_answer","id":7,"t":"2026-01-02T03:04:05.678901Z",` + later + `}`))
	if err != nil || *l != (Line{Head: l.Head}) || l.Event != "dns_answer" {
		t.Errorf("an unknown event gives %+v, %v", l, err)
	}
}
