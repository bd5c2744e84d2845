package battery

import (
	"flag"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentenv/netlog/netlog/netlogtest"
)

// Most cases wait most of the time, so more of them run at once than there are
// processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "24"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// Every case, on every leg, through our proxy.
func TestOurs(t *testing.T) {
	for _, c := range Cases() {
		for _, leg := range c.Legs.Each() {
			t.Run(c.Group+"/"+c.Name+"/"+leg.String(), func(t *testing.T) {
				t.Parallel()
				o := Options{Dir: t.TempDir()}
				if err := c.Run(Ours(), leg, o); err != nil {
					t.Fatalf("%v\nthe log:\n%s", err, clip(o.Dump()))
				}
				netlogtest.Validate(t, o.LogPath())
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
