package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// quiet are the switches that keep Chromium to the pages it is given. The last
// two send what no switch turns off to a port where nobody listens.
var quiet = []string{
	"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-default-browser-check",
	"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
	"--password-store=basic", "--use-mock-keychain", "--disable-default-apps", "--disable-extensions",
	"--disable-features=AutofillServerCommunication,NetworkTimeServiceQuerying,OptimizationHints,OptimizationGuideModelDownloading",
	"--gaia-url=http://127.0.0.1:1/", "--component-updater=url-source=http://127.0.0.1:1/",
}

// A browser is one Chromium with a fresh profile, driven over the DevTools
// protocol.
type browser struct {
	t     *testing.T
	ctx   context.Context
	close func() // ends it and waits until its processes are gone
}

// startChromium starts one with more switches and more environment; roots are
// authorities that it trusts, put where a user would put them.
func startChromium(t *testing.T, switches, env []string, roots ...string) *browser {
	t.Helper()
	program := need(t, "chromium")
	home := t.TempDir()
	for i, root := range roots {
		trustInNSS(t, home, root, string(rune('a'+i)))
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program),
		chromedp.UserDataDir(filepath.Join(home, "profile")),
		chromedp.Env(append([]string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME="}, env...)...),
		chromedp.WSURLReadTimeout(patience),
	}
	for _, s := range slices.Concat(quiet, switches) {
		name, value, has := strings.Cut(strings.TrimPrefix(s, "--"), "=")
		if has {
			options = append(options, chromedp.Flag(name, value))
		} else {
			options = append(options, chromedp.Flag(name, true))
		}
	}
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	b := &browser{t: t, ctx: ctx}
	b.close = func() {
		cancel()
		stop()
		chromedp.FromContext(ctx).Allocator.Wait()
	}
	t.Cleanup(b.close)
	// The first action owns the browser's life, so that it gets the whole context.
	if err := chromedp.Do(ctx, command(network.Enable, network.EnableParams{})); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	do(b, "turn the cache off", command(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}))
	return b
}

// trustInNSS puts an authority into the certificate store that Chromium reads
// on Linux, as the README tells its readers to.
func trustInNSS(t *testing.T, home, root, nickname string) {
	t.Helper()
	trustIn(t, filepath.Join(home, ".pki", "nssdb"), root, nickname)
}

// trustIn puts an authority into an NSS store, which is made when there is none.
func trustIn(t *testing.T, store, root, nickname string) {
	t.Helper()
	certutil := need(t, "certutil")
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{{"-A", "-d", "sql:" + store, "-n", nickname, "-t", "C,,", "-i", root}}
	if _, err := os.Stat(filepath.Join(store, "cert9.db")); err != nil {
		commands = append([][]string{{"-N", "-d", "sql:" + store, "--empty-password"}}, commands...)
	}
	for _, args := range commands {
		if out, err := exec.Command(certutil, args...).CombinedOutput(); err != nil {
			t.Fatalf("certutil %q: %v\n%s", args, err, out)
		}
	}
}

// command makes an action of a DevTools command whose result is of no interest.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// do does one DevTools action, or fails the test.
func do[T any](b *browser, what string, a chromedp.Action[T]) T {
	b.t.Helper()
	got, err := try(b, a)
	if err != nil {
		b.t.Fatalf("chromium: %s: %v", what, err)
	}
	return got
}

func try[T any](b *browser, a chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, a)
}

// leaves is what Chromium says of an action whose page was left meanwhile.
func leaves(err error) bool {
	var said *cdproto.Error
	return errors.As(err, &said) && slices.Contains([]string{
		"Inspected target navigated or closed", "Execution context was destroyed.",
		"Cannot find context with specified id", "Cannot find default execution context",
	}, said.Message)
}

// lead has a script lead to another page, which may be there before the script's end
// is told.
func (b *browser) lead(what, script string) {
	b.t.Helper()
	if _, err := try(b, chromedp.Evaluate[any](script)); err != nil && !leaves(err) {
		b.t.Fatalf("chromium: %s: %v", what, err)
	}
}

// open goes to a page and waits until its title is the one given.
func (b *browser) open(url, title string) {
	b.t.Helper()
	do(b, "go to "+url, chromedp.Navigate(url))
	b.untilTitle(title)
}

// submit sends the page's form and waits for the page that follows.
func (b *browser) submit(title string) {
	b.t.Helper()
	b.lead("submit the form", `document.getElementById('form').submit()`)
	b.untilTitle(title)
}

// untilTitle waits for the page's title; one that begins with "broken" is the
// page's own word that something failed.
func (b *browser) untilTitle(want string) {
	b.t.Helper()
	until(b.t, "the title "+want, func() bool {
		got, err := try(b, chromedp.Title())
		if err != nil && !leaves(err) {
			b.t.Fatalf("chromium: read the title: %v", err)
		}
		if strings.HasPrefix(got, "broken") {
			b.t.Fatalf("the page says: %s", got)
		}
		return got == want
	})
}

// A fetched is one request as Chromium's network events have it; a redirect
// is two.
type fetched struct {
	Method, URL string
	Type        network.ResourceType
	Status      int    // 0: no answer
	Body        string // as the page got it, decoded; "" for what has none to give
	HasBody     bool   // Body is known
	Posted      string // the request's body, as far as the events have it
	Failed      string // why, in Chromium's words
	Protocol    string // "h2", "http/1.1"; "": not told
	// The fields that it sent and got, as they are on the wire; nil: not told.
	Sending, Getting network.Headers
	extra            bool // they will be told
	Sent, Got        int  // a WebSocket's messages
}

// A collector gathers Chromium's network events.
type collector struct {
	b *browser

	mu    sync.Mutex
	all   []*fetched
	byID  map[network.RequestID]*fetched
	wire  map[network.RequestID]*wireHeaders
	going sync.WaitGroup
}

// wireHeaders are the fields of a request and of those it was redirected to, which
// Chromium tells in events of their own.
type wireHeaders struct {
	requests       []*fetched
	sent, received []network.Headers
}

// collect listens from now on.
func (b *browser) collect() *collector {
	c := &collector{b: b, byID: map[network.RequestID]*fetched{}, wire: map[network.RequestID]*wireHeaders{}}
	if err := chromedp.Listen(b.ctx, c.event); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// requests are those to the hosts given, in the order in which Chromium made
// them, once none of them is still going. Others are the browser's own.
func (c *collector) requests(hosts ...string) []*fetched {
	c.b.t.Helper()
	until(c.b.t, "the fields on the wire", c.toldFields)
	c.going.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine []*fetched
	for _, f := range c.all {
		for _, host := range hosts {
			if _, rest, ok := strings.Cut(f.URL, "://"); ok && (rest == host || strings.HasPrefix(rest, host+"/")) {
				mine = append(mine, f)
			}
		}
	}
	return mine
}

// toldFields gives each request its fields, and tells whether none is missing.
func (c *collector) toldFields() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.wire {
		for i, f := range w.requests {
			if f.extra && i < len(w.sent) && i < len(w.received) {
				f.Sending, f.Getting = w.sent[i], w.received[i]
			} else if f.extra {
				return false
			}
		}
	}
	return true
}

// wireOf is where the fields of a request go.
func (c *collector) wireOf(id network.RequestID) *wireHeaders {
	w := c.wire[id]
	if w == nil {
		w = &wireHeaders{}
		c.wire[id] = w
	}
	return w
}

func (c *collector) event(ev any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSentExtraInfo:
		w := c.wireOf(ev.RequestID)
		w.sent = append(w.sent, ev.Headers)
	case *network.EventResponseReceivedExtraInfo:
		w := c.wireOf(ev.RequestID)
		w.received = append(w.received, ev.Headers)
	case *network.EventRequestWillBeSent:
		if before := c.byID[ev.RequestID]; before != nil && ev.RedirectResponse != nil {
			before.Status, before.Protocol, before.extra = int(ev.RedirectResponse.Status), ev.RedirectResponse.Protocol, ev.RedirectHasExtraInfo
		}
		url, _, _ := strings.Cut(ev.Request.URL, "#")
		f := &fetched{Method: ev.Request.Method, URL: url, Type: ev.Type}
		for _, entry := range ev.Request.PostDataEntries {
			f.Posted += string(entry.Bytes)
		}
		c.byID[ev.RequestID] = f
		c.all = append(c.all, f)
		w := c.wireOf(ev.RequestID)
		w.requests = append(w.requests, f)
	case *network.EventResponseReceived:
		if f := c.byID[ev.RequestID]; f != nil {
			f.Status, f.Protocol, f.extra = int(ev.Response.Status), ev.Response.Protocol, ev.HasExtraInfo
		}
	case *network.EventLoadingFinished:
		if f := c.byID[ev.RequestID]; f != nil {
			c.going.Add(1)
			go c.body(ev.RequestID, f)
		}
	case *network.EventLoadingFailed:
		if f := c.byID[ev.RequestID]; f != nil {
			f.Failed = ev.ErrorText
		}
	case *network.EventWebSocketCreated:
		f := &fetched{Method: "GET", URL: ev.URL, Type: network.ResourceTypeWebSocket}
		c.byID[ev.RequestID] = f
		c.all = append(c.all, f)
	case *network.EventWebSocketHandshakeResponseReceived:
		if f := c.byID[ev.RequestID]; f != nil {
			f.Status = int(ev.Response.Status)
		}
	case *network.EventWebSocketFrameSent:
		if f := c.byID[ev.RequestID]; f != nil {
			f.Sent++
		}
	case *network.EventWebSocketFrameReceived:
		if f := c.byID[ev.RequestID]; f != nil {
			f.Got++
		}
	}
}

// body asks for an answer's body while the page is still there to have it.
func (c *collector) body(id network.RequestID, f *fetched) {
	defer c.going.Done()
	got, err := chromedp.Run(c.b.ctx, func(ctx context.Context, target *chromedp.Target) (network.GetResponseBodyResult, error) {
		return cdp.Call(ctx, target, network.GetResponseBody, network.GetResponseBodyParams{RequestID: id})
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		f.Body, f.HasBody = string(got.Body), true
	}
}
