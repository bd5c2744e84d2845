package battery

import (
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every case, on every leg, through our proxy.
func TestOurs(t *testing.T) {
	for _, c := range Cases() {
		for _, leg := range c.Legs.Each() {
			t.Run(c.Group+"/"+c.Name+"/"+leg.String(), func(t *testing.T) {
				t.Parallel()
				o := Options{Dir: t.TempDir()}
				if err := c.Run(Ours(), leg, o); err != nil {
					t.Errorf("%v\nthe log:\n%s", err, clip(o.Dump()))
				}
			})
		}
	}
}

// Names tell cases apart: they are what the table of `make battery` has.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]Leg{}
	for _, c := range Cases() {
		name := c.Group + "/" + c.Name
		for _, leg := range c.Legs.Each() {
			if seen[name]&leg != 0 {
				t.Errorf("%s on %v is there twice", name, leg)
			}
			seen[name] |= leg
		}
	}
}

// goroutinesOf counts the goroutines that run a function.
func goroutinesOf(name string) int {
	buf := make([]byte, 16<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), name)
}
