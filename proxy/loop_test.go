package proxy

import (
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
)

// A request that comes back by way of parents is turned down, and everybody on its
// way says so (google/oss-rebuild#105).
func TestParentsOfEachOther(t *testing.T) {
	ring := func(t *testing.T, n int, change func(*Config)) (ws []*world) {
		urls := make([]string, n)
		for i := range n {
			ws = append(ws, newWorld(t, func(c *Config) {
				byParent(t, &urls[i])(c)
				change(c)
			}))
		}
		for i, w := range ws {
			urls[i] = ws[(i+1)%n].addr
			for _, other := range ws {
				w.ca.pool.AddCert(other.ca.cert)
			}
		}
		return ws
	}
	// want compares the entries of each proxy, in the order of their words, and looks
	// at what they say of why.
	want := func(t *testing.T, ws []*world, want ...string) {
		t.Helper()
		for i, w := range ws {
			next := "http://" + ws[(i+1)%len(ws)].addr
			var got []string
			for _, p := range w.pairs() {
				got = append(got, p.String())
				switch {
				case p.end.Refused != nil && !strings.Contains(p.end.Refused.Reason, "come back to this proxy"),
					p.end.Failed != nil && !strings.Contains(p.end.Failed.Reason, next+" answered "):
					t.Errorf("proxy %d: %v: %+v %+v", i, p, p.end.Failed, p.end.Refused)
				}
			}
			slices.Sort(got)
			if s := strings.Join(got, "; "); s != want[min(i, len(want)-1)] {
				t.Errorf("proxy %d: %s", i, s)
			}
		}
	}
	for _, n := range []int{1, 2, 3} {
		t.Run("tunnels", func(t *testing.T) {
			ws := ring(t, n, tunnelAll)
			if n == 1 {
				hide(ws[0])
			}
			b := ws[0].browser()
			b.send("CONNECT site.test:443 HTTP/1.1\r\nHost: site.test:443\r\n\r\n")
			if got, _ := b.rest(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, " answered ") {
				t.Errorf("answer: %q", got)
			}
			const failed = "tunnel tunnel site.test:443 failed connect refused"
			want(t, ws, failed+"; tunnel tunnel site.test:443 refused own_address 508", failed)
		})
		t.Run("requests", func(t *testing.T) {
			ws := ring(t, n, func(*Config) {})
			if n == 1 {
				hide(ws[0])
			}
			// The parent's answer is relayed: it is one.
			if got := ws[0].get("http://site.test/"); got != "HTTP/1.1 508 Loop Detected" {
				t.Error(got)
			}
			relayed := strings.TrimSuffix(strings.Repeat("exchange plain GET http://site.test/ 508; ", manyAlike+1), "; ")
			want(t, ws, relayed+"; exchange plain GET http://site.test/ refused own_address 508", relayed)
		})
	}
	t.Run("intercepted", func(t *testing.T) {
		var told shared
		ws := ring(t, 2, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&told, nil)) })
		defer func() {
			if s := told.String(); strings.Count(s, "has come back to this proxy") != 1 {
				t.Errorf("told: %s", s)
			}
		}()
		if got := ws[0].visit("443"); got != "HTTP/1.1 502 Bad Gateway" {
			t.Error(got)
		}
		// The second proxy intercepts too, so that the first one's answer is its page.
		want(t, ws, "exchange mitm GET https://site.test/ 502; tunnel tunnel site.test:443 refused own_address 508",
			"exchange mitm GET https://site.test/ failed connect refused")
	})
}

// hide makes a proxy not know its own address, as when it is reached by one that a
// router or a container's host forwards to it.
func hide(w *world) {
	eventually(w.t, "the proxy's listening", func() bool {
		w.proxy.mu.Lock()
		defer w.proxy.mu.Unlock()
		known := w.proxy.own != nil
		w.proxy.own = nil
		return known
	})
}

// Proxies of other kinds know their own requests by the Via fields: those of a
// CONNECT go on to the parent, as every request's do.
func TestViaGoesOnToTheParent(t *testing.T) {
	var url string
	heads := make(chan string, 2)
	w := newWorld(t, byParent(t, &url))
	url = w.origin(func(p *party) {
		heads <- p.head()
		p.send("HTTP/1.1 403 No\r\n\r\n")
	})
	const fields = "Via: 1.1 one, 1.0 two (odd)\r\nvia: 1.1 three\r\n"
	b := w.browser()
	b.send("CONNECT site.test:25 HTTP/1.1\r\nHost: site.test:25\r\n" + fields + "Connection: " + markPrefix + "0123456789abcdef, other, x" + markPrefix + "23456789abcdef\r\n\r\nSSH-2.0-x\r\n")
	b.rest()
	want := "CONNECT site.test:25 HTTP/1.1\r\nHost: site.test:25\r\n" + fields + "Connection: " + markPrefix + "0123456789abcdef, " + w.proxy.mark + "\r\n\r\n"
	if got := <-heads; got != want {
		t.Errorf("the parent got\n%q, want\n%q", got, want)
	}
	b = w.browser()
	b.send("CONNECT site.test:25 HTTP/1.1\r\nHost: site.test:25\r\n" + strings.Repeat(fields, 10_000/len(fields)) + "\r\nSSH-2.0-x\r\n")
	b.rest()
	if got := <-heads; len(got) > maxVia+200 || !strings.Contains(got, fields+"Connection: ") {
		t.Errorf("the parent got %d bytes: %.500q", len(got), got)
	}
	if got := w.get("http://site.test/"); got != "HTTP/1.1 403 No" {
		t.Error(got)
	}
	if got := <-heads; got != "GET http://site.test/ HTTP/1.1\r\nHost: site.test\r\n\r\n" {
		t.Errorf("the parent got %q", got)
	}
}

// A request has a mark only when many like it are under way, or when it came with
// another's.
func TestWhenARequestIsMarked(t *testing.T) {
	var url string
	heads, release := make(chan string, 2*manyAlike), make(chan bool)
	w := newWorld(t, byParent(t, &url))
	url = w.origin(func(p *party) {
		heads <- p.head()
		<-release
		p.send(okEmpty)
	})
	const get = "GET http://site.test/a HTTP/1.1\r\nHost: site.test\r\n"
	var browsers []*party
	ask := func(request string) (head string) {
		b := w.browser()
		browsers = append(browsers, b)
		b.send(request + "\r\n")
		return <-heads
	}
	for range manyAlike {
		if head := ask(get); head != get+"\r\n" {
			t.Errorf("the parent got %q", head)
		}
	}
	if head := w.unmarked(ask(get)); head != get+"\r\n" {
		t.Errorf("the parent got %q", head)
	}
	other := strings.Replace(get, "/a", "/b", 1)
	if head := ask(other); head != other+"\r\n" {
		t.Errorf("the parent got %q", head)
	}
	const mark = markPrefix + "0123456789abcdef"
	if head := ask(other + "Connection: " + mark + "\r\n"); head != other+"Connection: "+mark+", "+w.proxy.mark+"\r\n\r\n" {
		t.Errorf("the parent got %q", head)
	}
	close(release)
	for _, b := range browsers {
		b.head()
	}
	eventually(t, "the end of all", func() bool {
		w.proxy.askings.mu.Lock()
		defer w.proxy.askings.mu.Unlock()
		return len(w.proxy.askings.n) == 0
	})
}

// A server gets no mark, also none that a browser sends.
func TestServersGetNoMark(t *testing.T) {
	w := newWorld(t, nil)
	got := make(chan string, 2)
	addr := w.origin(answers(func(head string) string {
		got <- head
		return okEmpty
	}))
	_, port, _ := net.SplitHostPort(addr)
	for _, line := range []string{"GET http://" + addr + "/ HTTP/1.1\r\n", "GET http://" + addr + "/ HTTP/1.0\r\n"} {
		b := w.browser()
		b.send(line + "Host: 127.0.0.1:" + port + "\r\nConnection: " + markPrefix + "0123456789abcdef\r\n\r\n")
		b.head()
		if head := <-got; strings.Contains(head, markPrefix) {
			t.Errorf("the server got %q", head)
		}
	}
}
