package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readme returns the lines of the README's fenced blocks of a language.
func readme(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	within := ""
	for line := range strings.Lines(string(text)) {
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
	return lines
}

// What of the README can be run without the network is run, in its order, in
// one empty folder that is also the home.
func TestTheReadmesCommandsRun(t *testing.T) {
	commands := []struct{ line, needs string }{
		{"go run ./cmd/agentenv-netlog demo", ""},
		{"agentenv-netlog har network.jsonl", ""},
		{"agentenv-netlog show network.jsonl", ""},
		{"agentenv-netlog check network.jsonl network.har", ""},
		{`jq -r 'select(.event=="open") | [.n, .request.method, .request.url // .target] | @tsv' network.jsonl`, "jq"},
		{`jq -R 'fromjson? | select(.event=="open") | .n' network.jsonl`, "jq"},
		{"agentenv-netlog show network.jsonl --status -1", ""},
		{"mkdir -p ~/.pki/nssdb && certutil -d sql:$HOME/.pki/nssdb -N --empty-password", "certutil"},
		{`certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n agentenv-netlog -i "$(agentenv-netlog ca path)"`, "certutil"},
		{"certutil -d sql:$HOME/.pki/nssdb -D -n agentenv-netlog", "certutil"},
	}
	lines := readme(t, "sh")
	home := t.TempDir()
	program := binary(t)
	if _, stderr, code := run(t, home, "ca", "create"); code != 0 {
		t.Fatalf("ca create: %s", stderr)
	}
	for _, c := range commands {
		t.Run(c.line, func(t *testing.T) {
			if !slices.ContainsFunc(lines, func(l string) bool { return l == c.line || strings.HasPrefix(l, c.line+" ") }) {
				t.Errorf("the README has no such line")
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

// Every flag that the README names with a command is one of that command's.
func TestTheReadmesFlagsExist(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile(`(?:^| )(--?[a-z][a-z-]*)`)
	named := 0
	for _, m := range regexp.MustCompile("agentenv-netlog (proxy|har|show|serve|fetch|record|capture|demo|ca (?:path|print|bundle|create|trust|untrust)|sites (?:check|run|install|uninstall))( [^`\n#|]*)?").FindAllStringSubmatch(string(text), -1) {
		own, _, _ := strings.Cut(m[2]+" ", " -- ")
		help, _, code := run(t, t.TempDir(), append(strings.Fields(m[1]), "--help")...)
		if code != 0 {
			t.Errorf("agentenv-netlog %s --help ends with %d", m[1], code)
		}
		for _, f := range flag.FindAllStringSubmatch(own, -1) {
			named++
			if !strings.Contains(help, f[1]) {
				t.Errorf("agentenv-netlog %s has no flag %s", m[1], f[1])
			}
		}
	}
	if named < 4 {
		t.Errorf("only %d flags were found in the README", named)
	}
}
