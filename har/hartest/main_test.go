package hartest

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each case has a name of its own and is another file than the others.
func TestCases(t *testing.T) {
	seen := map[string]string{}
	for _, c := range Cases() {
		for _, s := range []string{"name " + c.Name, c.HAR()} {
			if other, ok := seen[s]; ok {
				t.Errorf("%q is as %q", c.Name, other)
			}
			seen[s] = c.Name
		}
	}
}
