package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A command that is recorded runs as the user who has the token, the role key and a
// proxy's password, and does not find them: not in its own environment, nor in its
// parent's, which the kernel shows.
func TestACommandDoesNotFindTheToken(t *testing.T) {
	argv := []string{binary(t), "record", "-o", "x.har", "--", "sh", "-c", "env; tr '\\0' '\\n' </proc/$PPID/environ; echo; id -u; grep ^Pid: /proc/$PPID/status"}
	dir := t.TempDir()
	if os.Getuid() == 0 { // whom nothing is kept from
		argv = append([]string{need(t, "setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups"}, argv...)
		for path := dir; len(path) > len(os.TempDir()); path = filepath.Dir(path) {
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	c.Dir = dir
	c.Env = append(clean(os.Environ()), "HOME="+dir, "TMPDIR="+dir, "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "AGENTENV_CONTROL_TOKEN="+controlToken, "AGENTENV_ROLE_KEY="+controlToken, "AGENTENV_NETLOG_UPSTREAM_PROXY=http://ann:"+controlToken+"@127.0.0.1:1")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if strings.Contains(stdout.String(), controlToken) {
		t.Errorf("it finds a secret:\n%s", stdout.String())
	}
	if !strings.Contains(stdout.String(), "HTTPS_PROXY=") || !strings.Contains(stdout.String(), "\nPid:") || !strings.Contains(stderr.String(), "/environ: Permission denied") {
		t.Errorf("the command did not look: %s%s", stdout.String(), stderr.String())
	}
}
