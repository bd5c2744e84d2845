package e2e

import (
	"slices"
	"strings"
	"testing"
)

// Chromium goes through the proxy to the site in three places, once told by a switch and
// once by its environment. Its own network events, the origins' records, the
// log and the HAR must then tell one story.
func TestChromiumThroughTheProxy(t *testing.T) {
	entrances := []struct {
		name     string
		version  string // of https:// exchanges
		args     []string
		switches func(p *proxy) []string
		env      func(p *proxy) []string
	}{
		{
			name:    "switch",
			version: "HTTP/2",
			switches: func(p *proxy) []string {
				return []string{"--proxy-server=http://" + p.address, "--proxy-bypass-list=<-loopback>"}
			},
			env: func(*proxy) []string { return nil },
		},
		{
			name:     "environment",
			version:  "HTTP/1.1",
			args:     []string{"--http1"},
			switches: func(*proxy) []string { return nil },
			env: func(p *proxy) []string {
				return []string{"HTTPS_PROXY=http://" + p.address, "HTTP_PROXY=http://" + p.address, "NO_PROXY=<-loopback>"}
			},
		},
	}
	for _, entrance := range entrances {
		t.Run(entrance.name, func(t *testing.T) {
			w := newWorld(t).withNginx()
			p := w.proxy(entrance.args...)
			b := startChromium(t, entrance.switches(p), entrance.env(p), p.ca)
			c := b.collect()
			for _, site := range w.sites() {
				b.open(site.url("/"), "done")
				b.submit("thanks")
			}
			seen := c.requests(w.hosts()...)
			b.close()
			w.nginx.stop()
			p.stop()
			log := readLog(t, p.log)
			har := sound(t, p.log)
			story(t, w, seen, log, har, entrance.version)
		})
	}
}

// story holds the facts, one a line.
func story(t *testing.T, w *world, seen []*fetched, log *record, har []harEntry, version string) {
	hosts := w.hosts()
	chromium := byChromium(seen)
	logged := log.to(hosts...)
	inHAR := byHAR(t, theseHosts(har, hosts))

	t.Run("the log holds the requests that Chromium saw", func(t *testing.T) {
		agree(t, "Chromium", chromium, "the log", byLog(logged))
	})
	t.Run("the HAR holds the requests that Chromium saw, with the bodies that its page got", func(t *testing.T) {
		agree(t, "Chromium", chromium, "the HAR", inHAR)
	})
	t.Run("Chromium gave most bodies to compare", func(t *testing.T) {
		known := slices.DeleteFunc(slices.Clone(chromium), func(w witness) bool { return w.body == nil })
		if len(known) < 90 {
			t.Errorf("%d of %d", len(known), len(chromium))
		}
	})
	t.Run("the log holds what the Go origin was asked, with the bodies that came there", func(t *testing.T) {
		agree(t, "the Go origin", byOrigin(w.origin.accesses(t), w.origin.host, w.origin.plain), "the log", byLog(log.to(w.origin.host, w.origin.plain)))
	})
	t.Run("the log holds what nginx was asked", func(t *testing.T) {
		agree(t, "nginx", byNginx(w.nginx.accesses(t)), "the log", byLog(log.to(w.nginx.host)))
	})
	t.Run("the log holds what came to the Go origin by way of nginx, with its bodies", func(t *testing.T) {
		passed := byOrigin(w.origin.accesses(t), w.nginx.host)
		among := slices.DeleteFunc(byLog(log.to(w.nginx.host)), func(l witness) bool {
			return !slices.ContainsFunc(passed, func(p witness) bool { return p.url == l.url && p.method == l.method })
		})
		agree(t, "the Go origin behind nginx", passed, "the log", among)
	})
	var closed []string // the event streams that their pages closed
	for _, site := range w.sites() {
		t.Run("what caused another comes before it, at "+site.url("/"), func(t *testing.T) {
			inOrder(t, "Chromium", chromium, site.host, causes)
			inOrder(t, "the log", byLog(logged), site.host, causes)
			inOrder(t, "the HAR", inHAR, site.host, causes)
		})
		t.Run("the socket's messages are counted, at "+site.url("/"), func(t *testing.T) {
			s := log.find(t, "GET", site.url("/socket")).end.WebSocket
			if s == nil || s.Sent.Messages != 3 || s.Received.Messages != 3 || s.Close == nil || s.Close.Code != 1000 || s.Close.By != "client" {
				t.Errorf("%+v", s)
			}
		})
		closed = append(closed, site.url("/events/open"))
		t.Run("an event stream that the page closed says so, and keeps what came, at "+site.url("/"), func(t *testing.T) {
			end := log.find(t, "GET", site.url("/events/open")).end
			if end.Failed == nil || end.Failed.Code != "client_gone" || end.Response == nil || end.Response.Status != 200 || end.Response.Complete {
				t.Fatalf("failed %+v, response %+v", end.Failed, end.Response)
			}
			if end.Response.Body == nil || end.Response.Body.Size != 102 {
				t.Errorf("the body is %+v; the stream's three events are 102 bytes", end.Response.Body)
			}
		})
	}
	t.Run("nothing else failed or was refused", func(t *testing.T) {
		for _, e := range logged {
			if e.end.Refused != nil || e.end.Failed != nil && !slices.Contains(closed, e.open.Request.URL) {
				t.Errorf("%s: failed %+v, refused %+v", e.open.Request.URL, e.end.Failed, e.end.Refused)
			}
		}
	})
	t.Run("both legs of https:// spoke "+version+", but for WebSockets", func(t *testing.T) {
		of := map[string][]entry{}
		for _, e := range logged {
			v := "HTTP/1.1"
			if strings.HasPrefix(e.open.Request.URL, "https:") && e.end.WebSocket == nil {
				v = version
			}
			of[v] = append(of[v], e)
		}
		for v, all := range of {
			spoke(t, all, v)
		}
	})
	t.Run("the HAR has each leg's version and pseudo-header fields", func(t *testing.T) {
		sameVersions(t, log, theseHosts(har, hosts))
	})
	t.Run("the log holds the fields that Chromium sent and got", func(t *testing.T) {
		tally(t, "Chromium", fieldsByChromium(seen), "the log", fieldsByLog(logged))
	})
	for _, e := range log.exchanges {
		if !isOf(e.open.Request.URL, hosts) {
			t.Logf("set aside as the browser's own: %s %s", e.open.Request.Method, e.open.Request.URL)
		}
	}
}
