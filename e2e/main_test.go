package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "netlog-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// built is the binary under test, made once, when the first test wants it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// binary returns the path of agentenv-netlog, built from this tree, with the
// race detector when the tests have it.
func binary(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("NETLOG_E2E_COMPUTER"); dir != "" { // it was built by who started this
		return filepath.Join(dir, "agentenv-netlog")
	}
	path := filepath.Join(built.dir, "agentenv-netlog")
	built.once.Do(func() {
		args := []string{"build", "-o", path}
		if raceEnabled {
			args = append(args, "-race")
		}
		out, err := exec.Command("go", append(args, "../cmd/agentenv-netlog")...).CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return path
}

// tourVariable names the folder that make tour leaves the files in. It is for people
// who have not installed all of e2e/setup.
const tourVariable = "NETLOG_TOUR"

// need skips the test when a program is missing; under NETLOG_E2E=all that is
// a failure. It returns the program's path.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + program)
	}
	if err != nil {
		lacking(t, fmt.Sprintf("%s is not installed (make e2e-setup)", program))
	}
	return path
}

// lacking ends the test for want of something that is not the product's.
func lacking(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("NETLOG_E2E") == "all" {
		t.Fatalf("NETLOG_E2E=all, but %s", reason)
	}
	t.Skip(reason)
}
