package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The line that proxy prints for other programs is enough for each of them as
// it stands, in a shell whose own variables lead elsewhere.
func TestTheLineForOtherProgramsIsEnough(t *testing.T) {
	programs := []struct{ needs, line string }{
		{"curl", `curl -sS -d posted "http://$PLAIN/echo?curl"`},
		{"curl", `curl -sS -d posted "https://$HOST/echo?curl"`},
		{"git", `git ls-remote "https://$HOST/repo.git"`},
		{"python3", `python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], data=b"posted").read()' "https://$HOST/echo?python"`},
	}
	for _, c := range programs {
		need(t, c.needs)
	}
	w := newWorld(t)
	p := w.proxy()
	export := ""
	until(t, "the line for others", func() bool {
		for line := range strings.Lines(p.said.String()) {
			if after, ok := strings.CutPrefix(line, "  others "); ok && strings.HasSuffix(after, "\n") {
				export = after
			}
		}
		return export != ""
	})
	for _, c := range programs {
		t.Run(c.needs, func(t *testing.T) {
			sh := exec.Command("sh", "-c", export+c.line)
			sh.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "HOST=" + w.origin.host, "PLAIN=" + w.origin.plain,
				"NO_PROXY=*", "no_proxy=*", "CURL_CA_BUNDLE=/elsewhere.pem", "REQUESTS_CA_BUNDLE=/elsewhere.pem",
			}
			if out, err := sh.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", c.line, err, out)
			}
		})
	}
	p.stop()
	log := readLog(t, p.log)
	agree(t, "the origin", byOrigin(w.origin.accesses(t), w.origin.host, w.origin.plain), "the log", byLog(log.to(w.origin.host, w.origin.plain)))
	if n := len(log.to(w.origin.host, w.origin.plain)); n < len(programs) {
		t.Errorf("%d requests of %d programs were recorded", n, len(programs))
	}
}
