package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDemoLeavesAValidLogAndHAR(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, code := run(t, dir, "demo")
	if code != 0 {
		t.Fatalf("demo ended with %d\n%s%s", code, stdout, stderr)
	}
	log := readLog(t, filepath.Join(dir, "network.jsonl"))
	har := readHAR(t, filepath.Join(dir, "network.har"))
	if len(log.exchanges) < 10 || len(har) != len(log.exchanges)+len(log.tunnels) {
		t.Errorf("%d exchanges and %d tunnels in the log, %d entries in the HAR", len(log.exchanges), len(log.tunnels), len(har))
	}
	for _, e := range log.exchanges {
		if !strings.Contains(stdout, e.open.Request.Method) {
			t.Errorf("the table has no %s", e.open.Request.Method)
		}
	}
	var sockets, events, uploads int
	for _, e := range log.exchanges {
		if e.end.WebSocket != nil {
			sockets++
		}
		if e.end.Response != nil && strings.HasPrefix(e.end.Response.header("Content-Type"), "text/event-stream") {
			events++
		}
		if strings.HasPrefix(e.open.Request.header("Content-Type"), "multipart/form-data") {
			uploads++
		}
	}
	if sockets == 0 || events == 0 || uploads == 0 {
		t.Errorf("%d sockets, %d event streams, %d uploads", sockets, events, uploads)
	}
}
