package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded runs `record -- COMMAND` in the world's folder and reads its log
// and its HAR.
func (w *world) recorded(command ...string) (stdout string, log *record, har []harEntry) {
	w.t.Helper()
	args := slices.Concat([]string{"record", "-o", "out.har", "--log", "out.jsonl", "--upstream-ca", w.ca.file, "--"}, command)
	stdout, stderr, code := run(w.t, w.dir, args...)
	if code != 0 {
		w.t.Fatalf("record -- %s ended with %d\n%s%s", command[0], code, stdout, stderr)
	}
	return stdout, readLog(w.t, filepath.Join(w.dir, "out.jsonl")), readHAR(w.t, filepath.Join(w.dir, "out.har"))
}

// same checks that a command's HAR and log hold what the origin was asked.
func (w *world) same(log *record, har []harEntry) {
	w.t.Helper()
	asked := byOrigin(w.origin.accesses(w.t), w.origin.host, w.origin.plain)
	agree(w.t, "the origin", asked, "the log", byLog(log.to(w.origin.host, w.origin.plain)))
	agree(w.t, "the origin", asked, "the HAR", byHAR(w.t, theseHosts(har, []string{w.origin.host, w.origin.plain})))
}

func TestRecordChromiumFindsEveryRequestOnceWithItsBody(t *testing.T) {
	chromium := need(t, "chromium")
	for _, way := range []struct {
		name string
		args []string
	}{
		{"dump-dom", []string{"--dump-dom"}},
		{"screenshot", []string{"--screenshot=shot.png"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			w := newWorld(t)
			command := slices.Concat([]string{chromium}, quiet, way.args, []string{"https://" + w.origin.host + "/sync.html"})
			stdout, log, har := w.recorded(command...)
			w.same(log, har)
			if asked := w.origin.accesses(t); len(asked) != 16 {
				t.Errorf("the origin was asked %d times; the page makes 16", len(asked))
			}
			if way.name == "dump-dom" && !strings.Contains(stdout, "2500000") {
				t.Errorf("the page does not say what came: %.2000s", stdout)
			}
			if way.name == "screenshot" {
				if _, err := os.Stat(filepath.Join(w.dir, "shot.png")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestRecordCurl(t *testing.T) {
	curl := need(t, "curl")
	w := newWorld(t)
	stdout, log, har := w.recorded(curl, "-sS", "-d", "a=1&b=%20", "https://"+w.origin.host+"/echo", "http://"+w.origin.plain+"/echo?plain")
	is(t, "what curl printed", stdout, "POST a=1&b=%20POST a=1&b=%20")
	w.same(log, har)
}

func TestRecordPython(t *testing.T) {
	python := need(t, "python3")
	w := newWorld(t)
	stdout, log, har := w.recorded(python, "-c", `
import sys, urllib.request
for url in sys.argv[1:]:
    print(urllib.request.urlopen(url, data=b"posted").read().decode())
`, "https://"+w.origin.host+"/echo", "http://"+w.origin.plain+"/echo?plain")
	is(t, "what Python printed", stdout, "POST posted\nPOST posted\n")
	w.same(log, har)
}

func TestRecordGit(t *testing.T) {
	git := need(t, "git")
	w := newWorld(t)
	stdout, log, har := w.recorded(git, "ls-remote", "https://"+w.origin.host+"/repo.git")
	is(t, "what git printed", stdout, "0123456789012345678901234567890123456789\tHEAD\n0123456789012345678901234567890123456789\trefs/heads/main\n")
	w.same(log, har)
}

// Node learnt to read the proxy from its environment only in later versions
// than Debian's, so that this one asks for a tunnel by hand; the trust is
// Node's own.
func TestRecordNodeTrustsByItsEnvironment(t *testing.T) {
	node := need(t, "node")
	w := newWorld(t)
	stdout, log, har := w.recorded(node, "-e", `
const http = require('http'), https = require('https')
const proxy = new URL(process.env.HTTPS_PROXY), [host, port] = process.argv[1].split(':')
http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: host + ':' + port }).on('connect', (_, socket) => {
  const r = https.request({ host, port, path: '/echo?node', method: 'POST', socket, agent: false }, (a) => {
    a.setEncoding('utf8').on('data', (d) => process.stdout.write(d)).on('end', () => socket.end())
  })
  r.end('posted')
}).end()
`, w.origin.host)
	is(t, "what Node printed", stdout, "POST posted")
	w.same(log, har)
}

func TestRecordEndsWithTheCommandsExitCode(t *testing.T) {
	sh := need(t, "sh")
	dir := t.TempDir()
	if _, stderr, code := run(t, dir, "record", "--", sh, "-c", "exit 7"); code != 7 {
		t.Errorf("it ended with %d: %s", code, stderr)
	}
	if got := readHAR(t, filepath.Join(dir, "network.har")); len(got) != 0 {
		t.Errorf("%d entries of a command that asked for nothing", len(got))
	}
}
