package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// h2load has 100 requests going at a time on each of its connections. Each is
// answered, and is in the log once, whole.
func TestH2load(t *testing.T) {
	h2load := need(t, "h2load")
	const total, connections, streams = 4000, 4, 100
	w := newWorldBehindDoor(t, site())
	p := w.proxy("--resolve", w.origin.host+":127.0.0.2")
	p.door(w.origin.host)
	posted := filepath.Join(w.dir, "posted")
	write(t, posted, pattern(3000))
	out, err := exec.CommandContext(t.Context(), h2load, "-n", fmt.Sprint(total), "-c", fmt.Sprint(connections), "-m", fmt.Sprint(streams),
		"-d", posted, "https://"+w.origin.host+"/echo?h2load", "https://"+w.origin.host+"/echo?again").CombinedOutput()
	if err != nil {
		t.Fatalf("h2load: %v\n%s", err, out)
	}
	if want := fmt.Sprintf(`requests: %d total, %[1]d started, %[1]d done, %[1]d succeeded, 0 failed, 0 errored, 0 timeout\nstatus codes: %[1]d 2xx`, total); !regexp.MustCompile(want).Match(out) {
		t.Errorf("h2load says\n%s", out)
	}
	p.stop()
	log := readLog(t, p.log)
	is(t, "the exchanges of the log", len(log.exchanges), total)
	agree(t, "the origin", byOrigin(w.origin.accesses(t), w.origin.host), "the log", byLog(log.exchanges))
	spoke(t, log.exchanges, "HTTP/2")
	from := map[int64]int{}
	for _, e := range log.exchanges {
		went(t, e)
		from[e.open.Connection]++
	}
	is(t, "the connections in the log", len(from), connections)
}
