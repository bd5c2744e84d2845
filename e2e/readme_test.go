package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readme returns the lines of the fenced blocks of a language: those of the README
// and of the pages of docs.
func readme(t *testing.T, language string) []string {
	t.Helper()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, page := range append([]string{"../README.md"}, pages...) {
		within := ""
		for line := range strings.Lines(string(contentOf(t, page))) {
			line = strings.TrimRight(line, "\n")
			switch mark, ok := strings.CutPrefix(line, "```"); {
			case ok && within == "":
				within = mark
			case ok:
				within = ""
			case within == language:
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// block returns the lines of a JSON file that a page shows, from the first of them on.
func block(t *testing.T, first string) string {
	t.Helper()
	lines := readme(t, "json")
	from := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, first) })
	if from < 0 {
		t.Fatalf("no page has a file that begins with %s", first)
	}
	for to := from + 1; to <= len(lines); to++ {
		if text := strings.Join(lines[from:to], "\n"); json.Valid([]byte(text)) {
			return text
		}
	}
	t.Fatalf("the file that begins with %s is no JSON", first)
	return ""
}

// What of the README and the pages can be run without the network is run, in one
// folder that is also the home.
func TestTheReadmesCommandsRun(t *testing.T) {
	commands := []struct{ line, needs string }{
		{"go run ./cmd/agentenv-netlog demo", ""},
		{"agentenv-netlog har network.jsonl", ""},
		{"agentenv-netlog show network.jsonl", ""},
		{"agentenv-netlog check network.jsonl network.har", ""},
		{`jq -r 'select(.event=="open") | [.n, .request.method, .request.url // .target] | @tsv' network.jsonl`, "jq"},
		{`jq -R 'fromjson? | select(.event=="open") | .n' network.jsonl`, "jq"},
		{"agentenv-netlog show network.jsonl --status -1", ""},
		{"agentenv-netlog show network.jsonl --id 26", ""},
		{"agentenv-netlog show network.har --json | jq -r 'select(.time > 500) | .url'", "jq"},
		{"agentenv-netlog har network.jsonl --for webarena", ""},
		{"agentenv-netlog har network.jsonl --gzip", ""},
		{"agentenv-netlog har network.jsonl -o trace.zip", ""},
		{"agentenv-netlog sites check sites.json", ""},
		{"mkdir -p ~/.pki/nssdb && certutil -d sql:$HOME/.pki/nssdb -N --empty-password", "certutil"},
		{`certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n agentenv-netlog -i "$(agentenv-netlog ca path)"`, "certutil"},
		{"certutil -d sql:$HOME/.pki/nssdb -D -n agentenv-netlog", "certutil"},
	}
	lines := readme(t, "sh")
	home := t.TempDir()
	write(t, filepath.Join(home, "sites.json"), []byte(block(t, `{"user": "agent"`)))
	program := binary(t)
	if _, stderr, code := run(t, home, "ca", "create"); code != 0 {
		t.Fatalf("ca create: %s", stderr)
	}
	for _, c := range commands {
		t.Run(c.line, func(t *testing.T) {
			if !slices.ContainsFunc(lines, func(l string) bool { return l == c.line || strings.HasPrefix(l, c.line+" ") }) {
				t.Errorf("no page has such a line")
			}
			if c.needs != "" {
				need(t, c.needs)
			}
			sh := exec.Command("sh", "-c", strings.ReplaceAll(c.line, "go run ./cmd/agentenv-netlog", "agentenv-netlog"))
			sh.Dir = home
			sh.Env = append(clean(os.Environ()), "HOME="+home, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
			if out, err := sh.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The transcript at the top is what the demo prints, but for its numbers.
func TestTheReadmesTranscriptIsTheDemos(t *testing.T) {
	stdout, stderr, code := run(t, t.TempDir(), "demo")
	if code != 0 {
		t.Fatalf("demo ended with %d: %s", code, stderr)
	}
	transcript := readme(t, "console")
	if len(transcript) == 0 || transcript[0] != "$ go run ./cmd/agentenv-netlog demo" {
		t.Fatalf("the transcript begins with %q", transcript)
	}
	numbers := regexp.MustCompile(`[\d.]+`)
	bare := func(lines string) string {
		return numbers.ReplaceAllString(strings.Join(strings.Fields(lines), " "), "0")
	}
	if got, want := bare(strings.Join(transcript[1:], "\n")), bare(stdout+stderr); got != want {
		t.Errorf("the README has\n%s\nthe demo prints\n%s", got, want)
	}
}
