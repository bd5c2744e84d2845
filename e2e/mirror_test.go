package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A mirrored is one of the files that are fetched with and without the proxy.
type mirrored struct {
	path    string // as the request has it
	kind    string // Content-Type; "" for none
	coding  string // Content-Encoding; "" for none
	framing string // "length", "chunked", or "close": until the connection ends
	plain   []byte
	coded   []byte // what is sent
}

// mirroredFiles are 200 files of all sizes from 0 to 1 MiB, types, codings and
// framings, with names that a parser could stumble over.
func mirroredFiles(t *testing.T) []mirrored {
	t.Helper()
	random := rand.New(rand.NewPCG(2, 26))
	sizes := []int{0, 1, 2, 1023, 1024, 1025, 4095, 4096, 4097, 16383, 16384, 16385, 32768, 65535, 65536, 65537, 1<<20 - 1, 1 << 20}
	kinds := []string{
		"text/html; charset=utf-8", "text/css", "text/javascript", "application/json", "image/svg+xml", "text/plain", "text/csv",
		"image/png", "application/octet-stream", "font/woff2", "video/mp4", "application/wasm", "",
	}
	names := []string{
		"a b", "grüße 世界", "%", "a+b", "semi;colon=1,2", "quote'\"", "{braces}[brackets]", "~tilde", "100% sure?#not a fragment", "a&b=c&d",
		"back\\slash|pipe^caret`", "<angle>", ":colon@at!$*()", "a/b", "..", ".hidden", "🙂", strings.Repeat("long-", 400), "CAPITALS.HTM", "line\nbreak\ttab\x7f",
	}
	var all []mirrored
	for i := range 200 {
		f := mirrored{
			kind:    kinds[random.IntN(len(kinds))],
			coding:  []string{"", "", "", "gzip", "deflate", "br", "zstd"}[random.IntN(7)],
			framing: []string{"length", "length", "chunked", "chunked", "close"}[random.IntN(5)],
			path:    fmt.Sprintf("/mirror/%d/%s", i, url.PathEscape(names[i%len(names)])),
		}
		switch i % 5 {
		case 0: // as a careless client sends it
			f.path = fmt.Sprintf("/mirror/%d/%s", i, strings.NewReplacer(" ", "+", "%", "%25", "#", "%23", "?", "%3F", "\n", "%0A", "\t", "%09", "\x7f", "%7F").Replace(names[i%len(names)]))
		case 1:
			f.path += "?" + url.Values{"q": {names[(i+7)%len(names)]}, "empty": {""}}.Encode()
		case 2:
			f.path += "?raw=ü&[]={}&a=b=c&&;'\"?/%3F"
		case 3:
			f.path += "/."
		}
		size := 1 << random.IntN(17)
		size += random.IntN(size)
		if i < len(sizes) {
			size = sizes[i]
		}
		f.plain = pattern(size)
		if f.kind != "" && !isText(f.kind) {
			for j := range f.plain {
				f.plain[j] = byte(random.Uint32())
			}
		}
		f.coded = f.plain
		if f.coding != "" {
			var err error
			if f.coded, err = encode(f.coding, f.plain); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, f)
	}
	return all
}

// isText says whether a type is one of those whose bodies are kept here.
func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "image/svg+xml"
}

// mirrorOf serves the files, found by their request's own spelling.
func mirrorOf(files []mirrored) http.Handler {
	byPath := map[string]mirrored{}
	for _, f := range files {
		byPath[f.path] = f
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := byPath[r.RequestURI]
		if !ok {
			http.Error(w, fmt.Sprintf("%q is not here", r.RequestURI), http.StatusNotFound)
			return
		}
		h := w.Header()
		h["Content-Type"] = nil // or net/http guesses one
		if f.kind != "" {
			h.Set("Content-Type", f.kind)
		}
		if f.coding != "" {
			h.Set("Content-Encoding", f.coding)
		}
		switch f.framing {
		case "length":
			h.Set("Content-Length", strconv.Itoa(len(f.coded)))
			w.Write(f.coded)
		case "chunked":
			http.NewResponseController(w).Flush()
			for piece := range slices.Chunk(f.coded, 10_007) {
				w.Write(piece)
				http.NewResponseController(w).Flush()
			}
		case "close":
			h.Set("Transfer-Encoding", "identity") // net/http's word for it
			w.Write(f.coded)
		}
	})
}

// curl fetches 200 files, 16 at a time: each has the same bytes with and
// without the proxy, and through nginx; and the log has their hashes, the HAR
// their texts.
func TestAMirrorIsTheSameThroughTheProxy(t *testing.T) {
	curl := need(t, "curl")
	files := mirroredFiles(t)
	for _, way := range []string{"directly", "interception", "stand-in"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newWorldOf(t, mirrorOf(files)).withNginx()
			sites := w.sites()
			via := []string{"--noproxy", "*"}
			trust := w.ca.file
			var p *proxy
			switch way {
			case "interception":
				p = w.proxy()
			case "stand-in":
				p = w.proxy("--stand-in")
				sites = slices.DeleteFunc(sites, func(s place) bool { return s.host == w.nginx.host })
			}
			if p != nil {
				via, trust = []string{"--proxy", "http://" + p.address}, p.trust
			}
			var config bytes.Buffer
			for i, site := range sites {
				for j, f := range files {
					fmt.Fprintf(&config, "url = %s\noutput = %s\n", quoted(site.url(f.path)), quoted(filepath.Join(w.dir, fmt.Sprintf("got-%d-%d", i, j))))
				}
			}
			write(t, filepath.Join(w.dir, "curlrc"), config.Bytes())
			args := append([]string{"-sS", "--http1.1", "--globoff", "--path-as-is", "--fail-early", "-f", "--parallel", "--parallel-max", "16", "--cacert", trust, "-K", filepath.Join(w.dir, "curlrc")}, via...)
			cmd := exec.CommandContext(t.Context(), curl, args...)
			cmd.Env = clean(os.Environ())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("curl: %v\n%.2000s", err, out)
			}
			for i, site := range sites {
				for j, f := range files {
					if got := contentOf(t, filepath.Join(w.dir, fmt.Sprintf("got-%d-%d", i, j))); !bytes.Equal(got, f.coded) {
						t.Errorf("%s, %s: %d bytes, want %d", site.url(f.path), f.framing, len(got), len(f.coded))
					}
				}
			}
			if p == nil {
				return
			}
			p.stop()
			log := readLog(t, p.log)
			if way == "stand-in" {
				stoodIn(t, w, log)
				return
			}
			var served, logged []string
			plain := map[string][]byte{}
			for _, site := range sites {
				for _, f := range files {
					served = append(served, fmt.Sprintf("GET %s: 200, %s", site.url(f.path), sum(f.coded)))
					if isText(f.kind) {
						plain[site.url(f.path)] = f.plain
					}
				}
			}
			for _, e := range log.exchanges {
				went(t, e)
				logged = append(logged, fmt.Sprintf("%s %s: %d, %s", e.open.Request.Method, e.asked(), e.status(), hashOf(e.end.Response)))
			}
			tally(t, "the sites", served, "the log", logged)
			har := convert(t, p.log)
			if len(har) != len(log.exchanges) {
				t.Fatalf("%d entries in the HAR, %d exchanges in the log", len(har), len(log.exchanges))
			}
			slices.SortStableFunc(log.exchanges, func(a, b entry) int { return strings.Compare(a.open.T, b.open.T) })
			for i, e := range har { // in the order in which the requests came
				is(t, "the HAR's URL", e.Request.URL, log.exchanges[i].open.Request.URL)
				want, text := plain[log.exchanges[i].asked()]
				if text && e.body(t) != string(want) {
					t.Errorf("%s: the HAR has %d bytes of text, want %d", e.Request.URL, len(e.body(t)), len(want))
				}
				is(t, "the status of "+e.Request.URL, e.Response.Status, 200)
			}
		})
	}
}

// quoted is a string of curl's configuration.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
