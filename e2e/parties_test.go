package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The parties are checked against each other first, without the proxy: what
// fails here is no fault of the product's.
func TestThePartiesAgreeWithoutTheProxy(t *testing.T) {
	dir := t.TempDir()
	a := newAuthority(t, dir)
	o := startOrigin(t, a)
	n := startNginx(t, dir, a, o)
	for _, host := range []string{o.host, n.host} {
		b := startChromium(t, nil, nil, a.file)
		c := b.collect()
		b.open("https://"+host+"/", "done")
		came := do(b, "read", chromedp.Evaluate[map[string]any]("window.came"))
		t.Log(came["upload"])
		b.submit("thanks")
		for _, f := range c.requests(host) {
			t.Logf("%s %s %s %d %d/%v %q failed=%q posted %d ws %d/%d", f.Method, f.URL, f.Type, f.Status, len(f.Body), f.HasBody, f.Body[:min(len(f.Body), 20)], f.Failed, len(f.Posted), f.Sent, f.Got)
		}
		t.Log("---")
		for _, x := range o.accesses() {
			t.Logf("%s %s %d %d %d", x.Method, x.URL, x.Status, len(x.RequestBody), len(x.ResponseBody))
		}
	}
	t.Log(len(n.accesses(t)))
}
