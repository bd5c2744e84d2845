package gateway

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// newCardSite serves a site with this card and nothing else.
func newCardSite(t *testing.T, card string) string {
	t.Helper()
	return newSiteWithCard(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "/.well-known/agent-env.json" {
			io.WriteString(w, card)
		}
	})
}

// A composed card has what the sites advertise where it is found through the
// gateway. testdata has cards as they may come.
func TestTheSitesCardsBecomeChildren(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.card.json")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		card, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSite("notes=" + newCardSite(t, string(card)))
		if err != nil {
			t.Fatal(err)
		}
		g := New(Config{Sites: []Site{s}})
		defer g.Close()
		got, err := json.MarshalIndent(g.Cards(t.Context()), "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(path, ".card.json") + ".child.json"
		if *update {
			os.WriteFile(golden, append(got, '\n'), 0o666)
		}
		want, err := os.ReadFile(golden)
		if err != nil || string(want) != string(got)+"\n" {
			t.Errorf("%s becomes (go test -update writes it anew):\n%s\n%v", path, got, err)
		}
	}
}

// Whatever can't be read has no place on the card, and keeps nothing else off it.
func TestASiteWhoseCardCantBeReadIsNoChild(t *testing.T) {
	status := func(status int, body string) string {
		return newSiteWithCard(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	silent := newSiteWithCard(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	var sites []Site
	for i, at := range []string{
		newCardSite(t, `{"name":"first","url":"/a"}`), status(500, "{}"), status(302, "{}"), status(401, "{}"), status(204, ""), silent,
		newCardSite(t, ""), newCardSite(t, "<!doctype html>"), newCardSite(t, "[]"), newCardSite(t, "null"), newCardSite(t, `{"name":`), newCardSite(t, "{}{}"),
		newCardSite(t, `{"name":"`+strings.Repeat("x", maxCard)+`"}`), newCardSite(t, strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), goneSite,
		newCardSite(t, `{"name":"first","url":"/a"}`),
	} {
		sites = append(sites, Site{Name: fmt.Sprint("s", i), URL: mustParse(t, at)})
	}
	l := usual
	l.card = brief.card
	g := newGateway(Config{Sites: sites}, l)
	defer g.Close()
	got, err := json.Marshal(g.Cards(t.Context()))
	if want := `[{"name":"first","url":"/svc/s0/a"},{"name":"first","url":"/svc/s15/a"}]`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	// An address of its own is the site's; another one is not.
	at := newSiteWithCard(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"url":"http://%s/a","capabilities":{"extensions":[{"params":{"endpoint":"http://%s.test/a"}}]}}`, r.Host, r.Host)
	})
	whole := New(Config{Sites: []Site{{"notes", mustParse(t, at)}}})
	defer whole.Close()
	if got, _ := json.Marshal(whole.Cards(t.Context())); string(got) != `[{"url":"/svc/notes/a","capabilities":{"extensions":[{"params":{"endpoint":"`+at+`.test/a"}}]}}]` {
		t.Errorf("a card with addresses: %s", got)
	}
	none := New(Config{})
	defer none.Close()
	if got, _ := json.Marshal(none.Cards(t.Context())); string(got) != "[]" {
		t.Errorf("without sites: %s", got)
	}
}

// A site that says that it has no card is a website all the same, of which nothing
// can be called.
func TestASiteWithoutACardIsAWebsite(t *testing.T) {
	card := func(body string) string {
		return newSiteWithCard(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, body)
		})
	}
	var sites []Site
	for _, at := range []string{card("<!doctype html>"), card(`{"name":"other","url":"/a"}`)} {
		sites = append(sites, Site{Name: fmt.Sprint("s", len(sites)), URL: mustParse(t, at)})
	}
	g := New(Config{Sites: sites})
	defer g.Close()
	got, err := json.Marshal(g.Cards(t.Context()))
	want := func(name string) string {
		return strings.ReplaceAll(`{"name":"NAME","protocolVersion":"1.0","url":"/svc/NAME/agentenv","preferredTransport":"JSONRPC","additionalInterfaces":[],`+
			`"capabilities":{"extensions":[{"uri":"urn:agentenv:website/v1","description":"A website without a card of its own.","params":{"browse_url":"/website/NAME/"},"required":false}],"tools":[],"operations":[]},`+
			`"children_environments":null}`, "NAME", name)
	}
	if err != nil || string(got) != "["+want("s0")+","+want("s1")+"]" {
		t.Errorf("%s, %v", got, err)
	}
	for _, s := range g.sites {
		if !slices.Equal(slices.Sorted(slices.Values(builtIn)), s.reserved) {
			t.Errorf("%s keeps %q from browsers", s.Name, s.reserved)
		}
	}
}

// Only a site that says that it has no card has none: else browsers get nothing.
func TestBrowsersGetNothingOfASiteWhoseCardCantBeRead(t *testing.T) {
	var answer atomic.Pointer[func(http.ResponseWriter, *http.Request)]
	set := func(f func(http.ResponseWriter, *http.Request)) { answer.Store(&f) }
	status := func(status int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	site := newSiteWithCard(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "/.well-known/agent-env.json" {
			(*answer.Load())(w, r)
		}
	})
	l := usual
	l.card = brief.card
	unavailable := errorOf("503 Service Unavailable", "website card unavailable")
	for name, f := range map[string]func(http.ResponseWriter, *http.Request){
		"500": status(500, ""), "401": status(401, ""), "302": status(302, ""), "410": status(410, ""), "no JSON": status(200, "<!doctype html>"), "an array": status(200, "[]"),
		"silence": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		w := newWorld(t, Config{}, l, map[string]string{"notes": site})
		set(f)
		if got := w.raw(request("/website/notes/")); !unavailable(got) {
			t.Errorf("%s: %s", name, got)
		}
		if got := w.raw(handshake("/website/notes/", "Connection: close")); !unavailable(got) {
			t.Errorf("%s, a WebSocket: %s", name, got)
		}
		if got := w.raw(request("/svc/notes/")); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("%s, whoever is in control: %s", name, got)
		}
		if !strings.Contains(w.said.String(), `msg="a site's card can't be read, and browsers get nothing of the site" site=notes error=`) {
			t.Errorf("%s: %s", name, w.said)
		}
		set(status(404, "")) // it is asked for again
		if got := w.raw(request("/website/notes/")); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("%s, then 404: %s", name, got)
		}
		set(f) // and then no more
		if got := w.raw(request("/website/notes/")); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("%s after all: %s", name, got)
		}
	}
}

// Many that come at once have the card read once.
func TestTheCardIsReadOnce(t *testing.T) {
	var reads atomic.Int64
	wait := make(chan struct{})
	site := newSiteWithCard(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "/.well-known/agent-env.json" {
			reads.Add(1)
			<-wait
			http.NotFound(w, r)
		}
	})
	w := withSite(t, site)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if got := w.raw(request("/website/notes/")); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
				t.Errorf("%s", got)
			}
		})
	}
	await(t, "the first", func() bool { return reads.Load() > 0 })
	close(wait)
	calls.Wait()
	if got := reads.Load(); got != 1 {
		t.Errorf("it is read %d times", got)
	}
}

// What was reserved stays so when the card is another one later.
func TestAReservedPathStaysSo(t *testing.T) {
	var card atomic.Value
	card.Store(`{"url":"/first"}`)
	site := newSiteWithCard(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, card.Load().(string)) })
	s, err := ParseSite("notes=" + site)
	if err != nil {
		t.Fatal(err)
	}
	g := New(Config{Sites: []Site{s}})
	defer g.Close()
	for _, c := range []string{`{"url":"/first"}`, `{"url":"/second"}`, `{}`} {
		card.Store(c)
		g.Cards(t.Context())
	}
	want := reserved{"/.well-known/agent-env.json", "/agentenv", "/first", "/second"}
	if got := g.sites[0].reserved; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// Not without end.
	for i := range 3 {
		var many strings.Builder
		for j := range maxReserved / 2 {
			fmt.Fprintf(&many, `{"params":{"endpoint":"/p%d/%d"}},`, i, j)
		}
		card.Store(`{"capabilities":{"extensions":[` + strings.TrimSuffix(many.String(), ",") + `]}}`)
		if listed := len(g.Cards(t.Context())) > 0; listed != (i == 0) {
			t.Errorf("card %d has a place: %v", i, listed)
		}
	}
	if n := len(g.sites[0].reserved); n != len(want)+maxReserved/2 {
		t.Errorf("%d paths are reserved", n)
	}
}

func FuzzCard(f *testing.F) {
	f.Add([]byte(fullCard))
	f.Add([]byte(`{"a":[1e400,-0,"\ud800\u2028<"],"a":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseJSON(b)
		if err != nil {
			return
		}
		if card, ok := v.(*object); ok {
			reroot(card, "http://x", "/svc/x")
			browsable(card, "/website/x/")
		}
		out, err := appendValue(nil, v)
		if err != nil || !json.Valid(out) {
			t.Errorf("%q becomes %q, %v", b, out, err)
		}
	})
}
