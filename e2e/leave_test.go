package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// Chromium leaves a page while its images are still coming, again and again:
// each request that reached the origin is in the log once, ended because the
// browser went away, and the proxy gave up the origin's side too.
func TestABrowserThatLeavesItsPage(t *testing.T) {
	const rounds = 8
	w := newWorld(t)
	p := w.proxy()
	b := startChromium(t, []string{"--proxy-server=http://" + p.address, "--proxy-bypass-list=<-loopback>"}, nil, p.ca)
	coming := func(round int) int {
		return strings.Count(string(contentOf(t, p.log)), fmt.Sprintf(`/held?round=%d&`, round))
	}
	for round := range rounds {
		// Chromium has six connections a host, and all of them wait; stopping the
		// page first leaves one for the next page.
		b.lead("go to the page", fmt.Sprintf("window.stop(); void(location.href = 'https://%s/leave.html?round=%d')", w.origin.host, round))
		until(t, "images to be coming", func() bool { return coming(round) >= 3 })
	}
	b.close()
	asked := byOrigin(w.origin.accesses(t), w.origin.host) // once each has been given up
	p.stop()
	log := readLog(t, p.log)
	inLog := map[string]int{}
	for _, e := range log.to(w.origin.host) {
		inLog[e.open.Request.URL]++
		if held := strings.Contains(e.open.Request.URL, "/held?"); held && (e.end.Failed == nil || e.end.Failed.Code != "client_gone") {
			t.Errorf("%s: failed %+v", e.open.Request.URL, e.end.Failed)
		}
	}
	for _, a := range asked {
		if inLog[a.url] != 1 {
			t.Errorf("%s is in the log %d times", a.url, inLog[a.url])
		}
	}
	if len(asked) < rounds*4 {
		t.Errorf("the origin was asked %d times only", len(asked))
	}
}
