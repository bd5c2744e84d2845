package capture

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also makes the test binary a tcpdump, by its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "tcpdump" {
		os.Exit(fakeTcpdump(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
