package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// har-to-k6 makes a script of what it takes, which asks for the same once more.
// It leaves lengths to k6, and has a type for every body.
func readWithK6(t *testing.T, c *collection) {
	file := filepath.Join(t.TempDir(), "k6.har")
	entries := convertTo(t, c.path, file, "--for", "k6")
	if len(entries) < 60 {
		t.Errorf("%d entries", len(entries))
	}
	holds(t, entries, readings(t, nodeWithPackages(t), inTestdata(t, "readers", "k6.js"), file), func(e harEntry, facts map[string]any) {
		var headers [][2]string
		typed := false
		for _, h := range pairsOf(e.Request.Headers) {
			typed = typed || strings.EqualFold(h[0], "Content-Type")
			if !strings.EqualFold(h[0], "Content-Length") {
				headers = append(headers, h)
			}
		}
		if e.Request.PostData != nil && !typed {
			headers = append(headers, [2]string{"content-type", ""})
		}
		facts["requestHeaders"] = headers
	})
}
