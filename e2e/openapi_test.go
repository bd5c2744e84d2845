package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// har-to-openapi finds every method of every path of every host, with its
// statuses.
func readWithOpenAPI(t *testing.T, c *collection) {
	want, got := map[string]bool{}, map[string]bool{}
	for _, e := range c.entries {
		u, err := url.Parse(e.Request.URL)
		if err != nil {
			t.Fatal(err)
		}
		want[fmt.Sprintf("%s %s%s %d", e.Request.Method, u.Hostname(), u.EscapedPath(), e.Response.Status)] = true
	}
	for _, r := range readings(t, nodeWithPackages(t), inTestdata(t, "readers", "openapi.js"), c.har) {
		for _, status := range r["statuses"].([]any) {
			got[fmt.Sprintf("%s %s%s %s", r["method"], r["host"], r["path"], status)] = true
		}
	}
	is(t, "what it has", strings.Join(sortedKeys(got), "\n"), strings.Join(sortedKeys(want), "\n"))
}
