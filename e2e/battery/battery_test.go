package battery

import (
	"flag"
	"runtime"
	"strings"
	"testing"
	"time"

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
				if _, err := c.Run(Ours(), leg, o); err != nil {
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

// Requests that are given up leave no goroutine of the proxy's, without it being
// stopped. (That their connections to the server end, the case itself looks at.)
func TestGivenUpRequestsLeaveNoGoroutine(t *testing.T) {
	for _, c := range Cases() {
		if c.Name != givenUp {
			continue
		}
		for _, leg := range c.Legs.Each() {
			t.Run(leg.String(), func(t *testing.T) {
				o := Options{Dir: t.TempDir()}
				if _, err := c.Run(quiet{t, Ours()}, leg, o); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A quiet proxy must have come to rest before it is stopped.
type quiet struct {
	t *testing.T
	Proxy
}

func (q quiet) Start(s Setup) (Instance, error) {
	i, err := q.Proxy.Start(s)
	return quietInstance{q.t, i}, err
}

type quietInstance struct {
	t *testing.T
	Instance
}

func (q quietInstance) Stop() error {
	err := poll(2*time.Minute, "the end of the connections' goroutines", func() bool {
		return goroutinesOf("/proxy.(*client)")+goroutinesOf("/proxy.(*upstream)") == 0
	})
	if err != nil {
		q.t.Error(err)
	}
	return q.Instance.Stop()
}

// goroutinesOf counts the lines about name in the stacks of all goroutines.
func goroutinesOf(name string) int {
	buf := make([]byte, 16<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), name)
}

var stream = flag.Int64("stream", 256<<20, "how many bytes TestLongStreamKeepsMemoryFlat streams; 10737418240 for 10 GiB")

// However long a body is, either way, little of it is in memory.
func TestLongStreamKeepsMemoryFlat(t *testing.T) {
	const most = 48 << 20 // 256 KiB are kept of a body; the rest is buffers and what the collector has not seen
	for name, c := range longStreams(*stream) {
		for _, leg := range []Leg{Plain, TLS} {
			t.Run(name+"/"+leg.String(), func(t *testing.T) {
				runtime.GC()
				before := heap()
				watched := make(chan uint64)
				stop := make(chan bool)
				go func() {
					tick := time.NewTicker(10 * time.Millisecond)
					defer tick.Stop()
					highest := uint64(0)
					for {
						select {
						case <-tick.C:
							highest = max(highest, heap())
						case <-stop:
							watched <- highest
							return
						}
					}
				}()
				_, err := c.Run(Ours(), leg, Options{Dir: t.TempDir()})
				close(stop)
				highest := <-watched
				if err != nil {
					t.Error(err)
				}
				if highest > before+most {
					t.Errorf("the heap grew by %d KiB", (highest-before)>>10)
				}
			})
		}
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
