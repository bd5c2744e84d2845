package e2e

import (
	"encoding/json"
	"math"
	"testing"
)

// The importer of Firefox's DevTools takes every entry. It adds the time of TLS,
// which lies within that of connecting, once more.
func readWithFirefox(t *testing.T, c *collection) {
	m := startFirefox(t)
	script := contentOf(t, inTestdata(t, "readers", "firefox.js"))
	result := m.command("WebDriver:ExecuteScript", map[string]any{"script": string(script), "args": []string{string(contentOf(t, c.har))}})
	var got struct{ Value []reading }
	if err := json.Unmarshal(result, &got); err != nil {
		t.Fatal(err)
	}
	holds(t, c.entries, got.Value, func(e harEntry, facts map[string]any) {
		facts["time"] = math.Round((e.Time+max(e.Timings["ssl"], 0))*1000) / 1000
	})
}
