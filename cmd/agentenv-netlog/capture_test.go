package main

import (
	"os"
	"strings"
	"testing"
)

func TestCaptureWithoutTcpdump(t *testing.T) {
	if _, err := os.Stat("/usr/sbin/tcpdump"); err == nil {
		t.Skip("there is one in /usr/sbin")
	}
	t.Setenv("PATH", t.TempDir())
	_, stderr, code := runIn(t, t.TempDir(), "capture", "--name", "site", "--captures", ".")
	if code != 1 || !strings.Contains(stderr, `error: capture "site" in ".": tcpdump is not installed`) || !strings.Contains(stderr, "hint: install it") {
		t.Errorf("it ends with %d: %s", code, stderr)
	}
}
