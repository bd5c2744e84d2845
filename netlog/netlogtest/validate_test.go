package netlogtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	start = `{"n":1,"event":"start","t":"2026-01-02T03:04:05.000000Z","format":1,"program":"p","version":"1","pid":7,"mode":"proxy","limits":{"request_body":1,"response_body":2,"types":"text"}}`
	open2 = `{"n":2,"event":"open","id":2,"t":"2026-01-02T03:04:05.000100Z","kind":"exchange","via":"plain","client":"127.0.0.1:1","request":{"method":"GET","url":"http://a/","version":"HTTP/1.1","body":{"size":0}}}`
	end3  = `{"n":3,"event":"end","id":2,"t":"2026-01-02T03:04:05.000110Z","response":{"status":200,"body":{"size":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","base64":"YWJj"},"complete":true},"timings":{"send":4,"wait":6,"total":10}}`
)

// TestCheck breaks one rule at a time.
func TestCheck(t *testing.T) {
	good := start + "\n" + open2 + "\n" + end3 + "\n"
	for _, c := range []struct {
		name, old, new string
		options        Options
		want           string // part of the only error, "" for none
	}{
		{name: "good"},
		{name: "gap", old: `"n":3`, new: `"n":4`, want: "stands where line 3 belongs"},
		{name: "id", old: `"id":2,"t":"2026-01-02T03:04:05.000110Z"`, new: `"id":1,"t":"2026-01-02T03:04:05.000110Z"`, options: Options{Live: true}, want: "which is not open"},
		{name: "no end", old: end3 + "\n", want: "has no end line"},
		{name: "no end in a live log", old: end3 + "\n", options: Options{Live: true}},
		{name: "two ends", old: end3 + "\n", new: end3 + "\n" + strings.Replace(end3, `"n":3`, `"n":4`, 1) + "\n", want: "which is not open"},
		{name: "total", old: "000110Z", new: "000111Z", want: "timings.total is 10, from line 2"},
		{name: "back", old: "000110Z", new: "000010Z", want: "is before that of line 2"},
		{name: "sum", old: `"wait":6`, new: `"wait":5`, want: "the sum of the phases 9"},
		{name: "unknown field", old: `"send":4`, new: `"sent":4,"send":4`, want: "timings.sent is a field that format 1 does not have\nadditional properties 'sent' not allowed"},
		{name: "unknown code", old: `"timings"`, new: `"failed":{"phase":"wait","code":"bored","reason":"x"},"timings"`, want: "value must be one of"},
		{name: "order", old: `"client":"127.0.0.1:1","request"`, new: `"connection":1,"client":"127.0.0.1:1","request"`, want: "connection is written as"},
		{name: "digest", old: "ba7816", new: "aa7816", want: "that of the bytes kept"},
		{name: "kept too few", old: "YWJj", new: "YWI=", want: "response.body.truncated is absent"},
		{name: "no start", old: start, new: strings.Replace(end3, `"n":3`, `"n":1`, 1), want: `first line is of the event "end"`},
		{name: "no version", old: `,"version":"HTTP/1.1"`, want: "no version"},
		{name: "no status", old: `"status":200`, new: `"status":0`, want: "response.status is 0"},
		{name: "unreadable", old: end3, new: "?\n" + end3, want: "1 unreadable lines, want 0"},
		{name: "unreadable as told", old: end3, new: "?\n" + end3, options: Options{Unreadable: 1}},
		{name: "type", old: `"status":200`, new: `"status":"200"`, options: Options{Live: true}, want: "response.status byte 83: not a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "network.jsonl")
			if err := os.WriteFile(path, []byte(strings.Replace(good, c.old, c.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, errs, err := check(path, c.options)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(errs)
			if c.want == "" && len(errs) > 0 || c.want != "" && len(errs) == 0 {
				t.Fatalf("errors %s, want %q", got, c.want)
			}
			for _, want := range strings.Split(c.want, "\n") {
				if !strings.Contains(got, want) {
					t.Errorf("errors %s, want %q", got, want)
				}
			}
		})
	}
}
