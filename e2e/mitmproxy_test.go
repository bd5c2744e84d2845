package e2e

import (
	"encoding/base64"
	"net/url"
	"testing"
)

// mitmproxy makes a flow of every entry. It puts contents into their charsets
// and codings once more.
func readWithMitmproxy(t *testing.T, c *collection) {
	mitmdump := inVenv(t, ".venv-mitmproxy", "mitmdump")
	file, entries := c.madeFor(t, "mitmproxy")
	got := readings(t, mitmdump, "-q", "-nr", file, "-s", inTestdata(t, "readers", "with_mitmproxy.py"))
	for i, e := range entries[:min(len(entries), len(got))] {
		// What is in a charset may come back as its text.
		if body := e.body(t); got[i]["text"] == body && body != "" {
			got[i]["content"] = base64.StdEncoding.EncodeToString([]byte(body))
		}
		delete(got[i], "text")
	}
	holds(t, entries, got, func(e harEntry, facts map[string]any) {
		u, err := url.Parse(e.Request.URL)
		if err != nil {
			t.Fatal(err)
		}
		facts["path"] = u.RequestURI()
		if e.body(t) == "" { // which it does not tell from none
			facts["content"] = nil
		}
	})
}
