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
		host := u.Hostname()
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		want[fmt.Sprintf("%s %s%s %d", e.Request.Method, host, u.EscapedPath(), e.Response.Status)] = true
	}
	for _, r := range readings(t, nodeWithPackages(t), inTestdata(t, "readers", "openapi.js"), c.har) {
		for _, status := range r["statuses"].([]any) {
			got[fmt.Sprintf("%s %s%s %s", r["method"], r["host"], r["path"], status)] = true
		}
	}
	for _, key := range sortedKeys(want) {
		if !got[key] {
			t.Errorf("it lacks %s", key)
		}
	}
	for _, key := range sortedKeys(got) {
		if !want[key] {
			t.Errorf("it has %s", key)
		}
	}
}
