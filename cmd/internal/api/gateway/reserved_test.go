package gateway

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// hidden are spellings of paths that the site of TestBrowsersGetNoReservedPath
// reserves.
var hidden = []string{
	"/agentenv", "/agentenv/", "/agentenv/ext/x", "/agentenv?a=b", "/agentenv/?", "/.well-known/agent-env.json", "/.well-known/agent-env.json/", "/.well-known/agent-env.json?a",
	// What its card advertises.
	"/data/plane", "/data/plane/below", "/traffic/captures", "/traffic/capture?name=x", "/live/lines", "/trailing", "/trailing/", "/trailing/x", "/no/slash", "/whole/url", "/es%20caped",
	"/sp%C3%A4t",
	// Escapes, in any case, and escapes of escapes.
	"/%61gentenv", "/%61%67%65%6e%74%65%6e%76", "/%61%67%65%6E%74%65%6E%76/x", "/agentenv%2Fx", "/agentenv%2f", "/%2561gentenv", "/%25%36%31gentenv", "/%252561gentenv",
	"/.well-known%2Fagent-env.json", "/%2ewell-known/agent-env.json", "/%2E%77ell-known/agent-env%2ejson",
	// Slashes and backslashes.
	"//agentenv", "///agentenv//x", "/%2Fagentenv", "/%2f%2Fagentenv", `/\agentenv`, `/\\agentenv\x`, "/%5Cagentenv", "/%5c%2fagentenv", "/.well-known//agent-env.json", `/.well-known\agent-env.json`,
	// Dot segments, also such as only some servers see.
	"/./agentenv", "/a/../agentenv", "/a/b/../../agentenv", "/../agentenv", "/../../agentenv/x", "/a/..//agentenv", "/a//../agentenv", "/agentenv/..", "/agentenv/../a", "/agentenv/.", "/agentenv/./x",
	"/x/..%2Fagentenv", "/public%2Fx/../agentenv", "/%2e%2e/agentenv", "/a/%2E%2E/agentenv", "/a/.%2e/agentenv", "/a/..%5Cagentenv", `/a\..\agentenv`, "/a/%252e%252e/agentenv", "/a%2f..%2fagentenv", "/.%2Fagentenv",
	"/.well-known/x/../agent-env.json", "/.well-known/./agent-env.json", "/a/../.well-known/agent-env.json",
	// Parameters.
	"/agentenv;a=b", "/agentenv;a=b/x", "/agentenv;/x", "/;a/agentenv", "/a/..;/agentenv", "/a/..;b=c/agentenv", "/agentenv%3Ba", "/%3B/agentenv", "/.well-known;a/agent-env.json;b", "/;/;/agentenv",
	// Cases, which some servers' routers pass over.
	"/AgentEnv", "/AGENTENV/ext", "/.Well-Known/Agent-Env.JSON", "/%41gentenv", "/Traffic/Captures",
	// Ends that some servers see.
	"/agentenv%00", "/agentenv%00.html", "/agentenv%20", "/agentenv%09x", "/agentenv%3Fa", "/agentenv%23a", "/agentenv%0d%0a",
}

// open are paths of the same site for everybody.
var open = []string{
	"/", "", "/a", "/agentenv2", "/agentenvx/y", "/agent", "/agentenv-docs", "/agentenv.html", "/agentenv%41", "/a/agentenv", "/a/b/../agentenv", "/.well-known", "/.well-known/", "/.well-known/other.json",
	"/.well-known/agent-env.json2", "/traffic", "/traffic/", "/traffic/capturesx", "/data", "/data/planes", "/api/health", "/session", "/?/agentenv", "/a?x=/../agentenv", "/a/agentenv;x", "/agentenv_", "/agentenv~",
	"/whole", "/live",
}

const fullCard = `{"name":"notes","url":"/data/plane","capabilities":{"extensions":[
	{"uri":"urn:agentenv:traffic/v1","params":{"endpoint":"/traffic/captures","methods":{"list":{"endpoint":"/traffic/captures"},"get":{"endpoint":"/traffic/capture"}}}},
	{"uri":"urn:agentenv:browser/v1","params":{"live":"/live/lines"}},
	{"uri":"urn:agentenv:website/v1","params":{"health":"/api/health","session_path":"/session","methods":{"ready":{"endpoint":"/trailing/"},"a":{"endpoint":"no/slash"},"b":{"endpoint":"http://notes.test:8000/whole/url?x"},"c":{"endpoint":"/es%20caped"},"d":{"endpoint":"/späT"},
		"root":{"endpoint":"/"},"root of a URL":{"endpoint":"http://notes.test"},"query":{"endpoint":"/?x"},"nothing":{"endpoint":""},"null":{"endpoint":null},"number":{"endpoint":1},"array":[]}}},
	null,1,"x",[],{},{"params":null},{"params":{"methods":[]}}]}}`

func TestBrowsersGetNoReservedPath(t *testing.T) {
	asked := make(chan string, 1000)
	site := newSiteWithCard(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "/.well-known/agent-env.json" && r.Header.Get("X-Browser") == "" {
			fmt.Fprint(w, fullCard)
			return
		}
		asked <- r.RequestURI
		w.WriteHeader(http.StatusNoContent)
	})
	w := withSite(t, site)
	missing := errorOf("404 Not Found", "not found")
	for _, path := range hidden {
		for _, route := range []string{"/website/notes", "http://gateway.test/website/notes"} {
			if answer := w.raw(request(route+path, "X-Browser: 1")); !missing(answer) {
				t.Errorf("%s: %s", path, answer)
			}
			if answer := w.raw(handshake(route+path, "Connection: close")); !missing(answer) {
				t.Errorf("a WebSocket to %s: %s", path, answer)
			}
		}
		for _, method := range methods[1:] {
			if answer := w.raw(strings.Replace(request("/website/notes"+path), "GET", method, 1)); !strings.HasPrefix(answer, "HTTP/1.1 404 Not Found\r\n") {
				t.Errorf("%s %s: %s", method, path, answer)
			}
		}
	}
	if len(asked) > 0 {
		t.Fatalf("the site was asked for %s", <-asked)
	}
	for _, path := range open {
		if answer := w.raw(request("/website/notes"+path, "X-Browser: 1")); !strings.HasPrefix(answer, "HTTP/1.1 204 ") {
			t.Errorf("%s: %s", path, answer)
		} else if got := <-asked; got != path && path != "" {
			t.Errorf("%s goes up as %s", path, got)
		}
	}
	// Whoever is in control gets all of it.
	for _, path := range []string{"/agentenv", "/data/plane", "/.well-known/agent-env.json", "/agentenv/../agentenv"} {
		if answer := w.raw(request("/svc/notes"+path, "X-Browser: 1")); !strings.HasPrefix(answer, "HTTP/1.1 204 ") {
			t.Errorf("/svc: %s: %s", path, answer)
		} else if got := <-asked; got != path {
			t.Errorf("%s goes up as %s", path, got)
		}
	}
}

// Whatever steps lead from a spelling to a reserved path, in whatever order, it is
// refused.
func TestNoSpellingOfAReservedPathIsOverlooked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	reserve := slices.Clip(builtIn).add("/data/plane")
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	at := func(path string, of func(byte) bool) int {
		var all []int
		for i := range len(path) {
			if of(path[i]) {
				all = append(all, i)
			}
		}
		return all[r.IntN(len(all))]
	}
	slash := func(c byte) bool { return c == '/' }
	for range 20_000 {
		path := pick(reserve...)
		path += pick("", "/", "/x", "/ext/a")
		spelled := path
		for range 1 + r.IntN(4) {
			switch r.IntN(6) {
			case 0: // an escape
				i := at(spelled, func(byte) bool { return true })
				if i > 0 {
					spelled = spelled[:i] + fmt.Sprintf(pick("%%%02x", "%%%02X"), spelled[i]) + spelled[i+1:]
				}
			case 1:
				i := at(spelled, slash)
				spelled = spelled[:i] + "//" + spelled[i+1:]
			case 2:
				i := at(spelled, slash)
				spelled = spelled[:i] + pick("/./", "/x/../", "/x/y/../../") + spelled[i+1:]
			case 3: // behind a segment
				i := at(spelled, slash)
				if i > 0 {
					spelled = spelled[:i] + pick(";", ";a=b", ";a;b") + spelled[i:]
				}
			case 4:
				i := at(spelled, slash)
				if i > 0 {
					spelled = spelled[:i] + `\` + spelled[i+1:]
				}
			case 5:
				spelled = strings.ToUpper(spelled)
			}
		}
		if !reserve.holds(spelled) {
			t.Fatalf("%s, which is %s, is let through", spelled, path)
		}
	}
}

// A path that is made to have more spellings than anyone can look at is refused,
// and soon.
func TestAPathOfTooManySpellings(t *testing.T) {
	for _, path := range []string{
		"/%" + strings.Repeat("25", 100) + "61",
		"/a" + strings.Repeat(`;%25252f\..//`, 1000),
		"/" + strings.Repeat("%2525252525252561", 10_000),
		strings.Repeat("/..;", 100_000), strings.Repeat("/", 500_000), strings.Repeat("%2f", 300_000),
	} {
		if forms, all := spellings(path); all && len(forms) > maxSpellings || !all && !builtIn.holds(path) {
			t.Errorf("%.40s: %d spellings", path, len(forms))
		}
	}
}

func TestDotSegmentsAreRemovedAsTheRFCHasIt(t *testing.T) {
	for path, want := range map[string]string{
		"/a/b/c/./../../g": "/a/g", "/..": "/", "/.": "/", "/a/.": "/a/", "/a/..": "/", "/a/b/..": "/a/", "/../a": "/a", "/a//../b": "/a/b", "/a/...": "/a/...", "/.a/..b": "/.a/..b", "": "", "/a/./": "/a/",
	} {
		if got := climbed(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func FuzzReserved(f *testing.F) {
	for _, path := range slices.Concat(hidden, open) {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		forms, _ := spellings(path)
		if len(forms) > maxSpellings || forms[0] != strings.ToLower(path) {
			t.Errorf("%q: %q", path, forms)
		}
		// One more escape hides nothing.
		if len(path) > 1 && path[0] == '/' && builtIn.holds(path) && !builtIn.holds(fmt.Sprintf("/%%%02x%s", path[1], path[2:])) && path[1] != '/' {
			t.Errorf("%q escaped is let through", path)
		}
	})
}
